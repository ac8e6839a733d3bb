//! How a run ends, and why it waits.

use serde::{Deserialize, Serialize};

use crate::{CallId, FailureClass, Moment};

/// How a run ended. From here it can only be forked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The work is done; the reason is a code, or what the workflow's words make of it.
    Completed(String),
    /// Its own rules ended it; the reason is a code, then what it is about: `retries_exhausted quote 3`.
    Failed(String),
    Declined,
    /// A person, or a word of the agent, cancelled it.
    Cancelled,
    /// Done as far as the budget went.
    Incomplete(String),
    /// Done, but it could not be handed over.
    Undelivered,
}

/// Why a run does not go on. A hold forbids new calls; what is under way still ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    Person(CallId),
    /// Something outside must change first.
    Outside(CallId, String),
    /// Asking makes no sense before this time.
    Until(Moment, FailureClass),
    /// A provider could not serve.
    Provider(CallId, FailureClass),
    /// A limit, by its word.
    Limit(String),
    Budget,
    Storage(String),
    /// The process was asked to stop.
    Interrupted,
    /// The run was cancelled and waits for its calls to end.
    Cancelling,
}

impl Hold {
    /// A stronger hold is never replaced by a weaker one, nor lifted by an answer or a wake-up.
    pub fn strength(&self) -> u8 {
        match self {
            Self::Cancelling => 3,
            Self::Interrupted | Self::Storage(_) => 2,
            Self::Limit(_) | Self::Budget => 1,
            Self::Person(_) | Self::Outside(..) | Self::Until(..) | Self::Provider(..) => 0,
        }
    }

    /// The word people and programs see.
    pub fn reason(&self) -> &str {
        match self {
            Self::Person(_) => "person",
            Self::Outside(..) => "forge",
            Self::Until(_, FailureClass::Quota) => "quota",
            Self::Until(..) | Self::Provider(..) => "provider",
            Self::Limit(word) => word,
            Self::Budget => "budget",
            Self::Storage(_) => "storage",
            Self::Interrupted => "interrupt",
            Self::Cancelling => "cancelled",
        }
    }
}

impl Ending {
    /// The word people and programs see.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Incomplete(_) => "incomplete",
            Self::Undelivered => "undelivered",
        }
    }

    /// The reason, where there is one. Of a failure only the word: what it is about is told in other ways.
    pub fn reason(&self) -> &str {
        match self {
            Self::Completed(reason) | Self::Incomplete(reason) => reason,
            Self::Failed(reason) => match code(reason).0 {
                "retries_exhausted" | "missing_input" | "completion_failed" | "validation_failed" => {
                    "step_failed"
                }
                code => code,
            },
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Undelivered => "undelivered",
        }
    }
}

/// A failure's code, and what it is about.
pub fn code(reason: &str) -> (&str, &str) {
    reason.split_once(' ').unwrap_or((reason, ""))
}

/// The exit code of a run that ended, or that is held: the one place that knows.
pub fn exit_code(ending: Option<&Ending>, hold: Option<&Hold>) -> u8 {
    match (ending, hold) {
        (Some(Ending::Completed(_)), _) | (None, None) => 0,
        (Some(Ending::Failed(_)), _) => 1,
        (Some(Ending::Declined | Ending::Cancelled), _) => 3,
        (Some(Ending::Undelivered), _) => 4,
        (Some(Ending::Incomplete(_)), _) => 5,
        (None, Some(Hold::Interrupted | Hold::Cancelling)) => 3,
        (None, Some(Hold::Provider(..) | Hold::Until(..) | Hold::Storage(_))) => 4,
        (None, Some(Hold::Limit(_) | Hold::Budget)) => 5,
        (None, Some(Hold::Person(_) | Hold::Outside(..))) => 6,
    }
}
