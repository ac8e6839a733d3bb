//! `--pr`: a pull request, fetched as objects. Also the directory in which agents read a commit under review,
//! and the check that reviewers change no files.

use std::path::{Path, PathBuf};

use saihai::RunDirectory;
use saihai_config::{Settings, Use};
use saihai_connect::forge::{ForgeAddress, find_token};
use saihai_git::GitAccessToken;
use saihai_git::{Git, GitError, TrackedFileWatch, abandoned_checkouts};
use saihai_model::{Decision, Fact, Record, RecordEntry, StageId, Start, Workflow};
use saihai_review::subject::{CommittedChange, proposed};
use saihai_review::{ReviewOptions, ReviewPlan};

use super::subject::refusal;
use crate::definitions::connections;
use crate::driving::block_on;
use crate::error::CommandError;
use crate::issue_tracker::RemoteRepository;
use crate::issue_tracker::forge_error;
use crate::issue_tracker::open_github;
use crate::project::Project;
use crate::terminal::{Streams, visible_line};
use saihai_view::RunView;

/// Fetches a pull request without a checkout or a new branch.
pub(super) fn fetch(
    number: u64,
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<CommittedChange, CommandError> {
    streams.diagnose(&settings.check_trust(&[Use::Work]), settings.strict)?;
    let root = &project.places.root;
    let git = open(root)?
        .ok_or_else(|| CommandError::usage(format!("`{}` is not in a git repository", root.display())))?;
    let with = connections(settings);
    let (pull_request, token) = block_on(async {
        let remote = RemoteRepository::of_project(root, &settings.work.remote, &with).await;
        let github = open_github(settings, remote, &with).await?;
        let found = github.pull_request(number).await.map_err(forge_error)?;
        let host = ForgeAddress::parse(&settings.work.api)
            .map_err(|error| CommandError::usage(error.to_string()))?;
        let token = find_token(host.host(), &with.environment).await;
        let token = token.map_err(|error| CommandError::usage(error.to_string()))?;
        Ok((found, GitAccessToken::new(token.secret(), host.host())))
    })?;
    let remote = &settings.work.remote;
    let url = git.remote_url(remote).map_err(failed)?;
    let url = url.ok_or_else(|| {
        let error = CommandError::usage(format!("there is no remote `{remote}` to fetch from"));
        error.hint("`git remote` lists the remotes; set `remote` in `[work]`")
    })?;
    let references = [format!("refs/pull/{number}/head"), format!("refs/heads/{}", pull_request.base)];
    let tips = git.fetch(&url, &references, &token).map_err(failed)?;
    let [head, base] = tips.as_slice() else {
        return Err(CommandError::unavailable("git fetched unexpected commits"));
    };
    let subject = proposed(root, number, (&pull_request.base, base), head).map_err(refusal)?;
    Ok(CommittedChange { subject, head: head.clone() })
}

/// Parent directory and name prefix of review checkouts.
const WORKTREES: &str = ".worktrees";
const KIND: &str = "review";

/// Deletes checkouts of reviews that were killed before their run existed. Ignores failures.
fn sweep(project: &Project) {
    let root = &project.places.root;
    let mut abandoned = abandoned_checkouts(&root.join(WORKTREES), KIND);
    if abandoned.is_empty() {
        return;
    }
    let runs = project.runs();
    let (Ok(Some(git)), Ok(listed)) = (open(root), runs.list()) else { return };
    let starts = listed.iter().filter_map(|run| run.start().ok());
    let of_runs: Vec<PathBuf> = starts.map(|start| PathBuf::from(&start.directory)).collect();
    abandoned.retain(|directory| !of_runs.contains(directory));
    for directory in abandoned {
        drop(git.remove_checkout(&directory));
    }
}

/// The directory that agents read: the project, or a new checkout of the reviewed commit. A checkout is deleted on
/// drop unless it is kept.
#[derive(Debug)]
pub(super) struct ReviewDirectory {
    root: PathBuf,
    path: PathBuf,
    is_removed: bool,
}

impl ReviewDirectory {
    pub(super) fn of(project: &Project, options: &ReviewOptions) -> Result<Self, CommandError> {
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

impl Drop for ReviewDirectory {
    fn drop(&mut self) {
        if self.is_removed {
            // The error that ended the review matters more than a failed cleanup.
            drop(open(&self.root).map(|git| git.map(|git| git.remove_checkout(&self.path))));
        }
    }
}

/// Restores the checkout for a resumed review.
pub(crate) fn check_out_again(directory: &RunDirectory, workflow: &Workflow) -> Result<(), CommandError> {
    let Some(commit) = ReviewPlan::of(workflow).and_then(|plan| plan.checkout) else { return Ok(()) };
    let place = PathBuf::from(&directory.start()?.directory);
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
) -> Result<(), CommandError> {
    if ReviewPlan::of(workflow).and_then(|plan| plan.checkout).is_none() {
        return Ok(());
    }
    let place = PathBuf::from(&directory.start()?.directory);
    let removed = open(root_of(directory))?.map(|git| git.remove_checkout(&place)).transpose();
    if let (true, Err(error)) = (place.exists(), removed) {
        streams.warning(&format!("`{}` could not be removed: {error}", place.display()));
    }
    Ok(())
}

fn check_out(root: &Path, commit: &str, directory: &Path) -> Result<(), CommandError> {
    let git = open(root)?
        .ok_or_else(|| CommandError::usage(format!("`{}` is not in a git repository", root.display())))?;
    git.check_out(commit, directory).map_err(failed)
}

fn root_of(directory: &RunDirectory) -> &Path {
    directory.path().ancestors().nth(3).unwrap_or(directory.path())
}

fn open(root: &Path) -> Result<Option<Git>, CommandError> {
    Git::open(root).map_err(failed)
}

fn failed(error: GitError) -> CommandError {
    CommandError::unavailable(error.to_string())
}

/// Maximum number of files named in a warning.
const NAMED: usize = 5;

/// The files under review, compared with their state at the start of the current phase.
pub(crate) struct UnchangedFiles<'a> {
    workflow: &'a Workflow,
    phase: Option<StageId>,
    /// `None` before the review starts, and if git cannot report the state of files.
    tracked: Option<TrackedFileWatch>,
}

impl<'a> UnchangedFiles<'a> {
    /// Creates the check for a review. Returns nothing for other runs.
    pub(crate) fn of(workflow: &'a Workflow) -> Option<Self> {
        workflow.is_review().then_some(Self { workflow, phase: None, tracked: None })
    }

    /// Reads the directory and the current phase of a resumed review. The caller has not asked any agent yet.
    pub(crate) fn remember_view(&mut self, view: &RunView) {
        self.watch_files(&view.start);
        self.phase = view.visits.last().map(|visit| visit.stage.clone());
    }

    fn watch_files(&mut self, start: &Start) {
        let git = Git::open(Path::new(&start.directory)).ok().flatten();
        self.tracked = git.and_then(|git| TrackedFileWatch::now(git).ok());
    }

    /// Handles a record. Returns a warning about changed files when a phase ends, before the next one starts.
    pub(crate) fn hear(&mut self, record: &Record) -> Option<String> {
        let is_next = matches!(&record.entry, RecordEntry::Decision(Decision::Entered { .. }));
        let said = if is_next { self.said() } else { None };
        match &record.entry {
            RecordEntry::Fact(Fact::Started(start)) => self.watch_files(start),
            RecordEntry::Decision(Decision::Entered { stage, .. }) => self.phase = Some(stage.clone()),
            RecordEntry::Fact(_) | RecordEntry::Decision(_) => {}
        }
        said
    }

    /// Returns a warning about changes since the phase started, and resets the comparison.
    pub(crate) fn said(&mut self) -> Option<String> {
        let phase = self.phase.as_ref()?;
        self.workflow.stages.get(phase)?.turns().first()?;
        let changed = self.tracked.as_mut()?.take_changed().unwrap_or_default();
        if changed.is_empty() {
            return None;
        }
        let named: Vec<String> =
            changed.iter().take(NAMED).map(|path| format!("`{}`", visible_line(path))).collect();
        let more = match changed.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("files changed while phase `{phase}` reviewed them: {}{more}", named.join(", ")))
    }
}
