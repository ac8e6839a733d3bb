//! Delivery steps in the local repository: worktree, commit, push, local merge, clean-up.

use std::path::Path;

use std::sync::Arc;

use saihai::ActionRequest;
use saihai_config::issues::COMMIT_TITLE;
use saihai_connect::{CommandEnd, CommandLine};
use saihai_git::{
    BranchOwnership, CleanUpOutcome, CleanUpRequest, CommitWorkOutcome, CommitWorkRequest, CommittedWork,
    GitMergeOutcome, GitMergeRequest, GitPushOutcome, GitPushRequest, PlaceItemOutcome, PlaceItemRefusal,
    PlaceItemRequest, RescueCondition, ServerUpdateRequest, Worktree, WorktreeContent,
};
use saihai_model::{CallId, Cost, DeliveryHold, Failure, FailureClass, Millis, Outcome, UncertainChange};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::executor::{DeliveryError, IssueDelivery, done, failed, input, waiting};
use crate::stages::stage;
use crate::{IssueAssignment, IssueRun};

/// Time limit for the verify command in a merged tree.
const VERIFY: Millis = Millis(3_600_000);
/// Maximum number of changed files that a gate names.
const SHOWN: usize = 20;

impl IssueDelivery {
    pub(crate) fn worktree(&self) -> Result<Outcome, DeliveryError> {
        let placed = match self.place(self.ours)? {
            PlaceItemOutcome::Continued(worktree) => {
                match self.resources.repository.off_its_branch(&worktree)? {
                    Some(refusal) => PlaceItemOutcome::Refused(refusal),
                    None => PlaceItemOutcome::Continued(worktree),
                }
            }
            placed @ (PlaceItemOutcome::Created(_)
            | PlaceItemOutcome::Recreated(_)
            | PlaceItemOutcome::Refused(_)) => placed,
        };
        let rescued = match &placed {
            PlaceItemOutcome::Continued(worktree) => self.kept_before(worktree)?,
            PlaceItemOutcome::Created(_) | PlaceItemOutcome::Recreated(_) | PlaceItemOutcome::Refused(_) => {
                None
            }
        };
        Ok(placed_outcome(placed, rescued))
    }

    /// Saves the whole state of a worktree from another run before this run changes it (I-66).
    fn kept_before(&self, worktree: &Worktree) -> Result<Option<String>, DeliveryError> {
        let (repository, assignment) = (&self.resources.repository, &self.assignment);
        let tip = repository.tip(&format!("refs/heads/{}", assignment.branch))?;
        let is_new = tip.as_deref() == Some(assignment.base.commit.as_str());
        let keep = if is_new { RescueCondition::WhatNothingHolds } else { RescueCondition::Everything };
        let rescued = repository.rescue(worktree, &assignment.base.commit, &assignment.copy_files, keep)?;
        Ok(rescued.hint())
    }

    pub(crate) fn place(
        &self,
        ours: BranchOwnership,
    ) -> Result<PlaceItemOutcome, saihai_git::RepositoryError> {
        let assignment = &self.assignment;
        self.resources.repository.place(PlaceItemRequest {
            item: &assignment.item(),
            base: &assignment.base,
            worktree_root: &assignment.worktree_root,
            copy_files: &assignment.copy_files,
            ours,
            refill: WorktreeContent::Rescue,
        })
    }

    /// Returns the worktree. Starting or resuming the run created it, but it may have been removed since.
    fn files(&self) -> Result<Option<Worktree>, DeliveryError> {
        let assignment = &self.assignment;
        let found = self.resources.repository.worktree(&assignment.item(), &assignment.worktree_root)?;
        Ok(found.filter(|worktree| worktree.path().is_dir()))
    }

    /// Returns the outcome for a missing worktree. Without commits it would look like "no changes".
    fn gone(&self) -> Result<Outcome, DeliveryError> {
        let IssueAssignment { branch, base, worktree, .. } = &self.assignment;
        let tip = self.resources.repository.tip(&format!("refs/heads/{branch}"))?;
        let at = worktree.display();
        if tip.is_some_and(|tip| tip != base.commit) {
            let (worktree, files_remain) = (at.to_string(), worktree.is_dir());
            return Ok(waiting(DeliveryHold::WorktreeGone {
                worktree,
                branch: branch.clone(),
                files_remain,
            }));
        }
        let gone = if worktree.is_dir() {
            let what = format!("the worktree `{at}` is missing in `.git/worktrees`");
            format!("{what}; its files still exist: keep them with `mv {at} DIR`")
        } else {
            format!("the worktree `{at}` was deleted with its uncommitted changes")
        };
        let why = format!("{gone}; `{branch}` has no commits: `saihai work --retry` starts again");
        Ok(done("git", [("why", json!(why))]))
    }

