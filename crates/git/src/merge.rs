//! Merges a branch into its base without touching a checkout, and finds our merges in a branch.

use crate::git_program::path_of;
use crate::git_program::split_paths;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::Repository;
use crate::branches::ExpectedRef;
use crate::error::RepositoryError;
use crate::git_program::{GitError, GitTerminalAccess, judge, run};
use crate::locks::{ItemLock, OperationLock};
use crate::private_git::{PrivateGit, TemporaryWorktree};
use crate::work_item::{BaseCommit, WorkItem, WorkItemSource};

#[derive(Debug, Clone, Copy)]
pub struct GitMergeRequest<'a> {
    pub item: &'a WorkItem,
    pub base: &'a str,
    pub commit: &'a str,
    /// The title of the issue, on one line.
    pub title: &'a str,
    pub run: &'a str,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitMergeOutcome {
    Done {
        commit: String,
        onto: MergeTarget,
    },
    Already {
        onto: MergeTarget,
    },
    /// The merge has conflicts. Nothing has moved.
    Conflict {
        /// Files that differ on both sides.
        files: Vec<PathBuf>,
        /// The commit of the target. A retry makes sense once this or the branch has moved.
        into: String,
    },
    /// The verify command failed on the merged files. Nothing has moved.
    NotVerified,
    /// Another process merges into this branch now.
    Busy {
        /// The lock of that process.
        lock: PathBuf,
    },
    /// The branch moved in the meantime. Nothing else has moved.
    Moved,
    /// The merge branch is checked out, so it must not move either.
    CheckedOut {
        branch: String,
        path: PathBuf,
    },
}

/// The branch that holds a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeTarget {
    Base,
    /// The merge branch, because the base is checked out.
    Beside {
        branch: String,
    },
}

impl MergeTarget {
    /// Returns the remaining command for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Base => None,
            Self::Beside { branch } => Some(format!("git merge --ff-only {branch}")),
        }
    }
}

/// Verifies a merge in a directory with its files.
pub type MergeVerifier<'a> = &'a mut dyn FnMut(&Path) -> bool;

/// The branches of a merge and their commits when read.
struct MergeBranches {
    base: String,
    base_tip: String,
    beside: String,
    beside_tip: Option<String>,
}

enum MergeTreeResult {
    Tree(String),
    Conflict(Vec<PathBuf>),
}

impl Repository {
    /// Merges a commit into its base. If the base is checked out, merges into the merge branch instead.
    pub fn merge(
        &self,
        merging: GitMergeRequest<'_>,
        verify: Option<MergeVerifier<'_>>,
        lock: &ItemLock,
    ) -> Result<GitMergeOutcome, RepositoryError> {
        let _one_at_a_time = match OperationLock::of_merging(self, merging.base)? {
            Ok(turnstile) => turnstile,
            Err(lock) => return Ok(GitMergeOutcome::Busy { lock }),
        };
        // Verifying may take an hour, so report an impossible merge before it.
        self.check_merging(merging.base)?;
        let private = PrivateGit::make(self, None)?;
        let targets = match self.targets(&private, merging.base)? {
            Ok(targets) => targets,
            Err(checked_out) => return Ok(checked_out),
        };
        let start = match self.start(&private, &targets)? {
            Ok(start) => start,
            Err(files) => return Ok(GitMergeOutcome::Conflict { files, into: targets.base_tip }),
        };
        if self.contains(&private, &start, merging.commit)? {
            return Ok(GitMergeOutcome::Already { onto: targets.onto(self)? });
        }
        let tree = match self.together(&private, &start, merging.commit)? {
            MergeTreeResult::Tree(tree) => tree,
            MergeTreeResult::Conflict(files) => return Ok(GitMergeOutcome::Conflict { files, into: start }),
        };
        let commit = self.commit(&private, &tree, &[&start, merging.commit], &message(merging))?;
        if let Some(verify) = verify {
            let scratch = TemporaryWorktree::make(self, merging.item, &commit)?;
            let works = verify(scratch.path());
            scratch.remove()?;
            if !works {
                return Ok(GitMergeOutcome::NotVerified);
            }
        }
        lock.check()?;
        self.land(&targets, commit)
    }

