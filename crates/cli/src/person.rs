//! What only a person may say (I-43): a yes, what is trusted, what goes on and what is given up.

use std::path::Path;

use saihai::Environment;
use saihai::repository::common_directory;
use saihai_connect::{Turn, turns_above};

use crate::error::Error;
use crate::project::Project;

/// Refuses an agent of a run of this project, in whichever worktree it is. `rule` says what a person does.
pub(crate) fn insist(project: &Project, rule: &str) -> Result<(), Error> {
    refuse(turns_above().into_iter().find(|turn| is_of(turn, project)), rule)
}

/// Refuses every agent: what is said counts for all projects.
pub(crate) fn insist_anywhere(rule: &str) -> Result<(), Error> {
    refuse(turns_above().into_iter().next(), rule)
}

fn refuse(turn: Option<Turn>, rule: &str) -> Result<(), Error> {
    match turn {
        None => Ok(()),
        Some(turn) => Err(Error::usage(format!("{rule}, and this is the agent of `{}`", turn.call))
            .hint("do it in a terminal of your own")),
    }
}

/// Whether a turn is one of this project. The worktrees of a repository can each pass for a project.
fn is_of(turn: &Turn, project: &Project) -> bool {
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let common = |place: &Path| common_directory(place, &Environment::of_process()).ok();
    resolved(&turn.runs) == resolved(project.runs().directory())
        || common(&project.places.root).is_some_and(|ours| common(&turn.runs) == Some(ours))
}
