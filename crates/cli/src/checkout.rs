//! The repository that a run works in: its own worktree (K-23), the lock of the issue whose branch is checked out
//! (I-32), and Saihai's own directories, which git must ignore (I-35).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use saihai::{ActionExecutor, Clock, RunDirectory};
use saihai_config::Settings;
use saihai_delivery::{OwnTree, OwnTreeExecutor, Placement};
use saihai_git::GitEnvironment;
use saihai_git::{CheckedOutIssue, ItemLock, ItemLockAttempt, Repository, WorkItem};
use saihai_model::{IssueNumber, Workflow};

use crate::commands::work::preparation::insist_on_copies;
use crate::commands::work::single_run::insist_on_here;
use crate::commands::work::words::refused_by_git;
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::{Streams, visible_line};

/// Returns the worktree for a new run.
pub(crate) fn own_worktree(
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<OwnTree, CommandError> {
    let (work, mut repository) = (&settings.work, open_repository(project)?);
    let commit = repository.current_commit().map_err(|error| refused_by_git(&error))?;
    insist_on_copies(&repository, work, Some(&commit), streams)?;
    hide_directories(&mut repository, project, settings, streams)?;
    Ok(OwnTree { commit, worktree_root: work.worktree_root.clone(), copy_files: work.copy_files.clone() })
}

pub(crate) fn worktree_planter(
    tree: OwnTree,
    project: &Project,
    beyond: Option<Arc<dyn ActionExecutor>>,
) -> Result<OwnTreeExecutor, CommandError> {
    Ok(OwnTreeExecutor::new(tree, open_repository(project)?, beyond))
}

/// Returns the worktree of a resumed run, if it has one. Recreates a missing worktree.
pub(crate) fn restored_worktree(
    run: &RunDirectory,
    project: &Project,
    settings: &Settings,
    beyond: Option<Arc<dyn ActionExecutor>>,
) -> Result<Option<Arc<dyn ActionExecutor>>, CommandError> {
    let Some(Placement::Own { own_tree }) = Placement::of(run.start()?) else { return Ok(beyond) };
    let item = WorkItem::Run { id: run.id().to_owned() };
    insist_on_here(
        &open_repository(project)?,
        &item,
        [&own_tree.worktree_root, &settings.work.worktree_root],
    )?;
    let planter = worktree_planter(own_tree, project, beyond)?;
    if planter.has_branch(run.id()).map_err(|error| refused_by_git(&error))? {
        planter.restore(run.id()).map_err(|error| CommandError::usage(error.to_string()))?;
    }
    Ok(Some(Arc::new(planter)))
}

/// Opens the project's git repository, which a worktree requires.
pub(crate) fn open_repository(project: &Project) -> Result<Repository, CommandError> {
    let opened = Repository::open(&project.places.root, &GitEnvironment::of_process());
    opened.map_err(|error| {
        let is_outside = matches!(error, saihai_git::RepositoryError::NotARepository { .. });
        let refused = refused_by_git(&error);
        if is_outside { refused.hint("`--no-worktree` works in this directory") } else { refused }
    })
}

/// Locks the issue for a run in a checkout. The lock lasts as long as the returned value.
pub(crate) fn lock_checked_out_issue(
    place: &Path,
    settings: &Settings,
    run: &str,
) -> Result<Option<ItemLock>, CommandError> {
    let prefix = &settings.work.branch_prefix;
    let standing = CheckedOutIssue::at(place, &GitEnvironment::of_process(), prefix);
    let Some(standing) = standing.map_err(|error| refused_by_git(&error))? else { return Ok(None) };
    match standing.take(run, Clock::system().now()).map_err(|error| refused_by_git(&error))? {
        ItemLockAttempt::Ours(lock) => Ok(Some(lock)),
        ItemLockAttempt::Elsewhere { process, run } => {
            let branch = standing.number().branch(prefix);
            Err(locked_elsewhere(standing.number(), process, run.as_deref()).hint(format!(
                "`{branch}` is checked out in its directory; use another branch, or wait until the work is done"
            )))
        }
    }
}

/// Locks the issue for a resumed run.
pub(crate) fn lock_issue_again(
    directory: &RunDirectory,
    workflow: &Workflow,
    settings: &Settings,
) -> Result<Option<ItemLock>, CommandError> {
    let start = directory.start()?;
    if start.rehearsal || start.delivery.is_some() || workflow.is_review() {
        return Ok(None);
    }
    lock_checked_out_issue(Path::new(&start.directory), settings, directory.id())
}

/// Creates the error for an issue that another process has locked.
pub(crate) fn locked_elsewhere(number: IssueNumber, process: Option<u32>, run: Option<&str>) -> CommandError {
    let who = process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"));
    let run = run.map(|run| format!(", run `{run}`")).unwrap_or_default();
    CommandError::usage(format!("{number} is being worked on by {who}{run}"))
}

/// Excludes all of Saihai's directories from git.
pub(crate) fn hide_directories(
    repository: &mut Repository,
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<(), CommandError> {
    insist_on_own_root(repository, &settings.work.worktree_root)?;
    let added =
        repository.hide(&own_directories(project, settings)).map_err(|error| refused_by_git(&error))?;
    say_excluded(&added, streams);
    Ok(())
}

/// Names the rules that were added to the user's repository. Each rule is added once, so it is named once.
fn say_excluded(added: &[String], streams: &mut Streams) {
    if !added.is_empty() {
        let rules =
            added.iter().map(|rule| format!("`{}`", visible_line(rule))).collect::<Vec<_>>().join(", ");
        streams.note(&format!("added {rules} to `.git/info/exclude`"));
    }
}

/// Checks that worktrees have their own directory: git would exclude the user's files in it.
pub(crate) fn insist_on_own_root(repository: &Repository, root: &Path) -> Result<(), CommandError> {
    let is_all = repository.root().join(root).canonicalize().is_ok_and(|path| path == repository.root());
    if !is_all && !repository.tracks(root).map_err(|error| refused_by_git(&error))? {
        return Ok(());
    }
    let said = format!("`work.worktree_root` cannot be `{}`: git keeps files there", root.display());
    Err(CommandError::usage(said).hint("name a directory for worktrees alone, such as `.worktrees`"))
}

fn own_directories(project: &Project, settings: &Settings) -> Vec<PathBuf> {
    let own = project.places.root.join(".saihai");
    let own = ["runs", "batches", "cache"].map(|name| own.join(name));
    own.into_iter().chain([settings.work.worktree_root.clone(), settings.reports_dir.clone()]).collect()
}

/// Returns true if the next run is the first one to create these directories.
pub(crate) fn is_first_run(project: &Project, settings: &Settings) -> bool {
    !(project.runs().directory().is_dir() && settings.reports_dir.is_dir())
}

/// Excludes the existing directories from git. A missing repository or a failure does no harm, so errors are ignored.
pub(crate) fn hide_directories_if_possible(project: &Project, settings: &Settings, streams: &mut Streams) {
    let (root, environment) = (&project.places.root, GitEnvironment::of_process());
    let added = saihai_git::hide(root, &environment, &own_directories(project, settings));
    say_excluded(&added.unwrap_or_default(), streams);
}
