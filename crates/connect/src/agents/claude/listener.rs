//! The listener for Claude Code: collects events and builds the result.

use saihai_model::{
    Ask, Failure, FailureClass, Meter, Moment, Progress, ProviderAnswer, Refusal, Reply, TurnLimit, Usage,
    Usd,
};

use super::event::{Block, Event, Outcome, Spoken, System};
use super::{Allowed, PROFILE};
use crate::agent::{End, Listener, Next, abrupt, class_of_status, failure};
use crate::agents::messages::Messages;
use crate::metering;
use crate::structured::Structured;
use crate::tool_log::{ToolLog, When};

pub(super) struct Ears {
    ask: Ask,
    allowed: Allowed,
    session: Option<String>,
    responses: Messages,
    tools: ToolLog,
    denied: u32,
    /// Name and text of the last message that only reports an error.
    trouble: Option<(String, String)>,
    /// Reset time of a usage limit that is used up.
    spent_until: Option<Moment>,
    outcome: Option<Box<Outcome>>,
    warnings: Vec<String>,
}

impl Ears {
    pub(super) fn new(ask: &Ask, allowed: Allowed) -> Self {
        Self {
            ask: ask.clone(),
            allowed,
            session: None,
            responses: Messages::default(),
            tools: ToolLog::default(),
            denied: 0,
            trouble: None,
            spent_until: None,
            outcome: None,
            warnings: Vec::new(),
        }
    }
}

impl Listener for Ears {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> Next {
        let Ok(event) = serde_json::from_str::<Event>(line) else { return Next::GoOn };
        match event {
            Event::System(system) => self.system(system, tell),
            Event::Assistant(spoken) => self.assistant(spoken, tell),
            Event::User(spoken) => self.tool_results(spoken, tell),
            Event::RateLimit(limit) => {
                self.spent_until = limit.rate_limit_info.spent_until();
                Next::GoOn
            }
            Event::Result(outcome) => self.result(outcome),
            Event::Other => Next::GoOn,
        }
    }

    fn is_busy(&self) -> bool {
        self.tools.is_open()
    }

    fn end(mut self: Box<Self>, end: &End) -> ProviderAnswer {
        match self.outcome.take() {
            Some(outcome) if outcome.is_error => Err(self.refused(&outcome)),
            Some(outcome) if outcome.stop_reason.as_deref() == Some("refusal") => {
                let said = outcome.result.clone().unwrap_or_default();
                Err(self.refusal(Failure::new(FailureClass::Refused, said), &outcome))
            }
            Some(outcome) if !end.exit.is_fine() => {
                let failure = abrupt(&PROFILE, "did not end well after its reply", end);
                Err(self.refusal(failure, &outcome))
            }
            Some(outcome) => self.replied(*outcome, end),
            None => Err(self.without_end(end)),
        }
    }
}

impl Ears {
    fn system(&mut self, system: System, tell: &mut dyn FnMut(Progress)) -> Next {
        match system {
            System::Init { session_id, mode, tools } => {
                self.session = session_id.or(self.session.take());
                match self.allowed.exceeded_by(mode.as_deref(), &tools) {
                    Some(why) => return Next::Abort(failure(FailureClass::BadRequest, &why)),
                    None => return Next::GoOn,
                }
            }
            System::ApiRetry { attempt, max_retries, error_status, error } => {
                let status = error_status.map_or(error, |status| format!("status {status}"));
                tell(Progress::Retrying(format!("{status}, {attempt} of {max_retries}")));
            }
            System::PermissionDenied { tool_name } => {
                self.denied = self.denied.saturating_add(1);
                tell(Progress::Denied(tool_name));
            }
            System::Other => {}
        }
        Next::GoOn
    }

