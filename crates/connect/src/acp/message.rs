//! The lines of the protocol.

use saihai_model::{Ask, Json};
use serde::Deserialize;
use serde_json::json;

use crate::agent::with_persona;
use crate::lenient::or_default;
use crate::told_cost::ToldCost;

pub(super) const INITIALIZE: u64 = 1;
pub(super) const SESSION: u64 = 2;
pub(super) const FIRST_PROMPT: u64 = 3;

/// A line from the agent: an answer, a request, or a notification.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Incoming {
    pub(super) id: Option<Json>,
    #[serde(deserialize_with = "or_default")]
    pub(super) method: Option<String>,
    pub(super) params: Json,
    pub(super) result: Json,
    #[serde(deserialize_with = "or_default")]
    pub(super) error: Option<Problem>,
}

/// The error of a failed request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Problem {
    #[serde(deserialize_with = "or_default")]
    pub(super) code: i64,
    #[serde(deserialize_with = "or_default")]
    pub(super) message: String,
    pub(super) data: Json,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Update {
    #[serde(deserialize_with = "or_default")]
    pub(super) session_update: String,
    /// A list for tool calls, an object for messages; so each use parses it itself.
    pub(super) content: Json,
    #[serde(deserialize_with = "or_default")]
    pub(super) message_id: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) tool_call_id: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) title: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) kind: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) status: String,
    pub(super) raw_input: Option<Json>,
    pub(super) raw_output: Option<Json>,
    #[serde(deserialize_with = "or_default")]
    pub(super) cost: Option<Amount>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Amount {
    pub(super) amount: ToldCost,
    #[serde(deserialize_with = "or_default")]
    pub(super) currency: String,
}

pub(super) fn initialize() -> String {
    let capabilities = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
    let client = json!({ "name": "saihai", "version": env!("CARGO_PKG_VERSION") });
    let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": client });
    request(INITIALIZE, "initialize", &params)
}

/// Returns the request that opens a new session or loads the existing one.
pub(super) fn session(ask: &Ask) -> String {
    match &ask.session {
        Some(session) => {
            let params = json!({ "sessionId": session, "cwd": ask.directory, "mcpServers": [] });
            request(SESSION, "session/load", &params)
        }
        None => request(SESSION, "session/new", &json!({ "cwd": ask.directory, "mcpServers": [] })),
    }
}

pub(super) fn prompt(text: &str, session: &str, id: u64) -> String {
    let prompt = json!([{ "type": "text", "text": text }]);
    request(id, "session/prompt", &json!({ "sessionId": session, "prompt": prompt }))
}

/// Returns the prompt without a leading slash. Agents read such a prompt as a command of their own, and one
/// of these commands lifts all restrictions.
pub(super) fn prompt_text(ask: &Ask) -> String {
    let text = with_persona(ask);
    if text.trim_start().starts_with('/') { format!("---\n\n{text}") } else { text }
}

pub(super) fn cancel(session: &str) -> String {
    line(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } }))
}

pub(super) fn answer(id: &Json, result: &Json) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// Rejects a request. The permission request is the only method that we offer to agents.
pub(super) fn unknown_method(id: &Json, method: &str) -> String {
    let error = json!({ "code": -32601, "message": format!("`{method}` is not offered") });
    line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

fn request(id: u64, method: &str, params: &Json) -> String {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

fn line(message: &Json) -> String {
    format!("{message}\n")
}
