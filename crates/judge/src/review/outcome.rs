//! How a review ends.

use serde::{Deserialize, Serialize};

use super::{AgentResult, NotReviewed, Policy};

/// How a review ends, the first that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Cancelled,
    /// Agents were asked and none gave an answer, or none was asked that should have been.
    NothingDelivered,
    /// Something was found that is bad enough.
    Failing,
    /// Nothing bad was found, but not everything was looked at.
    Incomplete,
    /// Nothing bad was found, but not every agent gave the answer that is required of it.
    AgentFailed,
    /// Nothing is in the way.
    Passed,
}

/// Why a review was not through when it was told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Somebody stopped it, or something outside of it failed.
    FromOutside,
    /// It met a limit or its budget.
    AtLimit,
}

/// What decides how a review ends, beside its policy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decisive<'a> {
    pub(super) stopped: Option<Stopped>,
    pub(super) failing: usize,
    pub(super) results: &'a [AgentResult],
    pub(super) not_reviewed: &'a [NotReviewed],
}

impl Outcome {
    pub(super) fn of(policy: &Policy, found: Decisive<'_>) -> Self {
        let asked = || found.results.iter().filter(|result| !result.status.is_unpaid());
        let delivered = |result: &AgentResult| result.status.has_delivered();
        let is_partial = found.not_reviewed.iter().any(|one| one.reason.is_a_gap())
            || found.results.iter().any(|result| result.status.is_unpaid());
        match found.stopped {
            Some(Stopped::FromOutside) => return Self::Cancelled,
            Some(Stopped::AtLimit) if found.failing == 0 => return Self::Incomplete,
            Some(Stopped::AtLimit) => return Self::Failing,
            None => {}
        }
        if asked().count() > 0 && !asked().any(delivered) {
            Self::NothingDelivered
        } else if found.failing > 0 {
            Self::Failing
        } else if is_partial && !policy.allow_partial {
            Self::Incomplete
        } else if !found.results.is_empty() && !found.results.iter().any(delivered) {
            // Nobody minds what is left out; but a review that nobody made has not passed.
            Self::NothingDelivered
        } else if policy.require_all && !found.results.iter().all(delivered) {
            Self::AgentFailed
        } else {
            Self::Passed
        }
    }

    /// What the process ends with.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failing => 1,
            Self::Cancelled => 3,
            Self::NothingDelivered | Self::AgentFailed => 4,
            Self::Incomplete => 5,
        }
    }
}
