//! Text as it is shown while it comes, without secrets.

use std::sync::Arc;

use crate::redact::{Redaction, Redactor};

/// What comes in pieces and is shown in pieces. A secret that is cut in two is still found, so a part may have to wait for
/// the next.
pub(super) struct Shown {
    redaction: Redaction,
    /// Clean bytes, of which the last may be only the beginning of a character.
    clean: Vec<u8>,
}

impl Shown {
    pub(super) fn new(redactor: &Arc<Redactor>) -> Self {
        Self { redaction: redactor.stream(), clean: Vec::new() }
    }

    /// Takes the next part and gives back what can be shown by now.
    pub(super) fn more(&mut self, part: &str) -> Option<String> {
        self.redaction.push(part.as_bytes(), &mut self.clean);
        self.whole_characters()
    }

    /// What was held back until the end.
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
