//! From the number of a character to the number of its byte.

/// Every how many characters the byte is remembered.
const EVERY: usize = 64;

/// Where the characters of a text begin.
pub(super) struct CharIndex<'t> {
    text: &'t str,
    bytes: Vec<usize>,
}

impl<'t> CharIndex<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let bytes = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().step_by(EVERY).map(|(byte, _)| byte).collect()
        };
        Self { text, bytes }
    }

    /// The byte where a character begins; the text's end for what lies beyond it.
    pub(super) fn byte(&self, character: usize) -> usize {
        if self.bytes.is_empty() {
            return character.min(self.text.len());
        }
        let Some(start) = self.bytes.get(character / EVERY) else { return self.text.len() };
        let rest = self.text[*start..].char_indices().nth(character % EVERY);
        rest.map_or(self.text.len(), |(byte, _)| start + byte)
    }
}
