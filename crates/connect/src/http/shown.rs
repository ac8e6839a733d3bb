//! Displays streamed text without secrets.

use std::sync::Arc;

use crate::redact::{Redaction, Redactor};

/// Text that arrives and is displayed in parts. It finds secrets that are split between parts, so a part may
/// wait for the next one.
pub(super) struct Shown {
    redaction: Redaction,
    /// Redacted bytes, which may end with an incomplete character.
    clean: Vec<u8>,
}

impl Shown {
    pub(super) fn new(redactor: &Arc<Redactor>) -> Self {
        Self { redaction: redactor.stream(), clean: Vec::new() }
    }

    /// Adds a part and returns the text that can be displayed now.
    pub(super) fn more(&mut self, part: &str) -> Option<String> {
        self.redaction.push(part.as_bytes(), &mut self.clean);
        self.whole_characters()
    }

    /// Returns the rest at the end of the stream.
    pub(super) fn rest(&mut self) -> Option<String> {
        self.redaction.finish(&mut self.clean);
        self.whole_characters()
    }

    fn whole_characters(&mut self) -> Option<String> {
        let end = match std::str::from_utf8(&self.clean) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = self.clean.drain(..end).collect();
        String::from_utf8(text).ok().filter(|text| !text.is_empty())
    }
}
