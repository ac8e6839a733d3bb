//! The files that findings speak of.

use std::collections::BTreeMap;

use super::{Change, Finding, path};

/// The files of a project as the agents saw them: those reviewed, and whichever others a finding names, one of before
/// included. A file that is not among them is not there.
#[derive(Debug, Clone, Default)]
pub struct Code {
    root: String,
    files: BTreeMap<String, Source>,
}

#[derive(Debug, Clone, Default)]
pub struct Source {
    /// Its text; `None` where it has none to look at: it was deleted, is no text, or is too large.
    pub text: Option<String>,
    /// What it was called before the change, where that was something else.
    pub previous: Option<String>,
    /// What the change did to it; `None` where whole files are reviewed.
    pub change: Option<Change>,
    /// Whether it is among what was reviewed.
    pub is_reviewed: bool,
}

impl Code {
    /// No files yet. `root` is the directory agents may have put before the paths they name.
    pub fn new(root: &str) -> Self {
        Self { root: root.to_owned(), files: BTreeMap::new() }
    }

    /// With one more file, by its path from the root with `/`.
    #[must_use]
    pub fn with(mut self, path: &str, source: Source) -> Self {
        self.files.insert(path.to_owned(), source);
        self
    }

    /// Where a file may be found that an agent named: its path from the root, best guess first. Empty for a path that
    /// leads out of the root.
    pub fn places(&self, named: &str) -> Vec<String> {
        path::places(&self.root, named)
    }

    /// The path of a file that an agent named, if there is such a file.
    pub(super) fn find(&self, named: &str) -> Option<String> {
        self.places(named).into_iter().find(|path| self.files.contains_key(path))
    }

    /// Whether a file is among them, by its path from the root.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub(super) fn get(&self, path: &str) -> Option<&Source> {
        self.files.get(path)
    }

    /// What the file of a finding was called before the change, where that was something else.
    pub(super) fn previous(&self, finding: &Finding) -> Option<&str> {
        self.get(finding.file.as_deref()?)?.previous.as_deref()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.files.iter().map(|(path, source)| (path.as_str(), source))
    }

    /// The texts of some lines, as far as the file has them.
    pub(super) fn lines(&self, path: &str, (start, end): (u32, u32)) -> Vec<&str> {
        let text = self.get(path).and_then(|source| source.text.as_deref()).unwrap_or_default();
        let (skipped, count) = (start.saturating_sub(1) as usize, (end - start) as usize + 1);
        text.lines().skip(skipped).take(count).collect()
    }
}

impl Source {
    /// A file that was reviewed as a change: its new text and its section of the diff.
    pub fn changed(text: Option<String>, section: &str) -> Self {
        Self { text, change: Some(Change::of_diff(section)), is_reviewed: true, previous: None }
    }

    /// The same, where the change gave it another name.
    #[must_use]
    pub fn called_before(self, previous: Option<String>) -> Self {
        Self { previous, ..self }
    }

    /// A file that was reviewed whole.
    pub fn whole(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), is_reviewed: true, ..Self::default() }
    }

    /// A file that was not reviewed, but that a finding names.
    pub fn other(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// A file that was not reviewed and that nobody looks into, but that is there.
    pub fn unread() -> Self {
        Self::default()
    }

    /// Whether it has this line, as far as anybody was shown: of a file without a text there are only the lines that the
    /// change shows.
    pub(super) fn has(&self, line: u32) -> bool {
        match self.length() {
            Some(length) => line <= length,
            None => self.change.as_ref().is_some_and(|change| change.shows((line, line))),
        }
    }

    /// How many lines it has, where that can be said.
    pub(super) fn length(&self) -> Option<u32> {
        let text = self.text.as_deref()?;
        Some(u32::try_from(text.lines().count()).unwrap_or(u32::MAX))
    }
}
