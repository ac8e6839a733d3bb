//! How an attempt can fail.

use serde::{Deserialize, Serialize};

use crate::Moment;

/// The classes of failure, and only these. A provider classifies; what follows is the engine's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// A time-out, a dropped connection, a server error.
    Transient,
    /// Too many requests for now.
    RateLimited,
    /// What was paid for is used up.
    Quota,
    /// Not logged in, or a refused key.
    Auth,
    /// The request itself can never succeed.
    BadRequest,
    /// The program is not there.
    Missing,
    /// The session to be continued does not exist any more.
    SessionLost,
    Refused,
    Cancelled,
    Crashed,
}

impl FailureClass {
    /// The class as it is written in journals, scripts and messages.
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

/// A limit on what one turn may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnLimit {
    Calls,
    /// On what a model writes.
    Output,
}

/// One failure of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: FailureClass,
    /// In the provider's words, cut to a few lines.
    pub message: String,
    /// It was our own deadline that ended it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_deadline: bool,
    /// It was what is left of the run's own budget that ended it: asking again would cost more than there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_budget: bool,
    /// It was a limit on what one turn may do that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<TurnLimit>,
    /// When asking again makes sense, if the provider said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// What its program ended with, where one ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of what its program complained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Box<str>>,
    /// It was the disk that ended it. Never journaled: what is recorded then is `StorageFailed`.
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
    /// A failure of a class with a message and nothing else known.
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
