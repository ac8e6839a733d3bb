//! Faults of the forge.

/// A fault of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// Answers with this status and message, without executing the request.
    Status(u16, String),
    /// Executes the request, but answers with this status and message.
    StatusAfter(u16, String),
    /// Reports a rate limit until this Unix time in seconds.
    RateLimit {
        reset: u64,
    },
    /// Reports a secondary rate limit for this number of seconds.
    SlowDown {
        seconds: u64,
    },
    /// Reports a rate limit with this status and these headers.
    TooMuch(u16, Vec<(&'static str, String)>),
    /// Closes the connection before executing the request.
    CutBefore,
    /// Executes the request, and closes the connection without an answer.
    CutAfter,
    /// Executes the request, and breaks off in the middle of the answer.
    CutWithin,
    /// Sends no answer for as long as the client waits.
    Hang,
    Redirect(u16, String),
    /// Answers with an empty page and a link to the next page at another address.
    NextPage(String),
    Body(String),
    Endless,
}