    pub(crate) fn finalize(&self, deed: &ActionRequest) -> Result<Outcome, DeliveryError> {
        let (assignment, secrets) = (&self.assignment, &self.resources.secrets);
        if let Some(refusal) = self.take_in(deed)? {
            return Ok(waiting(DeliveryHold::BranchRefused { message: refusal.to_string() }));
        }
        let finalized = if assignment.delivered.is_some() {
            self.resources.repository.finalized(
                &assignment.item(),
                &assignment.base,
                &assignment.copy_files,
                secrets,
            )?
        } else {
            match self.files()? {
                Some(worktree) => self.commit_rest(deed, &worktree)?,
                None => return self.gone(),
            }
        };
        match finalized {
            CommitWorkOutcome::Ready(ready) => Ok(committed(deed, &ready)),
            CommitWorkOutcome::NoChanges => Ok(done("no-changes", [])),
            CommitWorkOutcome::Special { paths } => {
                let paths = paths.iter().map(|path| path.display().to_string()).collect();
                let worktree = assignment.worktree.display().to_string();
                Ok(waiting(DeliveryHold::SpecialFiles { paths, worktree }))
            }
            CommitWorkOutcome::Untaken { paths } => {
                let (paths, worktree) =
                    (saihai_git::named(&paths), assignment.worktree.display().to_string());
                Ok(waiting(DeliveryHold::RefusedFiles { paths, worktree }))
            }
            CommitWorkOutcome::Failed { problem, rescued } => {
                let kept = rescued.as_ref().and_then(saihai_git::RescueOutcome::hint);
                Ok(done(problem.word(), [("why", json!(problem.to_string())), ("rescued", json!(kept))]))
            }
        }
    }

    /// Commits the changes that the agent left uncommitted.
    fn commit_rest(
        &self,
        deed: &ActionRequest,
        worktree: &Worktree,
    ) -> Result<CommitWorkOutcome, DeliveryError> {
        let assignment = &self.assignment;
        let finalizing = CommitWorkRequest {
            worktree,
            base: &assignment.base,
            title: &assignment.titled(COMMIT_TITLE),
            run: &deed.run,
            copied: &assignment.copy_files,
            secrets: &self.resources.secrets,
        };
        Ok(self.resources.repository.finalize(finalizing, &self.resources.lock)?)
    }

    pub(crate) fn push(&self, deed: &ActionRequest) -> Result<Outcome, DeliveryError> {
        let (commit, tree) = agreed(deed)?;
        let (forge, destination) = self.forge()?;
        if self.has_moved(tree)? {
            return Ok(done("moved", []));
        }
        let pushing = GitPushRequest {
            url: &destination.url,
            branch: &self.assignment.branch,
            commit,
            token: Some(&forge.token),
        };
        Ok(match self.resources.repository.push(pushing, &self.resources.lock)? {
            GitPushOutcome::Done | GitPushOutcome::Already => done("pushed", [("pushed", json!(commit))]),
            GitPushOutcome::Rejected { said } => done("push-rejected", [("why", json!(said))]),
            // An unreachable server must not lose paid work.
            GitPushOutcome::Unanswered { said } => failed(class_of(&said), &said),
            GitPushOutcome::Unread { said } if !deed.look_up => failed(class_of(&said), &said),
            GitPushOutcome::Unread { said } | GitPushOutcome::Unknown { said } => {
                let change = UncertainChange::Pushed { branch: self.assignment.branch.clone() };
                waiting(DeliveryHold::Uncertain { change: Some(change), message: said })
            }
        })
    }

    /// Returns true if the tree of the branch differs from the one that was shown (I-43).
    pub(crate) fn has_moved(&self, tree: &str) -> Result<bool, DeliveryError> {
        let now = self.resources.repository.tree_of(&self.assignment.branch)?;
        Ok(now.as_deref() != Some(tree))
    }

    /// Returns true if the branch is at another commit. The tree may be the same, because resolving a
    /// conflict may change no file.
    pub(crate) fn has_another_commit(&self, commit: &str) -> Result<bool, DeliveryError> {
        let tip = self.resources.repository.tip(&format!("refs/heads/{}", self.assignment.branch))?;
        Ok(tip.is_some_and(|tip| tip != commit))
    }

