//! What can be seen of a run while it is driven.

use std::fmt;

use saihai_model::{CallId, Moment, Progress, Record, Wants};
use saihai_store::RunDirectory;
use saihai_store::journal::Torn;

/// Something an observer is told. Records have been synced before they are shown.
#[derive(Debug)]
pub enum Observed<'a> {
    /// A line of the journal.
    Recorded(&'a Record),
    Progress {
        call: &'a CallId,
        progress: &'a Progress,
    },
    /// A gate is open: the answer comes through [`crate::Control::answer`] or from another process.
    Gate {
        call: &'a CallId,
        title: &'a str,
        question: &'a str,
        wants: Wants,
    },
    /// Nothing happens before this time unless something is under way.
    Waiting {
        until: Moment,
    },
    /// Something a person should know.
    Warning(&'a Warning),
}

/// Something a person should know that is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The last append never ended; it was dropped.
    Torn { path: String, line: u64, bytes: u64 },
    /// A report is no ordinary file inside its directory and counts as absent.
    UnsafeReport { file: String, why: String },
    /// More has changed than a review agent is shown at once.
    TooMuchChanged {
        /// The files it is not shown, or not to their end.
        files: Vec<String>,
        /// The most bytes it is shown.
        most: u64,
    },
    /// A request in the inbox could not be read and was put aside.
    BadRequest { path: String, why: String },
    /// A process that an earlier owner of the run had started could not be ended.
    Survivor { process: u32 },
    /// An answer came for a gate that is not open.
    LateAnswer { call: CallId },
}

impl Warning {
    pub fn torn(run: &RunDirectory, torn: Torn) -> Self {
        Self::Torn { path: run.journal().display().to_string(), line: torn.line, bytes: torn.bytes }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn { path, line, bytes } => write!(
                f,
                "`{path}`: the last append was never finished; dropped {bytes} bytes from line {line} on"
            ),
            Self::UnsafeReport { file, why } => {
                write!(f, "report `{file}` is not shown to the agent: {why}")
            }
            Self::TooMuchChanged { files, most } => {
                let named: Vec<String> = files.iter().take(3).map(|file| format!("`{file}`")).collect();
                let more = match files.len().saturating_sub(named.len()) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                write!(f, "a review agent is not shown all that has changed, only {most} bytes of it")?;
                write!(f, "; not, or not to the end: {}{more}", named.join(", "))?;
                write!(f, "; raise `max_diff_bytes` in `[review]`")
            }
            Self::BadRequest { path, why } => write!(f, "request `{path}` was not understood: {why}"),
            Self::Survivor { process } => {
                write!(f, "process {process} was started for this run earlier and could not be ended")
            }
            Self::LateAnswer { call } => write!(f, "an answer came for `{call}`, which is not open"),
        }
    }
}
