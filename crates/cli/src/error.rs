//! Errors of commands, with exit codes and hints.

use std::io;
use std::path::Path;

use saihai::StoreError;
use saihai_connect::Unavailable;
use saihai_model::ExitStatus;

use crate::project::Project;
use crate::terminal::Streams;

/// A reason to end a command early.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The reader of stdout is gone: exit silently.
    ClosedPipe,
    Said(ExitStatus),
    /// The message still has to be printed.
    Refused(CommandRefusal),
}

/// A failure, its reason, and the next steps.
#[derive(Debug)]
pub(crate) struct CommandRefusal {
    pub(crate) exit: ExitStatus,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

impl CommandError {
    /// Creates an error for an invalid request.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::with_exit(ExitStatus::Usage, message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::with_exit(ExitStatus::Unavailable, message)
    }

    pub(crate) fn with_exit(exit: ExitStatus, message: impl Into<String>) -> Self {
        Self::Refused(CommandRefusal { exit, message: message.into(), hints: Vec::new() })
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.hints.push(hint.into());
        }
        self
    }

    /// Returns the message without hints.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.message,
            Self::ClosedPipe | Self::Said(_) => "the reason is unknown",
        }
    }

    /// Prints the error on stderr and returns the exit status.
    pub(crate) fn say(self, streams: &mut Streams) -> ExitStatus {
        match self {
            Self::ClosedPipe => ExitStatus::Done,
            Self::Said(status) => status,
            Self::Refused(refusal) => {
                streams.error(&refusal.message, &refusal.hints);
                refusal.exit
            }
        }
    }
}

/// Writes a file that the user named.
pub(crate) fn write_file(path: &Path, content: impl AsRef<[u8]>) -> Result<(), CommandError> {
    std::fs::write(path, content).map_err(|error| {
        let unwritten = CommandError::unavailable(format!("cannot write `{}`: {error}", path.display()));
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists());
        match directory {
            Some(directory) => {
                unwritten.hint(format!("create the directory `{}` first", directory.display()))
            }
            None => unwritten,
        }
    })
}

/// Handles failed writes to stdout. Other I/O errors are converted at their origin, which knows the path.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::unavailable(format!("cannot write the output: {error}"))
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        saihai::DriverError::from(error).into()
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

/// Returns the shortest name to type for a run.
fn typed_name(run: &str) -> String {
    Project::find().map_or_else(|_| run.to_owned(), |project| project.runs().short_name(run))
}

impl From<saihai::DriverError> for CommandError {
    fn from(error: saihai::DriverError) -> Self {
        Self::from(&error)
    }
}

impl From<&saihai::DriverError> for CommandError {
    fn from(error: &saihai::DriverError) -> Self {
        use saihai::DriverError as Runner;
        use saihai_view::RunState;
        let status = match error {
            Runner::Store(StoreError::Io { .. }) => ExitStatus::Unavailable,
            // A provider that is not there, and not merely mistyped (C-12).
            Runner::Unavailable(names) if names.iter().any(Unavailable::is_missing) => {
                ExitStatus::Unavailable
            }
            Runner::Stuck { .. } => ExitStatus::Bug,
            _ => ExitStatus::Usage,
        };
        let hint = match error {
            Runner::Store(StoreError::Owned { run, .. }) => {
                let run = typed_name(run);
                format!("`saihai log {run} -f` follows it, `saihai cancel {run}` ends it")
            }
            Runner::Store(StoreError::NoSuchRun { .. } | StoreError::AmbiguousRun { .. }) => {
                "`saihai runs` lists them".to_owned()
            }
            Runner::Over { run, .. } => {
                format!("`saihai fork {}` creates a new run from it", typed_name(run))
            }
            Runner::GateClosed { run, .. } => {
                format!("`saihai resume {}` continues with that", typed_name(run))
            }
            Runner::NoGate { run, state } => match &**state {
                RunState::Running { .. } => format!("`saihai log {} -f` follows it", typed_name(run)),
                RunState::Ready => format!("continue with `saihai resume {}`", typed_name(run)),
                RunState::Interrupted | RunState::Parked { .. } => {
                    format!("run `saihai resume {}` first; if it asks again, answer then", typed_name(run))
                }
                RunState::Ended { .. } => String::new(),
            },
            Runner::NotTaken { .. } => {
                "it accepts answers only from processes that it can see: answer on its machine, as the same user, and \
                 not from an agent's shell"
                    .to_owned()
            }
            Runner::Diverged { run, .. } => {
                format!("continue it with the version that started it, or `saihai fork {}`", typed_name(run))
            }
            _ => String::new(),
        };
        let refused = Self::with_exit(status, sentence(error));
        if hint.is_empty() { refused } else { refused.hint(hint) }
    }
}
