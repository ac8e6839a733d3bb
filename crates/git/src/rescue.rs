//! Saves everything in a worktree before a change, and removes worktrees and branches that are no longer needed.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::Repository;
use crate::branches::ExpectedRef;
use crate::error::RepositoryError;
use crate::git_program::{GitError, output};
use crate::locks::ItemLock;
use crate::private_git::PrivateGit;
use crate::snapshot::{SnapshotScope, shown};
use crate::work_item::{BaseCommit, WorkItem};
use crate::worktree::Worktree;

/// A ref that holds everything in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RescueOutcome {
    /// The ref, such as `refs/saihai/rescue/issue-7/1`; never removed. `None` if branches hold everything.
    pub reference: Option<String>,
    /// Other repositories among the files and filled submodules. They exist only on disk.
    pub left: Vec<PathBuf>,
    /// Files that git refuses to add. They also exist only on disk.
    pub untaken: Vec<PathBuf>,
}

/// The condition for creating a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RescueCondition {
    /// Only if something would be lost without it.
    WhatNothingHolds,
    Everything,
}

impl RescueOutcome {
    /// Returns the command to open the rescue.
    pub fn hint(&self) -> Option<String> {
        self.reference.as_ref().map(|reference| format!("git worktree add DIR {reference}"))
    }
}

impl Repository {
    /// Makes everything in a worktree reachable from a ref: files, the index, and commits that no branch
    /// holds. Files count even if ignore rules newer than the base hide them.
    pub fn rescue(
        &self,
        worktree: &Worktree,
        base: &str,
        copied: &[String],
        keep: RescueCondition,
    ) -> Result<RescueOutcome, RepositoryError> {
        // No agent has seen the worktree, and its missing files were never there.
        if worktree.is_unfinished() {
            return Ok(RescueOutcome { reference: None, left: Vec::new(), untaken: Vec::new() });
        }
        let head = self.tip(&self.head_name(&worktree.registered))?;
        let over = head.as_deref().unwrap_or(base);
        let private = PrivateGit::make(self, None)?;
        let committed = private.line("rev-parse", [format!("{over}^{{tree}}")])?;
        let (tree, left, untaken) = if worktree.path().is_dir() {
            let snapshot = self.snapshot(worktree, over, copied, SnapshotScope::Hidden(base))?;
            let own = worktree.foreign_git().into_iter().collect();
            (snapshot.tree, [own, snapshot.embedded, snapshot.filled].concat(), snapshot.untaken)
        } else {
            (committed.clone(), Vec::new(), Vec::new())
        };
        let mut parents = vec![over.to_owned()];
        if let Some(staged) = self.staged(worktree)?.filter(|staged| *staged != tree && *staged != committed)
        {
            parents.push(self.keep(&private, &staged, &parents, "what was staged\n")?);
        }
        let lost = self.lost_commits(&private, worktree, over)?;
        let is_held = tree == committed && parents.len() == 1 && lost.is_empty();
        if is_held && keep == RescueCondition::WhatNothingHolds {
            return Ok(RescueOutcome { reference: None, left, untaken });
        }
        parents.extend(lost.into_iter().filter(|commit| commit != over));
        let name = worktree.item.name();
        let said = format!("rescue of {name}\n\n{}\n", worktree.item.trailer());
        let commit = self.keep(&private, &tree, &parents, &said)?;
        let reference = self.name_rescue(&name, &commit)?;
        Ok(RescueOutcome { reference: Some(reference), left, untaken })
    }

    /// Makes the tip of a branch reachable from a ref before work restarts.
    pub(crate) fn rescue_tip(&self, item: &WorkItem, tip: &str) -> Result<(), RepositoryError> {
        let private = PrivateGit::make(self, None)?;
        let (name, tree) = (item.name(), self.tree(&private, tip)?);
        let said = format!("rescue of {name}\n\n{}\n", item.trailer());
        let commit = self.keep(&private, &tree, &[tip.to_owned()], &said)?;
        self.name_rescue(&name, &commit).map(drop)
    }

