//! Fetches a branch as the start of work, with the history that a shallow clone lacks.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;

use super::base::above;
use super::private::Private;
use super::push::{Remote, Token};
use super::{Base, Error, Item, Repository};
use crate::git;

impl Repository {
    /// Returns the commit of a branch on a server, or `None` if the branch is missing. Fetches nothing.
    pub fn tip_there(&self, url: &str, branch: &str, token: Option<&Token>) -> Result<Option<String>, Error> {
        let private = Private::make(self, None)?;
        let said = Remote { url, token }.tip(&private, &format!("refs/heads/{branch}"))?;
        said.map_err(|said| Error::Unreachable { said })
    }

    /// Checks that a server has a branch and no ref in the way of the item's branch. Fetches nothing. Returns
    /// the commit of the branch if it is already here.
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

    /// Fetches a branch of a server completely. No ref changes: the branch created from it holds the new
    /// commits.
    pub fn fetch(&self, url: &str, branch: &str, token: Option<&Token>) -> Result<Base, Error> {
        let private = Private::make(self, None)?;
        let (remote, reference) = (Remote { url, token }, format!("refs/heads/{branch}"));
        let commit = remote.tip(&private, &reference)?.map_err(|said| Error::Unreachable { said })?;
        let commit = commit.ok_or_else(|| Error::NotOnServer { branch: branch.to_owned() })?;
        if !is_here(&private, &commit) {
            let mut flags =
                vec!["--quiet".to_owned(), "--no-tags".to_owned(), "--no-write-fetch-head".to_owned()];
            // A private directory has no refs. Without naming the known commits, git would fetch everything
            // again.
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

/// The file in which git lists the ends of a shallow history.
const SHALLOW: &str = "shallow";

impl Repository {
    /// Fetches the common history of a branch and its base. A shallow clone of the base knows neither the
    /// start of the branch nor whether it is merged. Continuing without that pays for work that cannot be
    /// handed over (I-39).
    pub(super) fn deepen(
        &self,
        remote: Remote<'_>,
        base: &Base,
        branch: &str,
        tip: &str,
    ) -> Result<(), Error> {
        let ends = self.ends()?;
        if ends.is_empty() {
            return Ok(());
        }
        let private = Private::make(self, None)?;
        if private.holds("merge-base", [&base.commit, tip])? {
            return Ok(());
        }
        let known = [&base.commit, tip].map(|commit| format!("--negotiation-tip={commit}"));
        let references = [&base.branch, branch].map(|branch| format!("refs/heads/{branch}"));
        let mut flags = vec!["--quiet", "--no-tags", "--no-write-fetch-head", "--unshallow"];
        flags.extend(known.iter().map(String::as_str));
        flags.extend(["--", remote.url]);
        flags.extend(references.iter().map(String::as_str));
        remote.fetch(&private, &flags)?;
        // Git shortened the list of the private directory. Remove the same entries from the repository's
        // list.
        let left = lines(&std::fs::read(private.path(SHALLOW)).unwrap_or_default());
        self.take_off(&ends.difference(&left).cloned().collect())
    }

    /// Returns the commits at which the history of this clone ends.
    fn ends(&self) -> Result<BTreeSet<String>, Error> {
        let path = self.common.join(SHALLOW);
        match std::fs::read(&path) {
            Ok(text) => Ok(lines(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(Error::file("read", &path)(error)),
        }
    }

    /// Removes these commits from the list of ends. As in git, the holder of the lock file writes.
    fn take_off(&self, found: &BTreeSet<String>) -> Result<(), Error> {
        let [path, lock] = [SHALLOW, "shallow.lock"].map(|name| self.common.join(name));
        let mut file = match OpenOptions::new().write(true).create_new(true).open(&lock) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(Error::IndexLocked { path: lock });
            }
            opened => opened.map_err(Error::file("make", &lock))?,
        };
        let written = self.ends().and_then(|ends| {
            let left: Vec<String> = ends.difference(found).map(|commit| format!("{commit}\n")).collect();
            if left.is_empty() {
                std::fs::remove_file(&path).map_err(Error::file("remove", &path))?;
                return std::fs::remove_file(&lock).map_err(Error::file("remove", &lock));
            }
            let synced = file.write_all(left.concat().as_bytes()).and_then(|()| file.sync_all());
            synced.and_then(|()| std::fs::rename(&lock, &path)).map_err(Error::file("write", &path))
        });
        if written.is_err() {
            drop(std::fs::remove_file(&lock));
        }
        written
    }
}

impl Remote<'_> {
    pub(super) fn fetch(self, private: &Private<'_>, flags: &[&str]) -> Result<(), Error> {
        let fetched = self.speak(private, "fetch", flags);
        fetched.map(drop).map_err(|error| match error {
            git::Error::Refused { said, .. } => Error::Unreachable { said },
            other @ (git::Error::Missing(_)
            | git::Error::Unreadable { .. }
            | git::Error::Ambiguous { .. }
            | git::Error::Bare(_)
            | git::Error::Ended { .. }) => other.into(),
        })
    }
}

fn lines(text: &[u8]) -> BTreeSet<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}