    pub(crate) fn merge_here(
        &self,
        deed: &ActionRequest,
        stop: &CancellationToken,
    ) -> Result<Outcome, DeliveryError> {
        let (commit, tree) = agreed(deed)?;
        if self.has_moved(tree)? {
            return Ok(done("moved", []));
        }
        let assignment = &self.assignment;
        // A person who looked at it may have merged the branch.
        let repository = &self.resources.repository;
        let base = repository.tip(&format!("refs/heads/{}", assignment.base.branch))?;
        let is_merged = base.map_or(Ok(false), |base| repository.has_taken_in(&base, commit))?;
        if let (false, Some(hold)) = (is_merged, self.unverified(&deed.run)?) {
            return Ok(waiting(hold));
        }
        let merging = GitMergeRequest {
            item: &assignment.item(),
            base: &assignment.base.branch,
            commit,
            title: &assignment.titled(COMMIT_TITLE),
            run: &deed.run,
        };
        let (mut said, mut unrun) = (None, None);
        let mut verify = |directory: &Path| match apart(self.verified(deed, directory, stop.clone())) {
            Ok((works, output)) => {
                said = Some(output);
                works
            }
            Err(failure) => {
                unrun = Some(failure);
                false
            }
        };
        let verify: Option<saihai_git::MergeVerifier<'_>> =
            if assignment.verify.is_some() { Some(&mut verify) } else { None };
        let merged = self.resources.repository.merge(merging, verify, &self.resources.lock)?;
        // A command that could not run says nothing about the merge.
        if let (GitMergeOutcome::NotVerified, Some(failure), false) = (&merged, unrun, stop.is_cancelled()) {
            return Ok(Outcome::Failed(failure));
        }
        Ok(match merged {
            GitMergeOutcome::Done { onto, .. } | GitMergeOutcome::Already { onto } => {
                let into = match &onto {
                    saihai_git::MergeTarget::Base => assignment.base.branch.clone(),
                    saihai_git::MergeTarget::Beside { branch } => branch.clone(),
                };
                done("merged", [("merged", json!(true)), ("into", json!(into)), ("hint", json!(onto.hint()))])
            }
            GitMergeOutcome::Conflict { .. } if self.has_another_commit(commit)? => done("moved", []),
            GitMergeOutcome::Conflict { files, into } => {
                let files = files.iter().map(|file| file.display().to_string()).collect();
                let (commit, base) = (commit.to_owned(), assignment.base.branch.clone());
                waiting(DeliveryHold::Conflict {
                    files,
                    commit,
                    base,
                    into: Some(into),
                    request: None,
                    error: None,
                })
            }
            GitMergeOutcome::NotVerified if stop.is_cancelled() => failed(FailureClass::Cancelled, "stopped"),
            GitMergeOutcome::NotVerified => done("verify", [("why", json!(said.unwrap_or_default()))]),
            // Another process merges or has merged, so look at the target again.
            GitMergeOutcome::Moved => Outcome::NotYet,
            GitMergeOutcome::Busy { lock } => self.later(|| DeliveryHold::MergeBusy {
                base: assignment.base.branch.clone(),
                lock: lock.display().to_string(),
            }),
            GitMergeOutcome::CheckedOut { branch, path } => {
                waiting(DeliveryHold::BranchCheckedOut { branch, path: path.display().to_string() })
            }
        })
    }

    /// Runs the verify command from the settings in a merged tree and returns its verdict and output.
    async fn verified(
        &self,
        deed: &ActionRequest,
        directory: &Path,
        stop: CancellationToken,
    ) -> Result<(bool, String), Failure> {
        let argv = self.assignment.verify.clone().unwrap_or_default();
        let call = CallId { stage: stage::MERGE.into(), visit: 1, round: 1, n: 1 };
        let line = CommandLine {
            argv,
            directory: directory.to_owned(),
            input: String::new(),
            timeout: VERIFY,
            run: deed.run.clone(),
            run_directory: self.resources.runs.directory().join(&deed.run),
            call,
        };
        let unrun = |failure: Failure| Failure { message: format!("verify: {}", failure.message), ..failure };
        let came = line.run(self.resources.around.clone(), stop).await.map_err(unrun)?;
        if let CommandEnd::Signal(signal) = came.end {
            let said = format!("verify: ended by signal {signal}");
            return Err(Failure::new(FailureClass::Crashed, said));
        }
        let said = format!("{}\n{}", came.output.trim_end(), came.complaints.trim_end());
        Ok((came.end == CommandEnd::Code(0), last(said.trim())))
    }

