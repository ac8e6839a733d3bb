//! The part of the Model Context Protocol that a server with one tool needs.

use saihai_model::{Json, ReportedVerdict, VerdictTool};
use serde_json::json;

/// Versions of the protocol that differ in nothing used here, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Text that some agents add to their system prompt.
const INSTRUCTIONS: &str = "Call saihai_verdict once, after the work and before your last message.";
const PARSE_ERROR: i32 = -32700;
const UNKNOWN_METHOD: i32 = -32601;
const BAD_PARAMETERS: i32 = -32602;

/// Reaction to a message.
#[derive(Debug, Default, PartialEq)]
pub(super) struct McpAnswer {
    pub(super) message: Option<Json>,
    /// Result of a call of the tool.
    pub(super) called: Option<Result<ReportedVerdict, String>>,
}

impl McpAnswer {
    fn say(message: Json) -> Self {
        Self { message: Some(message), called: None }
    }
}

pub(super) fn answer(line: &[u8], tool: &VerdictTool) -> McpAnswer {
    if line.trim_ascii().is_empty() {
        return McpAnswer::default();
    }
    let Ok(message) = serde_json::from_slice::<Json>(line) else {
        return McpAnswer::say(error(&Json::Null, PARSE_ERROR, "this is not JSON"));
    };
    let (id, params) = (&message["id"], &message["params"]);
    // Notifications and answers need no answer.
    let Some(method) = message["method"].as_str().filter(|_| !id.is_null()) else {
        return McpAnswer::default();
    };
    match method {
        "initialize" => {
            let asked = params["protocolVersion"].as_str();
            let version = VERSIONS.into_iter().find(|version| Some(*version) == asked).unwrap_or(VERSIONS[0]);
            McpAnswer::say(result(
                id,
                &json!({
                    "protocolVersion": version,
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "saihai", "version": env!("CARGO_PKG_VERSION") },
                    "instructions": INSTRUCTIONS,
                }),
            ))
        }
        "ping" => McpAnswer::say(result(id, &json!({}))),
        "tools/list" => McpAnswer::say(result(id, &json!({ "tools": [definition(tool)] }))),
        "tools/call" if params["name"] == VerdictTool::NAME => {
            let called = tool.check(&params["arguments"]);
            let said = match &called {
                Ok(verdict) => recorded(tool, verdict),
                Err(why) => why.clone(),
            };
            let content =
                json!({ "content": [{ "type": "text", "text": said }], "isError": called.is_err() });
            McpAnswer { message: Some(result(id, &content)), called: Some(called) }
        }
        "tools/call" => McpAnswer::say(error(id, BAD_PARAMETERS, "there is no such tool")),
        _ => McpAnswer::say(error(id, UNKNOWN_METHOD, "there is no such method")),
    }
}

/// Returns the answer to a valid call.
pub(crate) fn recorded(tool: &VerdictTool, verdict: &ReportedVerdict) -> String {
    let value =
        tool.options.iter().find(|(number, _)| *number == verdict.number).map(|(_, value)| value.as_str());
    format!(
        "Recorded: {}. Now write your last message in the required form. It does not change the verdict.",
        value.unwrap_or_default()
    )
}

fn definition(tool: &VerdictTool) -> Json {
    json!({
        "name": VerdictTool::NAME,
        "description": VerdictTool::description(),
        "inputSchema": tool.schema(),
        // A call changes nothing, so that agents need no permission for it.
        "annotations": { "readOnlyHint": true, "destructiveHint": false, "openWorldHint": false },
        // Claude Code loads other tools only after a search.
        "_meta": { "anthropic/alwaysLoad": true },
    })
}

fn result(id: &Json, result: &Json) -> Json {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn error(id: &Json, code: i32, message: &str) -> Json {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
