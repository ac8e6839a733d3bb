//! Distance of a finding from the change.

use serde::{Deserialize, Serialize};

/// Distance of a finding from the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// On a line that the change adds.
    Added,
    /// Inside a hunk, next to an added line.
    Context,
    /// In a reviewed file, elsewhere or on no line.
    File,
    /// In a file that was not reviewed.
    Outside,
    None,
    /// The named place does not exist.
    Unverified,
}

impl Anchor {
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Context => "context",
            Self::File => "file",
            Self::Outside => "outside",
            Self::None => "none",
            Self::Unverified => "unverified",
        }
    }
}
