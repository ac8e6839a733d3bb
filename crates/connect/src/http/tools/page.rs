//! A tool's answer with a length limit.

/// Maximum length of an answer in bytes, including the note about the cut (C-82).
pub(super) const LONGEST: usize = 64 * 1024;

/// Space reserved for the note.
const NOTE: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    is_full: bool,
}

impl Page {
    /// Adds a line if there is space for it.
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

    /// Returns the answer, with a note that tells the model how to continue.
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

/// Returns the start of a text, of at most `most` bytes.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}
