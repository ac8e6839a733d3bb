//! The report of a review.

use serde::{Deserialize, Serialize};

use super::{AgentResult, Assessment, Fixed, Mode, Notice, Outcome, Reported, Summary, Suppressed};

/// The report of a review: everything that was found and decided. Every format is made of it alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Of this form. Fields are only ever added.
    pub version: u32,
    pub run: String,
    pub mode: Mode,
    /// What the change is measured against.
    pub base: Option<String>,
    /// The commit that was reviewed.
    pub head: Option<String>,
    pub outcome: Outcome,
    /// What a person should know first.
    pub warnings: Vec<String>,
    /// Every agent that was considered.
    pub selection: Vec<Considered>,
    pub load_errors: Vec<LoadError>,
    /// What became of each agent.
    pub results: Vec<AgentResult>,
    /// What was found, worst first.
    pub findings: Vec<Reported>,
    /// What was said about the whole.
    pub assessments: Vec<Assessment>,
    /// What somebody decided not to hear of.
    pub suppressed: Vec<Suppressed>,
    /// What is not certain enough.
    pub filtered: Vec<Reported>,
    /// What was in the baseline and is no more.
    pub fixed: Vec<Fixed>,
    /// What no agent, or not every one, was shown.
    pub not_reviewed: Vec<NotReviewed>,
    /// What is wrong with suppressions.
    pub notices: Vec<Notice>,
    pub summary: Summary,
}

impl Report {
    /// Why nothing can be compared with it later; nothing where everybody who was asked has answered.
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
    /// What it is for, in one line.
    pub description: String,
    /// Where its definition comes from.
    pub origin: String,
    pub phase: String,
    pub selected: bool,
    pub why: String,
}

/// A definition that was refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LoadError {
    pub file: String,
    /// What is wrong with it.
    pub message: String,
}

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotReviewed {
    pub file: String,
    /// The agent that was not shown it; `None` for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub reason: Unread,
}

/// Why something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// It is more than an agent is given.
    Size,
    Binary,
    Submodule,
    /// The budget was used up.
    Budget,
}

impl Unread {
    /// The word that is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Binary => "binary",
            Self::Submodule => "submodule",
            Self::Budget => "budget",
        }
    }

    /// Whether somebody could have wanted it to be looked at.
    pub fn is_a_gap(self) -> bool {
        match self {
            Self::Size | Self::Budget => true,
            Self::Binary | Self::Submodule => false,
        }
    }
}