    pub(crate) fn clean_up(&self, deed: &ActionRequest) -> Result<Outcome, DeliveryError> {
        let there = input(deed, stage::PULL_REQUEST, "merged").is_some();
        let merged = there || input(deed, stage::MERGE, "merged").is_some();
        let label = if merged {
            "merged"
        } else if input(deed, stage::PULL_REQUEST, "url").is_some() {
            "pr-created"
        } else if input(deed, stage::FINALIZE, "commit").is_some() {
            "branch-ready"
        } else {
            "no-changes"
        };
        let is_handed_over = label != "branch-ready" || input(deed, stage::PUSH, "pushed").is_some();
        if let Some(tree) = input(deed, stage::FINALIZE, "tree").and_then(|tree| tree.as_str())
            && !is_handed_over
            && self.has_moved(tree)?
        {
            return Ok(done("moved", []));
        }
        let found =
            self.resources.repository.worktree(&self.assignment.item(), &self.assignment.worktree_root)?;
        let into = if there { Vec::new() } else { self.held_by(deed, label) };
        let (repository, lock) = (&self.resources.repository, &self.resources.lock);
        let worktree = match found {
            _ if self.assignment.keep => return Ok(done(label, [])),
            Some(worktree) => worktree,
            // An earlier run removed the worktree and left the branch, which was not merged then.
            None => {
                repository.remove_branch(&self.assignment.item(), &into, lock)?;
                return Ok(done(label, []));
            }
        };
        let cleaning = CleanUpRequest {
            worktree: &worktree,
            base: &self.assignment.base,
            copied: &self.assignment.copy_files,
            merged_into: &into,
        };
        Ok(match repository.clean_up(cleaning, lock)? {
            CleanUpOutcome::Removed { rescued, .. } => {
                let hint = rescued.map(|reference| format!("git worktree add DIR {reference}"));
                done(label, [("rescued", json!(hint))])
            }
            CleanUpOutcome::Kept(kept) => {
                done(label, [("kept", json!(format!("{}: {kept}", worktree.path().display())))])
            }
        })
    }

    /// Fetches commits that the server has beyond our push, so that they are shown, approved and merged with
    /// the rest. Returns the obstacle, if any.
    pub(crate) fn take_in(&self, deed: &ActionRequest) -> Result<Option<PlaceItemRefusal>, DeliveryError> {
        let (Some(forge), Some(destination)) = (&self.resources.forge, &self.assignment.forge) else {
            return Ok(None);
        };
        if !self.was_pushed(deed)? {
            return Ok(None);
        }
        let (repository, assignment) = (&self.resources.repository, &self.assignment);
        let item = assignment.item();
        let worktree = repository.worktree(&item, &assignment.worktree_root)?;
        let taking = ServerUpdateRequest {
            item: &item,
            base: &assignment.base,
            url: &destination.url,
            token: Some(&forge.token),
            worktree: worktree.as_ref().filter(|worktree| worktree.path().is_dir()),
            copied: &assignment.copy_files,
        };
        Ok(repository.take_in(taking, &self.resources.lock)?)
    }

    fn was_pushed(&self, deed: &ActionRequest) -> Result<bool, DeliveryError> {
        if self.assignment.delivered.is_some() {
            return Ok(true);
        }
        let run = IssueRun::read(&self.resources.runs.find(&deed.run)?)?;
        Ok(run.is_some_and(|run| run.outputs.text(stage::PUSH, "pushed").is_some()))
    }

    /// Handles a forge that names another commit than the approved one. The forge's API may only be behind,
    /// so this asks its git.
    pub(crate) async fn head_moved(self: Arc<Self>, commit: &str) -> Result<Outcome, DeliveryError> {
        let commit = commit.to_owned();
        self.blocking(move |me| {
            let (forge, destination) = me.forge()?;
            let branch = &me.assignment.branch;
            let tip = me.resources.repository.tip_there(&destination.url, branch, Some(&forge.token))?;
            Ok(if tip.as_ref() == Some(&commit) { Outcome::NotYet } else { done("moved", []) })
        })
        .await
    }

