//! What goes wrong with an answer.

/// What goes wrong with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// This status and message, and nothing is done.
    Status(u16, String),
    /// It is done, and the answer is this status and message all the same.
    StatusAfter(u16, String),
    /// The rate limit is reached, until this second since 1970.
    RateLimit {
        reset: u64,
    },
    /// Too much was asked at once; in so many seconds again.
    SlowDown {
        seconds: u64,
    },
    /// Too much was asked, with this status and whatever headers say how long to wait.
    TooMuch(u16, Vec<(&'static str, String)>),
    /// The connection ends before anything is done.
    CutBefore,
    /// It is done, and the connection ends without an answer.
    CutAfter,
    /// It is done, and the answer breaks off in its middle.
    CutWithin,
    /// No answer comes, for as long as the client waits.
    Hang,
    /// It is to be had at another address.
    Redirect(u16, String),
    /// An empty page, and the next one is said to be at another address.
    NextPage(String),
    /// The answer is this text.
    Body(String),
    Endless,
}
