//! The two interfaces: where they are, what a request looks like, and who listens to the answer.

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

/// What is asked of a model, whichever the interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) system: Option<&'a str>,
    /// The conversation so far, in the interface's own words.
    pub(super) messages: &'a [Value],
    pub(super) tools: &'a [&'static Tool],
    /// What the answer must look like.
    pub(super) form: Option<&'a Form>,
    /// The answer comes in pieces.
    pub(super) is_streamed: bool,
}

/// What came of a tool the model asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Done {
    pub(super) call: Call,
    /// What the model is told; an error is told too, and the turn goes on.
    pub(super) said: Result<String, String>,
}

impl Api {
    /// The interface of a provider, if it is spoken to by HTTP.
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

    /// Its name in the files of sessions.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
        }
    }

    /// Where it is where nothing else is said (C-81).
    pub(super) fn base(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::Openai => "https://api.openai.com/v1",
        }
    }

    /// The variable that says where it is.
    pub(super) fn base_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::Openai => "OPENAI_BASE_URL",
        }
    }

    /// The variable that holds its key.
    pub(super) fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Openai => "OPENAI_API_KEY",
        }
    }

    /// What follows the base in the address of a request.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages",
            Self::Openai => "/chat/completions",
        }
    }

    /// The headers of every request, beside the type of its content.
    pub(super) fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        match self {
            Self::Anthropic => {
                let version = ("anthropic-version", "2023-06-01".to_owned());
                key.map(|key| ("x-api-key", key.to_owned())).into_iter().chain([version]).collect()
            }
            Self::Openai => key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect(),
        }
    }

    /// The body of a request.
    pub(super) fn body(self, request: &Request<'_>) -> Value {
        match self {
            Self::Anthropic => anthropic::body(request),
            Self::Openai => openai::body(request),
        }
    }

    /// What a person says, as a message of the conversation.
    pub(super) fn prompt(self, text: &str) -> Value {
        match self {
            Self::Anthropic => json!({ "role": "user", "content": [{ "type": "text", "text": text }] }),
            Self::Openai => json!({ "role": "user", "content": text }),
        }
    }

    /// What the tools said, as messages of the conversation.
    pub(super) fn results(self, done: &[Done]) -> Vec<Value> {
        match self {
            Self::Anthropic => anthropic::results(done),
            Self::Openai => openai::results(done),
        }
    }

    /// Who listens to the answer.
    pub(super) fn listener(self) -> Box<dyn Listener> {
        match self {
            Self::Anthropic => Box::new(anthropic::Answer::default()),
            Self::Openai => Box::new(openai::Answer::default()),
        }
    }
}
