//! Endings of a run, and reasons for a hold.

use serde::{Deserialize, Serialize};

use crate::{CallId, FailureClass, Moment};

/// End of a run. After it, the run can only be forked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The work is done. The reason is a code, or its text in the workflow's words.
    Completed(String),
    /// Its own rules ended it. The reason is a code and its subject: `retries_exhausted quote 3`.
    Failed(String),
    Declined,
    /// A person or a closing word of the agent cancelled it.
    Cancelled,
    /// Done as far as the budget allowed.
    Incomplete(String),
    /// Done, but the delivery failed.
    Undelivered,
}

/// Reason why a run waits. A hold forbids new calls; running calls still finish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    Person(CallId),
    /// Something outside must change first.
    Outside(CallId, String),
    /// The next attempt makes sense only after this time.
    Until(Moment, FailureClass),
    Provider(CallId, FailureClass),
    /// A limit, by its name.
    Limit(String),
    Budget,
    Storage(String),
    /// The process received a stop signal.
    Interrupted,
    /// The run was cancelled and waits for its calls to end.
    Cancelling,
}

impl Hold {
    /// Returns the rank of the hold. A weaker hold never replaces a stronger one. Answers and wake-ups do not lift a
    /// stronger one.
    pub fn strength(&self) -> u8 {
        match self {
            Self::Cancelling => 3,
            Self::Interrupted | Self::Storage(_) => 2,
            Self::Limit(_) | Self::Budget => 1,
            Self::Person(_) | Self::Outside(..) | Self::Until(..) | Self::Provider(..) => 0,
        }
    }

    /// Returns the word that people and programs see.
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
    /// Returns the word that people and programs see.
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

    /// Returns the reason, if there is one. For a failure this is only the code, because other output shows its
    /// subject.
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

/// Splits a failure's reason into its code and subject.
pub fn code(reason: &str) -> (&str, &str) {
    reason.split_once(' ').unwrap_or((reason, ""))
}

/// Returns the exit code of an ended or held run. This is the only place that defines it.
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
