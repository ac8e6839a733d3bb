//! The base branch of an item.

use serde::{Deserialize, Serialize};

use super::private::Private;
use super::{Error, Item, Repository};
use crate::git::command::output;

/// A branch and its commit at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    pub branch: String,
    pub commit: String,
}

impl Base {
    /// Returns the refs that hold the base: its branch, and the merge branch with merges that wait for it.
    pub fn holders(&self) -> [String; 2] {
        [format!("refs/heads/{}", self.branch), format!("refs/heads/saihai/merge/{}", self.branch)]
    }
}

impl Repository {
    /// Returns the current base of an item. All its objects must be here, because nothing is fetched later.
    pub fn base(&self, branch: &str) -> Result<Base, Error> {
        let commit = self.tip(&format!("refs/heads/{branch}"))?;
        let commit = commit.ok_or_else(|| Error::NoBranch { branch: branch.to_owned() })?;
        self.refuse_symbolic(branch)?;
        self.insist_on_objects(branch, &commit)?;
        Ok(Base { branch: branch.to_owned(), commit })
    }

    /// Refuses a branch that is a symbolic ref. Moving it would turn it into a branch of its own.
    pub(super) fn refuse_symbolic(&self, branch: &str) -> Result<(), Error> {
        let mut git = self.registry("symbolic-ref");
        match output(git.args(["--quiet", &format!("refs/heads/{branch}")]), "symbolic-ref") {
            Ok(said) => {
                let target = String::from_utf8_lossy(&said).trim_end().to_owned();
                Err(Error::Symbolic { branch: branch.to_owned(), target })
            }
            Err(crate::git::Error::Refused { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks that a partial clone has all objects of a commit.
    pub(super) fn insist_on_objects(&self, branch: &str, commit: &str) -> Result<(), Error> {
        if !self.frozen.partial {
            return Ok(());
        }
        let private = Private::make(self, None)?;
        let said = private.run("rev-list", ["--objects", "--no-walk", "--missing=print", commit])?;
        let missing = said.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"?")).count();
        if missing > 0 {
            return Err(Error::MissingObjects { branch: branch.to_owned(), missing });
        }
        Ok(())
    }

    /// Checks that git can create the branch of an item: the name is valid and no other ref is in the way.
    pub fn check_branch(&self, item: &Item) -> Result<(), Error> {
        let (branch, reference) = (item.branch(), item.reference());
        let named = output(self.registry("check-ref-format").arg(&reference), "check-ref-format");
        if named.is_err() || branch.starts_with('-') {
            return Err(Error::InvalidBranch { branch });
        }
        self.check_room(item)
    }

    /// Returns the merge base of a branch that may exist already. A branch without a common commit keeps
    /// `base`, and a later check handles it.
    pub fn forked(&self, base: Base, branch: &str) -> Result<Base, Error> {
        let Some(tip) = self.tip(&format!("refs/heads/{branch}"))? else { return Ok(base) };
        let private = Private::make(self, None)?;
        match private.line("merge-base", [&base.commit, &tip]) {
            Ok(commit) => Ok(Base { commit, ..base }),
            Err(Error::Git(crate::git::Error::Refused { .. })) => Ok(base),
            Err(error) => Err(error),
        }
    }

    /// Returns true if `later` contains `earlier`. Both must be here.
    pub fn has_taken_in(&self, later: &str, earlier: &str) -> Result<bool, Error> {
        self.contains(&Private::make(self, None)?, later, earlier)
    }

    /// Returns true if `earlier` equals `later` or is an ancestor of it.
    pub(super) fn contains(&self, private: &Private<'_>, later: &str, earlier: &str) -> Result<bool, Error> {
        private.holds("merge-base", ["--is-ancestor", earlier, later])
    }
}

/// Returns the parent names of a branch: `a` and `a/b` for `a/b/c`.
pub(super) fn above(branch: &str) -> impl Iterator<Item = &str> {
    branch.match_indices('/').map(|(end, _)| &branch[..end])
}
