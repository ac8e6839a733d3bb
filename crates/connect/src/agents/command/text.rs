//! The text protocol: what a program prints is its reply (C-71).

use saihai_model::{Ask, Progress, ProviderAnswer, Refusal, Reply};

use super::{PROFILE, failed};
use crate::agent::{End, Listener, Next, abrupt};
use crate::structured::Structured;

/// Listens to one process.
pub(super) struct Ears {
    ask: Ask,
    said: String,
}

impl Ears {
    pub(super) fn new(ask: &Ask) -> Self {
        Self { ask: ask.clone(), said: String::new() }
    }
}

impl Listener for Ears {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> Next {
        tell(Progress::Text(line.to_owned()));
        self.said.push_str(line);
        Next::GoOn
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn end(self: Box<Self>, end: &End) -> ProviderAnswer {
        if let Some(failure) = failed(end) {
            return Err(Refusal::from(failure));
        }
        let said = &self.said;
        let text = said.strip_suffix("\r\n").or_else(|| said.strip_suffix('\n')).unwrap_or(said).to_owned();
        if text.trim().is_empty() {
            return Err(Refusal::from(abrupt(&PROFILE, "ended without any reply", end)));
        }
        let structured = Structured::of(&self.ask, None, &text);
        Ok(Reply {
            responses: vec![text.clone()],
            text,
            structured: structured.value,
            structured_error: structured.error,
            ..Reply::default()
        })
    }
}
