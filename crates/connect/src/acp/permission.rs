//! Answers to permission requests (C-42).

use saihai_model::{Json, Permission};
use serde::Deserialize;
use serde_json::json;

use crate::lenient::or_default;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Request {
    #[serde(deserialize_with = "or_default")]
    pub(super) options: Vec<Choice>,
    #[serde(deserialize_with = "or_default")]
    pub(super) tool_call: ToolCall,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Choice {
    pub(super) option_id: String,
    pub(super) kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolCall {
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

/// Returns the answer: once, or not at all. It never allows a tool permanently, because later turns may have
/// a lower level.
pub(super) fn outcome(options: &[Choice], is_allowed: bool) -> Json {
    let wanted: &[&str] = if is_allowed { &["allow_once"] } else { &["reject_once", "reject_always"] };
    let chosen = wanted.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind));
    match chosen {
        Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option.option_id } }),
        None => json!({ "outcome": { "outcome": "cancelled" } }),
    }
}
