//! The two APIs of models: their addresses, requests and listeners, and an answer independent of the API.

use saihai_model::{Failure, FailureClass, ProviderKind, Usage, VerdictTool};
use serde_json::{Value, json};

use crate::http::tools::ModelTool;
use crate::http::{anthropic, openai};
use crate::structured::SchemaForm;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelApi {
    Anthropic,
    Openai,
}

/// A request to a model, independent of the API.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelRequest<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) system: Option<&'a str>,
    /// The conversation so far, in the API's format.
    pub(super) messages: &'a [Value],
    pub(super) tools: &'a [&'static ModelTool],
    /// The verdict tool, if the turn has it.
    pub(super) verdict: Option<&'a VerdictTool>,
    /// The required form of the answer.
    pub(super) form: Option<&'a SchemaForm>,
    /// Ask for a streamed answer.
    pub(super) is_streamed: bool,
}

impl ModelRequest<'_> {
    /// Returns the name, the description and the input schema of every tool.
    pub(super) fn offers(&self) -> Vec<(&'static str, &'static str, Value)> {
        let tools = self.tools.iter().map(|tool| (tool.name, tool.description, (tool.schema)()));
        let verdict = self.verdict.map(|tool| (VerdictTool::NAME, VerdictTool::description(), tool.schema()));
        tools.chain(verdict).collect()
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolResult {
    pub(super) call: ModelToolCall,
    /// The text for the model. An error is sent as well, and the turn continues.
    pub(super) said: Result<String, String>,
}

impl ModelApi {
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

    pub(super) fn body(self, request: &ModelRequest<'_>) -> Value {
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
    pub(super) fn results(self, done: &[ToolResult]) -> Vec<Value> {
        match self {
            Self::Anthropic => anthropic::results(done),
            Self::Openai => openai::results(done),
        }
    }

    pub(super) fn listener(self) -> Box<dyn StreamListener> {
        match self {
            Self::Anthropic => Box::new(anthropic::AnthropicStream::default()),
            Self::Openai => Box::new(openai::OpenaiStream::default()),
        }
    }
}

#[derive(Debug, PartialEq)]
pub(super) struct ModelAnswer {
    /// The message in the format of the conversation.
    pub(super) message: Value,
    pub(super) text: String,
    /// The requested tool calls, in order.
    pub(super) calls: Vec<ModelToolCall>,
    pub(super) stop: AnswerStop,
}

/// A tool call that the model requests.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelToolCall {
    /// The id that the result must repeat.
    pub(super) id: String,
    pub(super) name: String,
    /// The input, or the text if it is not JSON.
    pub(super) input: Result<Value, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerStop {
    /// The answer is complete, or waits for its tools.
    Complete,
    /// The answer reached a limit of the model or the request, in the server's word.
    Limit(String),
    /// The model or the server declined, with this text.
    Declined(String),
}

/// The state after an event of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamState {
    More,
    /// The answer is complete; only counters may follow.
    MayEnd,
    /// The stream is over; later events do not matter.
    End,
}

/// A listener to one streamed answer.
pub(super) trait StreamListener: Send {
    /// Handles the data of one event and passes on new text.
    fn hear(&mut self, data: &str, tell: &mut dyn FnMut(&str)) -> Result<StreamState, Failure>;

    fn usage(&self) -> Usage;

    /// Returns the whole answer after its end.
    fn spoken(self: Box<Self>) -> ModelAnswer;
}

/// Counts the bytes of one answer. A server that exceeds the limit is broken; no model writes this much.
#[derive(Debug, Default)]
pub(super) struct AnswerSize(usize);

const MOST: usize = 8 * 1024 * 1024;

impl AnswerSize {
    pub(super) fn keep(&mut self, bytes: usize) -> Result<(), Failure> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 <= MOST {
            return Ok(());
        }
        let message = format!("output limit: an answer of more than {} MiB", MOST / (1024 * 1024));
        Err(Failure::new(FailureClass::Crashed, message))
    }
}
