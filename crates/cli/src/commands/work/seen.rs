//! The events of a run that matter to an invocation with many runs.

use saihai::Observed;
use saihai_model::{Cost, Decision, Entry, Fact, FailureClass, Moment, Outcome, ProviderName};

use crate::terminal::visible_line;

#[derive(Debug, PartialEq)]
pub(super) enum Seen {
    Stage(String),
    FirstTurn,
    Turn(Cost),
    Waiting(Option<Moment>),
    /// The provider's quota is used up until this moment.
    Exhausted(ProviderName, Moment),
    Warning(String),
    /// A note for the user.
    Note(String),
}

/// The events of a run so far.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    asked: bool,
    /// The provider that reported an exhausted quota at the last call.
    exhausted: Option<ProviderName>,
}

impl Hearing {
    /// Returns the events that follow from an observation.
    pub(super) fn hear(&mut self, observed: &Observed<'_>) -> Vec<Seen> {
        match observed {
            Observed::Recorded(record) => self.recorded(&record.entry),
            Observed::Waiting { until } => {
                let exhausted = self.exhausted.take().map(|provider| Seen::Exhausted(provider, *until));
                exhausted.into_iter().chain([Seen::Waiting(Some(*until))]).collect()
            }
            Observed::Warning(warning) => {
                vec![Seen::Warning(visible_line(&warning.to_string()).into_owned())]
            }
            Observed::Progress { .. } | Observed::Gate { .. } => Vec::new(),
        }
    }

    fn recorded(&mut self, entry: &Entry) -> Vec<Seen> {
        match entry {
            Entry::Decision(Decision::Entered { stage, .. }) => vec![Seen::Stage(stage.to_string())],
            Entry::Fact(Fact::Asked { .. }) if !self.asked => {
                self.asked = true;
                vec![Seen::FirstTurn]
            }
            Entry::Fact(Fact::Replied(reply)) => {
                self.exhausted = None;
                let (usd, tokens) = (reply.cost.unwrap_or_default(), reply.usage.tokens());
                vec![Seen::Turn(Cost { usd, tokens, turns: 1 })]
            }
            Entry::Fact(Fact::Failed(failed)) => {
                let is_used_up = failed.failure.class == FailureClass::Quota;
                self.exhausted = failed.provider.clone().filter(|_| is_used_up);
                let (usd, tokens) = (failed.cost.unwrap_or_default(), failed.usage.tokens());
                vec![Seen::Turn(Cost { usd, tokens, turns: 0 })]
            }
            Entry::Fact(Fact::Woke) => vec![Seen::Waiting(None)],
            Entry::Fact(Fact::Performed { outcome: Outcome::Delayed { reason }, .. }) => {
                vec![Seen::Note(visible_line(reason).into_owned())]
            }
            Entry::Fact(_) | Entry::Decision(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::{CallFailed, CallId, Failure, Record};

    use super::*;

    // I-45: also if the run itself waits for the quota.
    #[test]
    fn a_wait_for_a_quota_names_the_provider_and_any_other_wait_does_not() {
        let failed = |class: FailureClass| {
            let call = CallId { stage: "fix".into(), visit: 1, round: 1, n: 1 };
            let failed = CallFailed::new(call, Failure::new(class, "no"));
            let failed = CallFailed { provider: Some("claude".into()), ..failed };
            Record { seq: 1, at: Moment(1), entry: Entry::Fact(Fact::Failed(Box::new(failed))) }
        };
        let waits = |class: FailureClass| {
            let mut hearing = Hearing::default();
            hearing.hear(&Observed::Recorded(&failed(class)));
            hearing.hear(&Observed::Waiting { until: Moment(7) })
        };
        let waiting = || Seen::Waiting(Some(Moment(7)));
        let exhausted = Seen::Exhausted("claude".into(), Moment(7));
        assert_eq!(waits(FailureClass::Quota), [exhausted, waiting()]);
        assert_eq!(waits(FailureClass::Transient), [waiting()]);
    }
}
