//! The lock of the issue on whose branch one stands (I-32): a run that works in the directory it is called in works on what is
//! checked out there, and two runs never work on one branch. Whoever only reads, as reviews do, takes nothing.

use std::path::Path;

use saihai::repository::{ItemLock, Standing, Taken};
use saihai::{Clock, Environment, RunDirectory};
use saihai_config::Settings;
use saihai_config::review::Plan;
use saihai_model::{IssueNumber, Workflow};

use super::work::ground::refused_by_git;
use crate::error::Error;

/// Takes the issue for a run that works in a checkout. It is ours as long as what is returned.
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

/// The same for a run that goes on.
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

/// That somebody else has an issue.
pub(crate) fn elsewhere(number: IssueNumber, process: Option<u32>, run: Option<&str>) -> Error {
    let who = process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"));
    let run = run.map(|run| format!(", run `{run}`")).unwrap_or_default();
    Error::usage(format!("{number} is being worked on by {who}{run}"))
}
