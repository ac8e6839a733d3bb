//! `--pr`: a pull request, fetched as objects and checked out in its own directory.

use std::path::{Path, PathBuf};

use saihai::repository::Token;
use saihai::{Git, GitError, RunDirectory, abandoned_checkouts, proposed};
use saihai_config::review::{Plan, ReviewOptions};
use saihai_config::{Settings, Use};
use saihai_connect::forge::{ForgeAddress, find_token};
use saihai_model::{Subject, Workflow};

use super::subject::refusal;
use crate::driving::block_on;
use crate::error::Error;
use crate::prepared::connections;
use crate::project::Project;
use crate::repository::Repository;
use crate::terminal::Streams;
use crate::{diagnostics, issue};

#[derive(Debug)]
pub(super) struct Proposed {
    pub(super) subject: Subject,
    pub(super) head: String,
}

/// Fetches a pull request without a checkout or a new branch.
pub(super) fn fetch(
    number: u64,
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<Proposed, Error> {
    diagnostics::insist(&settings.check_trust(&[Use::Work]), settings.strict, streams)?;
    let root = &project.places.root;
    let git = open(root)?
        .ok_or_else(|| Error::usage(format!("`{}` is not in a git repository", root.display())))?;
    let with = connections(settings);
    let (pull_request, token) = block_on(async {
        let remote = Repository::of_project(root, &settings.work.remote, &with).await;
        let github = issue::open(settings, remote, &with).await?;
        let found = github.pull_request(number).await.map_err(issue::refused)?;
        let host =
            ForgeAddress::parse(&settings.work.api).map_err(|error| Error::usage(error.to_string()))?;
        let token = find_token(host.host(), &with.environment).await;
        let token = token.map_err(|error| Error::usage(error.to_string()))?;
        Ok((found, Token::new(token.secret(), host.host())))
    })?;
    let remote = &settings.work.remote;
    let url = git.remote_url(remote).map_err(failed)?;
    let url = url.ok_or_else(|| {
        let error = Error::usage(format!("there is no remote `{remote}` to fetch from"));
        error.hint("`git remote` lists those there are; `[work] remote` says which one is meant")
    })?;
    let references = [format!("refs/pull/{number}/head"), format!("refs/heads/{}", pull_request.base)];
    let tips = git.fetch(&url, &references, &token).map_err(failed)?;
    let [head, base] = tips.as_slice() else { return Err(Error::unavailable("git fetched something else")) };
    let subject = proposed(root, number, (&pull_request.base, base), head).map_err(refusal)?;
    Ok(Proposed { subject, head: head.clone() })
}

/// Parent directory and name prefix of review checkouts.
const WORKTREES: &str = ".worktrees";
const KIND: &str = "review";

/// Deletes checkouts of reviews that were killed before their run existed. A failed deletion does not prevent the
/// review.
fn sweep(project: &Project) {
    let root = &project.places.root;
    let mut abandoned = abandoned_checkouts(&root.join(WORKTREES), KIND);
    if abandoned.is_empty() {
        return;
    }
    let runs = project.runs();
    let (Ok(Some(git)), Ok(listed)) = (open(root), runs.list()) else { return };
    let starts = listed.iter().filter_map(|run| run.start().ok());
    let of_runs: Vec<PathBuf> = starts.map(|start| PathBuf::from(start.directory)).collect();
    abandoned.retain(|directory| !of_runs.contains(directory));
    for directory in abandoned {
        drop(git.remove_checkout(&directory));
    }
}

/// The directory that agents read: the project, or a new checkout of the reviewed commit. A checkout is deleted on
/// drop unless it is kept.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
    path: PathBuf,
    is_removed: bool,
}

impl Place {
    pub(super) fn of(project: &Project, options: &ReviewOptions) -> Result<Self, Error> {
        let root = project.places.root.clone();
        let Some(commit) = &options.checkout else {
            return Ok(Self { path: root.clone(), root, is_removed: false });
        };
        sweep(project);
        let short = commit.get(..12).unwrap_or(commit);
        let path = root.join(WORKTREES).join(format!("{KIND}-{short}-{}", std::process::id()));
        check_out(&root, commit, &path)?;
        Ok(Self { root, path, is_removed: true })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Hands the checkout over to the run.
    pub(super) fn keep(mut self) {
        self.is_removed = false;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_removed {
            // The error that ended the review matters more than a failed cleanup.
            drop(open(&self.root).map(|git| git.map(|git| git.remove_checkout(&self.path))));
        }
    }
}

/// Restores the checkout for a resumed review.
pub(crate) fn check_out_again(directory: &RunDirectory, workflow: &Workflow) -> Result<(), Error> {
    let Some(commit) = Plan::of(workflow).and_then(|plan| plan.checkout) else { return Ok(()) };
    let place = PathBuf::from(directory.start()?.directory);
    if place.exists() {
        return Ok(());
    }
    // Git may still list a deleted checkout.
    drop(open(root_of(directory))?.map(|git| git.remove_checkout(&place)));
    check_out(root_of(directory), &commit, &place)
}

/// Deletes the checkout of a finished review. It contains only committed files.
pub(crate) fn clean_up(
    directory: &RunDirectory,
    workflow: &Workflow,
    streams: &mut Streams,
) -> Result<(), Error> {
    if Plan::of(workflow).and_then(|plan| plan.checkout).is_none() {
        return Ok(());
    }
    let place = PathBuf::from(directory.start()?.directory);
    let removed = open(root_of(directory))?.map(|git| git.remove_checkout(&place)).transpose();
    if let (true, Err(error)) = (place.exists(), removed) {
        streams.warning(&format!("`{}` could not be removed: {error}", place.display()));
    }
    Ok(())
}

fn check_out(root: &Path, commit: &str, directory: &Path) -> Result<(), Error> {
    let git = open(root)?
        .ok_or_else(|| Error::usage(format!("`{}` is not in a git repository", root.display())))?;
    git.check_out(commit, directory).map_err(failed)
}

fn root_of(directory: &RunDirectory) -> &Path {
    directory.path().ancestors().nth(3).unwrap_or(directory.path())
}

fn open(root: &Path) -> Result<Option<Git>, Error> {
    Git::open(root).map_err(failed)
}

fn failed(error: GitError) -> Error {
    Error::unavailable(error.to_string())
}
