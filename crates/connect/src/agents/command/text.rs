//! The text protocol: the output of a program is its reply (C-71).

use saihai_model::{Ask, Progress, ProviderAnswer, Refusal, Reply};

use super::{PROFILE, failed};
use crate::agent::{End, Listener, Next, abrupt};
use crate::attempt::transcript_of;
use crate::structured::Structured;

/// Maximum length of a reply; the end is kept. The transcript has all of it (C-52).
const LONGEST: usize = 4 * 1024 * 1024;

pub(super) struct Ears {
    ask: Ask,
    said: String,
    left_off: usize,
}

impl Ears {
    pub(super) fn new(ask: &Ask) -> Self {
        Self { ask: ask.clone(), said: String::new(), left_off: 0 }
    }

    /// Drops the oldest lines. If the last line alone is too long, keeps its end.
    fn leave_off(&mut self) {
        let surplus = self.said.len().saturating_sub(LONGEST);
        let from = (surplus..).find(|at| self.said.is_char_boundary(*at)).unwrap_or_default();
        let next = self.said[from..].find('\n').map(|at| from + at + 1);
        let from = next.filter(|next| !self.said[*next..].trim().is_empty()).unwrap_or(from);
        self.left_off += from;
        self.said.drain(..from);
    }
}

impl Listener for Ears {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> Next {
        tell(Progress::Text(line.to_owned()));
        self.said.push_str(line);
        // The buffer may grow to twice the limit, so that not every line moves all of it.
        if self.said.len() > 2 * LONGEST {
            self.leave_off();
        }
        Next::GoOn
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn end(mut self: Box<Self>, end: &End) -> ProviderAnswer {
        if let Some(failure) = failed(end) {
            return Err(Refusal::from(failure));
        }
        if self.said.len() > LONGEST {
            self.leave_off();
        }
        let warnings = (self.left_off > 0).then(|| {
            let length = self.left_off + self.said.len();
            let file = transcript_of(&self.ask);
            format!(
                "only the end of a reply of {length} bytes is passed on; all of it is in {}",
                file.display()
            )
        });
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
            warnings: warnings.into_iter().collect(),
            ..Reply::default()
        })
    }
}
