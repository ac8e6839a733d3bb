//! The Chat Completions API of OpenAI and compatible servers (C-81): requests and answers. Answers are
//! streamed, or whole from a server that cannot stream.

use saihai_model::{Failure, FailureClass, Usage};
use serde_json::{Value, json};

use crate::agent::failure;
use crate::api_error::ApiError;
use crate::http::api::AnswerSize;
use crate::http::api::{AnswerStop, ModelAnswer, ModelToolCall, StreamListener, StreamState};
use crate::http::api::{ModelRequest, ToolResult};
use crate::structured::ANSWER;

pub(super) fn body(request: &ModelRequest<'_>) -> Value {
    let system = request.system.map(|system| json!({ "role": "system", "content": system }));
    let messages: Vec<Value> = system.into_iter().chain(request.messages.iter().cloned()).collect();
    let mut body = json!({ "stream": request.is_streamed, "messages": messages });
    if request.is_streamed {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if let Some(model) = request.model {
        body["model"] = json!(model);
    }
    let tools = request.offers().into_iter().map(|(name, description, schema)| {
        let function = json!({ "name": name, "description": description, "parameters": schema });
        json!({ "type": "function", "function": function })
    });
    let tools: Vec<Value> = tools.collect();
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    if let Some(form) = request.form {
        let schema = json!({ "name": ANSWER, "schema": form.schema, "strict": form.is_strict() });
        body["response_format"] = json!({ "type": "json_schema", "json_schema": schema });
    }
    body
}

pub(super) fn results(done: &[ToolResult]) -> Vec<Value> {
    let message = |done: &ToolResult| {
        let said = match &done.said {
            Ok(said) => said.clone(),
            Err(why) => format!("error: {why}"),
        };
        json!({ "role": "tool", "tool_call_id": done.call.id, "content": said })
    };
    done.iter().map(message).collect()
}

#[derive(Debug, Default)]
pub(super) struct OpenaiStream {
    text: String,
    refusal: String,
    calls: Vec<OpenaiCallPart>,
    stop: Option<String>,
    usage: Usage,
    kept: AnswerSize,
}

#[derive(Debug, Default)]
struct OpenaiCallPart {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl StreamListener for OpenaiStream {
    fn hear(&mut self, data: &str, tell: &mut dyn FnMut(&str)) -> Result<StreamState, Failure> {
        if data.trim() == "[DONE]" {
            return Ok(StreamState::End);
        }
        let chunk: Value = serde_json::from_str(data)
            .map_err(|error| failure(FailureClass::Crashed, &format!("an event is not JSON: {error}")))?;
        if !chunk["error"].is_null() {
            return Err(ApiError::of(&chunk).in_stream());
        }
        self.count(&chunk["usage"]);
        let choice = &chunk["choices"][0];
        // A server that cannot stream sends one whole message.
        let is_whole = choice["message"].is_object();
        let delta = if is_whole { &choice["message"] } else { &choice["delta"] };
        if let Some(text) = delta["content"].as_str().filter(|text| !text.is_empty()) {
            self.kept.keep(text.len())?;
            self.text.push_str(text);
            tell(text);
        }
        if let Some(text) = delta["refusal"].as_str() {
            self.kept.keep(text.len())?;
            self.refusal.push_str(text);
        }
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            self.more(part)?;
        }
        if let Some(stop) = choice["finish_reason"].as_str() {
            self.stop = Some(stop.to_owned());
        }
        Ok(match (is_whole, &self.stop) {
            (true, _) => StreamState::End,
            // Not every server sends `[DONE]`.
            (false, Some(_)) => StreamState::MayEnd,
            (false, None) => StreamState::More,
        })
    }

    fn usage(&self) -> Usage {
        self.usage.clone()
    }

    fn spoken(self: Box<Self>) -> ModelAnswer {
        let calls: Vec<ModelToolCall> =
            self.calls.into_iter().enumerate().map(|(n, part)| part.call(n)).collect();
        let mut message = json!({ "role": "assistant", "content": self.text });
        if !calls.is_empty() {
            message["tool_calls"] = calls.iter().map(written).collect();
            if self.text.is_empty() {
                message["content"] = Value::Null;
            }
        }
        let stop = match self.stop.as_deref() {
            Some("length") => AnswerStop::Limit("length".to_owned()),
            Some("content_filter") => AnswerStop::Declined(self.refusal),
            Some(_) | None if !self.refusal.is_empty() => AnswerStop::Declined(self.refusal),
            Some(_) | None => AnswerStop::Complete,
        };
        ModelAnswer { message, text: self.text, calls, stop }
    }
}

impl OpenaiStream {
    /// Adds a part to the tool call with its index. Servers without indexes send each call whole, or start a
    /// new call with a new id.
    fn more(&mut self, part: &Value) -> Result<(), Failure> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, function) = (word(&part["id"]), &part["function"]);
        let (name, arguments) = (word(&function["name"]), word(&function["arguments"]));
        self.kept.keep(64 + id.len() + name.len() + arguments.len())?;
        let index = part["index"].as_u64();
        let known = match index {
            Some(_) => self.calls.iter().position(|call| call.index == index),
            None => self.calls.len().checked_sub(1).filter(|_| id.is_empty() && name.is_empty()),
        };
        let call = match known {
            Some(known) => &mut self.calls[known],
            None => {
                self.calls.push(OpenaiCallPart { index, ..OpenaiCallPart::default() });
                self.calls.last_mut().expect("one was just put there")
            }
        };
        if call.id.is_empty() {
            call.id = id;
        }
        call.name.push_str(&name);
        call.arguments.push_str(&arguments);
        Ok(())
    }

    fn count(&mut self, usage: &Value) {
        if !usage.is_object() {
            return;
        }
        self.usage = Usage {
            input: usage["prompt_tokens"].as_u64(),
            output: usage["completion_tokens"].as_u64(),
            cached: usage["prompt_tokens_details"]["cached_tokens"].as_u64(),
            reasoning: usage["completion_tokens_details"]["reasoning_tokens"].as_u64(),
            cumulative: false,
        };
    }
}

impl OpenaiCallPart {
    fn call(self, n: usize) -> ModelToolCall {
        let id = if self.id.is_empty() { format!("call_{n}") } else { self.id };
        let input = match self.arguments.trim() {
            "" => Ok(json!({})),
            text => serde_json::from_str(text).map_err(|_| self.arguments.clone()),
        };
        ModelToolCall { id, name: self.name, input }
    }
}

/// Returns a call for the conversation. Servers reject all later requests if its input is not JSON.
fn written(call: &ModelToolCall) -> Value {
    let arguments = call.input.as_ref().map_or_else(|_| "{}".to_owned(), Value::to_string);
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}
