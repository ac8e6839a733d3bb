//! The messages of a turn so far, and the number of model calls.

use saihai_model::{Failure, FailureClass, Progress, TurnLimit};

/// Maximum length of the kept text; the end is kept.
const LONGEST: usize = 1024 * 1024;

/// Messages and model calls, for any program. One call covers every message and tool start up to the first
/// tool result.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    most: Option<u32>,
    calls: u32,
    /// The current call is not complete.
    is_open: bool,
    said: String,
}

impl Spoken {
    pub(super) fn new(most: Option<u32>) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn hear(&mut self, progress: &Progress) {
        match progress {
            Progress::Text(text) => {
                self.begin();
                self.said.push_str(text);
                self.shorten();
            }
            Progress::ToolStarted(_) => self.begin(),
            Progress::ToolFinished(_) => self.is_open = false,
            Progress::Retrying(_) | Progress::Denied(_) => {}
        }
    }

    /// Returns the failure for a turn with too many model calls.
    pub(super) fn exceeded(&self) -> Option<Failure> {
        let most = self.most.filter(|most| self.calls > *most)?;
        let message = format!("the model was called more than {most} times");
        let failure = Failure::new(FailureClass::BadRequest, message);
        Some(Failure { limit: Some(TurnLimit::Calls), ..failure })
    }

    /// Returns the text of the last call.
    pub(super) fn into_said(self) -> Option<String> {
        Some(self.said).filter(|said| !said.trim().is_empty())
    }

    fn begin(&mut self) {
        if !self.is_open {
            self.calls = self.calls.saturating_add(1);
            self.is_open = true;
            self.said.clear();
        }
    }

    /// Cuts the text. It may grow to twice the limit, so that not every word moves all of it.
    fn shorten(&mut self) {
        if self.said.len() > 2 * LONGEST {
            let surplus = self.said.len() - LONGEST;
            let from = (surplus..).find(|at| self.said.is_char_boundary(*at)).unwrap_or_default();
            self.said.drain(..from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(most: u32, news: &[&str]) -> (Option<String>, Option<String>) {
        let mut spoken = Spoken::new(Some(most));
        for one in news {
            let name = || "Read".to_owned();
            spoken.hear(&match *one {
                ">" => Progress::ToolStarted(name()),
                "<" => Progress::ToolFinished(name()),
                "!" => Progress::Denied(name()),
                text => Progress::Text(text.to_owned()),
            });
        }
        let exceeded = spoken.exceeded();
        assert!(exceeded.iter().all(|failure| failure.limit == Some(TurnLimit::Calls)));
        (spoken.into_said(), exceeded.map(|failure| failure.message))
    }

    // Calls are counted for programs without a limit of their own
    #[test]
    fn a_call_lasts_until_a_tool_comes_back() {
        let once = ["I ", "look.", ">", ">", "!", "<", "<"];
        assert_eq!(heard(1, &once), (Some("I look.".to_owned()), None));
        let twice = [&once[..], &["It ", "leaks."]].concat();
        assert_eq!(heard(2, &twice), (Some("It leaks.".to_owned()), None));
        let too_often =
            (Some("It leaks.".to_owned()), Some("the model was called more than 1 times".to_owned()));
        assert_eq!(heard(1, &twice), too_often);
        assert_eq!(heard(1, &[">", "<", ">"]).0, None);
        assert_eq!(heard(3, &[]), (None, None));
    }

    #[test]
    fn of_very_much_the_end_is_held() {
        let mut spoken = Spoken::new(None);
        for _ in 0..40_000 {
            spoken.hear(&Progress::Text("\u{6f22}".repeat(50)));
        }
        spoken.hear(&Progress::Text("end".to_owned()));
        assert!(spoken.said.len() <= 2 * LONGEST && spoken.said.ends_with("\u{6f22}end"));
    }
}
