//! The JSON lines of Claude Code. Only the fields in use are read.

use std::collections::BTreeMap;

use saihai_model::{Json, Moment, Usage, Usd};
use serde::Deserialize;

use crate::lenient::or_default;
use crate::told_cost::ToldCost;

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    System(System),
    Assistant(Spoken),
    User(Spoken),
    #[serde(rename = "rate_limit_event")]
    RateLimit(RateLimit),
    Result(Box<Outcome>),
    #[serde(other)]
    Other,
}

/// Events about its mode, its tools and its retries.
#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(super) enum System {
    Init {
        #[serde(default, deserialize_with = "or_default")]
        session_id: Option<String>,
        #[serde(default, rename = "permissionMode", deserialize_with = "or_default")]
        mode: Option<String>,
        #[serde(default, deserialize_with = "or_default")]
        tools: Vec<String>,
    },
    ApiRetry {
        #[serde(default, deserialize_with = "or_default")]
        attempt: u32,
        #[serde(default, deserialize_with = "or_default")]
        max_retries: u32,
        #[serde(default, deserialize_with = "or_default")]
        error_status: Option<u16>,
        #[serde(default, deserialize_with = "or_default")]
        error: String,
    },
    PermissionDenied {
        #[serde(default, deserialize_with = "or_default")]
        tool_name: String,
    },
    #[serde(other)]
    Other,
}

/// A message from the agent or to it.
#[derive(Debug, Deserialize)]
pub(super) struct Spoken {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) message: Message,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) session_id: Option<String>,
    /// Present if the message belongs to a subagent.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) parent_tool_use_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    timestamp: Option<String>,
    /// Present if the message only reports an error.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) error: Option<String>,
}

impl Spoken {
    pub(super) fn at(&self) -> Option<Moment> {
        let stamp: jiff::Timestamp = self.timestamp.as_ref()?.parse().ok()?;
        u64::try_from(stamp.as_millisecond()).ok().map(Moment)
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Message {
    #[serde(default, deserialize_with = "blocks")]
    pub(super) content: Vec<Block>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Option<Json>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(default)]
        content: Option<Json>,
    },
    #[serde(other)]
    Other,
}

/// Reads a list of blocks, or a single text. A malformed block does not hide the others.
fn blocks<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Block>, D::Error> {
    Ok(match Json::deserialize(deserializer)? {
        Json::String(text) => vec![Block::Text { text }],
        Json::Array(blocks) => {
            blocks.into_iter().map(|block| serde_json::from_value(block).unwrap_or(Block::Other)).collect()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => Vec::new(),
    })
}

/// The state of the subscription's usage limit.
#[derive(Debug, Deserialize)]
pub(super) struct RateLimit {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) rate_limit_info: Limit,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Limit {
    #[serde(default, deserialize_with = "or_default")]
    status: String,
    #[serde(default, rename = "resetsAt", deserialize_with = "or_default")]
    resets_at: Option<u64>,
}

impl Limit {
    /// Returns the reset time if the limit is used up.
    pub(super) fn spent_until(&self) -> Option<Moment> {
        let reset = self.resets_at.filter(|_| self.status == "rejected")?;
        Some(Moment(reset.saturating_mul(1000)))
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Outcome {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) subtype: String,
    /// `subtype` says success even when this is true.
    #[serde(default = "yes")]
    pub(super) is_error: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) api_error_status: Option<u16>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) api_error: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) terminal_reason: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) stop_reason: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) result: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) errors: Vec<String>,
    #[serde(default)]
    pub(super) structured_output: Option<Json>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) session_id: Option<String>,
    #[serde(default)]
    pub(super) total_cost_usd: ToldCost,
    #[serde(default, deserialize_with = "or_default")]
    usage: Option<Counted>,
    #[serde(default, deserialize_with = "or_default")]
    model_usage_since_last_result: BTreeMap<String, OfModel>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) permission_denials: Vec<Json>,
}

/// An end without this field counts as an error.
fn yes() -> bool {
    true
}

impl Outcome {
    /// Returns the tokens of this turn. In a turn that was cut short, `usage` misses the last message and is
    /// zero.
    pub(super) fn usage(&self) -> Usage {
        let counted = self.usage.as_ref().map(Counted::usage).unwrap_or_default();
        if counted.tokens() > 0 || self.model_usage_since_last_result.is_empty() {
            return if counted.tokens() > 0 { counted } else { Usage::default() };
        }
        let sum = |of: fn(&OfModel) -> u64| Some(self.model_usage_since_last_result.values().map(of).sum());
        Usage {
            input: sum(|model| model.input + model.cache_read + model.cache_written),
            output: sum(|model| model.output),
            cached: sum(|model| model.cache_read),
            reasoning: None,
            cumulative: false,
        }
    }

    /// Returns the cost of this turn alone, if reported. The total covers the whole session.
    pub(super) fn own_cost(&self) -> Option<Usd> {
        let models = self.model_usage_since_last_result.values();
        let cost: f64 = models.map(|model| model.cost).sum();
        Usd::from_dollars(cost).filter(|_| !self.model_usage_since_last_result.is_empty())
    }
}

/// Token counts. Input excludes tokens read from or written to a cache.
#[derive(Debug, Default, Deserialize)]
struct Counted {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default, deserialize_with = "or_default")]
    output_tokens_details: Details,
}

#[derive(Debug, Default, Deserialize)]
struct Details {
    #[serde(default)]
    thinking_tokens: Option<u64>,
}

impl Counted {
    fn usage(&self) -> Usage {
        let input = self
            .input_tokens
            .saturating_add(self.cache_creation_input_tokens)
            .saturating_add(self.cache_read_input_tokens);
        Usage {
            input: Some(input),
            output: Some(self.output_tokens),
            cached: Some(self.cache_read_input_tokens),
            reasoning: self.output_tokens_details.thinking_tokens,
            cumulative: false,
        }
    }
}

#[derive(Debug, Deserialize)]
struct OfModel {
    #[serde(default, rename = "inputTokens")]
    input: u64,
    #[serde(default, rename = "outputTokens")]
    output: u64,
    #[serde(default, rename = "cacheReadInputTokens")]
    cache_read: u64,
    #[serde(default, rename = "cacheCreationInputTokens")]
    cache_written: u64,
    #[serde(default, rename = "costUSD")]
    cost: f64,
}
