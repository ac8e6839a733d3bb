//! The report of a review.

use serde::{Deserialize, Serialize};

use super::{AgentResult, Assessment, Fixed, Mode, Notice, Outcome, Reported, Summary, Suppressed};

/// The report of a review: all findings and decisions. Every output format derives from it alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this format. Later versions only add fields.
    pub version: u32,
    pub run: String,
    pub mode: Mode,
    pub base: Option<String>,
    pub head: Option<String>,
    pub outcome: Outcome,
    pub warnings: Vec<String>,
    /// All agents that were considered.
    pub selection: Vec<Considered>,
    pub load_errors: Vec<LoadError>,
    pub results: Vec<AgentResult>,
    pub findings: Vec<Reported>,
    /// Assessments of the whole subject.
    pub assessments: Vec<Assessment>,
    pub suppressed: Vec<Suppressed>,
    /// Findings below the minimum confidence.
    pub filtered: Vec<Reported>,
    /// Findings of the baseline that no longer exist.
    pub fixed: Vec<Fixed>,
    /// Parts that some or all agents did not see.
    pub not_reviewed: Vec<NotReviewed>,
    pub notices: Vec<Notice>,
    pub summary: Summary,
}

impl Report {
    /// Returns the reason why this report cannot be a baseline. `None` if all asked agents answered.
    pub fn is_no_baseline(&self) -> Option<&'static str> {
        if self.outcome == Outcome::Cancelled {
            Some("the review was stopped")
        } else if self.results.is_empty() {
            Some("nothing was reviewed")
        } else if !self.results.iter().all(|result| result.status.has_delivered()) {
            Some("not every agent answered")
        } else {
            None
        }
    }
}

/// An agent that was considered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Considered {
    pub agent: String,
    pub description: String,
    pub origin: String,
    pub phase: String,
    pub selected: bool,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoadError {
    pub file: String,
    pub message: String,
}

/// A part that was not reviewed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotReviewed {
    pub file: String,
    /// Agent that did not see it; `None` for all agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub reason: Unread,
}

/// Reason why a part was not reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// It exceeds the size limit of an agent's input.
    Size,
    Binary,
    Submodule,
    /// The budget was used up.
    Budget,
}

impl Unread {
    pub fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Binary => "binary",
            Self::Submodule => "submodule",
            Self::Budget => "budget",
        }
    }

    /// Returns true for a gap: text that an agent could have reviewed.
    pub fn is_a_gap(self) -> bool {
        match self {
            Self::Size | Self::Budget => true,
            Self::Binary | Self::Submodule => false,
        }
    }
}
