//! Locations: source files, spans, paths such as `movements[2].rules[0].next`, and values with a location.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::{Area, Diagnostic, Severity};

/// Byte range of a text. Both ends lie on character boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }
}

/// Line and column, both from 1. Columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// A source file for diagnostics: its display name and its text.
pub struct SourceFile {
    area: Area,
    name: String,
    text: String,
    lines: OnceLock<Vec<usize>>,
}

impl SourceFile {
    /// Creates a file. All diagnostics about it use the codes of `area`.
    pub fn new(area: Area, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { area, name: name.into(), text: text.into(), lines: OnceLock::new() }
    }

    pub fn area(&self) -> Area {
        self.area
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns line and column of a byte offset. Outside the text, the nearest character counts.
    pub fn position(&self, offset: usize) -> Position {
        let offset = floor_boundary(&self.text, offset);
        let line = self.starts().partition_point(|start| *start <= offset);
        let before = &self.text[self.starts()[line - 1]..offset];
        Position { line, column: before.chars().count() + 1 }
    }

    /// Returns a line, from 1, without its line break.
    pub fn line(&self, number: usize) -> &str {
        let Some(start) = number.checked_sub(1).and_then(|index| self.starts().get(index)) else { return "" };
        let end = self.starts().get(number).copied().unwrap_or(self.text.len());
        self.text[*start..end].trim_end_matches(['\n', '\r'])
    }

    /// Returns the offset of the first byte of a line, from 1.
    pub fn line_start(&self, number: usize) -> usize {
        number.checked_sub(1).and_then(|index| self.starts().get(index)).copied().unwrap_or(self.text.len())
    }

    fn starts(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0).chain(breaks.map(|(index, _)| index + 1)).collect()
        })
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SourceFile").field(&self.name).finish()
    }
}

impl PartialEq for SourceFile {
    fn eq(&self, other: &Self) -> bool {
        self.area == other.area && self.name == other.name && self.text == other.text
    }
}

fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathStep {
    Key(Arc<str>),
    Index(usize),
}

/// Path of a value in its document. The empty path is the document itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DocumentPath(Vec<PathStep>);

impl DocumentPath {
    pub fn root() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn key(&self, key: impl Into<Arc<str>>) -> Self {
        self.with(PathStep::Key(key.into()))
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(PathStep::Index(index))
    }

    pub fn steps(&self) -> &[PathStep] {
        &self.0
    }

    /// Parses keys joined by dots, such as `retry.max_wait`.
    pub fn of_keys(keys: &str) -> Self {
        Self(keys.split('.').map(|key| PathStep::Key(key.into())).collect())
    }

    /// Returns the step at this index, if it is a key.
    pub fn key_at(&self, number: usize) -> Option<&str> {
        match self.0.get(number) {
            Some(PathStep::Key(key)) => Some(key),
            Some(PathStep::Index(_)) | None => None,
        }
    }

    /// Returns the last step, if it is a key.
    pub fn last_key(&self) -> Option<&str> {
        self.key_at(self.0.len().checked_sub(1)?)
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the last key and the rest after it: `rules[0]` for `movements[2].rules[0]`.
    pub fn tail(&self) -> String {
        let keys = self.0.iter().rposition(|step| matches!(step, PathStep::Key(_)));
        Self(self.0[keys.unwrap_or(0)..].to_vec()).to_string()
    }

    fn with(&self, step: PathStep) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Index(index) => write!(f, "[{index}]")?,
                PathStep::Key(key) if is_plain(key) => {
                    f.write_str(if position == 0 { "" } else { "." })?;
                    f.write_str(key)?;
                }
                PathStep::Key(key) => write!(f, "[{key:?}]")?,
            }
        }
        Ok(())
    }
}

/// Returns true if a key needs no quotes in a path.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

#[derive(Debug, Clone, PartialEq)]
pub struct Location {
    pub file: Arc<SourceFile>,
    /// Byte range; absent if the location is the whole file.
    pub span: Option<Span>,
    pub path: DocumentPath,
}

impl Location {
    pub fn whole(file: &Arc<SourceFile>) -> Self {
        Self { file: Arc::clone(file), span: None, path: DocumentPath::root() }
    }

    /// Creates an error here, in the area of the file.
    pub fn error(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(Severity::Error, slug, message.into())
    }

    /// Creates a warning here, in the area of the file.
    pub fn warning(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(Severity::Warning, slug, message.into())
    }

    /// Creates a note here, in the area of the file.
    pub fn note(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(Severity::Note, slug, message.into())
    }

    /// Returns line and column of the start.
    pub fn start(&self) -> Option<Position> {
        self.span.map(|span| self.file.position(span.start))
    }

    /// Returns `file:line:column`, or only the file.
    pub fn name(&self) -> String {
        match self.start() {
            Some(Position { line, column }) => format!("{}:{line}:{column}", self.file.name()),
            None => self.file.name().to_owned(),
        }
    }

    fn diagnostic(&self, severity: Severity, slug: &'static str, message: String) -> Diagnostic {
        Diagnostic::new(severity, self.file.area().code(slug), message).at(self)
    }
}

/// A value with its location.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    pub value: T,
    pub at: Location,
}

impl<T> Located<T> {
    pub fn new(value: T, at: Location) -> Self {
        Self { value, at }
    }

    /// Converts the value and keeps its location.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Located<U> {
        Located { value: change(self.value), at: self.at }
    }

    pub fn error(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.at.error(slug, message)
    }

    pub fn warning(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.at.warning(slug, message)
    }
}
