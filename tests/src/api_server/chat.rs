//! `/chat/completions`.

use serde_json::{Value, json};

use super::wire::{CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, THOUGHT_TOKENS, call_id, data, pieces};
use super::{Answer, Refusal};

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let mut chunks = vec![chunk(&json!({"role": "assistant", "content": ""}), None)];
    match answer {
        Answer::Text(text) | Answer::Late(text) | Answer::Cut(text) | Answer::Full(text) => {
            chunks.extend(pieces(text).iter().map(|piece| chunk(&json!({"content": piece}), None)));
        }
        Answer::Tool { name, input } => chunks.push(chunk(&json!({"tool_calls": [call(name, input)]}), None)),
        Answer::Refused(_) | Answer::Body { .. } | Answer::Slow(_) | Answer::Endless(_) => {}
    }
    chunks.push(chunk(&json!({}), Some(finish_reason(answer))));
    let mut last = chunk(&json!({}), None);
    last["choices"] = json!([]);
    last["usage"] = usage();
    chunks.push(last);
    let mut events: Vec<String> = chunks.iter().map(data).collect();
    events.push("data: [DONE]\n\n".to_owned());
    events
}

pub(super) fn whole(answer: &Answer) -> Value {
    let message = match answer {
        Answer::Text(text) | Answer::Late(text) | Answer::Cut(text) | Answer::Full(text) => {
            json!({"role": "assistant", "content": text})
        }
        Answer::Tool { name, input } => {
            json!({"role": "assistant", "content": null, "tool_calls": [call(name, input)]})
        }
        Answer::Refused(_) | Answer::Body { .. } | Answer::Slow(_) | Answer::Endless(_) => {
            json!({"role": "assistant", "content": ""})
        }
    };
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "test-model",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(answer)}],
        "usage": usage(),
    })
}

/// Returns true if OpenCode asks for a session title. It does so before the first turn of an
/// unnamed session, with a special role and no tools. A turn of an agent without tools differs only
/// by the role.
pub(super) fn asks_for_a_title(body: &Value) -> bool {
    let first = &body["messages"][0];
    let role = first["content"].as_str().or(first["content"][0]["text"].as_str());
    first["role"] == "system" && role.is_some_and(|role| role.starts_with("You are a title generator."))
}

pub(super) fn refusal(refusal: &Refusal) -> Value {
    let usual = match refusal.status {
        401 => "invalid_api_key",
        429 => "rate_limit_exceeded",
        400 | 404 | 413 | 422 => "invalid_request_error",
        _ => "server_error",
    };
    let code = refusal.code.as_deref().unwrap_or(usual);
    json!({"error": {"message": refusal.message, "type": code, "code": code, "param": null}})
}

fn chunk(delta: &Value, finish_reason: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "test-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    })
}

fn call(name: &str, input: &Value) -> Value {
    let function = json!({"name": name, "arguments": input.to_string()});
    json!({"index": 0, "id": call_id("call", name, input), "type": "function", "function": function})
}

fn usage() -> Value {
    json!({
        "prompt_tokens": INPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "completion_tokens": OUTPUT_TOKENS,
        "completion_tokens_details": {"reasoning_tokens": THOUGHT_TOKENS},
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    })
}

fn finish_reason(answer: &Answer) -> &'static str {
    match answer {
        Answer::Tool { .. } => "tool_calls",
        Answer::Full(_) => "length",
        Answer::Text(_)
        | Answer::Late(_)
        | Answer::Cut(_)
        | Answer::Refused(_)
        | Answer::Body { .. }
        | Answer::Slow(_)
        | Answer::Endless(_) => "stop",
    }
}
