//! What a list of runs says about each.

use saihai_model::{Ending, Hold, Moment, Usd};

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
    /// Prompts answered or failed.
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
