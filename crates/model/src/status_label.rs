//! The labels by which a forge shows how an issue stands.

use serde::{Deserialize, Serialize};

/// A label by which a forge shows how an issue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatusLabel {
    Queued,
    /// Its first turn has begun.
    Running,
    /// Its run came to its end.
    Completed,
    Failed,
    /// Something else has to be done first.
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

    /// The word behind the prefix.
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

    /// Its colour, six hexadecimal digits.
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

    /// Whether an issue has at most one of these; the others stand beside them.
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
