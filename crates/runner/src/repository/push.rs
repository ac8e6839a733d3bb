//! Pushing a branch.

use super::private::Private;
use super::{Error, ItemLock, Repository};
use crate::git;

/// What is pushed, and where.
#[derive(Debug, Clone, Copy)]
pub struct Pushing<'a> {
    /// The address as it was before the first agent.
    pub url: &'a str,
    /// The branch there.
    pub branch: &'a str,
    /// The commit.
    pub commit: &'a str,
}

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has the commit now.
    Done,
    /// It had it before.
    Already,
    /// The remote has something else, or does not take it. Nothing was forced.
    Rejected {
        /// Why.
        said: String,
    },
    /// Nobody can say whether the remote has it.
    Unknown {
        /// Why.
        said: String,
    },
}

impl Repository {
    /// Pushes a commit, forward only, from the value that the remote has just told.
    pub fn push(&self, pushing: Pushing<'_>, lock: &ItemLock) -> Result<Pushed, Error> {
        let private = Private::make(self, None)?;
        let reference = format!("refs/heads/{}", pushing.branch);
        let remote = match self.remote_tip(&private, pushing.url, &reference)? {
            Ok(remote) => remote,
            Err(said) => return Ok(Pushed::Unknown { said }),
        };
        match &remote {
            Some(remote) if remote == pushing.commit => return Ok(Pushed::Already),
            Some(remote) if !self.is_before(&private, remote, pushing.commit)? => {
                let said = format!("`{}` is at {remote} there, which is not part of it", pushing.branch);
                return Ok(Pushed::Rejected { said });
            }
            Some(_) | None => {}
        }
        lock.check()?;
        // Git's word for "only if it still is there"; that it goes forward was seen above.
        let seen = format!("--force-with-lease={reference}:{}", remote.unwrap_or_default());
        let refspec = format!("{}:{reference}", pushing.commit);
        let flags = ["--porcelain", "--no-verify", "--no-signed", &seen, "--", pushing.url, &refspec];
        match private.run("push", flags) {
            Ok(_) => Ok(Pushed::Done),
            Err(Error::Git(git::Error::Refused { said, .. })) => {
                // It may have arrived, though nobody could say so.
                Ok(match self.remote_tip(&private, pushing.url, &reference)? {
                    Ok(Some(remote)) if remote == pushing.commit => Pushed::Done,
                    Ok(_) => Pushed::Rejected { said },
                    Err(said) => Pushed::Unknown { said },
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Where a ref is on a remote, or why that cannot be told.
    fn remote_tip(
        &self,
        private: &Private<'_>,
        url: &str,
        reference: &str,
    ) -> Result<Result<Option<String>, String>, Error> {
        match private.run("ls-remote", ["--quiet", "--", url, reference]) {
            Ok(said) => {
                let said = String::from_utf8_lossy(&said);
                // It also lists refs that only end alike.
                let mut lines = said.lines().filter_map(|line| line.split_once('\t'));
                let found = lines.find(|(_, name)| *name == reference);
                Ok(Ok(found.map(|(commit, _)| commit.to_owned())))
            }
            Err(Error::Git(git::Error::Refused { said, .. })) => Ok(Err(said)),
            Err(error) => Err(error),
        }
    }

    fn is_before(&self, private: &Private<'_>, earlier: &str, later: &str) -> Result<bool, Error> {
        // A commit that we have not got cannot be part of one that we have.
        match private.run("cat-file", ["-e", earlier]) {
            Ok(_) => self.contains(private, later, earlier),
            Err(Error::Git(git::Error::Refused { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
