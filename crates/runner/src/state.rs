//! What a list of runs says about each.

use std::collections::BTreeSet;

use saihai_model::{
    CallFailed, CallId, Decision, Ending, Entry, Fact, Hold, Moment, ProviderName, Record, Usd,
};

use crate::{Error, RunDirectory};

/// A run in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The definition's name as it was asked for.
    pub definition: String,
    /// The dialect it was written in.
    pub dialect: String,
    /// How it stands.
    pub state: State,
    /// When it began.
    pub started: Moment,
    /// Prompts answered.
    pub turns: u64,
    /// What they cost; absent where no provider said so.
    pub cost: Option<Usd>,
    /// Providers with a turn that nobody knows the cost of.
    pub unpriced: BTreeSet<ProviderName>,
    /// Whether no agent was really asked.
    pub rehearsal: bool,
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// A living process owns it.
    Running {
        /// Which, where it has said so.
        owner: Option<u32>,
    },
    /// Nobody owns it and nothing was said: its process died. To be resumed.
    Interrupted,
    /// Nobody owns it, and what it waited for is there: somebody has answered. To be resumed.
    Ready,
    /// It waits.
    Parked {
        /// For what.
        hold: Hold,
        /// Whose fault that is, where a provider's.
        provider: Option<ProviderName>,
    },
    /// It is over.
    Ended {
        /// How.
        ending: Ending,
    },
}

impl State {
    /// The word of the table and of `--state`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::Interrupted | Self::Ready => "interrupted",
            Self::Parked { .. } => "parked",
            Self::Ended { ending } => ending.outcome(),
        }
    }

    /// Why it waits or how it ended, where there is a word for it.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Running { .. } | Self::Interrupted | Self::Ready => None,
            Self::Parked { hold, .. } => Some(hold.reason()),
            Self::Ended { ending } => Some(ending.reason()),
        }
    }

    /// Which provider it waits for, where that is why.
    pub fn provider(&self) -> Option<&str> {
        match self {
            Self::Parked { provider, .. } => provider.as_ref().map(ProviderName::as_str),
            Self::Running { .. } | Self::Interrupted | Self::Ready | Self::Ended { .. } => None,
        }
    }

    /// When it can go on, where that is known.
    pub fn until(&self) -> Option<Moment> {
        match self {
            Self::Parked { hold: Hold::Until(at, _), .. } => Some(*at),
            Self::Parked { .. }
            | Self::Running { .. }
            | Self::Interrupted
            | Self::Ready
            | Self::Ended { .. } => None,
        }
    }
}

impl Summary {
    /// Folds a journal. Decisions say how the run stands, so that also a run this version could not go on with can be
    /// listed.
    pub(crate) fn of(directory: &RunDirectory) -> Result<Self, Error> {
        let mut fold = Fold::default();
        directory.read(&mut |record| fold.see(record))?;
        let mut summary = fold.summary.ok_or_else(|| directory.unborn())?;
        if let (Some(owner), false) = (directory.owner(), matches!(summary.state, State::Ended { .. })) {
            summary.state = State::Running { owner };
        }
        Ok(summary)
    }
}

/// Folds records into a summary.
#[derive(Default)]
struct Fold {
    summary: Option<Summary>,
    /// Who failed last, in which call.
    failed: Option<(CallId, ProviderName)>,
    /// Until when a call waits, and because of whom.
    waits: Vec<(CallId, Moment, Option<ProviderName>)>,
    /// Somebody has answered, and nobody has driven the run since.
    answered: bool,
}

impl Fold {
    fn see(&mut self, record: Record) {
        match (&mut self.summary, record.entry) {
            (summary @ None, Entry::Fact(Fact::Started(start))) => {
                *summary = Some(Summary {
                    definition: start.definition,
                    dialect: start.dialect,
                    state: State::Interrupted,
                    started: record.at,
                    turns: 0,
                    cost: None,
                    unpriced: BTreeSet::new(),
                    rehearsal: start.rehearsal,
                });
            }
            (None, _) => {}
            (Some(summary), Entry::Fact(fact)) => {
                summary.see_fact(&fact);
                self.see_fact(fact);
            }
            (Some(_), Entry::Decision(decision)) => {
                let state = self.state_after(decision);
                if let Some(summary) = &mut self.summary {
                    summary.state = state;
                }
            }
        }
    }

