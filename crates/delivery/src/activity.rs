//! The events of a run that matter to an invocation with many runs.

use saihai::DriverEvent;
use saihai_model::{
    Cost, Decision, Fact, FailureClass, Moment, Outcome, OutsideReason, ProviderName, RecordEntry, StageId,
};

/// An event of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum IssueActivity {
    Stage(StageId),
    FirstTurn,
    Turn(Cost),
    /// The run waits until a time, or continues after a wait.
    Waiting(Option<Moment>),
    /// The run waits for the merges before its own (true), or merges now (false).
    MergeQueued(bool),
    /// The provider's quota is used up until this moment.
    Exhausted(ProviderName, Moment),
    Warning(String),
    /// An action is repeated later.
    Delayed(OutsideReason),
    /// The task is too long, so this many characters were left out.
    TextLeftOut(usize),
    /// Work starts again at the base. The conflicting work is kept in this ref.
    StartsAgain {
        base: String,
        kept: String,
    },
}

/// Turns the observations of a run into its events.
#[derive(Debug, Default)]
pub(crate) struct ActivityFilter {
    asked: bool,
    /// The provider that reported an exhausted quota at the last call.
    exhausted: Option<ProviderName>,
}

impl ActivityFilter {
    pub(crate) fn events(&mut self, observed: &DriverEvent<'_>) -> Vec<IssueActivity> {
        match observed {
            DriverEvent::Recorded(record) => self.recorded(&record.entry).into_iter().collect(),
            DriverEvent::Waiting { until } => {
                let exhausted =
                    self.exhausted.take().map(|provider| IssueActivity::Exhausted(provider, *until));
                exhausted.into_iter().chain([IssueActivity::Waiting(Some(*until))]).collect()
            }
            DriverEvent::Warning(warning) => vec![IssueActivity::Warning(warning.to_string())],
            DriverEvent::Progress { .. } | DriverEvent::Gate { .. } => Vec::new(),
        }
    }

    fn recorded(&mut self, entry: &RecordEntry) -> Option<IssueActivity> {
        Some(match entry {
            RecordEntry::Decision(Decision::Entered { stage, .. }) => IssueActivity::Stage(stage.clone()),
            RecordEntry::Fact(Fact::Asked { .. }) if !self.asked => {
                self.asked = true;
                IssueActivity::FirstTurn
            }
            RecordEntry::Fact(Fact::Replied(reply)) => {
                self.exhausted = None;
                let (usd, tokens) = (reply.cost.unwrap_or_default(), reply.usage.tokens());
                IssueActivity::Turn(Cost { usd, tokens, turns: 1 })
            }
            RecordEntry::Fact(Fact::Failed(failed)) => {
                let is_used_up = failed.failure.class == FailureClass::Quota;
                self.exhausted = failed.provider.clone().filter(|_| is_used_up);
                let (usd, tokens) = (failed.cost.unwrap_or_default(), failed.usage.tokens());
                IssueActivity::Turn(Cost { usd, tokens, turns: 0 })
            }
            RecordEntry::Fact(Fact::Woke) => IssueActivity::Waiting(None),
            RecordEntry::Fact(Fact::Performed { outcome: Outcome::Delayed { reason }, .. }) => {
                IssueActivity::Delayed(reason.clone())
            }
            RecordEntry::Fact(_) | RecordEntry::Decision(_) => return None,
        })
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
            Record { seq: 1, at: Moment(1), entry: RecordEntry::Fact(Fact::Failed(Box::new(failed))) }
        };
        let waits = |class: FailureClass| {
            let mut filter = ActivityFilter::default();
            filter.events(&DriverEvent::Recorded(&failed(class)));
            filter.events(&DriverEvent::Waiting { until: Moment(7) })
        };
        let waiting = || IssueActivity::Waiting(Some(Moment(7)));
        let exhausted = IssueActivity::Exhausted("claude".into(), Moment(7));
        assert_eq!(waits(FailureClass::Quota), [exhausted, waiting()]);
        assert_eq!(waits(FailureClass::Transient), [waiting()]);
    }
}
