//! Files that findings refer to.

use std::collections::BTreeMap;

use saihai_judge::Finding;

/// Files of a project as the agents saw them: the reviewed ones, and others that a finding names, including earlier
/// findings. Any other file does not exist.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReviewedCode {
    root: String,
    files: BTreeMap<String, CodeFile>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct CodeFile {
    /// Text; `None` for a deleted, binary or too large file.
    pub text: Option<String>,
    /// Name before the change, if it was different.
    pub previous: Option<String>,
    /// Changes to the file; `None` in a review of whole files.
    pub change: Option<ChangedLines>,
    /// True if it was reviewed.
    pub is_reviewed: bool,
}

impl ReviewedCode {
    /// Creates an empty set. `root` is the directory that agents may have prefixed to paths.
    pub(crate) fn new(root: &str) -> Self {
        Self { root: root.to_owned(), files: BTreeMap::new() }
    }

    /// Adds a file by its path from the root with `/`.
    #[must_use]
    pub(crate) fn with(mut self, path: &str, source: CodeFile) -> Self {
        self.files.insert(path.to_owned(), source);
        self
    }

    /// Returns possible paths from the root of a named file, best guess first. Empty outside the root.
    pub(crate) fn places(&self, named: &str) -> Vec<String> {
        possible_paths(&self.root, named)
    }

    /// Returns the path of a file that an agent named, if it exists.
    pub(super) fn find(&self, named: &str) -> Option<String> {
        self.places(named).into_iter().find(|path| self.files.contains_key(path))
    }

    /// Returns true if it contains a file, by its path from the root.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub(super) fn get(&self, path: &str) -> Option<&CodeFile> {
        self.files.get(path)
    }

    /// Returns the old name of a finding's file, if the change renamed it.
    pub(super) fn previous(&self, finding: &Finding) -> Option<&str> {
        self.get(finding.file.as_deref()?)?.previous.as_deref()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &CodeFile)> {
        self.files.iter().map(|(path, source)| (path.as_str(), source))
    }

    /// Returns the texts of a range of lines, as far as the file has them.
    pub(super) fn lines(&self, path: &str, (start, end): (u32, u32)) -> Vec<&str> {
        let text = self.get(path).and_then(|source| source.text.as_deref()).unwrap_or_default();
        let (skipped, count) = (start.saturating_sub(1) as usize, (end - start) as usize + 1);
        text.lines().skip(skipped).take(count).collect()
    }
}

impl CodeFile {
    /// Creates a file reviewed as a change: its new text and its section of the diff.
    pub(crate) fn changed(text: Option<String>, section: &str) -> Self {
        Self { text, change: Some(ChangedLines::of_diff(section)), is_reviewed: true, previous: None }
    }

    /// Sets the name before a rename.
    #[must_use]
    pub(crate) fn called_before(self, previous: Option<String>) -> Self {
        Self { previous, ..self }
    }

    /// Creates a file reviewed as a whole.
    pub(crate) fn whole(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), is_reviewed: true, ..Self::default() }
    }

    /// Creates a file that was not reviewed, but that a finding names.
    pub(crate) fn other(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Creates an existing file that was neither reviewed nor read.
    pub(crate) fn unread() -> Self {
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

/// Lines of a file's new version that a change adds or shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChangedLines {
    /// First and last line of each hunk.
    hunks: Vec<(u32, u32)>,
    /// First and last line of each group of added lines.
    added: Vec<(u32, u32)>,
    /// Lines before which the change removes others.
    taken: Vec<u32>,
}

impl ChangedLines {
    /// Parses a file's section of a unified diff. Skips everything outside hunks.
    pub(crate) fn of_diff(section: &str) -> Self {
        let mut change = Self::default();
        // Lines of the old and the new version left in the hunk, and the next new line.
        let (mut old, mut new, mut line) = (0, 0, 0);
        for text in section.split('\n') {
            if old == 0 && new == 0 {
                let Some(hunk) = hunk(text) else { continue };
                (old, line, new) = hunk;
                if new > 0 {
                    change.hunks.push((line, line.saturating_add(new - 1)));
                } else {
                    // A hunk without new lines names the line before it.
                    line = line.saturating_add(1);
                }
                continue;
            }
            match text.as_bytes().first() {
                Some(b'+') => {
                    change.add(line);
                    line = line.saturating_add(1);
                    new = new.saturating_sub(1);
                }
                Some(b'-') => {
                    change.taken.push(line);
                    old = old.saturating_sub(1);
                }
                // "\ No newline at end of file" is a line of neither version.
                Some(b'\\') => {}
                _ => {
                    line = line.saturating_add(1);
                    (old, new) = (old.saturating_sub(1), new.saturating_sub(1));
                }
            }
        }
        change
    }

    fn add(&mut self, line: u32) {
        match self.added.last_mut() {
            Some((_, end)) if end.saturating_add(1) == line => *end = line,
            _ => self.added.push((line, line)),
        }
    }

    /// Returns true if one of these lines is added.
    pub(crate) fn adds(&self, lines: (u32, u32)) -> bool {
        overlap(&self.added, lines)
    }

    /// Returns true if the change removes lines directly before this one.
    pub(crate) fn takes_before(&self, line: u32) -> bool {
        self.taken.contains(&line)
    }

    /// Returns true if one of these lines is inside a hunk.
    pub(crate) fn shows(&self, lines: (u32, u32)) -> bool {
        overlap(&self.hunks, lines)
    }
}

fn overlap(ranges: &[(u32, u32)], (start, end): (u32, u32)) -> bool {
    ranges.iter().any(|(first, last)| *first <= end && start <= *last)
}

/// Parses `@@ -OLD[,COUNT] +NEW[,COUNT] @@`: the old line count, the first new line, the new line count.
fn hunk(line: &str) -> Option<(u32, u32, u32)> {
    let inside = line.strip_prefix("@@ -")?;
    let (ranges, _) = inside.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(u32, u32)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((_, old), (start, new)) = (range(old)?, range(new)?);
    Some((old, start, new))
}

/// Returns possible paths of a named file, from the root with `/`, best guess first. Empty outside it.
fn possible_paths(root: &str, named: &str) -> Vec<String> {
    let slashed = named.trim().replace('\\', "/");
    let mut places = Vec::new();
    // On some file systems a backslash is an ordinary character of a name.
    for spelled in [named.trim(), &slashed] {
        if let Some(place) = inside(root, spelled)
            && !places.contains(&place)
        {
            places.push(place);
        }
    }
    // Agents copy paths from diffs, where they have the prefix `a/` or `b/`.
    let stripped: Vec<String> = places
        .iter()
        .filter_map(|place| place.strip_prefix("a/").or(place.strip_prefix("b/")))
        .map(str::to_owned)
        .collect();
    places.extend(stripped);
    places
}

/// Returns the path from the root, without `.` and `..`.
fn inside(root: &str, path: &str) -> Option<String> {
    let root = root.trim_end_matches('/');
    let relative = match path.strip_prefix(root).filter(|_| !root.is_empty()) {
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => path,
    };
    // A Windows drive; a colon alone is an ordinary character of a name.
    let has_drive = matches!(relative.as_bytes(), [b'a'..=b'z' | b'A'..=b'Z', b':', b'/' | b'\\', ..]);
    if relative.starts_with('/') || has_drive {
        return None;
    }
    let mut segments = Vec::new();
    for segment in relative.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            name => segments.push(name),
        }
    }
    (!segments.is_empty()).then(|| segments.join("/"))
}
