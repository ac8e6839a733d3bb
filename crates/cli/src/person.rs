//! Commands that agents may not run: answering, trusting, starting, continuing and cancelling work (I-43).
//!
//! The environment variables of its turn identify an agent. This stops an agent that runs such a command by mistake.
//! An agent that hides its identity has its user's rights, and only a sandbox contains it.

use std::path::Path;

use saihai::Environment;
use saihai::repository::common_directory;
use saihai_connect::Turn;

use crate::error::Error;
use crate::project::Project;

/// Refuses an agent of any run of this project, in any worktree. `rule` names the action that needs a person.
pub(crate) fn insist(project: &Project, rule: &str) -> Result<(), Error> {
    let turn = Turn::of_this_process().filter(|turn| is_of(turn, project));
    refuse(turn, rule)
}

/// Refuses every agent, for commands that affect all projects.
pub(crate) fn insist_anywhere(rule: &str) -> Result<(), Error> {
    refuse(Turn::of_this_process(), rule)
}

/// Returns true if the turn belongs to the project. Each worktree of a repository can count as a project.
fn is_of(turn: &Turn, project: &Project) -> bool {
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let common = |place: &Path| common_directory(place, &Environment::of_process()).ok();
    resolved(&turn.runs) == resolved(project.runs().directory())
        || common(&project.places.root).is_some_and(|ours| common(&turn.runs) == Some(ours))
}

fn refuse(turn: Option<Turn>, rule: &str) -> Result<(), Error> {
    match turn {
        None => Ok(()),
        Some(turn) => Err(Error::usage(format!("{rule}, and this is the agent of `{}`", turn.call))
            .hint("do it in a terminal of your own")),
    }
}
