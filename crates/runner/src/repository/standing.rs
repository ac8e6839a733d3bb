//! The issue whose branch is checked out where a run works that has no worktree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use saihai_model::IssueNumber;

use super::{Error, ItemLock, Taken, discover};
use crate::{Clock, Environment};

/// Somebody stands on the branch of an issue: whatever is done there is done to the issue.
#[derive(Debug, PartialEq, Eq)]
pub struct Standing {
    number: IssueNumber,
    common: PathBuf,
}

impl Standing {
    /// On whose branch one stands at `root`. Where there is no repository that git would read, nobody works on issues either.
    ///
    /// # Errors
    /// Git would wait without end for what lies there.
    pub fn at(root: &Path, environment: &Environment, branch_prefix: &str) -> Result<Option<Self>, Error> {
        let wanted = ["--symbolic-full-name", "HEAD", "--path-format=absolute", "--git-common-dir"];
        let Ok(said) = discover(root, environment, &wanted) else { return Ok(None) };
        // Two lines; the second is a path, which may have any name.
        let mut lines = said.as_bytes().splitn(2, |byte| *byte == b'\n');
        let (Some(head), Some(common)) = (lines.next(), lines.next()) else { return Ok(None) };
        let number = str::from_utf8(head)
            .ok()
            .and_then(|head| head.strip_prefix("refs/heads/")?.strip_prefix(branch_prefix))
            .and_then(|name| IssueNumber::parse(name.strip_prefix("issue-")?));
        Ok(number.map(|number| Self { number, common: PathBuf::from(OsStr::from_bytes(common)) }))
    }

    /// The issue.
    pub fn number(&self) -> IssueNumber {
        self.number
    }

    /// Takes the issue for a run.
    ///
    /// # Errors
    /// Its lock cannot be made.
    pub fn take(&self, run: &str, clock: &Clock) -> Result<Taken, Error> {
        ItemLock::take_named(&self.common, &self.number.slug(), run, clock)
    }
}
