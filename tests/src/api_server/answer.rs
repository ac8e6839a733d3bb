//! What a script can say.

use serde_json::Value;

/// One answer to one request for a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The model says this and is done.
    Text(String),
    /// The model thinks for some seconds, as it does over a long prompt, and then says this.
    Late(String),
    /// The model wants a tool to be called.
    Tool {
        /// Its name, as the agent offers it; after the name of its namespace and a dot where `/responses` has one.
        name: String,
        /// Its arguments: an object, or the whole text for a tool that takes free text.
        input: Value,
    },
    /// A status instead of a reply.
    Refused(Refusal),
    /// A status with a body that is said as it is.
    Body { status: u16, body: Value },
    /// The model says this piece by piece, with some seconds between them.
    Slow(String),
    /// The connection is lost in the middle of saying this.
    Cut(String),
    /// The model says this and may say no more, as far as the protocol of the provider `openai` or `anthropic` can say so.
    Full(String),
    /// The model says this and never goes on.
    Endless(String),
}

/// A status instead of a reply, and what is said with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    /// The headers that say more.
    pub headers: Vec<(&'static str, String)>,
    /// The vendor's word for it, where it is not the usual one for the status.
    pub code: Option<String>,
    pub message: String,
}

impl Answer {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A few words, and nothing behind them.
    pub fn endless() -> Self {
        Self::Endless("I am thinking".to_owned())
    }

    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::Tool { name: name.into(), input }
    }

    /// A status with the usual words.
    pub fn status(status: u16) -> Self {
        let message = match status {
            401 => "bad key",
            429 => "slow down",
            _ => "out of order",
        };
        Self::Refused(Refusal { status, headers: Vec::new(), code: None, message: message.to_owned() })
    }

    /// A 429 that names a time.
    pub fn slow_down(seconds: u64) -> Self {
        Self::Refused(Refusal {
            status: 429,
            headers: vec![("retry-after", seconds.to_string())],
            code: None,
            message: "slow down".to_owned(),
        })
    }
}
