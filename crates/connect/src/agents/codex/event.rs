//! The JSON lines of Codex. Only the fields in use are read.

use saihai_model::{Json, Usage};
use serde::Deserialize;

use crate::lenient::or_default;

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum Event {
    #[serde(rename = "thread.started")]
    ThreadStarted {
        #[serde(default, deserialize_with = "or_default")]
        thread_id: Option<String>,
    },
    #[serde(rename = "item.started")]
    ItemStarted { item: Json },
    #[serde(rename = "item.completed")]
    ItemCompleted { item: Json },
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        #[serde(default, deserialize_with = "or_default")]
        usage: Option<Counted>,
    },
    #[serde(rename = "turn.failed")]
    TurnFailed {
        #[serde(default, deserialize_with = "or_default")]
        error: Trouble,
    },
    #[serde(rename = "error")]
    Error {
        #[serde(default, deserialize_with = "or_default")]
        message: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Trouble {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) message: String,
}

/// Token counts of the whole thread.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Counted {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    cached_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    reasoning_output_tokens: Option<u64>,
}

impl Counted {
    pub(super) fn usage(&self) -> Usage {
        Usage {
            input: self.input_tokens,
            output: self.output_tokens,
            cached: self.cached_input_tokens,
            reasoning: self.reasoning_output_tokens,
            cumulative: false,
        }
    }
}

/// A message or an action of the agent.
pub(super) enum Item {
    Message(String),
    Tool(Tool),
    /// Thoughts, plans and non-fatal errors.
    Other,
}

pub(super) struct Tool {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Option<Json>,
    pub(super) output: Option<Json>,
    /// The tool needed an approval that no one could give.
    pub(super) declined: bool,
}

impl Item {
    pub(super) fn of(item: Json) -> Self {
        let text = |name: &str| item.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let field = |name: &str| item.get(name).filter(|value| !value.is_null()).cloned();
        let (name, input, output) = match text("type").as_str() {
            "agent_message" => return Self::Message(text("text")),
            kind @ "command_execution" => (kind.to_owned(), field("command"), field("aggregated_output")),
            kind @ "file_change" => (kind.to_owned(), field("changes"), None),
            kind @ "web_search" => (kind.to_owned(), field("query"), None),
            "mcp_tool_call" => {
                let name = format!("{}.{}", text("server"), text("tool"));
                (name, field("arguments"), field("result").or_else(|| field("error")))
            }
            _ => return Self::Other,
        };
        Self::Tool(Tool { id: text("id"), name, input, output, declined: text("status") == "declined" })
    }
}
