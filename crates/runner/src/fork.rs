//! A new run out of the beginning of another.

use std::path::Path;

use crate::{Clock, Error, RunDirectory, Runs};

/// A fork.
#[derive(Debug, Clone)]
pub struct Forked {
    /// The new run, parked until it is resumed.
    pub directory: RunDirectory,
    /// The run it came from.
    pub from: String,
    /// The number of the event it was forked at.
    pub at: u64,
}

/// Makes a new run that has lived through the beginning of `from` up to event `at` (the entry of its last stage where
/// none is given). Its reports are as they were then, in a directory of its own below `reports`.
///
/// # Errors
/// There is no such event, nothing could follow it, or the run is damaged.
pub fn fork(
    _runs: &Runs,
    _from: &RunDirectory,
    _at: Option<u64>,
    _reports: &Path,
    _clock: Clock,
) -> Result<Forked, Error> {
    Err(Error::NotBuilt("forking a run"))
}
