//! A worktree that exists for a moment, outside everybody's checkout.

use std::path::Path;

use super::momentary::{Kind, Momentary};
use super::turnstile::Turnstile;
use super::{Error, Item, Repository, Worktree};
use crate::git::command::output;

/// A worktree that exists for a moment. Nothing in it is worth keeping.
#[derive(Debug)]
pub(super) struct Scratch<'a> {
    repository: &'a Repository,
    directory: Momentary,
    worktree: Option<Worktree>,
}

impl<'a> Scratch<'a> {
    /// With the files of a commit.
    pub(super) fn make(repository: &'a Repository, item: &Item, commit: &str) -> Result<Self, Error> {
        let directory = Momentary::make(repository, Kind::Merge)?;
        let found = directory.path().canonicalize().map_err(Error::file("find", directory.path()))?;
        let path = found.join(item.name());
        {
            let _one_at_a_time = Turnstile::of_worktrees(repository)?;
            let mut git = repository.registry("worktree");
            git.args(["add", "--quiet", "--no-checkout", "--detach"]).arg(&path).arg(commit);
            output(&mut git, "worktree add")?;
        }
        let registered = repository.registered_at(&path)?;
        let worktree = registered.map(|registered| Worktree { item: item.clone(), registered });
        let scratch = Self { repository, directory, worktree };
        match &scratch.worktree {
            Some(worktree) => repository.check_out(worktree, commit, commit)?,
            None => return Err(crate::git::Error::Unreadable { command: "worktree add" }.into()),
        }
        Ok(scratch)
    }

    /// Where its files are.
    pub(super) fn path(&self) -> &Path {
        self.worktree.as_ref().map_or(self.directory.path(), Worktree::path)
    }

    /// Takes it away, and says so if that fails.
    pub(super) fn remove(mut self) -> Result<(), Error> {
        self.worktree.take().map_or(Ok(()), |worktree| self.repository.forget(&worktree))
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Some(worktree) = self.worktree.take() {
            // Whatever is left on the list is taken off it by whoever comes next.
            self.repository.forget(&worktree).ok();
        }
    }
}
