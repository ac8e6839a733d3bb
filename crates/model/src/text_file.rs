//! Source file of a definition's text.

use serde::{Deserialize, Serialize};

use crate::StageId;

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
