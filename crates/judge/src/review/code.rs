//! Files that findings refer to.

use std::collections::BTreeMap;

use super::{Change, Finding, path};

/// Files of a project as the agents saw them: the reviewed ones, and others that a finding names, including earlier
/// findings. Any other file does not exist.
#[derive(Debug, Clone, Default)]
pub struct Code {
    root: String,
    files: BTreeMap<String, Source>,
}

#[derive(Debug, Clone, Default)]
pub struct Source {
    /// Text; `None` for a deleted, binary or too large file.
    pub text: Option<String>,
    /// Name before the change, if it was different.
    pub previous: Option<String>,
    /// Changes to the file; `None` in a review of whole files.
    pub change: Option<Change>,
    /// True if it was reviewed.
    pub is_reviewed: bool,
}

impl Code {
    /// Creates an empty set. `root` is the directory that agents may have prefixed to paths.
    pub fn new(root: &str) -> Self {
        Self { root: root.to_owned(), files: BTreeMap::new() }
    }

    /// Adds a file by its path from the root with `/`.
    #[must_use]
    pub fn with(mut self, path: &str, source: Source) -> Self {
        self.files.insert(path.to_owned(), source);
        self
    }

    /// Returns possible paths, from the root, of a file that an agent named, best guess first. Empty for a path outside
    /// the root.
    pub fn places(&self, named: &str) -> Vec<String> {
        path::places(&self.root, named)
    }

    /// Returns the path of a file that an agent named, if it exists.
    pub(super) fn find(&self, named: &str) -> Option<String> {
        self.places(named).into_iter().find(|path| self.files.contains_key(path))
    }

    /// Returns true if it contains a file, by its path from the root.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub(super) fn get(&self, path: &str) -> Option<&Source> {
        self.files.get(path)
    }

    /// Returns the old name of a finding's file, if the change renamed it.
    pub(super) fn previous(&self, finding: &Finding) -> Option<&str> {
        self.get(finding.file.as_deref()?)?.previous.as_deref()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.files.iter().map(|(path, source)| (path.as_str(), source))
    }

    /// Returns the texts of a range of lines, as far as the file has them.
    pub(super) fn lines(&self, path: &str, (start, end): (u32, u32)) -> Vec<&str> {
        let text = self.get(path).and_then(|source| source.text.as_deref()).unwrap_or_default();
        let (skipped, count) = (start.saturating_sub(1) as usize, (end - start) as usize + 1);
        text.lines().skip(skipped).take(count).collect()
    }
}

impl Source {
    /// Creates a file reviewed as a change: its new text and its section of the diff.
    pub fn changed(text: Option<String>, section: &str) -> Self {
        Self { text, change: Some(Change::of_diff(section)), is_reviewed: true, previous: None }
    }

    /// Sets the name before a rename.
    #[must_use]
    pub fn called_before(self, previous: Option<String>) -> Self {
        Self { previous, ..self }
    }

    /// Creates a file reviewed as a whole.
    pub fn whole(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), is_reviewed: true, ..Self::default() }
    }

    /// Creates a file that was not reviewed, but that a finding names.
    pub fn other(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Creates an existing file that was neither reviewed nor read.
    pub fn unread() -> Self {
        Self::default()
    }

    /// Returns true if the file has this line. Of a file without text, only the lines in the change are known.
    pub(super) fn has(&self, line: u32) -> bool {
        match self.length() {
            Some(length) => line <= length,
            None => self.change.as_ref().is_some_and(|change| change.shows((line, line))),
        }
    }

    /// Returns the number of lines, if known.
    pub(super) fn length(&self) -> Option<u32> {
        let text = self.text.as_deref()?;
        Some(u32::try_from(text.lines().count()).unwrap_or(u32::MAX))
    }
}
