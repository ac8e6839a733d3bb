//! The output of Claude Code: its JSON lines, read only in the fields we use, and a turn's result.

use std::collections::BTreeMap;

use saihai_model::{
    Ask, Failure, FailureClass, Json, Meter, Moment, Progress, ProviderAnswer, ProviderRefusal, TurnLimit,
    Usage, Usd,
};
use serde::Deserialize;

use super::{ClaudePermissions, PROFILE};
use crate::agent::{AgentListener, ListenerStep, ProcessEnd, abrupt, failure};
use crate::agents::turn_log::{ReportedCost, ToolTime, TurnLog, moment, or_default, share_of_turn};
use crate::api_error::class_of_status;

pub(super) struct ClaudeListener {
    ask: Ask,
    allowed: ClaudePermissions,
    log: TurnLog,
    /// Name and text of the last message that only reports an error.
    trouble: Option<(String, String)>,
    /// Reset time of a usage limit that is used up.
    spent_until: Option<Moment>,
    outcome: Option<Box<ClaudeResult>>,
}

impl ClaudeListener {
    pub(super) fn new(ask: &Ask, allowed: ClaudePermissions) -> Self {
        let log = TurnLog::default();
        Self { ask: ask.clone(), allowed, log, trouble: None, spent_until: None, outcome: None }
    }
}

impl AgentListener for ClaudeListener {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let Ok(event) = serde_json::from_str::<ClaudeEvent>(line) else { return ListenerStep::GoOn };
        match event {
            ClaudeEvent::System(system) => self.system(system, tell),
            ClaudeEvent::Assistant(spoken) => self.assistant(spoken, tell),
            ClaudeEvent::User(spoken) => self.tool_results(spoken, tell),
            ClaudeEvent::RateLimit(limit) => {
                self.spent_until = limit.rate_limit_info.spent_until();
                ListenerStep::GoOn
            }
            ClaudeEvent::Result(outcome) => self.result(outcome),
            ClaudeEvent::Other => ListenerStep::GoOn,
        }
    }

    fn is_busy(&self) -> bool {
        self.log.tools.is_open()
    }

    fn end(mut self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer {
        let Some(outcome) = self.outcome.take() else { return Err(self.without_end(end)) };
        self.count(&outcome);
        if outcome.is_error {
            return Err(self.refused(&outcome));
        }
        if outcome.stop_reason.as_deref() == Some("refusal") {
            let said = outcome.result.unwrap_or_default();
            return Err(self.log.into_refusal(Failure::new(FailureClass::Refused, said)));
        }
        if !end.exit.is_fine() {
            let failure = abrupt(&PROFILE, "did not end well after its reply", end);
            return Err(self.log.into_refusal(failure));
        }
        self.log.warnings.extend(outcome.total_cost_usd.warning());
        let denied = u32::try_from(outcome.permission_denials.len()).unwrap_or(u32::MAX);
        self.log.denied = self.log.denied.max(denied);
        let text = outcome.result.filter(|text| !text.trim().is_empty());
        let nothing = || abrupt(&PROFILE, "ended without any reply", end);
        self.log.into_reply(&self.ask, text, outcome.structured_output, nothing)
    }
}

impl ClaudeListener {
    fn system(&mut self, system: ClaudeSystemEvent, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        match system {
            ClaudeSystemEvent::Init { session_id, mode, tools } => {
                self.log.session = session_id.or(self.log.session.take());
                match self.allowed.exceeded_by(mode.as_deref(), &tools) {
                    Some(why) => return ListenerStep::Abort(failure(FailureClass::BadRequest, &why)),
                    None => return ListenerStep::GoOn,
                }
            }
            ClaudeSystemEvent::ApiRetry { attempt, max_retries, error_status, error } => {
                let status = error_status.map_or(error, |status| format!("status {status}"));
                tell(Progress::Retrying(format!("{status}, {attempt} of {max_retries}")));
            }
            ClaudeSystemEvent::PermissionDenied { tool_name } => {
                self.log.denied = self.log.denied.saturating_add(1);
                tell(Progress::Denied(tool_name));
            }
            ClaudeSystemEvent::Other => {}
        }
        ListenerStep::GoOn
    }

    fn assistant(&mut self, spoken: ClaudeMessage, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let when = ToolTime::said(spoken.at());
        self.log.session = spoken.session_id.or(self.log.session.take());
        let is_own = spoken.parent_tool_use_id.is_none();
        for block in spoken.message.content {
            match block {
                ClaudeBlock::Text { text } => match &spoken.error {
                    Some(error) => self.trouble = Some((error.clone(), text)),
                    None if is_own && !text.trim().is_empty() => {
                        tell(Progress::Text(text.clone()));
                        self.log.messages.begin(text);
                    }
                    None => {}
                },
                // The answer tool does not count as a tool use.
                ClaudeBlock::ToolUse { name, .. } if self.allowed.is_answer(&name) => {}
                ClaudeBlock::ToolUse { id, name, input } => {
                    self.log.tools.started(&id, &name, input, when, tell)
                }
                ClaudeBlock::ToolResult { .. } | ClaudeBlock::Other => {}
            }
        }
        ListenerStep::GoOn
    }

