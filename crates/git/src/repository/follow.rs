//! The branch of an item on a server: fetched before work and after a push, or set aside.

use super::private::Private;
use super::push::{Remote, Token};
use super::refs::Seen;
use super::snapshot::Files;
use super::{Base, Error, Item, ItemLock, Keep, Ours, Refusal, Repository, Worktree};
use crate::git;

/// A branch on a server.
#[derive(Debug, Clone, Copy)]
pub struct Following<'a> {
    pub item: &'a Item,
    pub base: &'a Base,
    pub url: &'a str,
    /// The token for the server.
    pub token: Option<&'a Token>,
    /// Evidence that the branch is ours.
    pub ours: Ours,
}

impl Repository {
    /// Fetches the server's state of a branch. Another clone may have worked on it, as each CI job does
    /// (I-34). A branch that could not be pushed is refused before agents cost money.
    pub fn follow(&self, following: Following<'_>) -> Result<Option<Refusal>, Error> {
        let Following { item, base, url, token, ours } = following;
        let (branch, reference) = (item.branch(), item.reference());
        let private = Private::make(self, None)?;
        let unreachable = |said: String| Error::Unreachable { said };
        let remote = Remote { url, token };
        let theirs = remote.tip(&private, &reference)?.map_err(unreachable)?;
        let (Some(theirs), mine) = (theirs, self.tip(&reference)?) else { return Ok(None) };
        let theirs =
            if mine.as_ref() == Some(&theirs) { theirs } else { self.fetch(url, &branch, token)?.commit };
        self.deepen(remote, base, &branch, &theirs)?;
        if mine.as_ref() == Some(&theirs) {
            return Ok(None);
        }
        // The fetched commits may have more history.
        let private = Private::make(self, None)?;
        let Some(mine) = mine else {
            // The base already contains the merged branch, so there is nothing to continue.
            if ours != Ours::ByTrailers && self.contains(&private, &base.commit, &theirs)? {
                return Ok(None);
            }
            let foreign = self.foreign_branch(item, base, ours, &theirs)?;
            if foreign.is_none() {
                self.move_ref(&reference, &theirs, Seen::Absent)?;
            }
            return Ok(foreign);
        };
        if self.contains(&private, &mine, &theirs)? {
            return Ok(None);
        }
        let (path, url) = (self.checked_out(&branch)?, url.to_owned());
        if !self.contains(&private, &theirs, &mine)? {
            return Ok(Some(Refusal::Parted { branch, url, path }));
        }
        // Do not move files that a person may be working on.
        if let Some(path) = path {
            return Ok(Some(Refusal::Ahead { branch, url, path }));
        }
        self.move_ref(&reference, &theirs, Seen::At(&mine))?;
        Ok(None)
    }

    /// Returns true if a branch ends with a commit of ours that its base lacks, here and on a server.
    pub fn is_pushed_by_us(
        &self,
        item: &Item,
        base: &Base,
        url: &str,
        token: Option<&Token>,
    ) -> Result<bool, Error> {
        let Some(tip) = self.tip(&item.reference())? else { return Ok(false) };
        let private = Private::make(self, None)?;
        let said = private.run("log", ["-1", "--format=%B", &tip])?;
        let is_ours = item.made_for(&String::from_utf8_lossy(&said)) == item.source();
        if !is_ours || self.contains(&private, &base.commit, &tip)? {
            return Ok(false);
        }
        Ok(self.tip_there(url, &item.branch(), token)? == Some(tip))
    }
}

impl Repository {
    /// Removes a branch that its base fully contains, so that work restarts at the base. A checked-out branch
    /// stays.
    pub fn begin_anew(&self, item: &Item, base: &Base) -> Result<(), Error> {
        let reference = item.reference();
        let Some(tip) = self.tip(&reference)? else { return Ok(()) };
        let private = Private::make(self, None)?;
        let is_merged = self.contains(&private, &base.commit, &tip)?;
        if is_merged && self.checked_out(&item.branch())?.is_none() {
            self.remove_ref(&reference, &tip)?;
        }
        Ok(())
    }

    /// Sets a branch aside that a forge has merged. The forge may have rewritten its commits, so the base
    /// need not contain them, and the branch is kept under another name.
    ///
    /// Returns the reason if work cannot restart. New work from the base can only be pushed onto commits of the
    /// base. Work that cannot be pushed must cost nothing.
    pub fn set_aside(&self, following: Following<'_>) -> Result<Option<Refusal>, Error> {
        let Following { item, base, url, token, .. } = following;
        let (branch, reference) = (item.branch(), item.reference());
        let remote = Remote { url, token };
        let private = Private::make(self, None)?;
        let unreachable = |said: String| Error::Unreachable { said };
        if remote.tip(&private, &reference)?.map_err(unreachable)?.is_some() {
            let theirs = self.fetch(url, &branch, token)?.commit;
            self.deepen(remote, base, &branch, &theirs)?;
            if !self.contains(&Private::make(self, None)?, &base.commit, &theirs)? {
                let (base, url) = (base.branch.clone(), url.to_owned());
                return Ok(Some(Refusal::NotInBase { branch, base, url }));
            }
        }
        let Some(mine) = self.tip(&reference)? else { return Ok(None) };
        let private = Private::make(self, None)?;
        let is_merged = self.contains(&private, &base.commit, &mine)?;
        match self.checked_out(&branch)? {
            Some(_) if is_merged => return Ok(None),
            Some(path) => return Ok(Some(Refusal::CheckedOut { branch, path })),
            None if is_merged => {}
            None => self.rescue_tip(item, &mine)?,
        }
        self.remove_ref(&reference, &mine)?;
        Ok(None)
    }
}

/// A pushed branch and its files.
#[derive(Debug, Clone, Copy)]
pub struct TakingIn<'a> {
    pub item: &'a Item,
    pub base: &'a Base,
    pub url: &'a str,
    /// The token for the server.
    pub token: Option<&'a Token>,
    /// The worktree, if there is one.
    pub worktree: Option<&'a Worktree>,
    /// Files of the user that were copied into the worktree.
    pub copied: &'a [String],
}

impl Repository {
    /// Fetches commits that a server has beyond our push. A reviewer may have added them. Returns the reason
    /// if that is impossible: a rewritten history must not be discarded on either side.
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
            // Do not move files that a person may be working on.
            (Some(path), _) => return Ok(Some(Refusal::Ahead { branch, url, path })),
        };
        lock.check()?;
        self.move_ref(&reference, &theirs, Seen::At(&mine))?;
        match index.map_or(Ok(()), |(worktree, index)| self.install_index(worktree, &index)) {
            // Only the output of `git status` there is wrong.
            Ok(()) | Err(Error::IndexLocked { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Updates the files of an unchanged worktree to a later commit and returns their index. Files go first:
    /// if the process is stopped before the branch moves, the files are already right.
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
        // A non-zero exit status only means that files differ.
        private.holds("update-index", ["-q", "--refresh"])?;
        if is_carried {
            return Ok(Some(private));
        }
        // An ignored file may be in the way of a new one.
        self.rescue(worktree, &taking.base.commit, taking.copied, Keep::WhatNothingHolds)?;
        match private.run("read-tree", ["-m", "-u", mine, theirs]) {
            Ok(_) => Ok(Some(private)),
            Err(Error::Git(git::Error::Refused { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
