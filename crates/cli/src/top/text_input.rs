//! A line that a person types and edits.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Maximum characters of an answer or a note.
const MOST: usize = 10_000;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TextInput {
    text: String,
    /// Offset of the cursor in the text.
    cursor: usize,
}

impl TextInput {
    /// Creates a line that a person can change.
    pub(super) fn filled(text: String) -> Self {
        Self { cursor: text.len(), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text before and after the cursor.
    pub(super) fn parts(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    pub(super) fn press(&mut self, key: KeyEvent) {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            match key.code {
                KeyCode::Char('a') => self.cursor = 0,
                KeyCode::Char('e') => self.cursor = self.text.len(),
                KeyCode::Char('u') => {
                    self.text.drain(..self.cursor);
                    self.cursor = 0;
                }
                KeyCode::Char('w') => self.delete_word(),
                _ => {}
            }
            return;
        }
        match key.code {
            KeyCode::Char(letter) => self.insert(letter),
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            KeyCode::Backspace => {
                let start = self.before();
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            KeyCode::Delete => {
                self.text.drain(self.cursor..self.after());
            }
            _ => {}
        }
    }

    /// Inserts pasted text. Line breaks become spaces, because the input has one line.
    pub(super) fn insert_text(&mut self, text: &str) {
        for letter in text.replace("\r\n", "\n").chars() {
            self.insert(if matches!(letter, '\n' | '\r' | '\t') { ' ' } else { letter });
        }
    }

    fn insert(&mut self, letter: char) {
        if !letter.is_control() && self.text.chars().count() < MOST {
            self.text.insert(self.cursor, letter);
            self.cursor += letter.len_utf8();
        }
    }

    fn delete_word(&mut self) {
        let kept = self.text[..self.cursor].trim_end();
        let start = kept
            .rfind(char::is_whitespace)
            .map_or(0, |space| space + kept[space..].chars().next().map_or(1, char::len_utf8));
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |letter| self.cursor + letter.len_utf8())
    }
}
