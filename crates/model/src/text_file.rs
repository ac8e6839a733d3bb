//! The file a text of a definition came from.

use serde::{Deserialize, Serialize};

use crate::StageId;

/// The file of a text that a stage says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFile {
    pub stage: StageId,
    /// Whether it is the question about the stage's work, and not the work itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_check: bool,
    pub source: TextSource,
    /// The file; of a definition that is built in, below the definition's own directory.
    pub file: String,
}

/// Why a text comes from a file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    /// It is the one that is named.
    #[default]
    Primary,
    /// It stands in for the one that is named, which is not there.
    Fallback,
    /// It comes from the directory that stands in for all.
    GlobalFallback,
}

impl TextSource {
    /// The word people and programs see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Fallback => "fallback",
            Self::GlobalFallback => "global_fallback",
        }
    }
}
