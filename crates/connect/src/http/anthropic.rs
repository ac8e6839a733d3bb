//! The Messages API of Anthropic (C-81): requests and streamed answers.

use std::collections::BTreeMap;

use saihai_model::{Failure, FailureClass, Usage};
use serde_json::{Map, Value, json};

use crate::agent::failure;
use crate::api_error::ApiError;
use crate::http::api::AnswerSize;
use crate::http::api::{AnswerStop, ModelAnswer, ModelToolCall, StreamListener, StreamState};
use crate::http::api::{ModelRequest, ToolResult};
use crate::structured::ANSWER;

/// Maximum number of tokens in an answer. The API requires a number; all its current models support it.
const MAX_TOKENS: u64 = 32_000;

pub(super) fn body(request: &ModelRequest<'_>) -> Value {
    let mut body = json!({ "max_tokens": MAX_TOKENS, "stream": true, "messages": request.messages });
    if let Some(model) = request.model {
        body["model"] = json!(model);
    }
    if let Some(system) = request.system {
        body["system"] = json!(system);
    }
    let offer = |(name, description, schema)| json!({ "name": name, "description": description, "input_schema": schema });
    let mut tools: Vec<Value> = request.offers().into_iter().map(offer).collect();
    let is_long = !tools.is_empty() || request.messages.len() > 1;
    if let Some(form) = request.form {
        // A model with other tools may use them first but must end with the answer. So it has to call *some*
        // tool.
        body["tool_choice"] = match tools.is_empty() {
            true => json!({ "type": "tool", "name": ANSWER }),
            false => json!({ "type": "any" }),
        };
        let description = "Gives the final answer. Call it once, when you are done.";
        tools.push(json!({ "name": ANSWER, "description": description, "input_schema": form.schema }));
    }
    // Each further call sends the earlier messages again; the cache makes them cheaper.
    if is_long {
        keep_for_later(&mut body["messages"]);
    }
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    body
}

/// Asks the server to cache everything up to the last message.
fn keep_for_later(messages: &mut Value) {
    let last = messages.as_array_mut().and_then(|messages| messages.last_mut());
    let block = last.and_then(|message| message["content"].as_array_mut()?.last_mut());
    if let Some(block) = block {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

pub(super) fn results(done: &[ToolResult]) -> Vec<Value> {
    let block = |done: &ToolResult| match &done.said {
        Ok(said) => json!({ "type": "tool_result", "tool_use_id": done.call.id, "content": said }),
        Err(why) => {
            json!({ "type": "tool_result", "tool_use_id": done.call.id, "content": why, "is_error": true })
        }
    };
    vec![json!({ "role": "user", "content": done.iter().map(block).collect::<Vec<_>>() })]
}

#[derive(Debug, Default)]
pub(super) struct AnthropicStream {
    blocks: BTreeMap<u64, AnthropicBlock>,
    stop: Option<String>,
    counts: Map<String, Value>,
    kept: AnswerSize,
}

#[derive(Debug, Default)]
struct AnthropicBlock {
    /// The block from its first event, with later parts merged in.
    value: Map<String, Value>,
    /// The JSON of a tool's input so far.
    input: String,
}

impl StreamListener for AnthropicStream {
    fn hear(&mut self, data: &str, tell: &mut dyn FnMut(&str)) -> Result<StreamState, Failure> {
        let event: Value = serde_json::from_str(data)
            .map_err(|error| failure(FailureClass::Crashed, &format!("an event is not JSON: {error}")))?;
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&event["message"]["usage"]),
            "content_block_start" => {
                let Value::Object(value) = &event["content_block"] else { return Ok(StreamState::More) };
                self.kept.keep(data.len())?;
                if let Some(text) = value.get("text").and_then(Value::as_str).filter(|text| !text.is_empty())
                {
                    tell(text);
                }
                let block = AnthropicBlock { value: value.clone(), input: String::new() };
                self.blocks.insert(event["index"].as_u64().unwrap_or_default(), block);
            }
            "content_block_delta" => self.more(&event, tell)?,
            "message_delta" => {
                if let Some(stop) = event["delta"]["stop_reason"].as_str() {
                    self.stop = Some(stop.to_owned());
                }
                self.count(&event["usage"]);
            }
            "message_stop" => return Ok(StreamState::End),
            "error" => return Err(ApiError::of(&event).in_stream()),
            // `ping`, `content_block_stop`, and future events (C-53).
            _ => {}
        }
        Ok(StreamState::More)
    }

    /// Returns the token counts. Cached tokens, which the API counts separately, are input here.
    fn usage(&self) -> Usage {
        let count = |name: &str| self.counts.get(name).and_then(Value::as_u64);
        let cached = count("cache_read_input_tokens");
        let written = count("cache_creation_input_tokens");
        let apart = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
        Usage {
            input: count("input_tokens").map(|input| input.saturating_add(apart)),
            output: count("output_tokens"),
            cached,
            ..Usage::default()
        }
    }

    fn spoken(self: Box<Self>) -> ModelAnswer {
        let mut text = String::new();
        let mut calls = Vec::new();
        let mut content = Vec::new();
        for block in self.blocks.into_values() {
            let AnthropicBlock { mut value, input } = block;
            let word = |value: &Map<String, Value>, name: &str| {
                value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            match word(&value, "type").as_str() {
                // The API rejects an empty text.
                "text" if word(&value, "text").is_empty() => continue,
                "text" => text.push_str(&word(&value, "text")),
                "tool_use" => {
                    let input = read_input(&input, value.get("input"));
                    value.insert("input".to_owned(), input.clone().unwrap_or_else(|_| json!({})));
                    calls.push(ModelToolCall { id: word(&value, "id"), name: word(&value, "name"), input });
                }
                _ => {}
            }
            content.push(Value::Object(value));
        }
        let stop = match self.stop.as_deref() {
            Some(limit @ ("max_tokens" | "model_context_window_exceeded")) => {
                AnswerStop::Limit(limit.to_owned())
            }
            Some("refusal") => AnswerStop::Declined(text.clone()),
            Some(_) | None => AnswerStop::Complete,
        };
        ModelAnswer { message: json!({ "role": "assistant", "content": content }), text, calls, stop }
    }
}

impl AnthropicStream {
    fn more(&mut self, event: &Value, tell: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        let Some(block) = self.blocks.get_mut(&event["index"].as_u64().unwrap_or_default()) else {
            return Ok(());
        };
        let delta = &event["delta"];
        let field = match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            "signature_delta" => "signature",
            "input_json_delta" => "partial_json",
            _ => return Ok(()),
        };
        let more = delta[field].as_str().unwrap_or_default();
        self.kept.keep(more.len())?;
        if field == "partial_json" {
            block.input.push_str(more);
            return Ok(());
        }
        if field == "text" {
            tell(more);
        }
        match block.value.get_mut(field) {
            Some(Value::String(text)) => text.push_str(more),
            Some(_) | None => drop(block.value.insert(field.to_owned(), json!(more))),
        }
        Ok(())
    }

    /// Counters are totals: a later one replaces an earlier one.
    fn count(&mut self, usage: &Value) {
        let counts = usage.as_object().into_iter().flatten().filter(|(_, count)| count.is_u64());
        self.counts.extend(counts.map(|(name, count)| (name.clone(), count.clone())));
    }
}

fn read_input(streamed: &str, begun: Option<&Value>) -> Result<Value, String> {
    if streamed.trim().is_empty() {
        return Ok(begun.filter(|value| value.is_object()).cloned().unwrap_or_else(|| json!({})));
    }
    serde_json::from_str(streamed).map_err(|_| streamed.to_owned())
}