    fn assistant(&mut self, spoken: Spoken, tell: &mut dyn FnMut(Progress)) -> Next {
        let when = When::said(spoken.at());
        self.session = spoken.session_id.or(self.session.take());
        let is_own = spoken.parent_tool_use_id.is_none();
        for block in spoken.message.content {
            match block {
                Block::Text { text } => match &spoken.error {
                    Some(error) => self.trouble = Some((error.clone(), text)),
                    None if is_own && !text.trim().is_empty() => {
                        tell(Progress::Text(text.clone()));
                        self.responses.begin(text);
                    }
                    None => {}
                },
                // The answer tool does not count as a tool use.
                Block::ToolUse { name, .. } if self.allowed.is_answer(&name) => {}
                Block::ToolUse { id, name, input } => self.tools.started(&id, &name, input, when, tell),
                Block::ToolResult { .. } | Block::Other => {}
            }
        }
        Next::GoOn
    }

    fn tool_results(&mut self, spoken: Spoken, tell: &mut dyn FnMut(Progress)) -> Next {
        let when = When::said(spoken.at());
        for block in spoken.message.content {
            match block {
                Block::ToolResult { tool_use_id, content } => {
                    self.tools.finished(&tool_use_id, content, when, tell);
                }
                Block::Text { .. } | Block::ToolUse { .. } | Block::Other => {}
            }
        }
        Next::GoOn
    }

    fn result(&mut self, outcome: Box<Outcome>) -> Next {
        if self.outcome.is_some() {
            self.warnings.push("claude reported a second end of the turn, which was ignored".to_owned());
            return Next::GoOn;
        }
        self.session = outcome.session_id.clone().or(self.session.take());
        self.outcome = Some(outcome);
        Next::Done
    }

    fn replied(self, outcome: Outcome, end: &End) -> ProviderAnswer {
        let said = outcome.result.clone().filter(|text| !text.trim().is_empty());
        let text = said.or_else(|| self.responses.last().cloned()).unwrap_or_default();
        let structured = Structured::of(&self.ask, outcome.structured_output.clone(), &text);
        if text.is_empty() && structured.value.is_none() && !self.tools.has_finished() {
            return Err(self.refusal(abrupt(&PROFILE, "ended without any reply", end), &outcome));
        }
        let spent = Spent::of(&self.ask, &outcome);
        let told = [outcome.total_cost_usd.warning(), self.responses.warning(&self.ask)];
        let warnings = self.warnings.into_iter().chain(told.into_iter().flatten()).collect();
        let denied = u32::try_from(outcome.permission_denials.len()).unwrap_or(u32::MAX);
        Ok(Reply {
            text,
            responses: self.responses.into_spoken(),
            structured: structured.value,
            structured_error: structured.error,
            session: self.session,
            usage: spent.usage,
            cost: spent.cost,
            tools_used: self.tools.into_uses(),
            denied: self.denied.max(denied),
            metered: spent.metered,
            warnings,
        })
    }

    fn refused(self, outcome: &Outcome) -> Refusal {
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
        self.refusal(failure, outcome)
    }

    /// Returns the failure class (C-32). `subtype` does not help: it says success even for API errors.
    fn class(&self, outcome: &Outcome) -> FailureClass {
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
    fn without_end(self, end: &End) -> Refusal {
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
        Refusal { session: self.session, ..Refusal::from(failure) }
    }

    fn refusal(self, failure: Failure, outcome: &Outcome) -> Refusal {
        let spent = Spent::of(&self.ask, outcome);
        Refusal {
            failure,
            retry_after: None,
            usage: spent.usage,
            cost: spent.cost,
            session: self.session,
            metered: spent.metered,
            said: None,
        }
    }
}

fn is_lost<'a>(said: impl IntoIterator<Item = &'a str>) -> bool {
    said.into_iter().any(|words| words.contains("No conversation found with session ID"))
}

/// The cost of a turn. Tokens count per turn, money per session (C-27).
struct Spent {
    usage: Usage,
    cost: Option<Usd>,
    metered: Option<Meter>,
}

impl Spent {
    fn of(ask: &Ask, outcome: &Outcome) -> Self {
        let total = outcome.total_cost_usd.amount();
        let counted = Meter { usage: Usage::default(), cost: total };
        let turn = metering::of_turn(ask, &counted);
        let own = outcome.own_cost().filter(|_| turn.usage.cumulative);
        let cumulative = turn.usage.cumulative && own.is_none() && total.is_some();
        let usage = Usage { cumulative, ..outcome.usage() };
        Self { usage, cost: own.or(turn.cost), metered: total.map(|_| counted) }
    }
}
