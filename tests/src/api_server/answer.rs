//! Scripted answers.

use serde_json::Value;

/// One answer to one request for a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Text(String),
    /// A text reply after some seconds of thinking, as for a long prompt.
    Late(String),
    Tool {
        /// Tool name as the agent offers it. `/responses` may prefix it with a namespace and a dot.
        name: String,
        /// Arguments: an object, or the whole text for a free-text tool.
        input: Value,
    },
    /// An error status instead of a reply.
    Refused(Refusal),
    /// A status with this exact body.
    Body {
        status: u16,
        body: Value,
    },
    /// A text reply in pieces, with some seconds between them.
    Slow(String),
    /// A text reply whose connection breaks in the middle.
    Cut(String),
    /// A text reply cut off by the token limit, as far as the protocol of `openai` or `anthropic`
    /// can express it.
    Full(String),
    /// A text reply that never ends.
    Endless(String),
}

/// An error status and its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    /// Vendor's error code, if not the usual one for the status.
    pub code: Option<String>,
    pub message: String,
}

impl Answer {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Returns a reply of a few words that never ends.
    pub fn endless() -> Self {
        Self::Endless("I am thinking".to_owned())
    }

    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::Tool { name: name.into(), input }
    }

    /// Returns a status with the usual error text.
    pub fn status(status: u16) -> Self {
        let message = match status {
            401 => "bad key",
            429 => "slow down",
            _ => "out of order",
        };
        Self::Refused(Refusal { status, headers: Vec::new(), code: None, message: message.to_owned() })
    }

    /// Returns a 429 with a retry time.
    pub fn slow_down(seconds: u64) -> Self {
        Self::Refused(Refusal {
            status: 429,
            headers: vec![("retry-after", seconds.to_string())],
            code: None,
            message: "slow down".to_owned(),
        })
    }
}
