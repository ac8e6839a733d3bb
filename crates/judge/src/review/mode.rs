//! Mode of a review.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A change in the working tree.
    Diff,
    Pr,
    Files,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Diff => "diff",
            Self::Pr => "pr",
            Self::Files => "files",
        }
    }
}
