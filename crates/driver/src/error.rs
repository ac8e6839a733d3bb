//! Errors of starting, finding, opening and driving runs.

use std::io;
use std::path::Path;

use saihai_connect::Unavailable;
use saihai_model::{Ending, Hold};
use saihai_store::StoreError;

use saihai_view::RunState;

/// Error of starting, finding, opening or driving a run. Nothing has changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This version of the engine decides differently from the journal.
    #[error("`{run}` cannot continue: event {seq} recorded `{recorded}`, but this version decides `{now}`")]
    Diverged {
        run: String,
        /// The number of the event.
        seq: u64,
        recorded: String,
        /// The decision of this engine.
        now: String,
    },
    #[error("run `{run}` {}", not_waiting(.state))]
    NoGate { run: String, state: Box<RunState> },
    #[error("the gate `{gate}` timed out and counts as declined")]
    GateClosed { run: String, gate: String },
    /// The process that drives the run read an answer and rejected it.
    #[error("the process that drives run `{run}` did not accept the answer as a person's")]
    NotTaken { run: String },
    /// A run without an owner has no running agent, which could start another run.
    #[error("no process drives run `{run}`, so its budget cannot be shared")]
    NotDriven { run: String },
    /// The open gate expects another kind of answer.
    #[error(transparent)]
    WrongAnswer(#[from] AnswerProblem),
    #[error("a note has 1 to {most} characters; this one has {characters}")]
    BadNote { characters: usize, most: usize },
    #[error("no agent works at a stage `{stage}`; stages with agents: {}", .stages.join(", "))]
    NoStageForNote { stage: String, stages: Vec<String> },
    /// The note does not exist, or a prompt shows it already.
    #[error("run `{run}` has no note {number} to withdraw{}", if *.shown { ": a prompt shows it already" } else { "" })]
    NoNote { run: String, number: u32, shown: bool },
    #[error("run `{run}` is already {}", .ending.outcome())]
    Over { run: String, ending: Ending },
    /// The run cannot be forked at this event.
    #[error("run `{run}` cannot be forked at {at}: {problem}")]
    NoFork {
        run: String,
        /// The number of the event.
        at: u64,
        problem: ForkProblem,
    },
    #[error("{}", sentences(.0))]
    Unavailable(Vec<Unavailable>),
    /// The workflow names stages that do not exist.
    #[error(transparent)]
    Unsound(#[from] saihai_config::Unsound),
    /// The engine neither continues nor waits: a bug.
    #[error("run `{run}` neither continues nor waits for anything; this is a bug in Saihai")]
    Stuck { run: String },
}

/// The reason why a gate does not accept an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerProblem {
    #[error("this gate takes a text")]
    NeedsText,
    #[error("this gate takes `yes` or `no`")]
    NeedsYesNo,
    #[error("the answer is empty")]
    Empty,
    #[error("the answer has {characters} characters; the maximum is {most}")]
    TooLong { characters: usize, most: u32 },
}

/// The reason why a run cannot be forked at an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForkProblem {
    #[error("there is no such event")]
    NoSuchEvent,
    #[error("the run was {} by then", .0.outcome())]
    Ended(Ending),
}

fn not_waiting(state: &RunState) -> String {
    match state {
        RunState::Running { .. } => "is running and has not asked anything".to_owned(),
        RunState::Ready => "is already answered".to_owned(),
        RunState::Interrupted | RunState::Parked { hold: Hold::Interrupted, .. } => {
            "was interrupted before it could accept an answer".to_owned()
        }
        RunState::Parked { hold, .. } => {
            format!("does not wait for an answer: it is parked ({})", hold.reason())
        }
        RunState::Ended { ending } => format!("does not wait for an answer: it is {}", ending.outcome()),
    }
}

impl DriverError {
    /// Returns the exit code: 4 for a disk error or a missing provider (C-12), 70 for a bug, else 2.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Store(StoreError::Io { .. }) => 4,
            Self::Unavailable(names) if names.iter().any(Unavailable::is_missing) => 4,
            Self::Stuck { .. } => 70,
            Self::Store(_)
            | Self::Diverged { .. }
            | Self::NoGate { .. }
            | Self::GateClosed { .. }
            | Self::NotTaken { .. }
            | Self::NotDriven { .. }
            | Self::BadNote { .. }
            | Self::NoStageForNote { .. }
            | Self::NoNote { .. }
            | Self::WrongAnswer { .. }
            | Self::Over { .. }
            | Self::NoFork { .. }
            | Self::Unsound(_)
            | Self::Unavailable(_) => 2,
        }
    }

    /// Builds the closure for `map_err`, with the failed operation and its file.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let error = StoreError::io(doing, path);
        move |source| Self::Store(error(source))
    }
}

fn sentences(unavailable: &[Unavailable]) -> String {
    unavailable.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-12
    #[test]
    fn a_provider_that_is_not_there_is_exit_4_and_one_that_was_mistyped_exit_2() {
        let missing = Unavailable::NotInThisVersion { name: "claude".into() };
        let mistyped = Unavailable::Unknown { name: "cluade".into(), suggestion: None };
        assert_eq!(DriverError::Unavailable(vec![mistyped.clone(), missing]).exit_code(), 4);
        assert_eq!(DriverError::Unavailable(vec![mistyped]).exit_code(), 2);
    }
}
