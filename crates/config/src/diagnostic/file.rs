use std::fmt;
use std::sync::OnceLock;

use super::Area;

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

    /// Returns line and column of a byte offset. An offset outside the text maps to the nearest
    /// character.
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
