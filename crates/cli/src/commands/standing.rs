//! The lock of the issue whose branch is checked out (I-32).
//!
//! A run in the current directory works on the checked-out branch, and two runs never share a branch. Read-only runs
//! such as reviews take no lock.

use std::path::Path;

use saihai::repository::{ItemLock, Standing, Taken};
use saihai::{Clock, Environment, RunDirectory};
use saihai_config::Settings;
use saihai_config::review::Plan;
use saihai_model::{IssueNumber, Workflow};

use super::work::ground::refused_by_git;
use crate::error::Error;

/// Locks the issue for a run in a checkout. The lock lasts as long as the returned value.
pub(crate) fn taken(place: &Path, settings: &Settings, run: &str) -> Result<Option<ItemLock>, Error> {
    let prefix = &settings.work.branch_prefix;
    let standing = Standing::at(place, &Environment::of_process(), prefix);
    let Some(standing) = standing.map_err(refused_by_git)? else { return Ok(None) };
    match standing.take(run, Clock::system().now()).map_err(refused_by_git)? {
        Taken::Ours(lock) => Ok(Some(lock)),
        Taken::Elsewhere { process, run } => {
            let branch = standing.number().branch(prefix);
            Err(elsewhere(standing.number(), process, run.as_deref()).hint(format!(
                "`{branch}` is checked out where it would work; take another branch, or wait until it is done"
            )))
        }
    }
}

/// Locks the issue for a resumed run.
pub(crate) fn taken_again(
    directory: &RunDirectory,
    workflow: &Workflow,
    settings: &Settings,
) -> Result<Option<ItemLock>, Error> {
    let start = directory.start()?;
    if start.rehearsal || start.delivery.is_some() || Plan::of(workflow).is_some() {
        return Ok(None);
    }
    taken(Path::new(&start.directory), settings, directory.id())
}

/// Creates the error for an issue that another process has locked.
pub(crate) fn elsewhere(number: IssueNumber, process: Option<u32>, run: Option<&str>) -> Error {
    let who = process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"));
    let run = run.map(|run| format!(", run `{run}`")).unwrap_or_default();
    Error::usage(format!("{number} is being worked on by {who}{run}"))
}
