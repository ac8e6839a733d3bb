//! What of ours git is not to see in the user's checkout (I-35).

use std::path::{Path, PathBuf};

use saihai::Environment;
use saihai::repository::{self, Repository};
use saihai_config::Settings;

use crate::commands::work::ground::refused_by_git;
use crate::error::Error;
use crate::project::Project;

/// Has git look past everything of ours, from now on.
pub(crate) fn hide(repository: &mut Repository, project: &Project, settings: &Settings) -> Result<(), Error> {
    insist_on_own_root(repository, &settings.work.worktree_root)?;
    repository.hide(&directories(project, settings)).map_err(refused_by_git)
}

/// Worktrees lie in a directory of their own: files of the user's beside them would be hidden with them, and never handed over.
pub(crate) fn insist_on_own_root(repository: &Repository, root: &Path) -> Result<(), Error> {
    let is_all = repository.root().join(root).canonicalize().is_ok_and(|path| path == repository.root());
    if !is_all && !repository.tracks(root).map_err(refused_by_git)? {
        return Ok(());
    }
    let said = format!("`work.worktree_root` cannot be `{}`: git keeps files there", root.display());
    Err(Error::usage(said).hint("name a directory for worktrees alone, such as `.worktrees`"))
}

fn directories(project: &Project, settings: &Settings) -> Vec<PathBuf> {
    let own = project.places.root.join(".saihai");
    let own = ["runs", "batches", "cache"].map(|name| own.join(name));
    own.into_iter().chain([settings.work.worktree_root.clone(), settings.reports_dir.clone()]).collect()
}

/// Whether the next run is the first that makes any of it.
pub(crate) fn is_first(project: &Project, settings: &Settings) -> bool {
    !(project.runs().directory().is_dir() && settings.reports_dir.is_dir())
}

/// Has git look past it, now that it is there. Where there is no repository nobody would see it, and what cannot be hidden does
/// no harm.
pub(crate) fn hide_quietly(project: &Project, settings: &Settings) {
    let (root, environment) = (&project.places.root, Environment::of_process());
    repository::hide(root, &environment, &directories(project, settings)).unwrap_or(());
}
