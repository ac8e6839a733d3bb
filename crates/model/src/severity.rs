//! Severity of a finding.

use serde::{Deserialize, Serialize};

/// Severity of a finding, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Critical,
    Important,
    Suggestion,
    Nitpick,
}

impl Severity {
    pub const ALL: [Self; 4] = [Self::Critical, Self::Important, Self::Suggestion, Self::Nitpick];

    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Important => "important",
            Self::Suggestion => "suggestion",
            Self::Nitpick => "nitpick",
        }
    }

    /// Returns the severity of a name, in any letter case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name().eq_ignore_ascii_case(name.trim()))
    }
}
