//! The branch an item branches from.

use serde::{Deserialize, Serialize};

use super::private::Private;
use super::{Error, Repository};

/// A branch and where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Its short name.
    pub branch: String,
    /// Its commit.
    pub commit: String,
}

impl Repository {
    /// The base of an item as it is now. Everything in it must be here: nothing is fetched later.
    pub fn base(&self, branch: &str) -> Result<Base, Error> {
        let commit = self.tip(&format!("refs/heads/{branch}"))?;
        let commit = commit.ok_or_else(|| Error::NoBranch { branch: branch.to_owned() })?;
        if self.frozen.partial {
            let private = Private::make(self, None)?;
            let said = private.run("rev-list", ["--objects", "--no-walk", "--missing=print", &commit])?;
            let missing = said.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"?")).count();
            if missing > 0 {
                return Err(Error::MissingObjects { branch: branch.to_owned(), missing });
            }
        }
        Ok(Base { branch: branch.to_owned(), commit })
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

    /// Whether one commit is another or comes before it.
    pub(super) fn contains(&self, private: &Private<'_>, later: &str, earlier: &str) -> Result<bool, Error> {
        private.holds("merge-base", ["--is-ancestor", earlier, later])
    }
}
