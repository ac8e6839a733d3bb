//! An answer that is cut where it becomes too long.

/// The longest answer of a tool, in bytes, with the note that it was cut (C-82).
pub(super) const LONGEST: usize = 64 * 1024;

/// What is kept free for the note.
const NOTE: usize = 512;

/// An answer that grows line by line.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    is_full: bool,
}

impl Page {
    /// Adds a line, if there is room for it.
    pub(super) fn line(&mut self, line: &str) -> bool {
        if self.is_full || self.text.len() + line.len() + 1 > LONGEST - NOTE {
            self.is_full = true;
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The answer, and below it what the model must know to ask on.
    pub(super) fn with_note(mut self, note: &str) -> String {
        self.text.push('[');
        self.text.push_str(cut(note, NOTE - 3));
        self.text.push_str("]\n");
        self.text
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// The beginning of a text, of at most so many bytes.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}
