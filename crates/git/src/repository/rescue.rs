//! Saves everything in a worktree before a change.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::private::Private;
use super::refs::Seen;
use super::snapshot::Files;
use super::{Error, Item, Repository, Worktree};
use crate::git::command::output;

/// A ref that holds everything in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescued {
    /// The ref, for example `refs/saihai/rescue/issue-7/1`. Saihai never removes it. `None` if branches
    /// already hold everything.
    pub reference: Option<String>,
    /// Other repositories among the files and filled submodules. They exist only on disk.
    pub left: Vec<PathBuf>,
    /// Files that git refuses to add. They also exist only on disk.
    pub untaken: Vec<PathBuf>,
}

/// The condition for creating a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Only if something would be lost without it.
    WhatNothingHolds,
    Everything,
}

impl Rescued {
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
        keep: Keep,
    ) -> Result<Rescued, Error> {
        // No agent has seen the worktree, and its missing files were never there.
        if worktree.is_unfinished() {
            return Ok(Rescued { reference: None, left: Vec::new(), untaken: Vec::new() });
        }
        let head = self.tip(&self.head_name(&worktree.registered))?;
        let over = head.as_deref().unwrap_or(base);
        let private = Private::make(self, None)?;
        let committed = private.line("rev-parse", [format!("{over}^{{tree}}")])?;
        let (tree, left, untaken) = if worktree.path().is_dir() {
            let snapshot = self.snapshot(worktree, over, copied, Files::Hidden(base))?;
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
        if is_held && keep == Keep::WhatNothingHolds {
            return Ok(Rescued { reference: None, left, untaken });
        }
        parents.extend(lost.into_iter().filter(|commit| commit != over));
        let name = worktree.item.name();
        let said = format!("rescue of {name}\n\n{}\n", worktree.item.trailer());
        let commit = self.keep(&private, &tree, &parents, &said)?;
        let reference = self.name_rescue(&name, &commit)?;
        Ok(Rescued { reference: Some(reference), left, untaken })
    }

    /// Makes the tip of a branch reachable from a ref before work restarts.
    pub(super) fn rescue_tip(&self, item: &Item, tip: &str) -> Result<(), Error> {
        let private = Private::make(self, None)?;
        let (name, tree) = (item.name(), self.tree(&private, tip)?);
        let said = format!("rescue of {name}\n\n{}\n", item.trailer());
        let commit = self.keep(&private, &tree, &[tip.to_owned()], &said)?;
        self.name_rescue(&name, &commit).map(drop)
    }

    fn keep(
        &self,
        private: &Private<'_>,
        tree: &str,
        parents: &[String],
        said: &str,
    ) -> Result<String, Error> {
        let mut arguments = vec![tree];
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        let commit = private.feed("commit-tree", arguments, said.as_bytes())?;
        Ok(String::from_utf8_lossy(&commit).trim_end().to_owned())
    }

    /// Returns the last rescue of an item if its branch has not moved since.
    pub(super) fn last_rescue(&self, item: &Item, tip: &str) -> Result<Option<String>, Error> {
        let below = format!("refs/saihai/rescue/{}/", item.name());
        let rescues = self.refs_below(&below)?;
        let numbered = rescues
            .into_iter()
            .filter_map(|(name, commit)| Some((name.strip_prefix(&below)?.parse::<u32>().ok()?, commit)));
        let Some((_, commit)) = numbered.max() else { return Ok(None) };
        let over = Private::make(self, None)?.line("rev-parse", [format!("{commit}^1")])?;
        Ok(Some(commit).filter(|_| over == tip))
    }

    /// Gives a commit the next free number among the rescues of an item.
    pub(super) fn name_rescue(&self, name: &str, commit: &str) -> Result<String, Error> {
        let below = format!("refs/saihai/rescue/{name}/");
        loop {
            let present = self.refs_below(&below)?;
            let taken = present.iter().filter_map(|(name, _)| name.strip_prefix(&below)?.parse::<u32>().ok());
            let last = taken.max().unwrap_or(0);
            let reference = format!("{below}{}", last.saturating_add(1));
            match self.move_ref(&reference, commit, Seen::Absent) {
                // Another process took the number.
                Err(Error::Moved { .. }) if last < u32::MAX => {}
                made => return made.map(|()| reference),
            }
        }
    }

    /// Returns the tree of the worktree's own index. Returns `None` if git cannot write it, for example
    /// during a merge.
    fn staged(&self, worktree: &Worktree) -> Result<Option<String>, Error> {
        if std::fs::read_dir(worktree.directory()).is_err() {
            return Ok(None);
        }
        match self.own_index(worktree)?.line("write-tree", [""; 0]) {
            Ok(tree) => Ok(Some(tree)),
            Err(Error::Git(crate::git::Error::Refused { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns a copy of the worktree's own index.
    pub(super) fn own_index(&self, worktree: &Worktree) -> Result<Private<'_>, Error> {
        let private = Private::make(self, None)?;
        let entries = std::fs::read_dir(worktree.directory()).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name == "index" || name.starts_with("sharedindex.") {
                let copied =
                    std::fs::read(entry.path()).and_then(|index| std::fs::write(private.path(&name), index));
                copied.map_err(Error::file("copy", &entry.path()))?;
            }
        }
        Ok(private)
    }

    /// Returns the reflog of HEAD: each line has the commits before and after a move, or only the one after.
    fn log_of(&self, worktree: &Worktree) -> Result<Vec<u8>, Error> {
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
            Err(crate::git::Error::Refused { .. }) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the commits in the log of HEAD that no ref holds.
    fn lost_commits(
        &self,
        private: &Private<'_>,
        worktree: &Worktree,
        head: &str,
    ) -> Result<Vec<String>, Error> {
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
