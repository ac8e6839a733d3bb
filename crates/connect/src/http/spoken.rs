//! What one answer of a model amounts to, in whichever interface it was spoken.

use saihai_model::{Failure, Usage};
use serde_json::Value;

#[derive(Debug, PartialEq)]
pub(super) struct Spoken {
    /// As it stands in the conversation from now on.
    pub(super) message: Value,
    pub(super) text: String,
    /// The tools it asks for, in order.
    pub(super) calls: Vec<Call>,
    pub(super) stop: Stop,
}

/// A tool the model asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Its number, which the result must carry.
    pub(super) id: String,
    pub(super) name: String,
    /// What it is given; or the text that is no JSON.
    pub(super) input: Result<Value, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is complete, or waits for its tools.
    Complete,
    /// It met a limit of the model or of the request; this is the server's word for it.
    Limit(String),
    /// The model or the server declined, with these words.
    Declined(String),
}

/// What follows from an event of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    More,
    /// The answer is complete; only counters may follow.
    MayEnd,
    /// That was the end; nothing after it matters.
    End,
}

/// Listens to one answer being streamed.
pub(super) trait Listener: Send {
    /// The data of one event. New text is told.
    fn hear(&mut self, data: &str, tell: &mut dyn FnMut(&str)) -> Result<Heard, Failure>;

    /// The tokens counted so far.
    fn usage(&self) -> Usage;

    /// The whole answer, once the end was heard.
    fn spoken(self: Box<Self>) -> Spoken;
}

/// The sum of what two answers took. Unknown stays unknown only where both are.
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