    fn see_fact(&mut self, fact: Fact) {
        match fact {
            Fact::Failed(failed) => {
                let CallFailed { call, provider, .. } = *failed;
                self.failed = provider.map(|provider| (call, provider));
                self.answered = false;
            }
            Fact::Answered(_) => self.answered = true,
            // Whoever asks, resumes or comes back drives the run.
            Fact::Asked { .. } | Fact::Resumed(_) | Fact::Replied(_) | Fact::Performed { .. } => {
                self.answered = false;
            }
            Fact::Started(_)
            | Fact::Woke
            | Fact::Reopened
            | Fact::Interrupted { .. }
            | Fact::StorageFailed { .. }
            | Fact::Cancelled { .. } => {}
        }
    }

    /// Whatever is decided after a run was parked says that it went on.
    fn state_after(&mut self, decision: Decision) -> State {
        match decision {
            Decision::Parked { hold } => {
                let provider = self.at_fault(&hold);
                State::Parked { hold, provider }
            }
            Decision::Finished { ending } => State::Ended { ending },
            Decision::Retry { call, not_before, .. } => {
                let failed = self.failed.as_ref().filter(|(failed, _)| *failed == call);
                let provider = failed.map(|(_, provider)| provider.clone());
                self.waits.retain(|(waiting, ..)| *waiting != call);
                self.waits.push((call, not_before, provider));
                self.going()
            }
            Decision::Entered { .. } => {
                self.waits.clear();
                self.going()
            }
            Decision::Round { .. }
            | Decision::Called { .. }
            | Decision::Correct { .. }
            | Decision::Unfit { .. }
            | Decision::Repeated { .. }
            | Decision::Reports { .. }
            | Decision::Alarm { .. }
            | Decision::Exited { .. }
            | Decision::Refused { .. }
            | Decision::Remarked { .. }
            | Decision::Exhausted { .. } => self.going(),
        }
    }

    fn going(&self) -> State {
        if self.answered { State::Ready } else { State::Interrupted }
    }

    fn at_fault(&self, hold: &Hold) -> Option<ProviderName> {
        match hold {
            Hold::Until(at, _) => self.waits.iter().find(|(_, until, _)| until == at)?.2.clone(),
            Hold::Provider(call, _) => {
                let failed = self.failed.as_ref().filter(|(failed, _)| failed == call);
                failed.map(|(_, provider)| provider.clone())
            }
            Hold::Person(_)
            | Hold::Outside(..)
            | Hold::Limit(_)
            | Hold::Budget
            | Hold::Storage(_)
            | Hold::Interrupted
            | Hold::Cancelling => None,
        }
    }
}

impl Summary {
    fn see_provider(&mut self, unpriced: Option<&ProviderName>) {
        if let Some(provider) = unpriced.filter(|provider| !self.unpriced.contains(*provider)) {
            self.unpriced.insert(provider.clone());
        }
    }

    fn see_fact(&mut self, fact: &Fact) {
        let cost = match fact {
            Fact::Replied(reply) => {
                self.turns += 1;
                // A reply that was kept from before costs nothing.
                self.see_provider(reply.provider.as_ref().filter(|_| reply.cost.is_none() && !reply.cached));
                reply.cost
            }
            Fact::Failed(failed) => {
                let has_spent = failed.usage.tokens() > 0;
                self.see_provider(failed.provider.as_ref().filter(|_| failed.cost.is_none() && has_spent));
                failed.cost
            }
            Fact::Resumed(_) => {
                self.state = State::Interrupted;
                None
            }
            Fact::Started(_)
            | Fact::Asked { .. }
            | Fact::Performed { .. }
            | Fact::Answered(_)
            | Fact::Woke
            | Fact::Reopened
            | Fact::Interrupted { .. }
            | Fact::StorageFailed { .. }
            | Fact::Cancelled { .. } => None,
        };
        if let Some(cost) = cost {
            let sum = self.cost.unwrap_or_default().0.saturating_add(cost.0);
            self.cost = Some(Usd(sum));
        }
    }
}
