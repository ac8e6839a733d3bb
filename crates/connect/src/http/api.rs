//! The two APIs: their addresses, requests and listeners.

use saihai_model::ProviderKind;
use serde_json::{Value, json};

use crate::http::form::Form;
use crate::http::spoken::{Call, Listener};
use crate::http::tools::Tool;
use crate::http::{anthropic, openai};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Anthropic,
    Openai,
}

/// A request to a model, independent of the API.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) system: Option<&'a str>,
    /// The conversation so far, in the API's format.
    pub(super) messages: &'a [Value],
    pub(super) tools: &'a [&'static Tool],
    /// The required form of the answer.
    pub(super) form: Option<&'a Form>,
    /// Ask for a streamed answer.
    pub(super) is_streamed: bool,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Done {
    pub(super) call: Call,
    /// The text for the model. An error is sent as well, and the turn continues.
    pub(super) said: Result<String, String>,
}

impl Api {
    /// Returns the API of a provider that uses HTTP.
    pub(super) fn of(kind: ProviderKind) -> Option<Self> {
        match kind {
            ProviderKind::Anthropic => Some(Self::Anthropic),
            ProviderKind::Openai => Some(Self::Openai),
            ProviderKind::Claude
            | ProviderKind::Codex
            | ProviderKind::Opencode
            | ProviderKind::Gemini
            | ProviderKind::Copilot
            | ProviderKind::Acp
            | ProviderKind::Command
            | ProviderKind::Script => None,
        }
    }

    /// Returns the name for session files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
        }
    }

    /// Returns the default base URL (C-81).
    pub(super) fn base(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::Openai => "https://api.openai.com/v1",
        }
    }

    /// The variable that overrides the base URL.
    pub(super) fn base_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::Openai => "OPENAI_BASE_URL",
        }
    }

    pub(super) fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Openai => "OPENAI_API_KEY",
        }
    }

    /// Returns the path of requests below the base URL.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages",
            Self::Openai => "/chat/completions",
        }
    }

    /// Returns the headers of every request, except its content type.
    pub(super) fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        match self {
            Self::Anthropic => {
                let version = ("anthropic-version", "2023-06-01".to_owned());
                key.map(|key| ("x-api-key", key.to_owned())).into_iter().chain([version]).collect()
            }
            Self::Openai => key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect(),
        }
    }

    pub(super) fn body(self, request: &Request<'_>) -> Value {
        match self {
            Self::Anthropic => anthropic::body(request),
            Self::Openai => openai::body(request),
        }
    }

    /// Returns a user message with this text.
    pub(super) fn prompt(self, text: &str) -> Value {
        match self {
            Self::Anthropic => json!({ "role": "user", "content": [{ "type": "text", "text": text }] }),
            Self::Openai => json!({ "role": "user", "content": text }),
        }
    }

    /// Returns the messages with the results of tools.
    pub(super) fn results(self, done: &[Done]) -> Vec<Value> {
        match self {
            Self::Anthropic => anthropic::results(done),
            Self::Openai => openai::results(done),
        }
    }

    pub(super) fn listener(self) -> Box<dyn Listener> {
        match self {
            Self::Anthropic => Box::new(anthropic::Answer::default()),
            Self::Openai => Box::new(openai::Answer::default()),
        }
    }
}
