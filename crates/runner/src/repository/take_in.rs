//! Taking in what others pushed to a branch after we did.

use super::private::Private;
use super::push::{Remote, Token};
use super::refs::Seen;
use super::snapshot::Files;
use super::{Base, Error, Item, ItemLock, Keep, Refusal, Repository, Worktree};
use crate::git;

/// A branch that was pushed, and its files.
#[derive(Debug, Clone, Copy)]
pub struct TakingIn<'a> {
    /// What it is for.
    pub item: &'a Item,
    /// What it began with.
    pub base: &'a Base,
    /// The address of the server.
    pub url: &'a str,
    /// What the server is shown.
    pub token: Option<&'a Token>,
    /// Its files, where there are any.
    pub worktree: Option<&'a Worktree>,
    /// Files of the user's that were copied there.
    pub copied: &'a [String],
}

impl Repository {
    /// Takes in what a server holds of a branch beyond what was pushed: a reviewer may have added to it. Why that cannot be done, if
    /// so: what they have rewritten is not ours to throw away, on either side.
    pub fn take_in(&self, taking: TakingIn<'_>, lock: &ItemLock) -> Result<Option<Refusal>, Error> {
        let TakingIn { item, url, token, worktree, .. } = taking;
        let (branch, reference) = (item.branch(), item.reference());
        let private = Private::make(self, None)?;
        let unreachable = |said: String| Error::Unreachable { said };
        let theirs = Remote { url, token }.tip(&private, &reference)?.map_err(unreachable)?;
        let (Some(theirs), Some(mine)) = (theirs, self.tip(&reference)?) else { return Ok(None) };
        if theirs == mine {
            return Ok(None);
        }
        let theirs = self.fetch(url, &branch, token)?.commit;
        let url = url.to_owned();
        if self.contains(&private, &mine, &theirs)? {
            return Ok(None);
        }
        if !self.contains(&private, &theirs, &mine)? {
            let path = self.checked_out(&branch)?;
            return Ok(Some(Refusal::Parted { branch, url, path }));
        }
        let index = match (self.checked_out(&branch)?, worktree) {
            (None, _) => None,
            (Some(path), Some(worktree)) if path == worktree.path() => {
                match self.carried_over(taking, worktree, [&mine, &theirs])? {
                    Some(index) => Some((worktree, index)),
                    None => return Ok(Some(Refusal::Ahead { branch, url, path })),
                }
            }
            // Files that somebody works on are not moved under their feet.
            (Some(path), _) => return Ok(Some(Refusal::Ahead { branch, url, path })),
        };
        lock.check()?;
        self.move_ref(&reference, &theirs, Seen::At(&mine))?;
        match index.map_or(Ok(()), |(worktree, index)| self.install_index(worktree, &index)) {
            // Only what `git status` says there suffers.
            Ok(()) | Err(Error::IndexLocked { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the files of a worktree those of a later commit, if they are those of its own; the index that goes with them. They go
    /// first: whoever is stopped before the branch moves finds them as they are to be.
    fn carried_over(
        &self,
        taking: TakingIn<'_>,
        worktree: &Worktree,
        [mine, theirs]: [&str; 2],
    ) -> Result<Option<Private<'_>>, Error> {
        let snapshot = self.snapshot(worktree, mine, taking.copied, Files::Visible)?;
        let private = Private::make(self, Some(worktree.path()))?;
        if !snapshot.embedded.is_empty() || !snapshot.special.is_empty() {
            return Ok(None);
        }
        let is_carried = snapshot.tree == self.tree(&private, theirs)?;
        if !is_carried && snapshot.tree != self.tree(&private, mine)? {
            return Ok(None);
        }
        private.run("read-tree", [if is_carried { theirs } else { mine }])?;
        // It says no where something differs, as it is meant to.
        private.holds("update-index", ["-q", "--refresh"])?;
        if is_carried {
            return Ok(Some(private));
        }
        // What git ignores may be in the way of a file of theirs.
        self.rescue(worktree, &taking.base.commit, taking.copied, Keep::WhatNothingHolds)?;
        match private.run("read-tree", ["-m", "-u", mine, theirs]) {
            Ok(_) => Ok(Some(private)),
            Err(Error::Git(git::Error::Refused { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
