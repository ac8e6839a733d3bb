//! Messages of the Agent Client Protocol: requests, answers, permissions, and lines that Copilot mixes in.

use saihai_model::{Ask, Failure, FailureClass, Json, Permission, VerdictServerCommand, VerdictTool};
use serde::Deserialize;
use serde_json::json;

use crate::agent::{failure, verdict_server, with_persona};
use crate::agents::turn_log::{ReportedCost, or_default};
use crate::api_error::class_of_status;

pub(super) const INITIALIZE: u64 = 1;
pub(super) const SESSION: u64 = 2;
pub(super) const FIRST_PROMPT: u64 = 3;

/// A line from the agent: an answer, a request, or a notification.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AcpMessage {
    pub(super) id: Option<Json>,
    #[serde(deserialize_with = "or_default")]
    pub(super) method: Option<String>,
    pub(super) params: Json,
    pub(super) result: Json,
    #[serde(deserialize_with = "or_default")]
    pub(super) error: Option<AcpError>,
}

/// The error of a failed request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct AcpError {
    #[serde(deserialize_with = "or_default")]
    pub(super) code: i64,
    #[serde(deserialize_with = "or_default")]
    pub(super) message: String,
    pub(super) data: Json,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AcpUpdate {
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
    pub(super) cost: Option<AcpCost>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AcpCost {
    pub(super) amount: ReportedCost,
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
    let server = verdict_server(ask).map(|VerdictServerCommand { program, arguments }| {
        json!({ "name": VerdictTool::SERVER, "command": program, "args": arguments, "env": [] })
    });
    let servers: Vec<Json> = server.into_iter().collect();
    match &ask.session {
        Some(session) => {
            let params = json!({ "sessionId": session, "cwd": ask.directory, "mcpServers": servers });
            request(SESSION, "session/load", &params)
        }
        None => request(SESSION, "session/new", &json!({ "cwd": ask.directory, "mcpServers": servers })),
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

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AcpPermissionRequest {
    #[serde(deserialize_with = "or_default")]
    pub(super) options: Vec<AcpPermissionOption>,
    #[serde(deserialize_with = "or_default")]
    pub(super) tool_call: AcpToolCall,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AcpPermissionOption {
    pub(super) option_id: String,
    pub(super) kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AcpToolCall {
    #[serde(deserialize_with = "or_default")]
    pub(super) tool_call_id: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) title: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) kind: Option<String>,
}

/// Returns true if a level allows a kind of tool. Unknown kinds are not allowed.
pub(super) fn covers(level: Permission, kind: &str) -> bool {
    let (edits, commands) = match level {
        Permission::ReadOnly => (false, false),
        Permission::Edit { commands } => (true, commands),
        Permission::Full => return true,
    };
    match kind {
        "read" | "search" | "think" => true,
        "edit" | "move" | "delete" => edits,
        "execute" => commands,
        _ => false,
    }
}

/// Returns true for a call of the verdict tool, which changes nothing. Kinds of tools that could are never it.
pub(super) fn is_verdict(kind: &str, title: &str) -> bool {
    let named = [VerdictTool::NAME.to_owned(), format!("{}_{}", VerdictTool::SERVER, VerdictTool::NAME)];
    matches!(kind, "" | "other") && named.iter().any(|name| title.trim_start().starts_with(name))
}

/// Returns the answer: once or not at all, never permanently, because later turns may have a lower level.
pub(super) fn permission_outcome(options: &[AcpPermissionOption], is_allowed: bool) -> Json {
    let wanted: &[&str] = if is_allowed { &["allow_once"] } else { &["reject_once", "reject_always"] };
    let chosen = wanted.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind));
    match chosen {
        Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option.option_id } }),
        None => json!({ "outcome": { "outcome": "cancelled" } }),
    }
}

pub(super) fn is_notice(chunk: &str) -> bool {
    ["Info: ", "Error: "].iter().any(|start| chunk.starts_with(start))
}

/// Returns the failure that ended a turn. A model may start its only message with the same word. In that case
/// the turn has counted tokens, and the text names no status.
pub(super) fn notice_failure(notice: &str, has_counted: bool) -> Option<Failure> {
    let words = notice.strip_prefix("Error: ")?;
    let status = status_in(notice);
    let class = status.map_or(FailureClass::Crashed, class_of_status);
    (status.is_some() || !has_counted).then(|| failure(class, words))
}

/// Finds the HTTP status in a text: `(HTTP 401)`, `Last error: 500 …`, `status 403`.
pub(super) fn status_in(text: &str) -> Option<u16> {
    let text = text.to_lowercase();
    let marks = ["http ", "error: ", "status ", "status code ", "status: "];
    let numbers =
        marks.iter().flat_map(|mark| text.match_indices(mark).map(|(at, _)| &text[at + mark.len()..]));
    let statuses = numbers.filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (digits.len() == 3).then(|| digits.parse().ok())?
    });
    statuses.into_iter().find(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-32, with the messages of Copilot CLI 1.0.102.
    #[test]
    fn errors_have_their_classes() {
        let class = |notice: &str, has_counted| {
            notice_failure(notice, has_counted).map(|failure| failure.class.name())
        };
        let key = "Error: Authentication failed with provider at http://127.0.0.1:36143/v1 (HTTP 401).";
        assert_eq!(class(key, true), Some("auth"));
        assert_eq!(class("Error: 400 bad", false), Some("bad_request"));
        let retried = "Error: Failed to get response from the AI model; retried 5 times Last error: 500 down";
        assert_eq!(class(retried, true), Some("transient"));
        assert_eq!(class("Error: something else", false), Some("crashed"));
        assert_eq!(class("Error: the file is missing, says the model", true), None);
        assert_eq!(class("Info: HTTP 401", false), None);
    }
}
