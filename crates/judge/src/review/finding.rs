//! A finding of an agent.

use serde::{Deserialize, Serialize};

use super::Severity;

/// A finding of an agent, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// File as the agent named it or, once verified, from the project's root.
    pub file: Option<String>,
    /// First line, from 1. None without a file.
    pub start_line: Option<u32>,
    pub end_line: Option<u32>,
    pub agent: String,
    pub severity: Severity,
    pub kind: Kind,
    pub message: String,
    pub suggestion: Option<String>,
    pub category: Option<String>,
    /// The agent's confidence, in percent.
    pub confidence: Option<u8>,
    /// Place that the agent named, if it could not be verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Issue,
    CoverageGap,
    Improvement,
    Dimension,
}

impl Finding {
    /// Returns its first and last line, if it has a place.
    pub fn lines(&self) -> Option<(u32, u32)> {
        let start = self.start_line.filter(|_| self.file.is_some())?;
        Some((start, self.end_line.unwrap_or(start).max(start)))
    }

    /// Formats its place for people: `src/a.rs`, `src/a.rs:3`, `src/a.rs:3-5`.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        Some(match self.lines() {
            None => file.to_owned(),
            Some((start, end)) if start == end => format!("{file}:{start}"),
            Some((start, end)) => format!("{file}:{start}-{end}"),
        })
    }

    /// Removes its place, and keeps the claimed one.
    pub(super) fn unplace(&mut self) {
        let place = self.place();
        self.claimed = self.claimed.take().or(place);
        (self.file, self.start_line, self.end_line) = (None, None, None);
    }
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::CoverageGap => "coverage_gap",
            Self::Improvement => "improvement",
            Self::Dimension => "dimension",
        }
    }
}
