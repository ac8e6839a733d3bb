//! By what a process is known to be ours, also when nobody remembers having started it.

use std::ffi::OsString;

use saihai_model::Ask;

/// The variables that name the run and the turn a process was started for. The directory tells apart two runs of the
/// same name in two projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    run: String,
    turn: String,
    directory: String,
}

impl Mark {
    const RUN: &str = "SAIHAI_RUN";
    const TURN: &str = "SAIHAI_TURN";
    const DIRECTORY: &str = "SAIHAI_RUN_DIRECTORY";

    pub(crate) fn of(ask: &Ask) -> Self {
        Self { run: ask.run.clone(), turn: ask.call.to_string(), directory: run_directory(&ask.scratch) }
    }

    /// The variables that carry it.
    pub(crate) fn variables(&self) -> [(OsString, OsString); 3] {
        [(Self::RUN, &self.run), (Self::TURN, &self.turn), (Self::DIRECTORY, &self.directory)]
            .map(|(name, value)| (name.into(), value.into()))
    }
}

/// Scratch lies directly in the run's directory.
fn run_directory(scratch: &str) -> String {
    let parent = std::path::Path::new(scratch).parent();
    parent.map_or_else(|| scratch.to_owned(), |parent| parent.display().to_string())
}