    fn tool_results(&mut self, spoken: ClaudeMessage, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let when = ToolTime::said(spoken.at());
        for block in spoken.message.content {
            match block {
                ClaudeBlock::ToolResult { tool_use_id, content } => {
                    self.log.tools.finished(&tool_use_id, content, when, tell);
                }
                ClaudeBlock::Text { .. } | ClaudeBlock::ToolUse { .. } | ClaudeBlock::Other => {}
            }
        }
        ListenerStep::GoOn
    }

    fn result(&mut self, outcome: Box<ClaudeResult>) -> ListenerStep {
        if self.outcome.is_some() {
            self.log.warnings.push("claude reported a second end of the turn, which was ignored".to_owned());
            return ListenerStep::GoOn;
        }
        self.log.session = outcome.session_id.clone().or(self.log.session.take());
        self.outcome = Some(outcome);
        ListenerStep::Done
    }

    /// Adds the cost of the turn. Tokens count per turn, money per session (C-27).
    fn count(&mut self, outcome: &ClaudeResult) {
        let total = outcome.total_cost_usd.amount();
        let counted = Meter { usage: Usage::default(), cost: total };
        let turn = share_of_turn(&self.ask, &counted);
        let own = outcome.own_cost().filter(|_| turn.usage.cumulative);
        let cumulative = turn.usage.cumulative && own.is_none() && total.is_some();
        self.log.usage = Usage { cumulative, ..outcome.usage() };
        self.log.cost = own.or(turn.cost);
        self.log.metered = total.map(|_| counted);
    }

    fn refused(self, outcome: &ClaudeResult) -> ProviderRefusal {
        let words = outcome.result.clone().unwrap_or_else(|| outcome.errors.join("\n"));
        let words = if words.trim().is_empty() { outcome.subtype.clone() } else { words };
        let class = self.class(outcome);
        let mut failure = failure(class, &words);
        failure.until = self.spent_until.filter(|_| class == FailureClass::Quota);
        // Its budget is the remaining budget of the run.
        failure.by_budget = outcome.subtype == "error_max_budget_usd";
        failure.limit = match (outcome.subtype.as_str(), outcome.api_error.as_deref()) {
            ("error_max_turns", _) => Some(TurnLimit::Calls),
            (_, Some("max_output_tokens")) => Some(TurnLimit::Output),
            (_, _) => None,
        };
        self.log.into_refusal(failure)
    }

    /// Returns the failure class (C-32). `subtype` does not help: it says success even for API errors.
    fn class(&self, outcome: &ClaudeResult) -> FailureClass {
        let trouble = self.trouble.as_ref().map(|(error, _)| error.as_str());
        if is_lost(outcome.errors.iter().map(String::as_str)) {
            return FailureClass::SessionLost;
        }
        if matches!(outcome.subtype.as_str(), "error_max_budget_usd" | "error_max_turns")
            || outcome.stop_reason.as_deref() == Some("refusal")
        {
            return FailureClass::Refused;
        }
        if outcome.terminal_reason.as_deref() == Some("prompt_too_long") {
            return FailureClass::BadRequest;
        }
        match (outcome.api_error.as_deref(), trouble) {
            (Some("usage_limit_reached"), _) | (_, Some("billing_error")) => return FailureClass::Quota,
            (Some("connection_failed"), _) => return FailureClass::Transient,
            (Some("max_output_tokens"), _) => return FailureClass::BadRequest,
            (Some(_) | None, _) => {}
        }
        if outcome.api_error_status == Some(429) && self.spent_until.is_some() {
            return FailureClass::Quota;
        }
        match (outcome.api_error_status, trouble) {
            (Some(status), _) => class_of_status(status),
            (None, Some("authentication_failed")) => FailureClass::Auth,
            // The API sent something other than an answer: a broken connection.
            (None, _) if outcome.terminal_reason.as_deref() == Some("api_error") => FailureClass::Transient,
            (None, _) => FailureClass::Crashed,
        }
    }

    /// Returns the failure of a process that exited before the end of its turn.
    fn without_end(self, end: &ProcessEnd) -> ProviderRefusal {
        let said = &end.complaints;
        let class = if is_lost([said.as_str()]) {
            Some(FailureClass::SessionLost)
        } else if said.contains("unknown option") || said.contains("piped stdin input exceeds") {
            Some(FailureClass::BadRequest)
        } else if said.contains("cannot be used with root/sudo privileges") {
            Some(FailureClass::Refused)
        } else {
            None
        };
        let failure = match (class, &self.trouble) {
            (_, Some((error, words))) if error == "authentication_failed" => {
                failure(FailureClass::Auth, words)
            }
            (Some(class), _) => failure(class, said),
            (None, _) => abrupt(&PROFILE, "ended without an end of the turn", end),
        };
        self.log.into_refusal(failure)
    }
}

