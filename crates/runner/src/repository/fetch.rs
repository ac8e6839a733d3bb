//! Taking a branch of a server as the beginning of work.

use super::base::above;
use super::private::Private;
use super::push::{Remote, Token};
use super::{Base, Error, Item, Repository};

impl Repository {
    /// Where a branch of a server is now; nowhere where it is not there. Nothing of it is taken.
    pub fn tip_there(&self, url: &str, branch: &str, token: Option<&Token>) -> Result<Option<String>, Error> {
        let private = Private::make(self, None)?;
        let said = Remote { url, token }.tip(&private, &format!("refs/heads/{branch}"))?;
        said.map_err(|said| Error::Unreachable { said })
    }

    /// Makes sure that a server has a branch, and none that would be in the way of the item's. Nothing is fetched; where
    /// the branch is there is told if that is here already.
    pub fn check_server(
        &self,
        url: &str,
        branch: &str,
        item: &Item,
        token: Option<&Token>,
    ) -> Result<Option<String>, Error> {
        let private = Private::make(self, None)?;
        let wanted = item.branch();
        let mut references = vec![format!("refs/heads/{branch}")];
        references.extend(above(&wanted).map(|one| format!("refs/heads/{one}")));
        let there = Remote { url, token }.tips(&private, &references)?;
        let there = there.map_err(|said| Error::Unreachable { said })?;
        let commit = there.get(&references[0]);
        let commit = commit.ok_or_else(|| Error::NotOnServer { branch: branch.to_owned() })?;
        let here = Some(commit.clone()).filter(|commit| is_here(&private, commit));
        if let Some(commit) = &here {
            self.insist_on_objects(branch, commit)?;
        }
        let mut inside = references[1..].iter().filter(|one| there.contains_key(*one));
        match inside.next().and_then(|one| one.strip_prefix("refs/heads/")) {
            Some(present) => Err(Error::InTheWay { branch: wanted, present: present.to_owned() }),
            None => Ok(here),
        }
    }

    /// A branch of a server as it is now, all of it here. No ref of the repository changes: what was taken is held by the branch
    /// that begins there.
    pub fn fetch(&self, url: &str, branch: &str, token: Option<&Token>) -> Result<Base, Error> {
        let private = Private::make(self, None)?;
        let (remote, reference) = (Remote { url, token }, format!("refs/heads/{branch}"));
        let commit = remote.tip(&private, &reference)?.map_err(|said| Error::Unreachable { said })?;
        let commit = commit.ok_or_else(|| Error::NotOnServer { branch: branch.to_owned() })?;
        if !is_here(&private, &commit) {
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
            remote.fetch(&private, &flags)?;
        }
        self.insist_on_objects(branch, &commit)?;
        Ok(Base { branch: branch.to_owned(), commit })
    }
}

fn is_here(private: &Private<'_>, commit: &str) -> bool {
    private.holds("cat-file", ["-e", &format!("{commit}^{{commit}}")]).unwrap_or(false)
}
