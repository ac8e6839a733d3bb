//! Outcome of a review.

use serde::{Deserialize, Serialize};

use super::{AgentResult, NotReviewed, Policy};

/// Outcome of a review; the first that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Cancelled,
    /// No asked agent answered, or no agent was asked although some should have been.
    NothingDelivered,
    /// A finding is bad enough to fail the review.
    Failing,
    /// Nothing bad was found, but the review was incomplete.
    Incomplete,
    /// Nothing bad was found, but a required agent did not answer.
    AgentFailed,
    Passed,
}

/// Reason why a review stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// A person stopped it, or something outside it failed.
    FromOutside,
    /// It reached a limit or its budget.
    AtLimit,
}

/// Facts that decide the outcome, next to the policy.
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
            // Gaps are allowed, but a review without any answer has not passed.
            Self::NothingDelivered
        } else if policy.require_all && !found.results.iter().all(delivered) {
            Self::AgentFailed
        } else {
            Self::Passed
        }
    }

    /// Returns the exit code of the process.
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