    fn keep(
        &self,
        private: &PrivateGit<'_>,
        tree: &str,
        parents: &[String],
        said: &str,
    ) -> Result<String, RepositoryError> {
        let mut arguments = vec![tree];
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        let commit = private.feed("commit-tree", arguments, said.as_bytes())?;
        Ok(String::from_utf8_lossy(&commit).trim_end().to_owned())
    }

    /// Returns the last rescue of an item if its branch has not moved since.
    pub(crate) fn last_rescue(&self, item: &WorkItem, tip: &str) -> Result<Option<String>, RepositoryError> {
        let below = format!("refs/saihai/rescue/{}/", item.name());
        let rescues = self.refs_below(&below)?;
        let numbered = rescues
            .into_iter()
            .filter_map(|(name, commit)| Some((name.strip_prefix(&below)?.parse::<u32>().ok()?, commit)));
        let Some((_, commit)) = numbered.max() else { return Ok(None) };
        let over = PrivateGit::make(self, None)?.line("rev-parse", [format!("{commit}^1")])?;
        Ok(Some(commit).filter(|_| over == tip))
    }

    /// Gives a commit the next free number among the rescues of an item.
    fn name_rescue(&self, name: &str, commit: &str) -> Result<String, RepositoryError> {
        let below = format!("refs/saihai/rescue/{name}/");
        loop {
            let present = self.refs_below(&below)?;
            let taken = present.iter().filter_map(|(name, _)| name.strip_prefix(&below)?.parse::<u32>().ok());
            let last = taken.max().unwrap_or(0);
            let reference = format!("{below}{}", last.saturating_add(1));
            match self.move_ref(&reference, commit, ExpectedRef::Absent) {
                // Another process took the number.
                Err(RepositoryError::Moved { .. }) if last < u32::MAX => {}
                made => return made.map(|()| reference),
            }
        }
    }

