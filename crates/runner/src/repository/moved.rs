//! A repository that was moved or copied. Git keeps whole paths, in the repository and in each worktree, so that those of a copy
//! lead to where it was copied from.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::registered::Registered;
use super::turnstile::Turnstile;
use super::{Error, Item, Keep, Refusal, Repository, Worktree, regular};

impl Repository {
    /// Whether a worktree on our list is another repository's, which has it on its own list, and so says the worktree.
    pub(super) fn is_anothers(&self, one: &Registered) -> bool {
        let Some(directory) = &one.directory else { return false };
        named_by(&one.files).is_some_and(|named| {
            !is_same(&named, directory) && listed_by(&named).is_some_and(|files| is_same(&files, &one.files))
        })
    }

    /// Has our list and a worktree name each other again, where the repository was moved or copied together with it. Nothing is
    /// changed where another repository has the worktree, or our list another worktree.
    pub fn take_back(&self, path: &Path) -> Result<(), Error> {
        let Some(named) =
            named_by(path).filter(|named| named.parent().is_some_and(|above| above.ends_with("worktrees")))
        else {
            return Ok(());
        };
        let directory = self.common.join("worktrees").join(named.file_name().unwrap_or_default());
        let Some(listed) = listed_by(&directory).filter(|listed| listed.file_name() == path.file_name())
        else {
            return Ok(());
        };
        let (is_named, is_listed) = (is_same(&named, &directory), is_same(&listed, path));
        let has_another = !is_named && listed_by(&named).is_some_and(|files| is_same(&files, path));
        let lists_another = !is_listed
            && listed.symlink_metadata().is_ok()
            && !self.is_anothers(&Registered { directory: Some(directory.clone()), files: listed });
        if (is_named && is_listed) || has_another || lists_another {
            return Ok(());
        }
        let _one_at_a_time = Turnstile::of_worktrees(self)?;
        let line = |path: &Path| [path.as_os_str().as_bytes(), b"\n"].concat();
        replace(&directory.join("gitdir"), &directory.join("gitdir.saihai"), &line(&path.join(".git")))?;
        // Not in the worktree: what is left of it after a kill would pass for a file of the agent's.
        let beside = path.with_extension("git.saihai");
        replace(&path.join(".git"), &beside, &[b"gitdir: ", &line(&directory)[..]].concat())
    }

    /// Takes the worktree of an item off our list that is another repository's, from which ours was copied. What only our list
    /// knew of it is rescued; its files are not ours.
    pub(super) fn disown(&self, item: &Item, path: &Path, base: &str) -> Result<(), Error> {
        for one in self.listed()?.into_iter().filter(|one| self.is_anothers(one)) {
            if self.branch_of(&one)?.as_deref() == Some(&item.reference()) {
                let registered = Registered { files: path.to_owned(), ..one };
                let worktree = Worktree { item: item.clone(), registered };
                self.rescue(&worktree, base, &[], Keep::WhatNothingHolds)?;
                self.forget(&worktree)?;
            }
        }
        Ok(())
    }

    /// Why nothing goes on that was begun in a worktree below `root`: it is in no place of this repository's, and not where its
    /// worktrees are kept `now`, so that the repository was moved or copied meanwhile.
    pub fn begun_elsewhere(&self, item: &Item, root: &Path, now: &Path) -> Result<Option<Refusal>, Error> {
        let found = |root: &Path| {
            let root = self.root.join(root);
            root.canonicalize().unwrap_or(root)
        };
        let (root, now) = (found(root), found(now));
        let path = item.worktree(&root);
        let is_here = root == now || [&self.root, &self.main].into_iter().any(|own| root.starts_with(own));
        let is_ours = is_here || (path.is_dir() && self.registered_at(&path)?.is_some());
        Ok((!is_ours).then_some(Refusal::BegunElsewhere { path }))
    }
}

/// The directory on a list that `.git` of a worktree names.
fn named_by(files: &Path) -> Option<PathBuf> {
    let said = regular::read(&files.join(".git")).ok()?;
    Some(files.join(as_path(said.strip_prefix(b"gitdir: ")?)))
}

/// The files that a directory on a list names.
pub(super) fn listed_by(directory: &Path) -> Option<PathBuf> {
    // It may be named relative to where its name is kept.
    let said = regular::read(&directory.join("gitdir")).ok()?;
    directory.join(as_path(&said)).parent().map(Path::to_owned)
}

fn as_path(said: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(said.strip_suffix(b"\n").unwrap_or(said).to_vec()))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn replace(path: &Path, by: &Path, content: &[u8]) -> Result<(), Error> {
    std::fs::write(by, content).and_then(|()| std::fs::rename(by, path)).map_err(Error::file("write", path))
}
