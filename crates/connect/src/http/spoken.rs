//! One answer of a model, independent of the API.

use saihai_model::{Failure, Usage};
use serde_json::Value;

#[derive(Debug, PartialEq)]
pub(super) struct Spoken {
    /// The message in the format of the conversation.
    pub(super) message: Value,
    pub(super) text: String,
    /// The requested tool calls, in order.
    pub(super) calls: Vec<Call>,
    pub(super) stop: Stop,
}

/// A tool call that the model requests.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// The id that the result must repeat.
    pub(super) id: String,
    pub(super) name: String,
    /// The input, or the text if it is not JSON.
    pub(super) input: Result<Value, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// The answer is complete, or waits for its tools.
    Complete,
    /// The answer reached a limit of the model or the request, in the server's word.
    Limit(String),
    /// The model or the server declined, with this text.
    Declined(String),
}

/// The state after an event of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    More,
    /// The answer is complete; only counters may follow.
    MayEnd,
    /// The stream is over; later events do not matter.
    End,
}

/// A listener to one streamed answer.
pub(super) trait Listener: Send {
    /// Handles the data of one event and passes on new text.
    fn hear(&mut self, data: &str, tell: &mut dyn FnMut(&str)) -> Result<Heard, Failure>;

    fn usage(&self) -> Usage;

    /// Returns the whole answer after its end.
    fn spoken(self: Box<Self>) -> Spoken;
}

/// Adds the usage of two answers. A sum is unknown only if both parts are.
pub(crate) fn sum(one: &Usage, other: &Usage) -> Usage {
    let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    Usage {
        input: add(one.input, other.input),
        output: add(one.output, other.output),
        cached: add(one.cached, other.cached),
        reasoning: add(one.reasoning, other.reasoning),
        cumulative: false,
    }
}
