//! Delivery steps in the local repository.

use std::path::Path;

use saihai_config::delivery::stage;
use saihai_config::issues::COMMIT_TITLE;
use saihai_connect::{CommandEnd, CommandLine};
use saihai_model::{CallId, Cost, Failure, FailureClass, Millis, Outcome};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Assignment;
use super::deliverer::{Broken, Delivering, done, failed, told};
use crate::Deed;
use crate::repository::{
    self, CleanedUp, CleaningUp, Finalized, Finalizing, Keep, Merged, Merging, Ours, Placed, Placing, Pushed,
    Pushing, Ready, Refill, Worktree,
};

/// Time limit for the verify command in a merged tree.
const VERIFY: Millis = Millis(3_600_000);
/// Maximum number of changed files that a gate names.
const SHOWN: usize = 20;

impl Delivering {
    pub(super) fn worktree(&self) -> Result<Outcome, Broken> {
        let placed = match self.place(self.ours)? {
            Placed::Continued(worktree) => match self.means.repository.off_its_branch(&worktree)? {
                Some(refusal) => Placed::Refused(refusal),
                None => Placed::Continued(worktree),
            },
            placed @ (Placed::Created(_) | Placed::Recreated(_) | Placed::Refused(_)) => placed,
        };
        let rescued = match &placed {
            Placed::Continued(worktree) => self.kept_before(worktree)?,
            Placed::Created(_) | Placed::Recreated(_) | Placed::Refused(_) => None,
        };
        Ok(came_of(placed, rescued))
    }

    /// Saves the whole state of a worktree from another run before this run changes it (I-66).
    fn kept_before(&self, worktree: &Worktree) -> Result<Option<String>, Broken> {
        let (repository, assignment) = (&self.means.repository, &self.assignment);
        let tip = repository.tip(&format!("refs/heads/{}", assignment.branch))?;
        let is_new = tip.as_deref() == Some(assignment.base.commit.as_str());
        let keep = if is_new { Keep::WhatNothingHolds } else { Keep::Everything };
        let rescued = repository.rescue(worktree, &assignment.base.commit, &assignment.copy_files, keep)?;
        Ok(rescued.hint())
    }

    pub(super) fn place(&self, ours: Ours) -> Result<Placed, repository::Error> {
        let assignment = &self.assignment;
        self.means.repository.place(Placing {
            item: &assignment.item(),
            base: &assignment.base,
            worktree_root: &assignment.worktree_root,
            copy_files: &assignment.copy_files,
            ours,
            refill: Refill::Rescue,
        })
    }

    /// Returns the worktree. Starting or resuming the run created it, but it may have been removed since.
    fn files(&self) -> Result<Option<Worktree>, Broken> {
        let assignment = &self.assignment;
        let found = self.means.repository.worktree(&assignment.item(), &assignment.worktree_root)?;
        Ok(found.filter(|worktree| worktree.path().is_dir()))
    }

    /// Returns the outcome for a missing worktree. Only commits are left. Without commits, continuing would
    /// look like "no changes".
    fn gone(&self) -> Result<Outcome, Broken> {
        let Assignment { branch, base, worktree, .. } = &self.assignment;
        let tip = self.means.repository.tip(&format!("refs/heads/{branch}"))?;
        let at = worktree.display();
        let gone = if worktree.is_dir() {
            let what = format!("the entry of the worktree `{at}` in `.git/worktrees` is gone");
            format!("{what}; its files are still there: `mv {at} DIR` keeps them and makes room")
        } else {
            format!("the worktree `{at}` is gone, and with it what was not committed")
        };
        Ok(if tip.is_some_and(|tip| tip != base.commit) {
            let reason = format!("{gone}; go on, and it is made again from `{branch}`, which has commits");
            Outcome::Waiting { reason }
        } else {
            let why = format!("{gone}; `{branch}` has no commits: `saihai work --retry` begins anew");
            done("git", [("why", json!(why))])
        })
    }

