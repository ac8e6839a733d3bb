//! Events that an observer of a run sees.

use std::fmt;

use saihai_model::{CallId, Moment, Progress, Record, Wants};
use saihai_store::RunDirectory;
use saihai_store::journal::TornBatch;

/// An event for observers. Records are synced before observers see them.
#[derive(Debug)]
pub enum DriverEvent<'a> {
    /// A line of the journal.
    Recorded(&'a Record),
    Progress {
        call: &'a CallId,
        progress: &'a Progress,
    },
    /// A gate is open. The answer comes through [`crate::DriverControl::answer`] or from another process.
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
    Warning(&'a DriverWarning),
}

/// A problem that a person should know about, but not an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriverWarning {
    /// The last append was incomplete and has been dropped.
    Torn { path: String, line: u64, bytes: u64 },
    /// A report is not a regular file inside its directory and counts as missing.
    UnsafeReport { file: String, why: String },
    /// The changes exceed the amount that a review agent sees at once.
    TooMuchChanged {
        /// Files that the agent does not see, or sees only in part.
        files: Vec<String>,
        most: u64,
    },
    /// A request in the inbox was unreadable and has been removed.
    BadRequest { path: String, why: String },
    /// A process started by an earlier owner of the run could not be ended.
    Survivor { process: u32 },
    /// An answer arrived for a gate that is not open.
    LateAnswer { call: CallId },
}

impl DriverWarning {
    pub fn torn(run: &RunDirectory, torn: TornBatch) -> Self {
        Self::Torn { path: run.journal().display().to_string(), line: torn.line, bytes: torn.bytes }
    }
}

impl fmt::Display for DriverWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn { path, line, bytes } => write!(
                f,
                "`{path}`: the last append is incomplete; dropped {bytes} bytes from line {line} on"
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
                write!(f, "a review agent sees only {most} bytes of the changes")?;
                write!(f, "; omitted or cut: {}{more}", named.join(", "))?;
                write!(f, "; raise `max_diff_bytes` in `[review]`")
            }
            Self::BadRequest { path, why } => write!(f, "cannot read request `{path}`: {why}"),
            Self::Survivor { process } => {
                write!(f, "cannot end process {process}, which was started earlier for this run")
            }
            Self::LateAnswer { call } => write!(f, "ignored an answer for `{call}`: the gate is not open"),
        }
    }
}
