//! Marks that identify our processes, even after a crash of Saihai.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use saihai_model::{Ask, CallId};

const RUN: &str = "SAIHAI_RUN";
const TURN: &str = "SAIHAI_TURN";
const DIRECTORY: &str = "SAIHAI_RUN_DIRECTORY";

/// Variables with the run and the turn of a process. The directory distinguishes runs of the same name in two
/// projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    run: String,
    turn: String,
    directory: String,
}

impl Mark {
    pub(crate) fn of(ask: &Ask) -> Self {
        // Scratch is directly below the run's directory.
        let directory = Path::new(&ask.scratch).parent().map(written).unwrap_or_default();
        Self { run: ask.run.clone(), turn: ask.call.to_string(), directory }
    }

    /// Returns the mark for a program that the run itself starts.
    pub(crate) fn new(run: &str, call: &CallId, run_directory: &Path) -> Self {
        Self { run: run.to_owned(), turn: call.to_string(), directory: written(run_directory) }
    }

    pub(crate) fn variables(&self) -> [(OsString, OsString); 3] {
        [(RUN, &self.run), (TURN, &self.turn), (DIRECTORY, &self.directory)]
            .map(|(name, value)| (name.into(), value.into()))
    }

    /// Returns true if an environment, in the kernel's format, contains this mark.
    pub(super) fn is_in(&self, environment: &[u8]) -> bool {
        has(environment, TURN, &self.turn) && has(environment, DIRECTORY, &self.directory)
    }
}

/// Returns true if an environment, in the kernel's format, belongs to a run.
pub(super) fn run_marked(run_directory: &Path, environment: &[u8]) -> bool {
    has(environment, DIRECTORY, &written(run_directory))
}

/// The turn that a process belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub call: String,
    /// The directory with all runs.
    pub runs: PathBuf,
}

impl Turn {
    /// Reads the turn of this process from its environment. If there is one, this process is an agent or a
    /// program of one.
    pub fn of_this_process() -> Option<Self> {
        let directory = PathBuf::from(std::env::var_os(DIRECTORY)?);
        let call = std::env::var_os(TURN)?.to_string_lossy().into_owned();
        Some(Self { call, runs: directory.parent()?.to_owned() })
    }
}

fn value(environment: &[u8], name: &str) -> Option<String> {
    let mut variables = environment.split(|byte| *byte == 0);
    let set = variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(set).into_owned())
}

/// Returns the canonical form of a directory.
fn written(directory: &Path) -> String {
    std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned()).display().to_string()
}

fn has(environment: &[u8], name: &str, expected: &str) -> bool {
    value(environment, name).as_deref() == Some(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-57: runs of the same name in two projects are different runs.
    #[test]
    fn a_mark_is_the_turn_and_the_directory_of_its_run() {
        let mark = Mark { run: "r".into(), turn: "a.1.1.1".into(), directory: "/p/.saihai/runs/r".into() };
        let check = |environment: &[u8], expected: bool| assert_eq!(mark.is_in(environment), expected);
        check(b"A=1\0SAIHAI_TURN=a.1.1.1\0SAIHAI_RUN_DIRECTORY=/p/.saihai/runs/r\0", true);
        check(b"SAIHAI_TURN=a.1.1.12\0SAIHAI_RUN_DIRECTORY=/p/.saihai/runs/r\0", false);
        check(b"SAIHAI_TURN=a.1.1.1\0SAIHAI_RUN_DIRECTORY=/q/.saihai/runs/r\0", false);
        check(b"XSAIHAI_TURN=a.1.1.1\0SAIHAI_RUN_DIRECTORY=/p/.saihai/runs/r", false);
        check(b"", false);
        assert!(run_marked(Path::new("/p"), b"SAIHAI_RUN_DIRECTORY=/p\0X=1"));
    }
}
