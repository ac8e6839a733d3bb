//! What has been heard of a turn so far, where a program says it piece by piece.

use jiff::Timestamp;
use saihai_model::{Ask, Failure, Meter, Moment, ProviderAnswer, Refusal, Reply, Usage, Usd};

use super::messages::Messages;
use crate::structured::Structured;
use crate::tool_log::ToolLog;

/// What has been heard of a turn so far.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// In which session it is.
    pub(crate) session: Option<String>,
    /// Every message of the agent, in order. One that is still being said is the last.
    pub(crate) messages: Messages,
    pub(crate) tools: ToolLog,
    /// How often it was denied something.
    pub(crate) denied: u32,
    /// Tokens, as far as it said.
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Usd>,
    /// The session's counters, where it counts sessions.
    pub(crate) metered: Option<Meter>,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
}

impl Heard {
    /// Whether it comes to anything: something was said or done (C-32).
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.last().is_none() && !self.tools.has_finished()
    }

    /// All of it as a reply.
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

    /// What it cost all the same, with the reason why it came to nothing (C-26).
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

    /// The reply, unless something speaks against it.
    pub(crate) fn into_answer(self, ask: &Ask, failed: Option<Failure>) -> ProviderAnswer {
        match failed {
            Some(failure) => Err(self.into_refusal(failure)),
            None => Ok(self.into_reply(ask)),
        }
    }
}

/// A moment as agents write it.
pub(crate) fn moment(text: &str) -> Option<Moment> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok().map(Moment)
}