    /// Returns the refs that may hold the whole branch: the merge target, or the base of an unchanged branch.
    fn held_by(&self, deed: &ActionRequest, label: &str) -> Vec<String> {
        let base = &self.assignment.base;
        match input(deed, stage::MERGE, "into").and_then(|into| into.as_str()) {
            Some(into) => vec![format!("refs/heads/{into}")],
            None if label != "no-changes" => Vec::new(),
            // The server has it, even if the local branch of that name was not updated.
            None if self.assignment.forge.is_some() => vec![base.commit.clone()],
            // The work may include merges that wait on the merge branch of the base.
            None => base.holders().to_vec(),
        }
    }
}

/// Builds the outcome of placing a worktree, with its path.
pub(crate) fn placed_outcome(placed: PlaceItemOutcome, rescued: Option<String>) -> Outcome {
    match placed.worktree() {
        Err(refusal) => {
            let adoptable = can_adopt(&refusal);
            done("not-ours", [("why", json!(refusal.to_string())), ("adoptable", json!(adoptable))])
        }
        Ok(worktree) => {
            let (path, branch) = (worktree.path().display().to_string(), worktree.item().branch());
            done("ready", [("path", json!(path)), ("branch", json!(branch)), ("rescued", json!(rescued))])
        }
    }
}

/// Returns true if only a foreign branch is in the way, which `--adopt` takes over.
pub fn can_adopt(refusal: &PlaceItemRefusal) -> bool {
    match refusal {
        PlaceItemRefusal::NotOurs { .. } | PlaceItemRefusal::OtherSource { .. } => true,
        PlaceItemRefusal::Ahead { .. }
        | PlaceItemRefusal::Parted { .. }
        | PlaceItemRefusal::NotInBase { .. }
        | PlaceItemRefusal::Occupied { .. }
        | PlaceItemRefusal::OffItsBranch { .. }
        | PlaceItemRefusal::BegunElsewhere { .. }
        | PlaceItemRefusal::CheckedOut { .. } => false,
    }
}

/// Builds the outcome of a commit that is ready to hand over.
fn committed(deed: &ActionRequest, ready: &CommittedWork) -> Outcome {
    let files: Vec<String> = ready.files.iter().map(|file| file.display().to_string()).collect();
    let shown = shown(&ready.commit, &files, deed.spent);
    let said = [
        ("commit", json!(ready.commit)),
        ("tree", json!(ready.tree)),
        ("files", json!(files)),
        ("shown", json!(shown)),
    ];
    done("committed", said)
}

/// Returns the approved commit and tree.
pub(crate) fn agreed(deed: &ActionRequest) -> Result<(&str, &str), DeliveryError> {
    let text = |key| input(deed, stage::FINALIZE, key).and_then(|value| value.as_str());
    text("commit").zip(text("tree")).ok_or(DeliveryError::MissingInput("the commit"))
}

/// Classifies a failed connection to a server. Only a person can fix missing rights.
fn class_of(said: &str) -> FailureClass {
    const RIGHTS: [&str; 7] = [
        "Authentication failed",
        "Permission denied",
        "could not read Username",
        "could not read Password",
        "error: 401",
        "error: 403",
        "not found",
    ];
    let is_about_rights = RIGHTS.iter().any(|words| said.contains(words));
    if is_about_rights { FailureClass::Auth } else { FailureClass::Transient }
}

/// Formats a commit for an approval gate (I-40).
fn shown(commit: &str, files: &[String], spent: Cost) -> String {
    let turns = if spent.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", spent.turns) };
    let mut lines = vec![format!("commit {commit}, {turns}, {}", spent.usd)];
    // A file name must stay on one line. Otherwise it could pass for our own text.
    let on_one_line = |name: &String| -> String {
        let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
        name.chars().map(shown).collect()
    };
    lines.extend(files.iter().take(SHOWN).map(|file| format!("  {}", on_one_line(file))));
    if let Some(more) = files.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        lines.push(format!("  and {more} more"));
    }
    lines.join("\n")
}

/// Runs a future to its end on this thread. The runtime of the run may shut down earlier.
fn apart<T>(verified: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(verified),
        Err(error) => Err(Failure::new(FailureClass::Crashed, format!("verify: cannot run: {error}"))),
    }
}

/// Keeps the end of a command's output.
fn last(said: &str) -> String {
    const MOST: usize = 4_000;
    let skipped = said.chars().count().saturating_sub(MOST);
    said.chars().skip(skipped).collect()
}
