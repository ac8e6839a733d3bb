//! A finding as it stands in the report.

use serde::{Deserialize, Serialize};

use super::{Anchor, Finding, Severity};

/// A finding as it stands in the report: one, or several that speak of the same thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// What is shown: the worst of its members, with the highest confidence of all.
    #[serde(flatten)]
    pub finding: Finding,
    /// The name of that member.
    pub fingerprint: String,
    /// How near to the change it is.
    pub anchor: Anchor,
    /// How many agents found it.
    pub votes: usize,
    /// Whether it was there before; `None` without a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Whether it can fail the review, apart from its severity.
    pub counts: bool,
    /// The code it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
    /// A reviewed file it may be about, where its place is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perhaps: Option<String>,
    /// Everything that was said, by whom. The one that is shown comes first.
    pub members: Vec<Member>,
}

/// One of the findings that became one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    #[serde(flatten)]
    pub finding: Finding,
    pub fingerprint: String,
    /// How near to the change it is.
    pub anchor: Anchor,
}

/// Whether a finding was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is not in the baseline.
    New,
    Persisting,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The number of the first one.
    pub first_line: u32,
    /// The lines, each cut where it is long.
    pub lines: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A finding that somebody decided not to hear of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suppressed {
    #[serde(flatten)]
    pub reported: Reported,
    pub reason: String,
    /// Where that is written, as `FILE:LINE`.
    pub by: String,
    /// It is the reviewed change itself that says so.
    pub added_by_change: bool,
}

/// A finding of the baseline that is no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fixed {
    pub fingerprint: String,
    pub agents: Vec<String>,
    /// How bad it was, where that is known.
    pub severity: Option<Severity>,
    /// The file it was in.
    pub file: Option<String>,
    pub start_line: Option<u32>,
    pub end_line: Option<u32>,
    pub message: String,
}

impl Reported {
    /// The agents that found it, each once, in order of their names.
    pub fn agents(&self) -> Vec<&str> {
        let mut agents: Vec<&str> = self.members.iter().map(|member| member.finding.agent.as_str()).collect();
        agents.sort_unstable();
        agents.dedup();
        agents
    }

    /// Whether a member is as bad as the whole.
    pub(super) fn is_worst(&self, member: &Member) -> bool {
        member.finding.severity == self.finding.severity
    }
}
