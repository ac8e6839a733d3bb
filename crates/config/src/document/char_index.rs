//! Converts character indexes to byte offsets.

/// Distance in characters between two stored offsets.
const EVERY: usize = 64;

/// Byte offsets of the characters in a text.
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

    /// Returns the byte offset of a character, or the length of the text for an index beyond its
    /// end.
    pub(super) fn byte(&self, character: usize) -> usize {
        if self.bytes.is_empty() {
            return character.min(self.text.len());
        }
        let Some(start) = self.bytes.get(character / EVERY) else { return self.text.len() };
        let rest = self.text[*start..].char_indices().nth(character % EVERY);
        rest.map_or(self.text.len(), |(byte, _)| start + byte)
    }
}
