//! Sizes of the parts of the screen, shared by keys (pages, scrolling) and drawing.

use crate::terminal::{visible_text, wrapped};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScreenSize {
    pub(super) columns: u16,
    pub(super) rows: u16,
}

/// Below this width, the tree and the text share one pane.
const TWO_PANES: u16 = 60;

impl ScreenSize {
    pub(super) fn has_one_pane(self) -> bool {
        self.columns < TWO_PANES
    }

    /// Returns the rows of the list: without title, heads, the selected run and the keys.
    pub(super) fn list_height(self) -> usize {
        usize::from(self.rows.saturating_sub(3 + self.selection_height()))
    }

    /// Returns the rows that describe the selected run below the list.
    pub(super) fn selection_height(self) -> u16 {
        match self.rows {
            0..=7 => 0,
            8..=11 => 1,
            _ => 3,
        }
    }

    /// Returns the rows of the tree and the text: without title, state, tabs and keys.
    pub(super) fn body_height(self) -> usize {
        usize::from(self.rows.saturating_sub(4))
    }

    /// Returns the columns of the tree.
    pub(super) fn tree_width(self) -> u16 {
        if self.has_one_pane() { self.columns } else { (self.columns * 3 / 10).clamp(22, 44) }
    }
}

/// Returns the columns of the text pane.
pub(super) fn text_width(size: ScreenSize) -> usize {
    let tree = if size.has_one_pane() { 0 } else { size.tree_width() + 2 };
    usize::from(size.columns.saturating_sub(tree)).max(10)
}

/// A longer line is cut into parts of this many characters first: it has no words to wrap at.
const LONGEST: usize = 2_000;

/// Wraps a foreign text. Its control characters become visible.
pub(super) fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let text = visible_text(text).replace('\t', "    ");
    let mut lines = Vec::new();
    for mut line in text.lines() {
        if line.is_empty() {
            lines.push(String::new());
        }
        while !line.is_empty() {
            let end = line.char_indices().nth(LONGEST).map_or(line.len(), |(at, _)| at);
            lines.extend(wrapped(&line[..end], width, 0));
            line = &line[end..];
        }
    }
    lines
}