fn is_lost<'a>(said: impl IntoIterator<Item = &'a str>) -> bool {
    said.into_iter().any(|words| words.contains("No conversation found with session ID"))
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ClaudeEvent {
    System(ClaudeSystemEvent),
    Assistant(ClaudeMessage),
    User(ClaudeMessage),
    #[serde(rename = "rate_limit_event")]
    RateLimit(ClaudeRateLimit),
    Result(Box<ClaudeResult>),
    #[serde(other)]
    Other,
}

/// Events about its mode, its tools and its retries.
#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum ClaudeSystemEvent {
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
struct ClaudeMessage {
    #[serde(default, deserialize_with = "or_default")]
    message: ClaudeContent,
    #[serde(default, deserialize_with = "or_default")]
    session_id: Option<String>,
    /// Present if the message belongs to a subagent.
    #[serde(default, deserialize_with = "or_default")]
    parent_tool_use_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    timestamp: Option<String>,
    /// Present if the message only reports an error.
    #[serde(default, deserialize_with = "or_default")]
    error: Option<String>,
}

impl ClaudeMessage {
    fn at(&self) -> Option<Moment> {
        moment(self.timestamp.as_ref()?)
    }
}

#[derive(Debug, Default, Deserialize)]
struct ClaudeContent {
    #[serde(default, deserialize_with = "blocks")]
    content: Vec<ClaudeBlock>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ClaudeBlock {
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
fn blocks<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<ClaudeBlock>, D::Error> {
    Ok(match Json::deserialize(deserializer)? {
        Json::String(text) => vec![ClaudeBlock::Text { text }],
        Json::Array(blocks) => blocks
            .into_iter()
            .map(|block| serde_json::from_value(block).unwrap_or(ClaudeBlock::Other))
            .collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => Vec::new(),
    })
}

/// The state of the subscription's usage limit.
#[derive(Debug, Deserialize)]
struct ClaudeRateLimit {
    #[serde(default, deserialize_with = "or_default")]
    rate_limit_info: ClaudeLimit,
}

#[derive(Debug, Default, Deserialize)]
struct ClaudeLimit {
    #[serde(default, deserialize_with = "or_default")]
    status: String,
    #[serde(default, rename = "resetsAt", deserialize_with = "or_default")]
    resets_at: Option<u64>,
}

impl ClaudeLimit {
    /// Returns the reset time if the limit is used up.
    fn spent_until(&self) -> Option<Moment> {
        let reset = self.resets_at.filter(|_| self.status == "rejected")?;
        Some(Moment(reset.saturating_mul(1000)))
    }
}

#[derive(Debug, Default, Deserialize)]
struct ClaudeResult {
    #[serde(default, deserialize_with = "or_default")]
    subtype: String,
    /// `subtype` says success even when this is true.
    #[serde(default = "yes")]
    is_error: bool,
    #[serde(default, deserialize_with = "or_default")]
    api_error_status: Option<u16>,
    #[serde(default, deserialize_with = "or_default")]
    api_error: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    terminal_reason: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    result: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    errors: Vec<String>,
    #[serde(default)]
    structured_output: Option<Json>,
    #[serde(default, deserialize_with = "or_default")]
    session_id: Option<String>,
    #[serde(default)]
    total_cost_usd: ReportedCost,
    #[serde(default, deserialize_with = "or_default")]
    usage: Option<ClaudeTokens>,
    #[serde(default, deserialize_with = "or_default")]
    model_usage_since_last_result: BTreeMap<String, ClaudeModelUsage>,
    #[serde(default, deserialize_with = "or_default")]
    permission_denials: Vec<Json>,
}

/// An end without this field counts as an error.
fn yes() -> bool {
    true
}

impl ClaudeResult {
    /// Returns the tokens of this turn. If it was cut short, `usage` misses the last message and is zero.
    fn usage(&self) -> Usage {
        let counted = self.usage.as_ref().map(ClaudeTokens::usage).unwrap_or_default();
        if counted.tokens() > 0 || self.model_usage_since_last_result.is_empty() {
            return if counted.tokens() > 0 { counted } else { Usage::default() };
        }
        let sum = |of: fn(&ClaudeModelUsage) -> u64| {
            Some(self.model_usage_since_last_result.values().map(of).sum())
        };
        Usage {
            input: sum(|model| model.input + model.cache_read + model.cache_written),
            output: sum(|model| model.output),
            cached: sum(|model| model.cache_read),
            reasoning: None,
            cumulative: false,
        }
    }

    /// Returns the cost of this turn alone, if reported. The total covers the whole session.
    fn own_cost(&self) -> Option<Usd> {
        let models = self.model_usage_since_last_result.values();
        let cost: f64 = models.map(|model| model.cost).sum();
        Usd::from_dollars(cost).filter(|_| !self.model_usage_since_last_result.is_empty())
    }
}

/// Token counts. Input excludes tokens read from or written to a cache.
#[derive(Debug, Default, Deserialize)]
struct ClaudeTokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default, deserialize_with = "or_default")]
    output_tokens_details: ClaudeTokenDetails,
}

#[derive(Debug, Default, Deserialize)]
struct ClaudeTokenDetails {
    #[serde(default)]
    thinking_tokens: Option<u64>,
}

impl ClaudeTokens {
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
struct ClaudeModelUsage {
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
