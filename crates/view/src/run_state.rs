//! State of a run.

use saihai_model::{Ending, Hold, Moment, ProviderName, exit_code};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// A living process drives the run. `owner` is its id, if the lock contains it.
    Running {
        owner: Option<u32>,
    },
    /// The process that drove the run died. It can be resumed.
    Interrupted,
    /// No process drives the run, and the awaited answer has arrived. It can be resumed.
    Ready,
    /// The run waits. `provider` is the failed one, if that is the reason.
    Parked {
        hold: Hold,
        provider: Option<ProviderName>,
    },
    Ended {
        ending: Ending,
    },
}

impl RunState {
    /// Returns the word in tables, JSON and `--state`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::Interrupted | Self::Ready => "interrupted",
            Self::Parked { .. } => "parked",
            Self::Ended { ending } => ending.outcome(),
        }
    }

    /// Returns the word for the reason of its wait or end.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Running { .. } | Self::Interrupted | Self::Ready => None,
            Self::Parked { hold, .. } => Some(hold.reason()),
            Self::Ended { ending } => Some(ending.reason()),
        }
    }

    pub fn provider(&self) -> Option<&str> {
        match self {
            Self::Parked { provider, .. } => provider.as_ref().map(ProviderName::as_str),
            Self::Running { .. } | Self::Interrupted | Self::Ready | Self::Ended { .. } => None,
        }
    }

    /// Returns the time before which the provider cannot serve.
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

    pub fn is_over(&self) -> bool {
        matches!(self, Self::Ended { .. })
    }

    /// Returns the exit code of a command that leaves the run in this state.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Running { .. } | Self::Interrupted | Self::Ready => {
                exit_code(None, Some(&Hold::Interrupted))
            }
            Self::Parked { hold, .. } => exit_code(None, Some(hold)),
            Self::Ended { ending } => exit_code(Some(ending), None),
        }
    }
}