    pub(super) fn finalize(&self, deed: &Deed) -> Result<Outcome, Broken> {
        let (assignment, secrets) = (&self.assignment, &self.means.secrets);
        if let Some(reason) = self.take_in(deed)? {
            return Ok(Outcome::Waiting { reason });
        }
        let finalized = if assignment.delivered.is_some() {
            self.means.repository.finalized(
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
            Finalized::Ready(ready) => Ok(committed(deed, &ready)),
            Finalized::NoChanges => Ok(done("no-changes", [])),
            Finalized::Special { paths } => {
                let paths: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
                let (paths, worktree) = (paths.join(", "), self.assignment.worktree.display());
                let what = "git cannot hold pipes, sockets and devices";
                let reason =
                    format!("{what}: put files in the place of {paths} in `{worktree}`, or remove them");
                Ok(Outcome::Waiting { reason })
            }
            Finalized::Untaken { paths } => {
                let (paths, worktree) = (repository::named(&paths), self.assignment.worktree.display());
                let what = "git takes nothing that cannot be read, has too long a path, or is called like its own files";
                let reason = format!(
                    "{what}: make {paths} in `{worktree}` readable, rename what is there, or remove it"
                );
                Ok(Outcome::Waiting { reason })
            }
            Finalized::Failed { problem, rescued } => {
                let kept = rescued.as_ref().and_then(repository::Rescued::hint);
                Ok(done(problem.word(), [("why", json!(problem.to_string())), ("rescued", json!(kept))]))
            }
        }
    }

    /// Commits the changes that the agent left uncommitted.
    fn commit_rest(&self, deed: &Deed, worktree: &Worktree) -> Result<Finalized, Broken> {
        let assignment = &self.assignment;
        let finalizing = Finalizing {
            worktree,
            base: &assignment.base,
            title: &assignment.titled(COMMIT_TITLE),
            run: &deed.run,
            copied: &assignment.copy_files,
            secrets: &self.means.secrets,
        };
        Ok(self.means.repository.finalize(finalizing, &self.means.lock)?)
    }

    pub(super) fn push(&self, deed: &Deed) -> Result<Outcome, Broken> {
        let (commit, tree) = agreed(deed)?;
        let forge = self.means.forge.as_ref().ok_or(Broken::Untold("the forge"))?;
        let destination = self.assignment.forge.as_ref().ok_or(Broken::Untold("the forge"))?;
        if self.has_moved(tree)? {
            return Ok(done("moved", []));
        }
        let pushing = Pushing {
            url: &destination.url,
            branch: &self.assignment.branch,
            commit,
            token: Some(&forge.token),
        };
        Ok(match self.means.repository.push(pushing, &self.means.lock)? {
            Pushed::Done | Pushed::Already => done("pushed", [("pushed", json!(commit))]),
            Pushed::Rejected { said } => done("push-rejected", [("why", json!(said))]),
            // An unreachable server must not lose paid work.
            Pushed::Unanswered { said } => failed(class_of(&said), &said),
            Pushed::Unread { said } if !deed.look_up => failed(class_of(&said), &said),
            Pushed::Unread { said } | Pushed::Unknown { said } => {
                let reason = format!("unknown: whether `{}` was pushed: {said}", self.assignment.branch);
                Outcome::Waiting { reason }
            }
        })
    }

    /// Returns true if the tree of the branch differs from the one that was shown (I-43).
    pub(super) fn has_moved(&self, tree: &str) -> Result<bool, Broken> {
        let now = self.means.repository.tree_of(&self.assignment.branch)?;
        Ok(now.as_deref() != Some(tree))
    }

    /// Returns true if the branch is at another commit. The tree may be the same, because resolving a
    /// conflict may change no file.
    pub(super) fn has_another_commit(&self, commit: &str) -> Result<bool, Broken> {
        let tip = self.means.repository.tip(&format!("refs/heads/{}", self.assignment.branch))?;
        Ok(tip.is_some_and(|tip| tip != commit))
    }

    pub(super) fn merge_here(&self, deed: &Deed, stop: &CancellationToken) -> Result<Outcome, Broken> {
        let (commit, tree) = agreed(deed)?;
        if self.has_moved(tree)? {
            return Ok(done("moved", []));
        }
        let assignment = &self.assignment;
        let merging = Merging {
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
        let verify: Option<repository::Verify<'_>> =
            if assignment.verify.is_some() { Some(&mut verify) } else { None };
        let merged = self.means.repository.merge(merging, verify, &self.means.lock)?;
        // A command that could not run says nothing about the merge.
        if let (Merged::NotVerified, Some(failure), false) = (&merged, unrun, stop.is_cancelled()) {
            return Ok(Outcome::Failed(failure));
        }
        Ok(match merged {
            Merged::Done { onto, .. } | Merged::Already { onto } => {
                let into = match &onto {
                    repository::Onto::Base => assignment.base.branch.clone(),
                    repository::Onto::Beside { branch } => branch.clone(),
                };
                done("merged", [("merged", json!(true)), ("into", json!(into)), ("hint", json!(onto.hint()))])
            }
            Merged::Conflict { .. } if self.has_another_commit(commit)? => done("moved", []),
            Merged::Conflict { files, into } => {
                let files: Vec<String> = files.iter().map(|file| format!("`{}`", file.display())).collect();
                let base = &assignment.base.branch;
                let reason = format!("conflict: {} ({commit} with {base} at {into})", files.join(", "));
                Outcome::Waiting { reason }
            }
            Merged::NotVerified if stop.is_cancelled() => failed(FailureClass::Cancelled, "it was stopped"),
            Merged::NotVerified => done("verify", [("why", json!(said.unwrap_or_default()))]),
            // Another process merges or has merged, so look at the target again.
            Merged::Moved => Outcome::NotYet,
            Merged::Busy { lock } => self.later(|| {
                let base = &assignment.base.branch;
                format!("another process merges into `{base}` and is waited for (`{}`)", lock.display())
            }),
            Merged::CheckedOut { branch, path } => Outcome::Waiting {
                reason: format!(
                    "`{branch}` is checked out in `{}`; check out another branch there",
                    path.display()
                ),
            },
        })
    }

    /// Runs the verify command from the settings in a merged tree and returns its verdict and output.
    async fn verified(
        &self,
        deed: &Deed,
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
            run_directory: self.means.runs.directory().join(&deed.run),
            call,
        };
        let unrun = |failure: Failure| Failure { message: format!("verify: {}", failure.message), ..failure };
        let came = line.run(self.means.around.clone(), stop).await.map_err(unrun)?;
        if let CommandEnd::Signal(signal) = came.end {
            let said = format!("verify: it was ended by signal {signal}");
            return Err(Failure::new(FailureClass::Crashed, said));
        }
        let said = format!("{}\n{}", came.output.trim_end(), came.complaints.trim_end());
        Ok((came.end == CommandEnd::Code(0), last(said.trim())))
    }

    pub(super) fn clean_up(&self, deed: &Deed) -> Result<Outcome, Broken> {
        let there = told(deed, stage::PULL_REQUEST, "merged").is_some();
        let merged = there || told(deed, stage::MERGE, "merged").is_some();
        let label = if merged {
            "merged"
        } else if told(deed, stage::PULL_REQUEST, "url").is_some() {
            "pr-created"
        } else if told(deed, stage::FINALIZE, "commit").is_some() {
            "branch-ready"
        } else {
            "no-changes"
        };
        let is_handed_over = label != "branch-ready" || told(deed, stage::PUSH, "pushed").is_some();
        if let Some(tree) = told(deed, stage::FINALIZE, "tree").and_then(|tree| tree.as_str())
            && !is_handed_over
            && self.has_moved(tree)?
        {
            return Ok(done("moved", []));
        }
        let found =
            self.means.repository.worktree(&self.assignment.item(), &self.assignment.worktree_root)?;
        let into = if there { Vec::new() } else { self.held_by(deed, label) };
        let (repository, lock) = (&self.means.repository, &self.means.lock);
        let worktree = match found {
            _ if self.assignment.keep => return Ok(done(label, [])),
            Some(worktree) => worktree,
            // An earlier run removed the worktree and left the branch, which was not merged then.
            None => {
                repository.remove_branch(&self.assignment.item(), &into, lock)?;
                return Ok(done(label, []));
            }
        };
        let cleaning = CleaningUp {
            worktree: &worktree,
            base: &self.assignment.base,
            copied: &self.assignment.copy_files,
            merged_into: &into,
        };
        Ok(match repository.clean_up(cleaning, lock)? {
            CleanedUp::Removed { rescued, .. } => {
                let hint = rescued.map(|reference| format!("git worktree add DIR {reference}"));
                done(label, [("rescued", json!(hint))])
            }
            CleanedUp::Kept(kept) => {
                done(label, [("kept", json!(format!("{}: {kept}", worktree.path().display())))])
            }
        })
    }
}

impl Delivering {
    /// Returns the refs that may hold the whole branch: the merge target, or the base of an unchanged branch.
    fn held_by(&self, deed: &Deed, label: &str) -> Vec<String> {
        let base = &self.assignment.base;
        match told(deed, stage::MERGE, "into").and_then(|into| into.as_str()) {
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
pub(super) fn came_of(placed: Placed, rescued: Option<String>) -> Outcome {
    match placed.worktree() {
        Err(refusal) => done("not-ours", [("why", json!(refusal.to_string()))]),
        Ok(worktree) => {
            let (path, branch) = (worktree.path().display().to_string(), worktree.item().branch());
            done("ready", [("path", json!(path)), ("branch", json!(branch)), ("rescued", json!(rescued))])
        }
    }
}

/// Builds the outcome of a commit that is ready to hand over.
fn committed(deed: &Deed, ready: &Ready) -> Outcome {
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
pub(super) fn agreed(deed: &Deed) -> Result<(&str, &str), Broken> {
    let text = |key| told(deed, stage::FINALIZE, key).and_then(|value| value.as_str());
    text("commit").zip(text("tree")).ok_or(Broken::Untold("the commit"))
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
        Err(error) => Err(Failure::new(FailureClass::Crashed, format!("verify: it cannot be run: {error}"))),
    }
}

/// Keeps the end of a command's output.
fn last(said: &str) -> String {
    const MOST: usize = 4_000;
    let skipped = said.chars().count().saturating_sub(MOST);
    said.chars().skip(skipped).collect()
}
