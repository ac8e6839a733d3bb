//! `:streamGenerateContent` and `:generateContent`.

use serde_json::{Value, json};

use super::wire::{CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, THOUGHT_TOKENS, data, pieces};
use super::{Answer, Refusal};

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let mut parts = parts(answer);
    let last = parts.pop().into_iter().collect();
    let mut events: Vec<Value> = parts.into_iter().map(|part| response(vec![part], None)).collect();
    events.push(response(last, Some("STOP")));
    events.iter().map(data).collect()
}

pub(super) fn whole(answer: &Answer) -> Value {
    response(parts(answer), Some("STOP"))
}

pub(super) fn refusal(refusal: &Refusal) -> Value {
    let usual = match refusal.status {
        400 | 404 | 413 | 422 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        429 => "RESOURCE_EXHAUSTED",
        _ => "INTERNAL",
    };
    let status = refusal.code.as_deref().unwrap_or(usual);
    json!({"error": {"code": refusal.status, "message": refusal.message, "status": status}})
}

fn parts(answer: &Answer) -> Vec<Value> {
    match answer {
        Answer::Text(text) | Answer::Late(text) | Answer::Cut(text) | Answer::Full(text) => {
            pieces(text).into_iter().map(|piece| json!({"text": piece})).collect()
        }
        Answer::Tool { name, input } => vec![json!({"functionCall": {"name": name, "args": input}})],
        Answer::Refused(_) | Answer::Body { .. } | Answer::Slow(_) | Answer::Endless(_) => Vec::new(),
    }
}

fn response(parts: Vec<Value>, finish_reason: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let Some(reason) = finish_reason {
        candidate["finishReason"] = json!(reason);
    }
    json!({
        "candidates": [candidate],
        "modelVersion": "test-model",
        "usageMetadata": {
            "promptTokenCount": INPUT_TOKENS,
            "cachedContentTokenCount": CACHED_TOKENS,
            "candidatesTokenCount": OUTPUT_TOKENS - THOUGHT_TOKENS,
            "thoughtsTokenCount": THOUGHT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    })
}
