//! `/v1/messages`.

use serde_json::{Value, json};

use super::wire::{INPUT_TOKENS, OUTPUT_TOKENS, call_id, named, pieces};
use super::{Answer, Refusal};

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let mut message = message(Vec::new(), None);
    message["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({"type": "message_start", "message": message})];
    events.push(json!({"type": "content_block_start", "index": 0, "content_block": empty(answer)}));
    events.extend(
        deltas(answer)
            .into_iter()
            .map(|delta| json!({"type": "content_block_delta", "index": 0, "delta": delta})),
    );
    events.push(json!({"type": "content_block_stop", "index": 0}));
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null},
        "usage": {"output_tokens": OUTPUT_TOKENS},
    }));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(named).collect()
}

pub(super) fn whole(answer: &Answer) -> Value {
    let block = match answer {
        Answer::Tool { name, input } => {
            json!({"type": "tool_use", "id": call_id("toolu", name, input), "name": name, "input": input})
        }
        Answer::Text(text) | Answer::Late(text) | Answer::Cut(text) | Answer::Full(text) => {
            json!({"type": "text", "text": text})
        }
        Answer::Refused(_) | Answer::Body { .. } | Answer::Slow(_) | Answer::Endless(_) => {
            json!({"type": "text", "text": ""})
        }
    };
    message(vec![block], Some(stop_reason(answer)))
}

pub(super) fn refusal(refusal: &Refusal) -> Value {
    let usual = match refusal.status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400 | 404 | 413 | 422 => "invalid_request_error",
        _ => "api_error",
    };
    let kind = refusal.code.as_deref().unwrap_or(usual);
    json!({"type": "error", "error": {"type": kind, "message": refusal.message}})
}

fn message(content: Vec<Value>, stop_reason: Option<&str>) -> Value {
    json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {
            "input_tokens": INPUT_TOKENS,
            "output_tokens": OUTPUT_TOKENS,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    })
}

fn empty(answer: &Answer) -> Value {
    match answer {
        Answer::Tool { name, input } => {
            json!({"type": "tool_use", "id": call_id("toolu", name, input), "name": name, "input": {}})
        }
        Answer::Text(_)
        | Answer::Late(_)
        | Answer::Cut(_)
        | Answer::Full(_)
        | Answer::Refused(_)
        | Answer::Body { .. }
        | Answer::Slow(_)
        | Answer::Endless(_) => {
            json!({"type": "text", "text": ""})
        }
    }
}

fn deltas(answer: &Answer) -> Vec<Value> {
    match answer {
        Answer::Tool { input, .. } => {
            vec![json!({"type": "input_json_delta", "partial_json": input.to_string()})]
        }
        Answer::Text(text) | Answer::Late(text) | Answer::Cut(text) | Answer::Full(text) => {
            pieces(text).into_iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect()
        }
        Answer::Refused(_) | Answer::Body { .. } | Answer::Slow(_) | Answer::Endless(_) => Vec::new(),
    }
}

fn stop_reason(answer: &Answer) -> &'static str {
    match answer {
        Answer::Tool { .. } => "tool_use",
        Answer::Full(_) => "max_tokens",
        Answer::Text(_)
        | Answer::Late(_)
        | Answer::Cut(_)
        | Answer::Refused(_)
        | Answer::Body { .. }
        | Answer::Slow(_)
        | Answer::Endless(_) => "end_turn",
    }
}
