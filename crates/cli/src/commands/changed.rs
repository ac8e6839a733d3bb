//! What a run changed for all worktrees of a repository, where nothing was delivered and so nobody was asked (I-38).

use saihai::delivery::{Placement, untold};
use saihai::repository::{Change, Repository};
use saihai::{Environment, RunDirectory};

use crate::project::Project;
use crate::terminal::Streams;

/// Says it when a run has ended that worked in a worktree.
pub(crate) fn say(directory: &RunDirectory, project: &Project, streams: &mut Streams) {
    let is_placed = directory.start().is_ok_and(|start| Placement::of(&start).is_some());
    if !is_placed {
        return;
    }
    let opened = Repository::open(&project.places.root, &Environment::of_process());
    let opened = opened.map_err(|error| error.to_string());
    match opened.and_then(|repository| words(directory, &repository)) {
        Ok(None) => {}
        Ok(Some(words)) => streams.warning(&words),
        Err(why) => {
            let what = "whether the run changed something for all worktrees cannot be seen";
            streams.warning(&format!("{what}: {why}"));
        }
    }
}

/// What is said of it; nothing where nothing changed.
pub(crate) fn words(directory: &RunDirectory, repository: &Repository) -> Result<Option<String>, String> {
    let changes = untold(directory, repository).map_err(|error| error.to_string())?;
    let changes = changes.map_err(|error| error.to_string())?;
    if changes.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = changes.iter().map(|Change { name, .. }| format!("`{name}`")).collect();
    let names = format!("changed since the run began, for all worktrees: {}", names.join(", "));
    let starts = changes.iter().any(|change| change.executes);
    let what = "; your git may start a program because of it, hide files or show other ones: put it back if it is not yours";
    Ok(Some(if starts { names + what } else { names }))
}
