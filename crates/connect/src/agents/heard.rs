//! The collected events of a turn, for programs that report step by step.

use jiff::Timestamp;
use saihai_model::{Ask, Failure, Meter, Moment, ProviderAnswer, Refusal, Reply, Usage, Usd};

use super::messages::Messages;
use crate::structured::Structured;
use crate::tool_log::ToolLog;

/// The collected events of a turn.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) session: Option<String>,
    /// Every message of the agent, in order. The last one may be incomplete.
    pub(crate) messages: Messages,
    pub(crate) tools: ToolLog,
    /// Number of denied tool calls.
    pub(crate) denied: u32,
    /// Token counts, as far as reported.
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Usd>,
    /// The session's counters, for programs that count per session.
    pub(crate) metered: Option<Meter>,
    pub(crate) warnings: Vec<String>,
}

impl Heard {
    /// Returns true if the agent neither said nor did anything (C-32).
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.last().is_none() && !self.tools.has_finished()
    }

    pub(crate) fn into_reply(self, ask: &Ask) -> Reply {
        let text = self.messages.last().cloned().unwrap_or_default();
        let warnings = self.warnings.into_iter().chain(self.messages.warning(ask)).collect();
        let Structured { value, error } = match &ask.schema {
            Some(_) => Structured::of(ask, None, &text),
            None => Structured::default(),
        };
        Reply {
            text,
            responses: self.messages.into_spoken(),
            structured: value,
            structured_error: error,
            session: self.session,
            usage: self.usage,
            cost: self.cost,
            tools_used: self.tools.into_uses(),
            denied: self.denied,
            metered: self.metered,
            warnings,
        }
    }

    /// Builds the refusal: the failure together with the usage so far (C-26).
    pub(crate) fn into_refusal(self, failure: Failure) -> Refusal {
        Refusal {
            failure,
            retry_after: None,
            usage: self.usage,
            cost: self.cost,
            session: self.session,
            metered: self.metered,
            said: None,
        }
    }

    /// Returns the reply, or the refusal if there is a failure.
    pub(crate) fn into_answer(self, ask: &Ask, failed: Option<Failure>) -> ProviderAnswer {
        match failed {
            Some(failure) => Err(self.into_refusal(failure)),
            None => Ok(self.into_reply(ask)),
        }
    }
}

/// Parses a time in the format that agents use.
pub(crate) fn moment(text: &str) -> Option<Moment> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok().map(Moment)
}