    /// Returns the tree of the worktree's index, or `None` if git cannot write it, as during a merge.
    fn staged(&self, worktree: &Worktree) -> Result<Option<String>, RepositoryError> {
        if std::fs::read_dir(worktree.directory()).is_err() {
            return Ok(None);
        }
        match self.own_index(worktree)?.line("write-tree", [""; 0]) {
            Ok(tree) => Ok(Some(tree)),
            Err(RepositoryError::Git(GitError::Refused { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns a copy of the worktree's own index.
    pub(crate) fn own_index(&self, worktree: &Worktree) -> Result<PrivateGit<'_>, RepositoryError> {
        let private = PrivateGit::make(self, None)?;
        let entries = std::fs::read_dir(worktree.directory()).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name == "index" || name.starts_with("sharedindex.") {
                let copied =
                    std::fs::read(entry.path()).and_then(|index| std::fs::write(private.path(&name), index));
                copied.map_err(RepositoryError::file("copy", &entry.path()))?;
            }
        }
        Ok(private)
    }

    /// Returns the reflog of HEAD: each line has the commits before and after a move, or only the one after.
    fn log_of(&self, worktree: &Worktree) -> Result<Vec<u8>, RepositoryError> {
        if !self.common.join("reftable").is_dir() {
            return Ok(std::fs::read(worktree.directory().join("logs/HEAD")).unwrap_or_default());
        }
        // With reftable the log is not a file. The repository's configuration could name any program for
        // checking signatures.
        let mut git = self.registry("log");
        git.args(["--walk-reflogs", "--no-show-signature", "--format=%H", "--end-of-options"]);
        git.arg(self.head_name(&worktree.registered));
        match output(&mut git, "log") {
            Ok(log) => Ok(log),
            // A missing HEAD has no log.
            Err(GitError::Refused { .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the commits in the log of HEAD that no ref holds.
    fn lost_commits(
        &self,
        private: &PrivateGit<'_>,
        worktree: &Worktree,
        head: &str,
    ) -> Result<Vec<String>, RepositoryError> {
        let log = self.log_of(worktree)?;
        let log = String::from_utf8_lossy(&log);
        let been = log.lines().flat_map(|line| line.split(' ').take(2));
        let is_id = |id: &&str| id.len() == head.len() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let been: BTreeSet<&str> = been.filter(is_id).chain([head]).collect();
        let input: String = been.iter().map(|id| format!("{id}\n")).collect();
        let known =
            private.feed("cat-file", ["--batch-check=%(objectname) %(objecttype)"], input.as_bytes())?;
        let known = String::from_utf8_lossy(&known);
        let known: Vec<&str> = known.lines().filter_map(|line| line.strip_suffix(" commit")).collect();
        let held = self.refs_below("refs/")?;
        let mut input: String = known.iter().map(|id| format!("{id}\n")).collect();
        input.extend(held.iter().map(|(_, id)| format!("^{id}\n")));
        let lost = private.feed("rev-list", ["--ignore-missing", "--stdin"], input.as_bytes())?;
        let lost = String::from_utf8_lossy(&lost);
        let lost: BTreeSet<&str> = lost.lines().collect();
        Ok(known.into_iter().filter(|id| lost.contains(id)).map(str::to_owned).collect())
    }
}

#[derive(Debug, Clone, Copy)]
pub struct CleanUpRequest<'a> {
    pub worktree: &'a Worktree,
    pub base: &'a BaseCommit,
    pub copied: &'a [String],
    /// Refs that the item was merged into, or its current commit on a server. The branch is deleted if one of
    /// them contains it.
    pub merged_into: &'a [String],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanUpOutcome {
    Removed {
        /// The ref that holds content found on no branch.
        rescued: Option<String>,
        branch: BranchRemoval,
    },
    Kept(KeptWorktreeReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchRemoval {
    Removed,
    Kept,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeptWorktreeReason {
    /// Git cannot store other repositories.
    #[error("it contains another repository, `{}`, which exists nowhere else", .path.display())]
    EmbeddedRepository { path: PathBuf },
    /// Git refuses to add it.
    #[error(
        "it contains {}, which git cannot store (unreadable, a path that is too long, or a name of git's own files) \
         and which exists nowhere else",
        shown(.path)
    )]
    Untaken { path: PathBuf },
    /// A person ran `git worktree lock`.
    #[error("it is locked; `git worktree unlock` unlocks it")]
    Locked,
    /// Copied files are never committed, so nothing else holds the change.
    #[error("`{path}` was copied into it and changed since")]
    CopyChanged { path: String },
}

impl Repository {
    /// Removes the worktree of a delivered item once refs hold everything in it.
    pub fn clean_up(
        &self,
        cleaning: CleanUpRequest<'_>,
        lock: &ItemLock,
    ) -> Result<CleanUpOutcome, RepositoryError> {
        let CleanUpRequest { worktree, base, copied, .. } = cleaning;
        if worktree.directory().join("locked").symlink_metadata().is_ok() {
            return Ok(CleanUpOutcome::Kept(KeptWorktreeReason::Locked));
        }
        let changed = copied.iter().find(|path| self.is_copy_changed(worktree, path));
        if let Some(path) = changed {
            return Ok(CleanUpOutcome::Kept(KeptWorktreeReason::CopyChanged { path: path.clone() }));
        }
        let rescued = self.rescue(worktree, &base.commit, copied, RescueCondition::WhatNothingHolds)?;
        if let Some(path) = rescued.left.into_iter().next() {
            return Ok(CleanUpOutcome::Kept(KeptWorktreeReason::EmbeddedRepository { path }));
        }
        if let Some(path) = rescued.untaken.into_iter().next() {
            return Ok(CleanUpOutcome::Kept(KeptWorktreeReason::Untaken { path }));
        }
        lock.check()?;
        remove_files(worktree)?;
        self.forget(worktree)?;
        let branch = self.remove_branch(&worktree.item, cleaning.merged_into, lock)?;
        Ok(CleanUpOutcome::Removed { rescued: rescued.reference, branch })
    }

    fn is_copy_changed(&self, worktree: &Worktree, path: &str) -> bool {
        let copy = match std::fs::read(worktree.path().join(path)) {
            Ok(copy) => copy,
            Err(error) => return error.kind() != io::ErrorKind::NotFound,
        };
        std::fs::read(self.root.join(path)).map_or(true, |original| original != copy)
    }

    /// Removes the branch of an item if it is checked out nowhere and a merge target contains it.
    pub fn remove_branch(
        &self,
        item: &WorkItem,
        merged_into: &[String],
        lock: &ItemLock,
    ) -> Result<BranchRemoval, RepositoryError> {
        let reference = item.reference();
        let Some(tip) = self.tip(&reference)? else { return Ok(BranchRemoval::Kept) };
        let is_used = self.checked_out(&item.branch())?.is_some();
        if is_used || !self.is_held(&tip, merged_into)? {
            return Ok(BranchRemoval::Kept);
        }
        lock.check()?;
        self.remove_ref(&reference, &tip)?;
        Ok(BranchRemoval::Removed)
    }

    fn is_held(&self, commit: &str, by: &[String]) -> Result<bool, RepositoryError> {
        let private = PrivateGit::make(self, None)?;
        for one in by {
            if let Some(target) = self.tip(one)?
                && self.contains(&private, &target, commit)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Removes files, after moving them away in one step: half a worktree would look like deletions.
fn remove_files(worktree: &Worktree) -> Result<(), RepositoryError> {
    let path = worktree.path();
    let aside = path.with_file_name(format!(".saihai-removed-{}", worktree.item.name()));
    remove_all(&aside).map_err(RepositoryError::file("remove", &aside))?;
    match std::fs::rename(path, &aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(RepositoryError::file("move", path)(error));
        }
        Ok(()) | Err(_) => {}
    }
    remove_all(&aside).map_err(RepositoryError::file("remove", &aside))
}

/// Removes a directory, including read-only directories in it.
fn remove_all(path: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    match gone(std::fs::remove_dir_all(path)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unlock(path)?;
            gone(std::fs::remove_dir_all(path))
        }
        result => result,
    }
}

fn unlock(directory: &Path) -> io::Result<()> {
    let mut permissions = directory.symlink_metadata()?.permissions();
    permissions.set_mode(permissions.mode() | 0o700);
    std::fs::set_permissions(directory, permissions)?;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            unlock(&entry.path())?;
        }
    }
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MakeRoomOutcome {
    /// Branch and worktree are gone, and this ref holds their content.
    Done {
        reference: String,
    },
    Nothing,
    /// The worktree and its branch stay.
    Kept(KeptWorktreeReason),
}

impl Repository {
    /// Saves the branch of an item and the files of its worktree in refs, and removes both.
    pub fn make_room(
        &self,
        item: &WorkItem,
        worktree: Option<CleanUpRequest<'_>>,
        lock: &ItemLock,
    ) -> Result<MakeRoomOutcome, RepositoryError> {
        let Some(tip) = self.tip(&item.reference())? else { return Ok(MakeRoomOutcome::Nothing) };
        let reference = self.name_rescue(&item.name(), &tip)?;
        let holders = [reference.clone()];
        let Some(cleaning) = worktree else {
            self.remove_branch(item, &holders, lock)?;
            return Ok(MakeRoomOutcome::Done { reference });
        };
        Ok(match self.clean_up(CleanUpRequest { merged_into: &holders, ..cleaning }, lock)? {
            // The rescue of uncommitted files is based on the tip of the branch, so it holds both.
            CleanUpOutcome::Removed { rescued, .. } => {
                MakeRoomOutcome::Done { reference: rescued.unwrap_or(reference) }
            }
            CleanUpOutcome::Kept(kept) => MakeRoomOutcome::Kept(kept),
        })
    }
}
