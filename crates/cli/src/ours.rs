//! What of ours git is not to see in the user's checkout (I-35).

use std::path::PathBuf;

use saihai::Environment;
use saihai::repository::{self, Repository};
use saihai_config::Settings;

use crate::project::Project;

/// Has git look past everything of ours, from now on.
pub(crate) fn hide(
    repository: &mut Repository,
    project: &Project,
    settings: &Settings,
) -> Result<(), repository::Error> {
    repository.hide(&directories(project, settings))
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
