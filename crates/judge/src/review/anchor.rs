//! How near to the change a finding is.

use serde::{Deserialize, Serialize};

/// How near to the change a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// On a line the change adds.
    Added,
    /// Beside one, inside a hunk.
    Context,
    /// In a file that was reviewed, elsewhere or on no line.
    File,
    /// In a file that was not.
    Outside,
    None,
    /// The place that was named does not exist.
    Unverified,
}

impl Anchor {
    /// The word that is written.
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