    /// Returns the start of new work on a branch: its commit and the merges on its merge branch (I-62).
    pub fn beginning(&self, branch: &str) -> Result<BaseCommit, RepositoryError> {
        let base = self.base(branch)?;
        let beside = Self::beside(branch);
        let beside_tip = self.tip_beside(branch)?;
        if beside_tip.is_none() {
            return Ok(base);
        }
        let private = PrivateGit::make(self, None)?;
        if let Some(tip) = &beside_tip
            && self.contains(&private, &base.commit, tip)?
        {
            // The user has merged the merge branch. Remove it unless it is checked out.
            if self.checked_out(&beside)?.is_none() {
                self.remove_taken_in(&beside, tip)?;
            }
            return Ok(base);
        }
        let targets =
            MergeBranches { base: branch.to_owned(), base_tip: base.commit.clone(), beside, beside_tip };
        match self.start(&private, &targets)? {
            Ok(commit) => Ok(BaseCommit { branch: base.branch, commit }),
            // Without the waiting merges, new work could lack its dependencies.
            Err(files) => {
                Err(RepositoryError::Unmerged { branch: targets.base, beside: targets.beside, files })
            }
        }
    }

    /// Returns the files in which two commits conflict.
    pub fn conflicts(&self, into: &str, commit: &str) -> Result<Vec<PathBuf>, RepositoryError> {
        match self.together(&PrivateGit::make(self, None)?, into, commit)? {
            MergeTreeResult::Tree(_) => Ok(Vec::new()),
            MergeTreeResult::Conflict(files) => Ok(files),
        }
    }

