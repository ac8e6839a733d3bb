//! The JSON protocol: one line per message or action of a program (C-72).

use saihai_model::{
    Ask, Failure, FailureClass, Json, Millis, Progress, ProviderAnswer, Refusal, Reply, Usage,
};
use serde::Deserialize;

use super::{PROFILE, failed};
use crate::agent::{End, Listener, Next, abrupt, failure, wait_of_seconds};
use crate::agents::messages::Messages;
use crate::lenient::or_default;
use crate::structured::Structured;
use crate::told_cost::ToldCost;
use crate::tool_log::{ToolLog, When};

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    Text {
        text: String,
    },
    Tool {
        id: Json,
        name: String,
        status: String,
        #[serde(default)]
        input: Option<Json>,
        #[serde(default)]
        output: Option<Json>,
    },
    Usage {
        #[serde(default, deserialize_with = "or_default")]
        input: Option<u64>,
        #[serde(default, deserialize_with = "or_default")]
        output: Option<u64>,
        #[serde(default, deserialize_with = "or_default")]
        cached: Option<u64>,
        #[serde(default, deserialize_with = "or_default")]
        reasoning: Option<u64>,
        #[serde(default)]
        cost_usd: ToldCost,
    },
    Session {
        id: String,
    },
    Done {
        #[serde(default, deserialize_with = "or_default")]
        text: Option<String>,
        #[serde(default)]
        structured: Option<Json>,
    },
    Failed {
        class: String,
        #[serde(default, deserialize_with = "or_default")]
        message: String,
        #[serde(default, deserialize_with = "or_default")]
        retry_after: Option<f64>,
    },
    #[serde(other)]
    Other,
}

pub(super) struct Ears {
    ask: Ask,
    said: Messages,
    tools: ToolLog,
    usage: Usage,
    cost: ToldCost,
    session: Option<String>,
    outcome: Option<Outcome>,
    warnings: Vec<String>,
}

enum Outcome {
    Done { text: Option<String>, structured: Option<Json> },
    Failed { failure: Failure, retry_after: Option<Millis> },
}

impl Ears {
    pub(super) fn new(ask: &Ask) -> Self {
        Self {
            ask: ask.clone(),
            said: Messages::default(),
            tools: ToolLog::default(),
            usage: Usage::default(),
            cost: ToldCost::default(),
            session: None,
            outcome: None,
            warnings: Vec::new(),
        }
    }
}

impl Listener for Ears {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> Next {
        let Ok(event) = serde_json::from_str::<Event>(line) else { return Next::GoOn };
        match event {
            Event::Text { text } => {
                self.said.go_on(&text);
                tell(Progress::Text(text));
            }
            Event::Tool { id, name, status, input, output } => {
                let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
                self.tools.started(&id, &name, input, When::now(), tell);
                if matches!(status.as_str(), "done" | "failed") {
                    self.tools.finished(&id, output, When::now(), tell);
                }
            }
            Event::Usage { input, output, cached, reasoning, cost_usd } => {
                self.usage = Usage { input, output, cached, reasoning, cumulative: false };
                self.cost = cost_usd;
            }
            Event::Session { id } => self.session = Some(id),
            Event::Done { text, structured } => return self.ended(Outcome::Done { text, structured }),
            Event::Failed { class, message, retry_after } => {
                let retry_after = retry_after.and_then(wait_of_seconds);
                return self.ended(Outcome::Failed { failure: classified(&class, &message), retry_after });
            }
            Event::Other => {}
        }
        Next::GoOn
    }

    fn is_busy(&self) -> bool {
        self.tools.is_open()
    }

    fn end(mut self: Box<Self>, end: &End) -> ProviderAnswer {
        match self.outcome.take() {
            Some(Outcome::Failed { failure, retry_after }) => Err(self.refusal(failure, retry_after)),
            Some(Outcome::Done { text, structured }) => match failed(end) {
                Some(failure) => Err(self.refusal(failure, None)),
                None => self.replied(text, structured, end),
            },
            None => {
                let silent = || abrupt(&PROFILE, "ended without a line `done` or `failed`", end);
                Err(self.refusal(failed(end).unwrap_or_else(silent), None))
            }
        }
    }
}

impl Ears {
    fn ended(&mut self, outcome: Outcome) -> Next {
        if self.outcome.is_some() {
            self.warnings.push("the command reported a second end of the turn, which was ignored".to_owned());
            return Next::GoOn;
        }
        self.outcome = Some(outcome);
        Next::Done
    }

    fn replied(mut self, text: Option<String>, structured: Option<Json>, end: &End) -> ProviderAnswer {
        let said = self.said.last().cloned();
        let text = text.or_else(|| said.clone()).unwrap_or_default();
        let structured = Structured::of(&self.ask, structured, &text);
        if text.trim().is_empty() && structured.value.is_none() && !self.tools.has_finished() {
            return Err(self.refusal(abrupt(&PROFILE, "ended without any reply", end), None));
        }
        let mut responses: Vec<String> = said.into_iter().collect();
        if responses.last() != Some(&text) && !text.trim().is_empty() {
            responses.push(text.clone());
        }
        self.warnings.extend(self.cost.warning().into_iter().chain(self.said.warning(&self.ask)));
        Ok(Reply {
            text,
            responses,
            structured: structured.value,
            structured_error: structured.error,
            session: self.session,
            usage: self.usage,
            cost: self.cost.amount(),
            tools_used: self.tools.into_uses(),
            denied: 0,
            metered: None,
            warnings: self.warnings,
        })
    }

    fn refusal(self, failure: Failure, retry_after: Option<Millis>) -> Refusal {
        Refusal {
            retry_after,
            usage: self.usage,
            cost: self.cost.amount(),
            session: self.session,
            ..Refusal::from(failure)
        }
    }
}

/// Builds a failure of the named class. The message quotes a class that does not exist.
fn classified(class: &str, message: &str) -> Failure {
    let message = if message.trim().is_empty() { "the command gave no reason" } else { message };
    match FailureClass::ALL.into_iter().find(|known| known.name() == class) {
        Some(class) => failure(class, message),
        None => failure(FailureClass::Crashed, &format!("unknown class `{class}` of a failure: {message}")),
    }
}
