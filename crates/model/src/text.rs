//! Texts: by value or by reference, as files of a definition, as saved reports, and their size in tokens.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Json, ReportClue, StageId};

/// A text, or the name of the file that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Text {
    /// Shared: the journal, the engine and the view hold the same text.
    Inline(Arc<str>),
    /// A file of the run directory, named by the hash of its content.
    Blob {
        /// SHA-256 of the content, in hexadecimal.
        hash: String,
        bytes: u64,
    },
}

impl Text {
    /// Texts longer than this become blobs: a journal line stays small, and an ordinary turn needs one sync.
    pub const INLINE_LIMIT: usize = 16 * 1024;

    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Returns the text, if it is inline.
    pub fn inline(&self) -> Option<&str> {
        match self {
            Self::Inline(text) => Some(text),
            Self::Blob { .. } => None,
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Self::Inline(text) => text.len() as u64,
            Self::Blob { bytes, .. } => *bytes,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::Inline(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Inline(text.into())
    }
}

/// Source file of a stage's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFile {
    pub stage: StageId,
    /// True for the question about the stage's work, false for the work itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_check: bool,
    pub source: TextSource,
    /// File; for a built-in definition, relative to the definition's own directory.
    pub file: String,
}

/// Reason why a text comes from a file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    /// It is the named file.
    #[default]
    Primary,
    /// It replaces the named file, which is missing.
    Fallback,
    /// It comes from the global fallback directory.
    GlobalFallback,
}

impl TextSource {
    /// Returns the word that people and programs see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Fallback => "fallback",
            Self::GlobalFallback => "global_fallback",
        }
    }
}

/// Estimates the tokens of a text: one for every four ASCII characters, one for every other character.
pub fn tokens(text: &str) -> u64 {
    quarters(text).div_ceil(4)
}

fn quarters(text: &str) -> u64 {
    text.chars().map(|character| if character.is_ascii() { 1 } else { 4 }).sum()
}

/// A saved report, recorded under its file's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedReport {
    pub how: ReportClue,
    pub sha256: String,
    pub bytes: u64,
    /// First byte of its content in the reply; the content ends before `end`.
    pub start: u64,
    pub end: u64,
    /// Content of a file that the agent wrote itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Text>,
    /// Content that the agent had written before a block replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_own: Option<Text>,
}

impl SavedReport {
    /// Returns the reports in the recorded output of an action, by file.
    pub fn all(output: &BTreeMap<String, Json>) -> impl Iterator<Item = (&String, Self)> {
        output.iter().filter_map(|(file, json)| Some((file, serde_json::from_value(json.clone()).ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::tokens;

    // T-105
    #[test]
    fn four_ascii_characters_are_one_token_and_so_is_every_other_character() {
        let all = ["", "a", "abcd", "abcde", "計画", "計画 a"].map(tokens);
        assert_eq!(all, [0, 1, 1, 2, 2, 3]);
    }
}
