//! `saihai work --clean`: leftover worktrees, and the deletion of those that are safe to delete (I-66).

use std::path::{Path, PathBuf};

use saihai::Clock;
use saihai_config::WorkSettings;
use saihai_delivery::stage;
use saihai_delivery::{IssueRun, IssueRuns};
use saihai_git::GitEnvironment;
use saihai_git::{
    CleanUpOutcome, CleanUpRequest, ItemLock, ItemLockAttempt, Repository, WorkItem, WorkItemSource,
};
use saihai_model::{Ending, ExitStatus, IssueNumber, IssueSource};
use saihai_view::RunState;
use serde::Serialize;

use super::words::refused_by_git;
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::{Streams, visible_line};

#[derive(Serialize)]
struct LeftoverWorktree {
    issue: IssueNumber,
    worktree: String,
    removed: bool,
    said: String,
}

/// The data needed to find leftovers. A forge is not needed.
struct LeftoverSearch<'a> {
    repository: Repository,
    runs: IssueRuns,
    work: &'a WorkSettings,
}

/// Lists leftovers of these issues, or of all, and deletes those that are safe to delete.
pub(super) fn clean(
    project: &Project,
    work: &WorkSettings,
    wanted: Option<&[IssueNumber]>,
    json: bool,
    streams: &mut Streams,
) -> Result<ExitStatus, CommandError> {
    let repository = Repository::open(&project.places.root, &GitEnvironment::of_process())
        .map_err(|error| refused_by_git(&error))?;
    let place = LeftoverSearch { repository, runs: IssueRuns::new(project.runs(), None), work };
    let mut found = Vec::new();
    for (number, path) in leftovers(&place)? {
        if wanted.is_none_or(|wanted| wanted.contains(&number)) {
            found.extend(clean_up(&place, number, &path)?);
        }
    }
    if found.is_empty() && !json {
        streams.note("no leftover worktrees or branches");
    }
    for leftover in found {
        if json {
            streams.out.json("leftover", &leftover)?;
        } else {
            let LeftoverWorktree { issue, worktree, said, .. } = leftover;
            streams.out.data(&format!("{issue} {}: {}", visible_line(&worktree), visible_line(&said)))?;
        }
    }
    Ok(ExitStatus::Done)
}

/// Lists the existing worktrees of issues. They are in the configured directory, or where an earlier run put its own.
fn leftovers(place: &LeftoverSearch<'_>) -> Result<Vec<(IssueNumber, PathBuf)>, CommandError> {
    let root = place.repository.root().join(&place.work.worktree_root);
    let root = root.canonicalize().unwrap_or(root);
    let mut found = Vec::new();
    for path in place.repository.linked().map_err(|error| refused_by_git(&error))? {
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix("issue-")).and_then(IssueNumber::parse);
        let Some(number) = number else { continue };
        let is_one = |past: &IssueRun| same(&past.assignment.worktree, &path);
        let is_ours = || runs_on(place, number).map_or(true, |runs| runs.iter().any(is_one));
        if path.parent() == Some(&root) || is_ours() {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}

fn same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| one == other)
}

/// Returns all runs on an issue number, the newest first for each source.
fn runs_on(place: &LeftoverSearch<'_>, number: IssueNumber) -> Result<Vec<IssueRun>, saihai::DriverError> {
    let mut past = Vec::new();
    for source in [IssueSource::Folder, IssueSource::Github] {
        past.extend(place.runs.of(source, number)?);
    }
    past.into_iter().collect()
}

fn clean_up(
    place: &LeftoverSearch<'_>,
    number: IssueNumber,
    path: &Path,
) -> Result<Option<LeftoverWorktree>, CommandError> {
    let past = match runs_on(place, number) {
        Ok(past) => past,
        Err(error) => {
            let (worktree, said) =
                (path.display().to_string(), format!("kept: cannot read one of its runs: {error}"));
            return Ok(Some(LeftoverWorktree { issue: number, worktree, removed: false, said }));
        }
    };
    let past: Vec<IssueRun> = past.into_iter().filter(|past| same(&past.assignment.worktree, path)).collect();
    let last = past.first().map(|past| &past.assignment);
    let prefix = last.map_or(&place.work.branch_prefix, |last| &last.branch_prefix).clone();
    let source = match last.map(|last| last.source) {
        Some(IssueSource::Github) => WorkItemSource::Forge,
        Some(IssueSource::Folder) | None => WorkItemSource::Folder,
    };
    let item = WorkItem::Issue { number: number.get(), source, branch_prefix: prefix };
    let root = path.parent().unwrap_or(path);
    let worktree = place.repository.worktree(&item, root).map_err(|error| refused_by_git(&error))?;
    let Some(worktree) = worktree else { return Ok(None) };
    let path = worktree.path().display().to_string();
    let told = |removed, said: String| {
        Ok(Some(LeftoverWorktree { issue: number, worktree: path.clone(), removed, said }))
    };
    let lock = match ItemLock::take(&place.repository, &item, "", Clock::system().now())
        .map_err(|error| refused_by_git(&error))?
    {
        ItemLockAttempt::Ours(lock) => lock,
        ItemLockAttempt::Elsewhere { .. } => {
            return told(false, "kept: another process works on it".to_owned());
        }
    };
    let last = past.first().map(|last| last.id().to_owned());
    // Earlier deliveries do not matter: the last run left the current files.
    let Some(past) = past.into_iter().next().filter(|past| past.delivers) else {
        return told(
            false,
            match last {
                Some(run) => format!("kept: run `{run}` delivers nothing, so the files are yours"),
                None => "kept: Saihai did not create it".to_owned(),
            },
        );
    };
    // Work that a person has merged after a conflict needs no delivery.
    let commit = past.outputs.text(stage::FINALIZE, "commit");
    let has_merged = |commit| place.repository.has_merged(&past.assignment.base.branch, commit);
    let is_merged =
        commit.map(has_merged).transpose().map_err(|error| refused_by_git(&error))?.unwrap_or(false);
    if !is_merged && !matches!(&past.state, RunState::Ended { ending: Ending::Completed(_) }) {
        let run = past.id();
        return told(false, format!("kept: run `{run}` has not delivered it"));
    }
    let cleaning = CleanUpRequest {
        worktree: &worktree,
        base: &past.assignment.base,
        copied: &past.assignment.copy_files,
        merged_into: &past.assignment.base.holders(),
    };
    match place.repository.clean_up(cleaning, &lock).map_err(|error| refused_by_git(&error))? {
        CleanUpOutcome::Removed { rescued: None, .. } => told(true, "removed".to_owned()),
        CleanUpOutcome::Removed { rescued: Some(reference), .. } => {
            told(true, format!("removed; files on no branch are saved: `git worktree add DIR {reference}`"))
        }
        CleanUpOutcome::Kept(kept) => told(false, format!("kept: {kept}")),
    }
}
