//! Telling a person from an agent (I-43).

use std::path::Path;

use saihai_connect::{Turn, turns_above};

use crate::Environment;
use crate::repository::common_directory;

/// The turn of a run of a project that a process was started for, in whichever worktree it is; none where a person started it.
pub fn agent_of(runs: &Path, root: &Path, process: u32) -> Option<Turn> {
    turns_above(process).into_iter().find(|turn| is_of(turn, runs, root))
}

/// Whether a turn is one of a project. The worktrees of a repository can each pass for a project.
fn is_of(turn: &Turn, runs: &Path, root: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let common = |place: &Path| common_directory(place, &Environment::of_process()).ok();
    resolved(&turn.runs) == resolved(runs)
        || common(root).is_some_and(|ours| common(&turn.runs) == Some(ours))
}
