//! How bad a finding is.

use serde::{Deserialize, Serialize};

/// How bad a finding is, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It must not go on like this.
    Critical,
    Important,
    Suggestion,
    Nitpick,
}

impl Severity {
    /// All of them, worst first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::Important, Self::Suggestion, Self::Nitpick];

    /// The word that is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Important => "important",
            Self::Suggestion => "suggestion",
            Self::Nitpick => "nitpick",
        }
    }

    /// The severity of that name, in any letter case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name().eq_ignore_ascii_case(name.trim()))
    }
}
