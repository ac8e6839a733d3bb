//! A worktree for a run without an issue (K-23).

use std::sync::Arc;

use saihai::delivery::{OwnTree, Placement, Planter};
use saihai::repository::{self, Item, Repository};
use saihai::{Environment, Outside, RunDirectory};
use saihai_config::Settings;

use super::work::ground::{insist_on_copies, refused_by_git};
use super::work::one::insist_on_here;
use crate::error::Error;
use crate::ours;
use crate::project::Project;
use crate::terminal::Streams;

/// Returns the worktree for a new run.
pub(crate) fn wanted(
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<OwnTree, Error> {
    let (work, mut repository) = (&settings.work, open(project)?);
    let commit = repository.current_commit().map_err(refused_by_git)?;
    insist_on_copies(&repository, work, Some(&commit), streams)?;
    ours::hide(&mut repository, project, settings)?;
    Ok(OwnTree { commit, worktree_root: work.worktree_root.clone(), copy_files: work.copy_files.clone() })
}

pub(crate) fn planter(
    tree: OwnTree,
    project: &Project,
    beyond: Option<Arc<dyn Outside>>,
) -> Result<Planter, Error> {
    Ok(Planter::new(tree, open(project)?, beyond))
}

/// Returns the worktree of a resumed run, if it has one. Recreates a missing worktree.
pub(crate) fn restored(
    run: &RunDirectory,
    project: &Project,
    settings: &Settings,
    beyond: Option<Arc<dyn Outside>>,
) -> Result<Option<Arc<dyn Outside>>, Error> {
    let Some(Placement::Own { own_tree }) = Placement::of(&*run.start()?) else { return Ok(beyond) };
    let item = Item::Run { id: run.id().to_owned() };
    insist_on_here(&open(project)?, &item, [&own_tree.worktree_root, &settings.work.worktree_root])?;
    let planter = planter(own_tree, project, beyond)?;
    if planter.has_planted(run.id()).map_err(refused_by_git)? {
        planter.restore(run.id()).map_err(Error::usage)?;
    }
    Ok(Some(Arc::new(planter)))
}

/// Opens the project's git repository, which a worktree requires.
pub(crate) fn open(project: &Project) -> Result<Repository, Error> {
    let opened = Repository::open(&project.places.root, &Environment::of_process());
    opened.map_err(|error| {
        let is_outside = matches!(error, repository::Error::NotARepository { .. });
        let refused = refused_by_git(error);
        if is_outside { refused.hint("`--no-worktree` works in this directory") } else { refused }
    })
}
