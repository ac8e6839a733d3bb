use serde::{Deserialize, Serialize};

use crate::Moment;

/// Complete list of failure classes. A provider classifies a failure; the engine decides the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// A timeout, a dropped connection or a server error.
    Transient,
    /// Too many requests for now.
    RateLimited,
    /// The paid quota is used up.
    Quota,
    /// Not logged in, or a rejected key.
    Auth,
    /// The request itself can never succeed.
    BadRequest,
    Missing,
    /// The session to continue no longer exists.
    SessionLost,
    Refused,
    Cancelled,
    Crashed,
}

impl FailureClass {
    /// Returns the name in journals, scripts and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::RateLimited => "rate_limited",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::BadRequest => "bad_request",
            Self::Missing => "missing",
            Self::SessionLost => "session_lost",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Crashed => "crashed",
        }
    }

    /// All classes, in the order of the manual.
    pub const ALL: [Self; 10] = [
        Self::Transient,
        Self::RateLimited,
        Self::Quota,
        Self::Auth,
        Self::BadRequest,
        Self::Missing,
        Self::SessionLost,
        Self::Refused,
        Self::Cancelled,
        Self::Crashed,
    ];
}

/// A limit of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnLimit {
    Calls,
    /// Limit on the model's output.
    Output,
}

/// One failure of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: FailureClass,
    /// The provider's message, cut to a few lines.
    pub message: String,
    /// True if our own deadline ended the attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_deadline: bool,
    /// True if the rest of the run's own budget ended the attempt: another one would cost more than is left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_budget: bool,
    /// Limit of the turn that ended the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<TurnLimit>,
    /// Time from which another attempt makes sense, if the provider gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// Exit code of the program, if it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// End of the program's stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Box<str>>,
    /// File whose write error ended the attempt. Never journaled: the journal records `StorageFailed` instead.
    #[serde(skip)]
    pub unwritten: Option<Box<UnwrittenFile>>,
}

/// A file of the run that could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnwrittenFile {
    pub path: String,
    pub cause: String,
}

impl Failure {
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            by_deadline: false,
            by_budget: false,
            limit: None,
            until: None,
            exit_code: None,
            stderr: None,
            unwritten: None,
        }
    }
}