    /// Returns true if a branch or its merge branch contains a commit.
    pub fn has_merged(&self, branch: &str, commit: &str) -> Result<bool, RepositoryError> {
        let private = PrivateGit::make(self, None)?;
        for tip in
            [self.tip(&format!("refs/heads/{branch}"))?, self.tip_beside(branch)?].into_iter().flatten()
        {
            if self.contains(&private, &tip, commit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the name of the merge branch of a base. It holds our merges while the base is checked out,
    /// until the user merges it.
    pub(crate) fn beside(base: &str) -> String {
        format!("saihai/merge/{base}")
    }

    fn tip_beside(&self, base: &str) -> Result<Option<String>, RepositoryError> {
        self.tip(&format!("refs/heads/{}", Self::beside(base)))
    }

    /// Returns true if the merge branch has commits that the base lacks.
    pub fn waits_beside(&self, base: &str) -> Result<bool, RepositoryError> {
        let Some(beside) = self.tip_beside(base)? else { return Ok(false) };
        match self.tip(&format!("refs/heads/{base}"))? {
            Some(base) => Ok(!self.contains(&PrivateGit::make(self, None)?, &base, &beside)?),
            None => Ok(true),
        }
    }

    /// Reads the base and its merge branch. Removes the merge branch once the base contains it.
    fn targets(
        &self,
        private: &PrivateGit<'_>,
        base: &str,
    ) -> Result<Result<MergeBranches, GitMergeOutcome>, RepositoryError> {
        let base_tip = self.tip(&format!("refs/heads/{base}"))?;
        let base_tip = base_tip.ok_or_else(|| RepositoryError::NoBranch { branch: base.to_owned() })?;
        let beside = Self::beside(base);
        self.refuse_symbolic(base)?;
        self.refuse_symbolic(&beside)?;
        let mut beside_tip = self.tip_beside(base)?;
        if let Some(tip) = &beside_tip {
            if let Some(path) = self.checked_out(&beside)? {
                return Ok(Err(GitMergeOutcome::CheckedOut { branch: beside, path }));
            }
            if self.contains(private, &base_tip, tip)? {
                match self.remove_ref(&format!("refs/heads/{beside}"), tip) {
                    Ok(()) => beside_tip = None,
                    Err(RepositoryError::Moved { .. }) => return Ok(Err(GitMergeOutcome::Moved)),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Ok(MergeBranches { base: base.to_owned(), base_tip, beside, beside_tip }))
    }

    /// Removes a merge branch that its base contains. Another process may have removed it just now. On any
    /// other obstacle, the next merge removes it.
    fn remove_taken_in(&self, beside: &str, tip: &str) -> Result<(), RepositoryError> {
        match self.remove_ref(&format!("refs/heads/{beside}"), tip) {
            Ok(())
            | Err(
                RepositoryError::Moved { .. }
                | RepositoryError::RefLocked { .. }
                | RepositoryError::Git(GitError::Refused { .. }),
            ) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the commit to merge into, the base with all waiting merges, or their conflicting files.
    fn start(
        &self,
        private: &PrivateGit<'_>,
        targets: &MergeBranches,
    ) -> Result<Result<String, Vec<PathBuf>>, RepositoryError> {
        let Some(beside) = &targets.beside_tip else { return Ok(Ok(targets.base_tip.clone())) };
        if self.contains(private, beside, &targets.base_tip)? {
            return Ok(Ok(beside.clone()));
        }
        match self.together(private, beside, &targets.base_tip)? {
            MergeTreeResult::Tree(tree) => {
                let said = format!("Merge {} into {}\n", targets.base, targets.beside);
                self.commit(private, &tree, &[beside, &targets.base_tip], &said).map(Ok)
            }
            MergeTreeResult::Conflict(files) => Ok(Err(files)),
        }
    }

    fn together(
        &self,
        private: &PrivateGit<'_>,
        into: &str,
        commit: &str,
    ) -> Result<MergeTreeResult, RepositoryError> {
        let mut git = private.command("merge-tree");
        git.args(["--write-tree", "-z", "--name-only", "--no-messages", into, commit]);
        // The target's attributes select the merge driver of a file.
        git.envs([("GIT_ATTR_SOURCE", into)]);
        let output = run(&mut git, "merge-tree", None, GitTerminalAccess::Apart)?;
        if output.status.code() == Some(1) {
            let files = split_paths(&output.stdout).skip(1).map(|path| path_of(path).to_owned());
            return Ok(MergeTreeResult::Conflict(files.collect()));
        }
        let said = judge(output, "merge-tree")?;
        let tree = split_paths(&said).next().unwrap_or_default();
        Ok(MergeTreeResult::Tree(String::from_utf8_lossy(tree).trim_end().to_owned()))
    }

    fn land(&self, targets: &MergeBranches, commit: String) -> Result<GitMergeOutcome, RepositoryError> {
        let onto = targets.onto(self)?;
        let beside = format!("refs/heads/{}", targets.beside);
        let moved = match (&onto, &targets.beside_tip) {
            (MergeTarget::Base, _) => {
                let base = format!("refs/heads/{}", targets.base);
                self.move_ref(&base, &commit, ExpectedRef::At(&targets.base_tip))
            }
            (MergeTarget::Beside { .. }, Some(tip)) => self.move_ref(&beside, &commit, ExpectedRef::At(tip)),
            (MergeTarget::Beside { .. }, None) => self.move_ref(&beside, &commit, ExpectedRef::Absent),
        };
        match moved {
            Ok(()) => {}
            Err(RepositoryError::Moved { .. }) => return Ok(GitMergeOutcome::Moved),
            Err(error) => return Err(error),
        }
        if let (MergeTarget::Base, Some(tip)) = (&onto, &targets.beside_tip) {
            self.remove_taken_in(&targets.beside, tip)?;
        }
        Ok(GitMergeOutcome::Done { commit, onto })
    }
}

impl MergeBranches {
    /// Selects the target. A checked-out branch must not move.
    fn onto(&self, repository: &Repository) -> Result<MergeTarget, RepositoryError> {
        Ok(match repository.checked_out(&self.base)? {
            Some(_) => MergeTarget::Beside { branch: self.beside.clone() },
            None => MergeTarget::Base,
        })
    }
}

fn message(merging: GitMergeRequest<'_>) -> String {
    let GitMergeRequest { item, base, title, run, .. } = merging;
    format!("Merge {} into {base}\n\n{title}\n\n{}", item.branch(), item.trailers(run))
}

/// Our merges in a branch and its merge branch. For callers without a journal of them: another checkout, or
/// one whose runs are gone.
#[derive(Debug, Clone, Default)]
pub struct LandedMerges(Vec<LandedMerge>);

#[derive(Debug, Clone)]
struct LandedMerge {
    commit: String,
    message: String,
    /// The message of the merged commit, which is ours unless an agent committed everything itself.
    merged: String,
}

impl Repository {
    /// Returns our merges in a branch, none if the branch is missing.
    ///
    /// An agent can create a merge with a message like ours on its own branch. So only merges on the
    /// first-parent line of the branch count, or of a merge branch that the user merged.
    pub fn landed(&self, branch: &str) -> Result<LandedMerges, RepositoryError> {
        let beside = Self::beside(branch);
        let mut lines = Vec::new();
        for tip in [self.tip(&format!("refs/heads/{branch}"))?, self.tip_beside(branch)?] {
            lines.extend(tip.map(|tip| vec![tip]));
        }
        let mut merges = Vec::new();
        if lines.is_empty() {
            return Ok(LandedMerges::default());
        }
        let private = PrivateGit::make(self, None)?;
        while let Some(line) = lines.pop() {
            // A long history has many messages, so read only the relevant ones.
            let matter = ["--grep=^Saihai-Issue: ", "--grep=saihai/merge/"];
            let only = ["-z", "--merges", "--first-parent", "--format=%H %P%n%B"].into_iter().chain(matter);
            let said = private.run("log", only.chain(line.iter().map(String::as_str)))?;
            let said = String::from_utf8_lossy(&said);
            for (ids, message) in said.split('\0').filter_map(|one| one.split_once('\n')) {
                let ids: Vec<&str> = ids.split(' ').collect();
                let [commit, before, theirs, ..] = ids.as_slice() else { continue };
                if says_whose(message) {
                    let (commit, message) = ((*commit).to_owned(), message.to_owned());
                    merges
                        .push((LandedMerge { commit, message, merged: String::new() }, (*theirs).to_owned()));
                } else if message.lines().next().is_some_and(|subject| subject.contains(&beside)) {
                    lines.push(vec![(*theirs).to_owned(), format!("^{before}")]);
                }
            }
        }
        if merges.is_empty() {
            return Ok(LandedMerges::default());
        }
        // One git reads all of them, so that the cost does not depend on how many issues were merged before.
        let asked: String = merges.iter().map(|(_, theirs)| format!("{theirs}\n")).collect();
        let said = private.feed(
            "log",
            ["-z", "--no-walk=unsorted", "--stdin", "--format=%H %B"],
            asked.as_bytes(),
        )?;
        let said = String::from_utf8_lossy(&said);
        let messages: BTreeMap<&str, &str> =
            said.split('\0').filter_map(|one| one.trim_start_matches('\n').split_once(' ')).collect();
        let told = merges.into_iter().map(|(merge, theirs)| {
            let merged = messages.get(theirs.as_str()).copied().unwrap_or_default().to_owned();
            LandedMerge { merged, ..merge }
        });
        Ok(LandedMerges(told.collect()))
    }

    /// Returns true if the work on an item is among the merges. The same number from another source is
    /// another issue. Our own commit names the source; an agent that commits everything itself leaves none.
    pub fn has_landed(&self, item: &WorkItem, landed: &LandedMerges) -> Result<bool, RepositoryError> {
        for merge in landed.0.iter().filter(|merge| item.made_for(&merge.message).is_some()) {
            let source = match item.made_for(&merge.merged) {
                Some(source) => Some(source),
                None => self.source_of(item, &merge.commit)?,
            };
            if source.is_none() || source == item.source() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Looks for the source of an item in all commits that a merge brought.
    fn source_of(&self, item: &WorkItem, merge: &str) -> Result<Option<WorkItemSource>, RepositoryError> {
        let (theirs, before) = (format!("{merge}^2"), format!("{merge}^1"));
        let private = PrivateGit::make(self, None)?;
        let brought = private.run("log", ["-z", "--format=%B", &theirs, "--not", &before])?;
        let brought = String::from_utf8_lossy(&brought);
        Ok(brought.split('\0').find_map(|message| item.made_for(message)))
    }
}

fn says_whose(message: &str) -> bool {
    message.lines().any(|line| line.starts_with("Saihai-Issue: "))
}
