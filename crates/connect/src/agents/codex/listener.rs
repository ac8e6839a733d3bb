//! The listener for Codex: collects events and builds the result.

use jiff::Zoned;
use saihai_model::{
    Ask, Failure, FailureClass, Meter, Millis, Progress, ProviderAnswer, Refusal, Reply, Usage,
};

use super::PROFILE;
use super::event::{Event, Item};
use super::failures;
use crate::agent::{End, Listener, Next, abrupt, failure, wait_of_seconds};
use crate::agents::messages::Messages;
use crate::metering;
use crate::structured::Structured;
use crate::tool_log::{ToolLog, When};

pub(super) struct Ears {
    ask: Ask,
    thread: Option<String>,
    responses: Messages,
    tools: ToolLog,
    denied: u32,
    outcome: Option<Outcome>,
    warnings: Vec<String>,
}

enum Outcome {
    /// The turn is complete; the usage covers the whole thread.
    Completed(Option<Usage>),
    /// The turn failed with this message.
    Failed(String),
}

impl Ears {
    pub(super) fn new(ask: &Ask) -> Self {
        Self {
            ask: ask.clone(),
            thread: None,
            responses: Messages::default(),
            tools: ToolLog::default(),
            denied: 0,
            outcome: None,
            warnings: Vec::new(),
        }
    }
}

impl Listener for Ears {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> Next {
        let Ok(event) = serde_json::from_str::<Event>(line) else { return Next::GoOn };
        match event {
            Event::ThreadStarted { thread_id } => self.thread = thread_id,
            Event::ItemStarted { item } => self.started(item, tell),
            Event::ItemCompleted { item } => self.completed(item, tell),
            Event::TurnCompleted { usage } => {
                return self.ended(Outcome::Completed(usage.map(|counted| counted.usage())));
            }
            Event::TurnFailed { error } => return self.ended(Outcome::Failed(error.message)),
            // Only a failure of the turn is fatal. Codex may recover from other errors.
            Event::Error { message } => tell(Progress::Retrying(message)),
            Event::Other => {}
        }
        Next::GoOn
    }

    fn is_busy(&self) -> bool {
        self.tools.is_open()
    }

    fn end(mut self: Box<Self>, end: &End) -> ProviderAnswer {
        match self.outcome.take() {
            Some(Outcome::Completed(counted)) => self.replied(counted, end),
            Some(Outcome::Failed(message)) => Err(self.refused(refusal(&message, &Zoned::now()))),
            None => Err(self.without_end(end)),
        }
    }
}

impl Ears {
    fn started(&mut self, item: saihai_model::Json, tell: &mut dyn FnMut(Progress)) {
        if let Item::Tool(tool) = Item::of(item) {
            self.tools.started(&tool.id, &tool.name, tool.input, When::now(), tell);
        }
    }

    fn completed(&mut self, item: saihai_model::Json, tell: &mut dyn FnMut(Progress)) {
        match Item::of(item) {
            Item::Message(text) if !text.trim().is_empty() => {
                tell(Progress::Text(text.clone()));
                self.responses.begin(text);
            }
            Item::Tool(tool) => {
                // Codex reports some tools only at their end.
                self.tools.started(&tool.id, &tool.name, tool.input, When::now(), tell);
                if tool.declined {
                    self.denied = self.denied.saturating_add(1);
                    tell(Progress::Denied(tool.name));
                }
                self.tools.finished(&tool.id, tool.output, When::now(), tell);
            }
            Item::Message(_) | Item::Other => {}
        }
    }

    fn ended(&mut self, outcome: Outcome) -> Next {
        if self.outcome.is_some() {
            self.warnings.push("codex reported a second end of the turn, which was ignored".to_owned());
            return Next::GoOn;
        }
        self.outcome = Some(outcome);
        Next::Done
    }

    fn replied(self, counted: Option<Usage>, end: &End) -> ProviderAnswer {
        let metered = counted.map(|usage| Meter { usage, cost: None });
        let usage = metered.as_ref().map(|counted| metering::of_turn(&self.ask, counted).usage);
        let usage = usage.unwrap_or_default();
        let text = self.responses.last().cloned().unwrap_or_default();
        let structured = Structured::of(&self.ask, None, &text);
        let wrong = if !end.exit.is_fine() {
            Some("did not end well after its reply")
        } else if text.is_empty() && !self.tools.has_finished() {
            Some("ended without any reply")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            let refusal = Refusal::from(abrupt(&PROFILE, wrong, end));
            return Err(Refusal { usage, metered, session: self.thread, ..refusal });
        }
        let warnings = self.warnings.into_iter().chain(self.responses.warning(&self.ask)).collect();
        Ok(Reply {
            text,
            responses: self.responses.into_spoken(),
            structured: structured.value,
            structured_error: structured.error,
            session: self.thread,
            usage,
            cost: None,
            tools_used: self.tools.into_uses(),
            denied: self.denied,
            metered,
            warnings,
        })
    }

    /// Returns the failure of a process that exited before the end of its turn. Errors at the start appear on
    /// standard error only.
    fn without_end(self, end: &End) -> Refusal {
        let refusal = match failures::class(&end.complaints) {
            Some(_) => refusal(&end.complaints, &Zoned::now()),
            None => Refusal::from(abrupt(&PROFILE, "ended without an end of the turn", end)),
        };
        self.refused(refusal)
    }

    fn refused(self, refusal: Refusal) -> Refusal {
        Refusal { session: self.thread, ..refusal }
    }
}

/// Interprets an error message: its class and the time of the next attempt.
fn refusal(message: &str, now: &Zoned) -> Refusal {
    let class = failures::class(message).unwrap_or(FailureClass::Crashed);
    let waits = matches!(class, FailureClass::RateLimited | FailureClass::Quota | FailureClass::Transient);
    let until = failures::until(message, now).filter(|_| waits);
    let retry_after: Option<Millis> =
        failures::wait_in_seconds(message).filter(|_| waits).and_then(wait_of_seconds);
    Refusal { retry_after, ..Refusal::from(Failure { until, ..failure(class, message) }) }
}
