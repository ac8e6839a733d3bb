//! Result of one agent.

use saihai_model::{FailureClass, Millis, Usage, Usd};
use serde::{Deserialize, Serialize};

use super::{Assessment, Finding};

/// Result of one agent. It keeps everything that arrived, also from a failed agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentResult {
    pub agent: String,
    #[serde(flatten)]
    pub status: Status,
    /// Total time, including all attempts and waits.
    pub elapsed_ms: Millis,
    pub findings: Vec<Finding>,
    /// Assessments of the whole subject.
    pub assessments: Vec<Assessment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Cost in millionths of a dollar.
    #[serde(rename = "cost_usd", default, skip_serializing_if = "Option::is_none", with = "super::dollars")]
    pub cost: Option<Usd>,
    /// True if the answer came from the cache.
    #[serde(default)]
    pub cached: bool,
    /// Notes for a person about the reading of its reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Texts of refused findings, each cut if long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    Success,
    /// Part of a reply arrived.
    Truncated {
        reason: TruncatedBy,
    },
    /// Our own deadline ended it.
    Timeout {
        timeout_seconds: u64,
    },
    Error {
        /// A class of failure, `invalid_output` or `budget`.
        class: String,
        message: String,
        /// Exit code of its program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// End of its program's stderr.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr: Option<String>,
    },
}

/// Cause of a truncated reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TruncatedBy {
    /// The limit on model calls.
    MaxTurns,
    /// The limit on the model's output.
    OutputLimit,
    /// Only a part of it was valid.
    InvalidOutput,
}

impl TruncatedBy {
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxTurns => "max_turns",
            Self::OutputLimit => "output_limit",
            Self::InvalidOutput => "invalid_output",
        }
    }
}

impl Status {
    /// Class of an agent that did not start because the budget was used up.
    pub const BUDGET: &'static str = "budget";
    /// Class of an agent with an unusable reply.
    pub const INVALID_OUTPUT: &'static str = "invalid_output";

    /// Creates a failure of a class, without details of a program.
    pub fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        Self::error(class.name(), message)
    }

    /// Creates a failure for this reason, without details of a program.
    pub fn error(class: &str, message: impl Into<String>) -> Self {
        Self::Error { class: class.to_owned(), message: message.into(), exit_code: None, stderr: None }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Truncated { .. } => "truncated",
            Self::Timeout { .. } => "timeout",
            Self::Error { .. } => "error",
        }
    }

    /// Returns true if the agent answered, even in part.
    pub fn has_delivered(&self) -> bool {
        match self {
            Self::Success | Self::Truncated { .. } => true,
            Self::Timeout { .. } | Self::Error { .. } => false,
        }
    }

    /// Returns true if it was never asked, for lack of budget.
    pub fn is_unpaid(&self) -> bool {
        matches!(self, Self::Error { class, .. } if class == Self::BUDGET)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Truncated { .. } => 1,
            Self::Timeout { .. } => 2,
            Self::Error { .. } => 3,
        }
    }
}

impl AgentResult {
    pub fn new(agent: &str, status: Status, elapsed: Millis) -> Self {
        Self {
            agent: agent.to_owned(),
            status,
            elapsed_ms: elapsed,
            findings: Vec::new(),
            assessments: Vec::new(),
            usage: None,
            cost: None,
            cached: false,
            notes: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Merges the results of an agent that got its text in parts: all findings, and the worst status.
    #[must_use]
    pub fn and(mut self, part: Self) -> Self {
        if part.status.rank() > self.status.rank() {
            self.status = part.status;
        }
        self.elapsed_ms = Millis(self.elapsed_ms.0.saturating_add(part.elapsed_ms.0));
        self.findings.extend(part.findings);
        self.assessments.extend(part.assessments);
        self.notes.extend(part.notes);
        self.refused.extend(part.refused);
        self.usage = either(self.usage, part.usage, |one, other| Usage {
            input: either(one.input, other.input, u64::saturating_add),
            output: either(one.output, other.output, u64::saturating_add),
            cached: either(one.cached, other.cached, u64::saturating_add),
            reasoning: either(one.reasoning, other.reasoning, u64::saturating_add),
            cumulative: one.cumulative || other.cumulative,
        });
        self.cost = either(self.cost, part.cost, |one, other| Usd(one.0.saturating_add(other.0)));
        self.cached = self.cached && part.cached;
        self
    }
}

/// Returns the sum of the known values.
fn either<T>(one: Option<T>, other: Option<T>, sum: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(sum(one, other)),
        (one, other) => one.or(other),
    }
}
