//! Commands that agents may not run: giving an answer, trusting, starting, continuing and cancelling work (I-43).
//!
//! An agent is known by the variables its turn was started with. This stops an agent that tries such a command by mistake; one
//! that hides who it is has the rights of its user all the same, and only a sandbox contains it.

use std::path::Path;

use saihai::Environment;
use saihai::repository::common_directory;
use saihai_connect::Turn;

use crate::error::Error;
use crate::project::Project;

/// Refuses an agent of a run of this project, in whichever worktree it is. `rule` says what a person does.
pub(crate) fn insist(project: &Project, rule: &str) -> Result<(), Error> {
    let turn = Turn::of_this_process().filter(|turn| is_of(turn, project));
    refuse(turn, rule)
}

/// Refuses every agent: what is said counts for all projects.
pub(crate) fn insist_anywhere(rule: &str) -> Result<(), Error> {
    refuse(Turn::of_this_process(), rule)
}

/// Whether a turn is one of a project. The worktrees of a repository can each pass for a project.
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
