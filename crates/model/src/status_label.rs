//! Status labels of an issue on a forge.

use serde::{Deserialize, Serialize};

/// A status label of an issue on a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatusLabel {
    Queued,
    /// Its first turn has started.
    Running,
    Completed,
    Failed,
    /// Something else must be done first.
    Blocked,
    /// It has a pull request.
    PrCreated,
    Merged,
}

impl StatusLabel {
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Blocked,
        Self::PrCreated,
        Self::Merged,
    ];

    /// Returns the word after the prefix.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::PrCreated => "pr-created",
            Self::Merged => "merged",
        }
    }

    /// Returns the colour as six hexadecimal digits.
    pub fn colour(self) -> &'static str {
        match self {
            Self::Queued => "c2e0c6",
            Self::Running => "0e8a16",
            Self::Completed => "0075ca",
            Self::Failed => "d73a4a",
            Self::Blocked => "fbca04",
            Self::PrCreated => "6f42c1",
            Self::Merged => "1d76db",
        }
    }

    /// Returns true for labels of which an issue has at most one. The other labels can be combined with them.
    pub fn is_exclusive(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Completed | Self::Failed | Self::Blocked => true,
            Self::PrCreated | Self::Merged => false,
        }
    }

    pub fn name(self, prefix: &str) -> String {
        format!("{prefix}:{}", self.word())
    }
}
