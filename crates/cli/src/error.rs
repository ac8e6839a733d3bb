//! Errors of commands, with exit codes and hints.

use std::io;

use saihai::StoreError;

use crate::terminal::Streams;

/// Exit codes of commands. The exit codes of runs are in `saihai_model::exit_code`.
pub(crate) mod exit {
    pub(crate) const DONE: u8 = 0;
    /// A generated rehearsal missed an exit, a strict script has unused replies, or a limited review has findings.
    pub(crate) const FAILED: u8 = 1;
    /// Usage, settings or definition error, unknown run, run owned by another process, or damaged journal.
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const INTERRUPTED: u8 = 3;
    /// A provider, a program or the disk failed.
    pub(crate) const UNAVAILABLE: u8 = 4;
    /// A person has to act first.
    pub(crate) const WAITING: u8 = 6;
    pub(crate) const BUG: u8 = 70;
}

/// A reason to end a command early.
#[derive(Debug)]
pub(crate) enum Error {
    /// The reader of stdout is gone: exit silently.
    ClosedPipe,
    Said(u8),
    /// The message still has to be printed.
    Refused(Refusal),
}

/// A failure, its reason, and the next steps.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) exit: u8,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

impl Error {
    /// Creates an error for an invalid request.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::with_exit(exit::USAGE, message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::with_exit(exit::UNAVAILABLE, message)
    }

    pub(crate) fn with_exit(exit: u8, message: impl Into<String>) -> Self {
        Self::Refused(Refusal { exit, message: message.into(), hints: Vec::new() })
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.hints.push(hint.into());
        }
        self
    }

    /// Prints the error on stderr and returns the exit code.
    pub(crate) fn say(self, streams: &mut Streams) -> u8 {
        match self {
            Self::ClosedPipe => exit::DONE,
            Self::Said(code) => code,
            Self::Refused(refusal) => {
                streams.error(&refusal.message, &refusal.hints);
                refusal.exit
            }
        }
    }
}

/// Handles failed writes to stdout. Other I/O errors are converted at their origin, which knows the path.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::unavailable(format!("cannot write the output: {error}"))
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        saihai::Error::from(error).into()
    }
}

/// Joins an error and its sources into one sentence.
pub(crate) fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some errors already quote their source.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

impl From<saihai::Error> for Error {
    fn from(error: saihai::Error) -> Self {
        use saihai::{Error as Runner, State};
        let said = Self::with_exit(error.exit_code(), sentence(&error));
        match &error {
            Runner::Store(StoreError::Owned { run, .. }) => {
                said.hint(format!("`saihai log {run} -f` follows it, `saihai cancel {run}` ends it"))
            }
            Runner::Store(StoreError::NoSuchRun { .. } | StoreError::AmbiguousRun { .. }) => {
                said.hint("`saihai runs` lists them")
            }
            Runner::Over { run, .. } => said.hint(format!("`saihai fork {run}` makes a new run out of it")),
            Runner::GateClosed { run, .. } => said.hint(format!("`saihai resume {run}` goes on with that")),
            Runner::NoGate { run, state } => match &**state {
                State::Running { .. } => said.hint(format!("`saihai log {run} -f` follows it")),
                State::Ready => said.hint(format!("continue with `saihai resume {run}`")),
                State::Interrupted | State::Parked { .. } => {
                    said.hint(format!("run `saihai resume {run}` first; if it asks again, answer then"))
                }
                State::Ended { .. } => said,
            },
            Runner::NotTaken { .. } => said.hint(
                "it takes answers from processes that it can see: answer where it runs, as the same user, and not from an agent's shell",
            ),
            Runner::Diverged { run, .. } => {
                said.hint(format!("go on with the version that began it, or `saihai fork {run}`"))
            }
            Runner::Store(_)
            | Runner::WrongAnswer { .. }
            | Runner::NoFork { .. }
            | Runner::Unsound(_)
            | Runner::Unavailable(_)
            | Runner::Stuck { .. } => said,
        }
    }
}
