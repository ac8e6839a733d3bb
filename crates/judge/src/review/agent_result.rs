//! What became of one agent.

use saihai_model::{FailureClass, Millis, Usage, Usd};
use serde::{Deserialize, Serialize};

use super::{Assessment, Finding};

/// What became of one agent. Whatever arrived is kept, also of one that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentResult {
    pub agent: String,
    #[serde(flatten)]
    pub status: Status,
    /// How long it took, all attempts and waits together.
    pub elapsed_ms: Millis,
    /// What it found, as it said it.
    pub findings: Vec<Finding>,
    /// What it said about the whole.
    pub assessments: Vec<Assessment>,
    /// What it read and wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What it cost, in millionths of a dollar.
    #[serde(rename = "cost_usd", default, skip_serializing_if = "Option::is_none", with = "super::dollars")]
    pub cost: Option<Usd>,
    /// The answer to the same question was at hand.
    #[serde(default)]
    pub cached: bool,
    /// What a person should know about how its reply was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The words of what could not be taken for a finding, each cut where it is long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    Success,
    /// With a part of a reply.
    Truncated {
        reason: TruncatedBy,
    },
    /// Our own clock ended it.
    Timeout {
        timeout_seconds: u64,
    },
    /// Without a reply that could be used.
    Error {
        /// A class of failure, `invalid_output` or `budget`.
        class: String,
        message: String,
        /// What its program ended with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The end of what its program complained.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr: Option<String>,
    },
}

/// What cut a reply off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TruncatedBy {
    /// The limit on model calls.
    MaxTurns,
    /// The limit on what a model writes.
    OutputLimit,
    /// Only a part of it was valid.
    InvalidOutput,
}

impl TruncatedBy {
    /// The word that is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxTurns => "max_turns",
            Self::OutputLimit => "output_limit",
            Self::InvalidOutput => "invalid_output",
        }
    }
}

impl Status {
    /// The class of an agent that was not started because the budget was used up.
    pub const BUDGET: &'static str = "budget";
    /// The class of an agent whose reply could not be used.
    pub const INVALID_OUTPUT: &'static str = "invalid_output";

    /// A failure of a class, with nothing known of a program.
    pub fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        Self::error(class.name(), message)
    }

    /// A failure for this reason, with nothing known of a program.
    pub fn error(class: &str, message: impl Into<String>) -> Self {
        Self::Error { class: class.to_owned(), message: message.into(), exit_code: None, stderr: None }
    }

    /// The word that is written.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Truncated { .. } => "truncated",
            Self::Timeout { .. } => "timeout",
            Self::Error { .. } => "error",
        }
    }

    /// Whether the agent gave an answer, be it only a part of one.
    pub fn has_delivered(&self) -> bool {
        match self {
            Self::Success | Self::Truncated { .. } => true,
            Self::Timeout { .. } | Self::Error { .. } => false,
        }
    }

    /// Whether it was never asked.
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
    /// A result with nothing in it yet.
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

    /// One result of the turns of an agent that was given its text in parts: everything found, and the worst status.
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

/// The sum of what is known.
fn either<T>(one: Option<T>, other: Option<T>, sum: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(sum(one, other)),
        (one, other) => one.or(other),
    }
}
