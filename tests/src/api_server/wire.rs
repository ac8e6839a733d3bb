//! Model API protocols.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value, json};

use super::http::{Request, Response};
use super::{Answer, Refusal, Reply, anthropic, chat, gemini, responses};

/// Reported input tokens of every reply.
pub(super) const INPUT_TOKENS: u64 = 100;
pub(super) const OUTPUT_TOKENS: u64 = 20;

/// Cached input tokens and thinking tokens among them, if the protocol reports these.
pub(super) const CACHED_TOKENS: u64 = 40;
pub(super) const THOUGHT_TOKENS: u64 = 5;

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

    /// Returns true if a request continues the conversation. Agents also request titles and the
    /// like, which must not consume the script. In `/chat/completions`, a title request is
    /// recognisable, and an agent may have no tools. In the other protocols agents always offer
    /// tools, so a request without tools is not part of the conversation.
    pub(super) fn asks(self, request: &Request) -> bool {
        let has_tools = request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        match self {
            Self::Anthropic => has_tools && !request.path.contains("count_tokens"),
            // For some models, codex lists its tools in a message.
            Self::Responses => has_tools || request.body["input"][0]["type"] == "additional_tools",
            Self::Chat => !chat::asks_for_a_title(&request.body),
            Self::Gemini => has_tools && request.path.contains("enerateContent"),
        }
    }

    /// Returns a reply as stream events.
    pub(super) fn events(self, answer: &Answer) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::events(answer),
            Self::Responses => responses::events(answer),
            Self::Chat => chat::events(answer),
            Self::Gemini => gemini::events(answer),
        }
    }

    /// Returns a reply as one object.
    pub(super) fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(answer),
            Self::Responses => responses::whole(answer),
            Self::Chat => chat::whole(answer),
            Self::Gemini => gemini::whole(answer),
        }
    }

    /// Returns a status in the format of this protocol.
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

/// Answers requests outside the conversation. Titles get a normal reply, streamed if requested: a
/// streaming client would otherwise wait forever.
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

/// Lists models in the formats of all vendors at once.
fn models() -> Value {
    json!({
        "object": "list",
        "data": [{"id": "test-model", "object": "model", "created": 0, "owned_by": "test"}],
        "models": [],
    })
}

/// Returns an unnamed stream event.
pub(super) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// Returns a stream event named by its `type`.
pub(super) fn named(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}

/// Returns a unique id for a tool call. Programs treat a second call with the same id as a
/// repetition.
pub(super) fn call_id(prefix: &str, name: &str, input: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    (name, input.to_string()).hash(&mut hasher);
    format!("{prefix}_{:x}", hasher.finish())
}

/// Splits a text into three pieces, so that a stream has a middle.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(3).max(1);
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
