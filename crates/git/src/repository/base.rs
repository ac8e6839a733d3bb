//! The branch an item branches from.

use serde::{Deserialize, Serialize};

use super::private::Private;
use super::{Error, Item, Repository};
use crate::git::command::output;

/// A branch and where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    pub branch: String,
    pub commit: String,
}

impl Base {
    /// The refs that hold what is part of it: its branch, and what was merged and waits beside that.
    pub fn holders(&self) -> [String; 2] {
        [format!("refs/heads/{}", self.branch), format!("refs/heads/saihai/merge/{}", self.branch)]
    }
}

impl Repository {
    /// The base of an item as it is now. Everything in it must be here: nothing is fetched later.
    pub fn base(&self, branch: &str) -> Result<Base, Error> {
        let commit = self.tip(&format!("refs/heads/{branch}"))?;
        let commit = commit.ok_or_else(|| Error::NoBranch { branch: branch.to_owned() })?;
        self.refuse_symbolic(branch)?;
        self.insist_on_objects(branch, &commit)?;
        Ok(Base { branch: branch.to_owned(), commit })
    }

    /// Refuses a branch that is only another name of one: moved, it would be a branch of its own from then on.
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

    /// Everything of a commit must be here, also in a clone that has left things where they were.
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

    /// Whether git could make the branch of an item: its name is one, and no other ref is where it would be.
    pub fn check_branch(&self, item: &Item) -> Result<(), Error> {
        let (branch, reference) = (item.branch(), item.reference());
        let named = output(self.registry("check-ref-format").arg(&reference), "check-ref-format");
        if named.is_err() || branch.starts_with('-') {
            return Err(Error::InvalidBranch { branch });
        }
        self.check_room(item)
    }

    /// The base of a branch that may be there already: where the two parted. One that has nothing in common with it is left to
    /// whoever looks at it later.
    pub fn forked(&self, base: Base, branch: &str) -> Result<Base, Error> {
        let Some(tip) = self.tip(&format!("refs/heads/{branch}"))? else { return Ok(base) };
        let private = Private::make(self, None)?;
        match private.line("merge-base", [&base.commit, &tip]) {
            Ok(commit) => Ok(Base { commit, ..base }),
            Err(Error::Git(crate::git::Error::Refused { .. })) => Ok(base),
            Err(error) => Err(error),
        }
    }

    /// Whether a commit is part of another that is here.
    pub fn has_taken_in(&self, later: &str, earlier: &str) -> Result<bool, Error> {
        self.contains(&Private::make(self, None)?, later, earlier)
    }

    /// Whether one commit is another or comes before it.
    pub(super) fn contains(&self, private: &Private<'_>, later: &str, earlier: &str) -> Result<bool, Error> {
        private.holds("merge-base", ["--is-ancestor", earlier, later])
    }
}

/// The names that a branch lies inside: `a` and `a/b` for `a/b/c`.
pub(super) fn above(branch: &str) -> impl Iterator<Item = &str> {
    branch.match_indices('/').map(|(end, _)| &branch[..end])
}
