//! A finding in the report.

use serde::{Deserialize, Serialize};

use super::{Anchor, Finding, Severity};

/// A finding in the report: one, or several about the same problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// Displayed finding: the worst of its members, with the highest confidence of all.
    #[serde(flatten)]
    pub finding: Finding,
    pub fingerprint: String,
    pub anchor: Anchor,
    /// Number of agents that found it.
    pub votes: usize,
    /// State relative to the baseline; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// True if it can fail the review, apart from its severity.
    pub counts: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
    /// Reviewed file that it may be about, if its place is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perhaps: Option<String>,
    /// All merged findings with their agents. The displayed one comes first.
    pub members: Vec<Member>,
}

/// One of the merged findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    #[serde(flatten)]
    pub finding: Finding,
    pub fingerprint: String,
    pub anchor: Anchor,
}

/// State of a finding relative to the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is not in the baseline.
    New,
    Persisting,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// Number of the first line.
    pub first_line: u32,
    /// Lines, each cut if long.
    pub lines: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suppressed {
    #[serde(flatten)]
    pub reported: Reported,
    pub reason: String,
    /// Place of the suppression, as `FILE:LINE`.
    pub by: String,
    /// True if the reviewed change itself adds the suppression.
    pub added_by_change: bool,
}

/// A finding of the baseline that no longer exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fixed {
    pub fingerprint: String,
    pub agents: Vec<String>,
    pub severity: Option<Severity>,
    pub file: Option<String>,
    pub start_line: Option<u32>,
    pub end_line: Option<u32>,
    pub message: String,
}

impl Reported {
    /// Returns the agents that found it, without duplicates, sorted by name.
    pub fn agents(&self) -> Vec<&str> {
        let mut agents: Vec<&str> = self.members.iter().map(|member| member.finding.agent.as_str()).collect();
        agents.sort_unstable();
        agents.dedup();
        agents
    }

    /// Returns true if a member is as bad as the whole.
    pub(super) fn is_worst(&self, member: &Member) -> bool {
        member.finding.severity == self.finding.severity
    }
}
