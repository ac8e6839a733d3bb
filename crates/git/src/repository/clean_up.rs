//! Removes worktrees and branches that are no longer needed, and nothing else.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::private::Private;
use super::untaken::shown;
use super::{Base, Error, Item, ItemLock, Keep, Repository, Worktree};

#[derive(Debug, Clone, Copy)]
pub struct CleaningUp<'a> {
    pub worktree: &'a Worktree,
    pub base: &'a Base,
    pub copied: &'a [String],
    /// Refs that the item was merged into, or its current commit on a server. The branch is deleted if one of
    /// them contains it.
    pub merged_into: &'a [String],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanedUp {
    Removed {
        /// The ref that holds content found on no branch.
        rescued: Option<String>,
        branch: Branch,
    },
    Kept(Kept),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branch {
    Removed,
    Kept,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Kept {
    /// Git cannot store other repositories.
    #[error("`{}` in it is another repository, which nothing else holds", .path.display())]
    EmbeddedRepository { path: PathBuf },
    /// Git refuses to add it.
    #[error(
        "{} in it is nothing that git takes (it cannot be read, its path is too long, or it is called like git's own files), and \
         nothing else holds it",
        shown(.path)
    )]
    Untaken { path: PathBuf },
    /// A person ran `git worktree lock`.
    #[error("it is locked; `git worktree unlock` lets it go")]
    Locked,
    /// Copied files are never committed, so nothing else holds the change.
    #[error("`{path}` was copied into it and has been changed since")]
    CopyChanged { path: String },
}

impl Repository {
    /// Removes the worktree of a delivered item once refs hold everything in it.
    pub fn clean_up(&self, cleaning: CleaningUp<'_>, lock: &ItemLock) -> Result<CleanedUp, Error> {
        let CleaningUp { worktree, base, copied, .. } = cleaning;
        if worktree.directory().join("locked").symlink_metadata().is_ok() {
            return Ok(CleanedUp::Kept(Kept::Locked));
        }
        let changed = copied.iter().find(|path| self.is_copy_changed(worktree, path));
        if let Some(path) = changed {
            return Ok(CleanedUp::Kept(Kept::CopyChanged { path: path.clone() }));
        }
        let rescued = self.rescue(worktree, &base.commit, copied, Keep::WhatNothingHolds)?;
        if let Some(path) = rescued.left.into_iter().next() {
            return Ok(CleanedUp::Kept(Kept::EmbeddedRepository { path }));
        }
        if let Some(path) = rescued.untaken.into_iter().next() {
            return Ok(CleanedUp::Kept(Kept::Untaken { path }));
        }
        lock.check()?;
        remove_files(worktree)?;
        self.forget(worktree)?;
        let branch = self.remove_branch(&worktree.item, cleaning.merged_into, lock)?;
        Ok(CleanedUp::Removed { rescued: rescued.reference, branch })
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
        item: &Item,
        merged_into: &[String],
        lock: &ItemLock,
    ) -> Result<Branch, Error> {
        let reference = item.reference();
        let Some(tip) = self.tip(&reference)? else { return Ok(Branch::Kept) };
        let is_used = self.checked_out(&item.branch())?.is_some();
        if is_used || !self.is_held(&tip, merged_into)? {
            return Ok(Branch::Kept);
        }
        lock.check()?;
        self.remove_ref(&reference, &tip)?;
        Ok(Branch::Removed)
    }

    fn is_held(&self, commit: &str, by: &[String]) -> Result<bool, Error> {
        let private = Private::make(self, None)?;
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

/// Removes files, after moving them away in one step. A half-removed worktree must not look like deletions by
/// an agent.
fn remove_files(worktree: &Worktree) -> Result<(), Error> {
    let path = worktree.path();
    let aside = path.with_file_name(format!(".saihai-removed-{}", worktree.item.name()));
    remove_all(&aside).map_err(Error::file("remove", &aside))?;
    match std::fs::rename(path, &aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::file("move", path)(error));
        }
        Ok(()) | Err(_) => {}
    }
    remove_all(&aside).map_err(Error::file("remove", &aside))
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
pub enum Room {
    /// Branch and worktree are gone, and this ref holds their content.
    Done {
        reference: String,
    },
    Nothing,
    /// The worktree and its branch stay.
    Kept(Kept),
}

impl Repository {
    /// Saves the branch of an item and the files of its worktree in refs, and removes both.
    pub fn make_room(
        &self,
        item: &Item,
        worktree: Option<CleaningUp<'_>>,
        lock: &ItemLock,
    ) -> Result<Room, Error> {
        let Some(tip) = self.tip(&item.reference())? else { return Ok(Room::Nothing) };
        let reference = self.name_rescue(&item.name(), &tip)?;
        let holders = [reference.clone()];
        let Some(cleaning) = worktree else {
            self.remove_branch(item, &holders, lock)?;
            return Ok(Room::Done { reference });
        };
        Ok(match self.clean_up(CleaningUp { merged_into: &holders, ..cleaning }, lock)? {
            // The rescue of uncommitted files is based on the tip of the branch, so it holds both.
            CleanedUp::Removed { rescued, .. } => Room::Done { reference: rescued.unwrap_or(reference) },
            CleanedUp::Kept(kept) => Room::Kept(kept),
        })
    }
}
