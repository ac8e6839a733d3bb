//! The protocols.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value, json};

use super::http::{Request, Response};
use super::{Answer, Refusal, Reply, anthropic, chat, gemini, responses};

/// What every reply is said to have cost, in tokens.
pub(super) const INPUT_TOKENS: u64 = 100;
pub(super) const OUTPUT_TOKENS: u64 = 20;

/// Of those, what was served from a cache and what the model thought, where a protocol tells.
pub(super) const CACHED_TOKENS: u64 = 40;
pub(super) const THOUGHT_TOKENS: u64 = 5;

/// A protocol for asking a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

impl Wire {
    pub(super) fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        if path.contains("/v1/messages") {
            Some(Self::Anthropic)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.contains("/models/") && path.contains(':') {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// Whether a request goes on with the conversation. Agents also ask for titles and the like, which must not use up
    /// the script. Where `/chat/completions` is asked, a title says what it is; an agent there may have no tools at all.
    /// Elsewhere agents always have some, and whoever offers none asks for something beside the conversation.
    pub(super) fn asks(self, request: &Request) -> bool {
        let has_tools = request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        match self {
            Self::Anthropic => has_tools && !request.path.contains("count_tokens"),
            // Some models of codex hear of their tools in a message.
            Self::Responses => has_tools || request.body["input"][0]["type"] == "additional_tools",
            Self::Chat => !chat::asks_for_a_title(&request.body),
            Self::Gemini => has_tools && request.path.contains("enerateContent"),
        }
    }

    /// A reply as the events of a stream.
    pub(super) fn events(self, answer: &Answer) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::events(answer),
            Self::Responses => responses::events(answer),
            Self::Chat => chat::events(answer),
            Self::Gemini => gemini::events(answer),
        }
    }

    /// A reply in one piece.
    pub(super) fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(answer),
            Self::Responses => responses::whole(answer),
            Self::Chat => chat::whole(answer),
            Self::Gemini => gemini::whole(answer),
        }
    }

    /// A status as this protocol words it.
    pub(super) fn refusal(self, refusal: &Refusal) -> Response {
        let body = match self {
            Self::Anthropic => anthropic::refusal(refusal),
            Self::Responses | Self::Chat => chat::refusal(refusal),
            Self::Gemini => gemini::refusal(refusal),
        };
        let response = Response::json(refusal.status, &body);
        refusal
            .headers
            .iter()
            .fold(response, |response, (name, value)| response.with_header(name, value.clone()))
    }
}

/// What is answered to everything that is no part of the conversation. A title or the like is said as any reply is: whoever
/// wants it in pieces waits without end for the first.
pub(super) fn beside(request: &Request) -> Reply {
    let path = request.path.split('?').next().unwrap_or_default();
    let (status, body) = match Wire::of(path) {
        Some(Wire::Anthropic) if path.ends_with("count_tokens") => {
            (200, json!({"input_tokens": INPUT_TOKENS}))
        }
        Some(Wire::Gemini) if path.ends_with(":countTokens") => (200, json!({"totalTokens": INPUT_TOKENS})),
        Some(wire) => return Reply::Scripted(wire, Answer::text("aside")),
        None if path.ends_with("/models") => (200, models()),
        None => (404, json!({"error": {"message": "no such thing", "type": "not_found"}})),
    };
    Reply::Other(Response::json(status, &body))
}

/// In the shapes of all vendors at once.
fn models() -> Value {
    json!({
        "object": "list",
        "data": [{"id": "test-model", "object": "model", "created": 0, "owned_by": "test"}],
        "models": [],
    })
}

/// An event of a stream without a name.
pub(super) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event of a stream, named by its `type`.
pub(super) fn named(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}

/// An id for a tool call. Programs take a second call of the same id for the first one told again.
pub(super) fn call_id(prefix: &str, name: &str, input: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    (name, input.to_string()).hash(&mut hasher);
    format!("{prefix}_{:x}", hasher.finish())
}

/// A text in three pieces, so that a stream has a middle.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(3).max(1);
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
