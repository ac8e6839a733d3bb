//! One thing an agent found.

use serde::{Deserialize, Serialize};

use super::Severity;

/// One thing an agent found, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// The file, as the agent named it or, once it was made sure of, from the project's root.
    pub file: Option<String>,
    /// The first line, from 1. There is none without a file.
    pub start_line: Option<u32>,
    pub end_line: Option<u32>,
    pub agent: String,
    pub severity: Severity,
    /// What kind of thing it is.
    pub kind: Kind,
    pub message: String,
    /// What to do about it.
    pub suggestion: Option<String>,
    /// The agent's own word for what it is.
    pub category: Option<String>,
    /// How certain the agent is, in percent.
    pub confidence: Option<u8>,
    /// The place the agent named where that place could not be made sure of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
}

/// What kind of thing a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Issue,
    CoverageGap,
    Improvement,
    /// A score that is low.
    Dimension,
}

impl Finding {
    /// Its lines, first and last, where it has a place.
    pub fn lines(&self) -> Option<(u32, u32)> {
        let start = self.start_line.filter(|_| self.file.is_some())?;
        Some((start, self.end_line.unwrap_or(start).max(start)))
    }

    /// Where it is, as people write it: `src/a.rs`, `src/a.rs:3`, `src/a.rs:3-5`.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        Some(match self.lines() {
            None => file.to_owned(),
            Some((start, end)) if start == end => format!("{file}:{start}"),
            Some((start, end)) => format!("{file}:{start}-{end}"),
        })
    }

    /// Takes its place away, and keeps what was claimed.
    pub(super) fn unplace(&mut self) {
        let place = self.place();
        self.claimed = self.claimed.take().or(place);
        (self.file, self.start_line, self.end_line) = (None, None, None);
    }
}

impl Kind {
    /// The word that is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::CoverageGap => "coverage_gap",
            Self::Improvement => "improvement",
            Self::Dimension => "dimension",
        }
    }
}
