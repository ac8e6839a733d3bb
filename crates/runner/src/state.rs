//! What a list of runs says about each.

use saihai_model::{Decision, Ending, Entry, Fact, Hold, Moment, Record, Usd};

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
    /// It waits.
    Parked {
        /// For what.
        hold: Hold,
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
            Self::Interrupted => "interrupted",
            Self::Parked { .. } => "parked",
            Self::Ended { ending } => ending.outcome(),
        }
    }

    /// Why it waits or how it ended, where there is a word for it.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Running { .. } | Self::Interrupted => None,
            Self::Parked { hold } => Some(hold.reason()),
            Self::Ended { ending } => Some(ending.reason()),
        }
    }

    /// When it can go on, where that is known.
    pub fn until(&self) -> Option<Moment> {
        match self {
            Self::Parked { hold: Hold::Until(at, _) } => Some(*at),
            Self::Parked { .. } | Self::Running { .. } | Self::Interrupted | Self::Ended { .. } => None,
        }
    }
}

impl Summary {
    /// Folds a journal. Decisions say how the run stands, so that also a run this version could not go on with can be
    /// listed.
    pub(crate) fn of(directory: &RunDirectory) -> Result<Self, Error> {
        let mut summary = None;
        directory.read(&mut |record| fold(&mut summary, record))?;
        let mut summary = summary.ok_or_else(|| directory.unborn())?;
        if let (Some(owner), false) = (directory.owner(), matches!(summary.state, State::Ended { .. })) {
            summary.state = State::Running { owner };
        }
        Ok(summary)
    }
}

fn fold(summary: &mut Option<Summary>, record: Record) {
    match (summary, record.entry) {
        (summary @ None, Entry::Fact(Fact::Started(start))) => {
            *summary = Some(Summary {
                definition: start.definition,
                dialect: start.dialect,
                state: State::Interrupted,
                started: record.at,
                turns: 0,
                cost: None,
                rehearsal: start.rehearsal,
            });
        }
        (None, _) => {}
        (Some(summary), Entry::Fact(fact)) => summary.see_fact(&fact),
        (Some(summary), Entry::Decision(decision)) => summary.state = state_after(decision),
    }
}

/// Whatever is decided after a run was parked says that it went on.
fn state_after(decision: Decision) -> State {
    match decision {
        Decision::Parked { hold } => State::Parked { hold },
        Decision::Finished { ending } => State::Ended { ending },
        Decision::Entered { .. }
        | Decision::Round { .. }
        | Decision::Called { .. }
        | Decision::Correct { .. }
        | Decision::Retry { .. }
        | Decision::Repeated { .. }
        | Decision::Reports { .. }
        | Decision::Alarm { .. }
        | Decision::Exited { .. }
        | Decision::Refused { .. } => State::Interrupted,
    }
}

impl Summary {
    fn see_fact(&mut self, fact: &Fact) {
        let cost = match fact {
            Fact::Replied(reply) => {
                self.turns += 1;
                reply.cost
            }
            Fact::Failed(failed) => failed.cost,
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
