//! Saihai's own directories, excluded from git in the user's checkout (I-35).

use std::path::{Path, PathBuf};

use saihai::Environment;
use saihai::repository::{self, Repository};
use saihai_config::Settings;

use crate::commands::work::ground::refused_by_git;
use crate::error::Error;
use crate::project::Project;

/// Excludes all of Saihai's directories from git.
pub(crate) fn hide(repository: &mut Repository, project: &Project, settings: &Settings) -> Result<(), Error> {
    insist_on_own_root(repository, &settings.work.worktree_root)?;
    repository.hide(&directories(project, settings)).map_err(refused_by_git)
}

/// Checks that worktrees have their own directory. Otherwise the user's files there would be excluded from git and
/// never delivered.
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

/// Returns true if the next run is the first one to create these directories.
pub(crate) fn is_first(project: &Project, settings: &Settings) -> bool {
    !(project.runs().directory().is_dir() && settings.reports_dir.is_dir())
}

/// Excludes the existing directories from git. A missing repository or a failure does no harm, so errors are ignored.
pub(crate) fn hide_quietly(project: &Project, settings: &Settings) {
    let (root, environment) = (&project.places.root, Environment::of_process());
    repository::hide(root, &environment, &directories(project, settings)).unwrap_or(());
}
