//! `saihai work --clean`: leftover worktrees, and the deletion of those that are safe to delete (I-66).

use std::path::{Path, PathBuf};

use saihai::delivery::Past;
use saihai::repository::{CleanedUp, CleaningUp, Item, ItemLock, Repository, Source, Taken};
use saihai::{Clock, Environment, Runs, State};
use saihai_config::WorkSettings;
use saihai_config::delivery::stage;
use saihai_model::{Ending, IssueNumber, IssueSource};
use serde::Serialize;

use super::ground::refused_by_git;
use crate::error::{Error, exit};
use crate::json;
use crate::project::Project;
use crate::terminal::{Streams, visible_line};

#[derive(Serialize)]
struct Leftover {
    issue: IssueNumber,
    worktree: String,
    removed: bool,
    said: String,
}

/// The data needed to find leftovers. A forge is not needed.
struct Place<'a> {
    repository: Repository,
    runs: Runs,
    work: &'a WorkSettings,
}

/// Lists leftovers of these issues, or of all, and deletes those that are safe to delete.
pub(super) fn clean(
    project: &Project,
    work: &WorkSettings,
    wanted: Option<&[IssueNumber]>,
    json: bool,
    streams: &mut Streams,
) -> Result<u8, Error> {
    let repository =
        Repository::open(&project.places.root, &Environment::of_process()).map_err(refused_by_git)?;
    let place = Place { repository, runs: project.runs(), work };
    let mut found = Vec::new();
    for (number, path) in leftovers(&place)? {
        if wanted.is_none_or(|wanted| wanted.contains(&number)) {
            found.extend(clean_up(&place, number, &path)?);
        }
    }
    if found.is_empty() && !json {
        streams.note("nothing is left over");
    }
    for leftover in found {
        if json {
            json::line(&mut streams.out, "leftover", &leftover)?;
        } else {
            let Leftover { issue, worktree, said, .. } = leftover;
            streams.out.data(&format!("{issue} {}: {}", visible_line(&worktree), visible_line(&said)))?;
        }
    }
    Ok(exit::DONE)
}

/// Lists the existing worktrees of issues. They are in the configured directory, or where an earlier run put its own.
fn leftovers(place: &Place<'_>) -> Result<Vec<(IssueNumber, PathBuf)>, Error> {
    let root = place.repository.root().join(&place.work.worktree_root);
    let root = root.canonicalize().unwrap_or(root);
    let mut found = Vec::new();
    for path in place.repository.linked().map_err(refused_by_git)? {
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix("issue-")).and_then(IssueNumber::parse);
        let Some(number) = number else { continue };
        let is_one = |past: &Past| same(&past.assignment.worktree, &path);
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
fn runs_on(place: &Place<'_>, number: IssueNumber) -> Result<Vec<Past>, saihai::Error> {
    let mut past = Vec::new();
    for source in [IssueSource::Folder, IssueSource::Github] {
        past.extend(Past::of(&place.runs, source, number, None)?);
    }
    past.into_iter().collect()
}

fn clean_up(place: &Place<'_>, number: IssueNumber, path: &Path) -> Result<Option<Leftover>, Error> {
    let past = match runs_on(place, number) {
        Ok(past) => past,
        Err(error) => {
            let (worktree, said) =
                (path.display().to_string(), format!("kept: a run of it cannot be read: {error}"));
            return Ok(Some(Leftover { issue: number, worktree, removed: false, said }));
        }
    };
    let past: Vec<Past> = past.into_iter().filter(|past| same(&past.assignment.worktree, path)).collect();
    let last = past.first().map(|past| &past.assignment);
    let prefix = last.map_or(&place.work.branch_prefix, |last| &last.branch_prefix).clone();
    let source = match last.map(|last| last.source) {
        Some(IssueSource::Github) => Source::Forge,
        Some(IssueSource::Folder) | None => Source::Folder,
    };
    let item = Item::Issue { number: number.get(), source, branch_prefix: prefix };
    let root = path.parent().unwrap_or(path);
    let worktree = place.repository.worktree(&item, root).map_err(refused_by_git)?;
    let Some(worktree) = worktree else { return Ok(None) };
    let path = worktree.path().display().to_string();
    let told =
        |removed, said: String| Ok(Some(Leftover { issue: number, worktree: path.clone(), removed, said }));
    let lock =
        match ItemLock::take(&place.repository, &item, "", Clock::system().now()).map_err(refused_by_git)? {
            Taken::Ours(lock) => lock,
            Taken::Elsewhere { .. } => return told(false, "kept: it is being worked on".to_owned()),
        };
    let last = past.first().map(|last| last.directory.id().to_owned());
    // Earlier deliveries do not matter: the last run left the current files.
    let Some(past) = past.into_iter().next().filter(|past| past.delivers) else {
        return told(
            false,
            match last {
                Some(run) => format!("kept: run `{run}` hands nothing over, so its files are yours"),
                None => "kept: no run of ours knows of it".to_owned(),
            },
        );
    };
    // Work that a person has merged after a conflict needs no delivery.
    let commit = past.deeds.text(stage::FINALIZE, "commit");
    let has_merged = |commit| place.repository.has_merged(&past.assignment.base.branch, commit);
    let is_merged = commit.map(has_merged).transpose().map_err(refused_by_git)?.unwrap_or(false);
    if !is_merged && !matches!(&past.state, State::Ended { ending: Ending::Completed(_) }) {
        let run = past.directory.id();
        return told(false, format!("kept: run `{run}` has not handed it over"));
    }
    let cleaning = CleaningUp {
        worktree: &worktree,
        base: &past.assignment.base,
        copied: &past.assignment.copy_files,
        merged_into: &past.assignment.base.holders(),
    };
    match place.repository.clean_up(cleaning, &lock).map_err(refused_by_git)? {
        CleanedUp::Removed { rescued: None, .. } => told(true, "removed".to_owned()),
        CleanedUp::Removed { rescued: Some(reference), .. } => {
            told(true, format!("removed; what no branch held: `git worktree add DIR {reference}`"))
        }
        CleanedUp::Kept(kept) => told(false, format!("kept: {kept}")),
    }
}
