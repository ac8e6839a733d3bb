//! `/responses`.

use serde_json::{Value, json};

use super::Answer;
use super::wire::{CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, THOUGHT_TOKENS, call_id, named, pieces};

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let item = item(answer);
    let mut events =
        vec![json!({"type": "response.created", "response": response("in_progress", Vec::new())})];
    events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": item}));
    if let Answer::Text(text) | Answer::Late(text) | Answer::Cut(text) | Answer::Full(text) = answer {
        events.extend(pieces(text).into_iter().map(|piece| {
            json!({
                "type": "response.output_text.delta",
                "item_id": "msg_1",
                "output_index": 0,
                "content_index": 0,
                "delta": piece,
            })
        }));
    }
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    events.push(json!({"type": "response.completed", "response": response("completed", vec![item])}));
    events.iter().map(named).collect()
}

pub(super) fn whole(answer: &Answer) -> Value {
    response("completed", vec![item(answer)])
}

fn item(answer: &Answer) -> Value {
    match answer {
        Answer::Tool { name, input } => call(name, input),
        Answer::Text(text) | Answer::Late(text) | Answer::Cut(text) | Answer::Full(text) => message(text),
        Answer::Refused(_) | Answer::Body { .. } | Answer::Slow(_) | Answer::Endless(_) => message(""),
    }
}

fn call(name: &str, input: &Value) -> Value {
    let (namespace, own_name) = name.split_once('.').unzip();
    let mut item = json!({
        "id": call_id("item", name, input),
        "call_id": call_id("call", name, input),
        "name": own_name.unwrap_or(name),
    });
    if let Value::String(text) = input {
        item["type"] = json!("custom_tool_call");
        item["input"] = json!(text);
    } else {
        item["type"] = json!("function_call");
        item["arguments"] = json!(input.to_string());
    }
    if let Some(namespace) = namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn message(text: &str) -> Value {
    json!({
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn response(status: &str, output: Vec<Value>) -> Value {
    json!({
        "id": "resp_1",
        "object": "response",
        "status": status,
        "model": "test-model",
        "output": output,
        "usage": {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": THOUGHT_TOKENS},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    })
}
