//! The worktrees a repository knows of.

use std::path::{Path, PathBuf};

use super::moved::listed_by;
use super::{Error, Repository, regular};

/// A worktree as the repository has it on its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registered {
    /// Its directory in the repository; nothing for the repository's own checkout.
    pub(super) directory: Option<PathBuf>,
    /// Where its files are.
    pub(super) files: PathBuf,
}

impl Repository {
    /// All of them, the repository's own checkout first. Those of a repository that this one was copied from are none of ours.
    pub(super) fn registered(&self) -> Result<Vec<Registered>, Error> {
        let mut all = self.listed()?;
        all.retain(|one| !self.is_anothers(one));
        Ok(all)
    }

    /// All that its list says.
    pub(super) fn listed(&self) -> Result<Vec<Registered>, Error> {
        let mut all = vec![Registered { directory: None, files: self.main.clone() }];
        let list = self.common.join("worktrees");
        let entries = match std::fs::read_dir(&list) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(all),
            Err(error) => return Err(Error::file("read", &list)(error)),
        };
        for entry in entries {
            let directory = entry.map_err(Error::file("read", &list))?.path();
            // Each names the `.git` file of its worktree. Whatever says nothing of that kind is none.
            let Some(files) = listed_by(&directory) else { continue };
            let files = files.canonicalize().unwrap_or(files);
            all.push(Registered { directory: Some(directory), files });
        }
        Ok(all)
    }

    /// The one whose files are at a path.
    pub(super) fn registered_at(&self, files: &Path) -> Result<Option<Registered>, Error> {
        let mut all = self.registered()?.into_iter().filter(|one| one.files == files);
        Ok(all.next())
    }

    /// Where a branch is checked out, or on its way to be, as during a rebase.
    pub(super) fn checked_out(&self, branch: &str) -> Result<Option<PathBuf>, Error> {
        let reference = format!("refs/heads/{branch}");
        for one in self.registered()? {
            if self.branch_of(&one)?.as_deref() == Some(&reference)
                || is_underway(&self.state_of(&one), branch)
            {
                return Ok(Some(one.files));
            }
        }
        Ok(None)
    }

    /// The branch that the user has checked out; nothing where it is none.
    pub fn current_branch(&self) -> Option<String> {
        let own = self.registered_at(&self.root).ok().flatten()?;
        let name = self.branch_of(&own).ok().flatten()?;
        name.strip_prefix("refs/heads/").map(str::to_owned)
    }

    /// The commit that the user has checked out.
    pub fn current_commit(&self) -> Result<String, Error> {
        let own = self.registered_at(&self.root)?;
        let commit = own.map_or(Ok(None), |own| self.tip(&self.head_name(&own)))?;
        commit.ok_or(Error::NoCommit)
    }

    /// The branch a worktree is on; nothing where it is on none.
    pub(super) fn branch_of(&self, one: &Registered) -> Result<Option<String>, Error> {
        let head = self.head_name(one);
        let mut git = self.registry("symbolic-ref");
        match crate::git::command::output(git.args(["--quiet", &head]), "symbolic-ref") {
            Ok(said) => Ok(Some(String::from_utf8_lossy(&said).trim_end().to_owned())),
            Err(crate::git::Error::Refused { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What HEAD of a worktree is called everywhere else.
    pub(super) fn head_name(&self, one: &Registered) -> String {
        match one.directory.as_ref().and_then(|directory| directory.file_name()) {
            Some(name) => format!("worktrees/{}/HEAD", name.to_string_lossy()),
            None => "HEAD".to_owned(),
        }
    }

    fn state_of(&self, one: &Registered) -> PathBuf {
        one.directory.clone().unwrap_or_else(|| self.common.clone())
    }
}

/// A rebase or bisection leaves HEAD without a branch and comes back to it.
fn is_underway(state: &Path, branch: &str) -> bool {
    let names = ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"];
    names.iter().filter_map(|name| regular::read(&state.join(name)).ok()).any(|text| {
        let text = String::from_utf8_lossy(&text);
        let text = text.trim_end();
        text == branch || text.strip_prefix("refs/heads/") == Some(branch)
    })
}
