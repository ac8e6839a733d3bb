//! Taking a branch of a server as the beginning of work.

use super::private::Private;
use super::push::{Remote, Token};
use super::{Base, Error, Repository};
use crate::git;

impl Repository {
    /// Where a branch of a server is now; nowhere where it is not there. Nothing of it is taken.
    pub fn tip_there(&self, url: &str, branch: &str, token: Option<&Token>) -> Result<Option<String>, Error> {
        let private = Private::make(self, None)?;
        let said = Remote { url, token }.tip(&private, &format!("refs/heads/{branch}"))?;
        said.map_err(|said| git::Error::Refused { command: "ls-remote".to_owned(), said }.into())
    }

    /// A branch of a server as it is now, all of it here. No ref of the repository changes: what was taken is held by the branch
    /// that begins there.
    pub fn fetch(&self, url: &str, branch: &str, token: Option<&Token>) -> Result<Base, Error> {
        let private = Private::make(self, None)?;
        let (remote, reference) = (Remote { url, token }, format!("refs/heads/{branch}"));
        let refused =
            |said: String| Error::Git(git::Error::Refused { command: "ls-remote".to_owned(), said });
        let commit = remote.tip(&private, &reference)?.map_err(refused)?;
        let commit = commit.ok_or_else(|| Error::NoBranch { branch: branch.to_owned() })?;
        let is_here = private.holds("cat-file", ["-e", &format!("{commit}^{{commit}}")]);
        if !is_here.unwrap_or(false) {
            let mut flags =
                vec!["--quiet".to_owned(), "--no-tags".to_owned(), "--no-write-fetch-head".to_owned()];
            // A private directory has no refs: what is here already has to be named, or all of it would come again.
            for known in [reference.clone(), "HEAD".to_owned()] {
                if let Some(tip) = self.tip(&known)? {
                    flags.push(format!("--negotiation-tip={tip}"));
                }
            }
            flags.extend(["--".to_owned(), url.to_owned(), reference]);
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            remote.speak(&private, "fetch", &flags)?;
        }
        Ok(Base { branch: branch.to_owned(), commit })
    }
}
