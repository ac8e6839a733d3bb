//! Work items: the purpose of a branch and a worktree, and the base commit they start from.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use saihai_model::{IssueNumber, Moment};
use serde::{Deserialize, Serialize};

use crate::Repository;
use crate::error::RepositoryError;
use crate::git_program::{GitEnvironment, GitError, output};
use crate::git_reader::may_have_repository;
use crate::locks::{ItemLock, ItemLockAttempt};
use crate::private_git::PrivateGit;
use crate::repository::discover;

/// Source of an issue number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkItemSource {
    /// A file in a folder.
    Folder,
    Forge,
}

/// The purpose of a branch and a worktree. All names derive from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkItem {
    Issue {
        number: u32,
        source: WorkItemSource,
        /// The part of the branch name before `issue-N`.
        branch_prefix: String,
    },
    /// A run without an issue (K-23).
    Run { id: String },
}

impl WorkItem {
    /// Returns `issue-7`, or the id of the run.
    pub fn name(&self) -> String {
        match self {
            Self::Issue { number, .. } => format!("issue-{number}"),
            Self::Run { id } => id.clone(),
        }
    }

    pub fn branch(&self) -> String {
        match self {
            Self::Issue { branch_prefix, .. } => format!("{branch_prefix}{}", self.name()),
            Self::Run { id } => format!("saihai/{id}"),
        }
    }

    pub fn worktree(&self, root: &Path) -> PathBuf {
        root.join(self.name())
    }

    pub(crate) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch())
    }

    /// Returns the commit trailer that names the item.
    pub(crate) fn trailer(&self) -> String {
        match self {
            Self::Issue { number, .. } => format!("Saihai-Issue: {number}"),
            Self::Run { id } => format!("Saihai-Run: {id}"),
        }
    }

    /// Returns the last lines of every commit of ours.
    pub(crate) fn trailers(&self, run: &str) -> String {
        match self {
            Self::Issue { .. } => format!("{}\nSaihai-Run: {run}\n", self.trailer()),
            Self::Run { .. } => format!("{}\n", self.trailer()),
        }
    }

    /// Returns the message of a commit.
    pub fn message(&self, title: &str, run: &str) -> String {
        let trailers = self.trailers(run);
        match self {
            Self::Issue { number, source: WorkItemSource::Folder, .. } => {
                format!("{title} (issue-{number})\n\n{trailers}")
            }
            Self::Issue { number, source: WorkItemSource::Forge, .. } => {
                format!("{title} (#{number})\n\nCloses #{number}\n\n{trailers}")
            }
            Self::Run { .. } => format!("{title}\n\n{trailers}"),
        }
    }

    pub(crate) fn source(&self) -> Option<WorkItemSource> {
        match self {
            Self::Issue { source, .. } => Some(*source),
            Self::Run { .. } => None,
        }
    }

    /// Returns the source of the issue that a commit message names, if it is this item.
    pub(crate) fn made_for(&self, message: &str) -> Option<WorkItemSource> {
        let Self::Issue { number, .. } = self else { return None };
        let last = message.trim_end().rsplit("\n\n").next()?;
        last.lines().any(|line| line == format!("Saihai-Issue: {number}")).then(|| {
            let closes = format!("Closes #{number}");
            if message.lines().any(|line| line == closes) {
                WorkItemSource::Forge
            } else {
                WorkItemSource::Folder
            }
        })
    }
}

/// A checkout on the branch of an issue. Work there counts as work on the issue.
#[derive(Debug, PartialEq, Eq)]
pub struct CheckedOutIssue {
    number: IssueNumber,
    common: PathBuf,
}

impl CheckedOutIssue {
    /// Returns the issue whose branch is checked out at `root`, or `None` without a readable repository.
    pub fn at(
        root: &Path,
        environment: &GitEnvironment,
        branch_prefix: &str,
    ) -> Result<Option<Self>, RepositoryError> {
        if !may_have_repository(root) {
            return Ok(None);
        }
        let wanted = ["--symbolic-full-name", "HEAD", "--path-format=absolute", "--git-common-dir"];
        let Ok(said) = discover(root, environment, &wanted) else { return Ok(None) };
        // Two lines. The second is a path, which may contain any bytes.
        let mut lines = said.as_bytes().splitn(2, |byte| *byte == b'\n');
        let (Some(head), Some(common)) = (lines.next(), lines.next()) else { return Ok(None) };
        let number = str::from_utf8(head)
            .ok()
            .and_then(|head| head.strip_prefix("refs/heads/")?.strip_prefix(branch_prefix))
            .and_then(|name| IssueNumber::parse(name.strip_prefix("issue-")?));
        Ok(number.map(|number| Self { number, common: PathBuf::from(OsStr::from_bytes(common)) }))
    }

    pub fn number(&self) -> IssueNumber {
        self.number
    }

    pub fn take(&self, run: &str, now: Moment) -> Result<ItemLockAttempt, RepositoryError> {
        ItemLock::take_named(&self.common, &self.number.slug(), run, now)
    }
}

/// A branch and its commit at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseCommit {
    pub branch: String,
    pub commit: String,
}

impl BaseCommit {
    /// Returns the refs that hold the base: its branch, and the merge branch with merges that wait for it.
    pub fn holders(&self) -> [String; 2] {
        [format!("refs/heads/{}", self.branch), format!("refs/heads/saihai/merge/{}", self.branch)]
    }
}

impl Repository {
    /// Returns the current base of an item. All its objects must be here, because nothing is fetched later.
    pub fn base(&self, branch: &str) -> Result<BaseCommit, RepositoryError> {
        let commit = self.tip(&format!("refs/heads/{branch}"))?;
        let commit = commit.ok_or_else(|| RepositoryError::NoBranch { branch: branch.to_owned() })?;
        self.refuse_symbolic(branch)?;
        self.insist_on_objects(branch, &commit)?;
        Ok(BaseCommit { branch: branch.to_owned(), commit })
    }

    /// Refuses a branch that is a symbolic ref. Moving it would turn it into a branch of its own.
    pub(crate) fn refuse_symbolic(&self, branch: &str) -> Result<(), RepositoryError> {
        let mut git = self.registry("symbolic-ref");
        match output(git.args(["--quiet", &format!("refs/heads/{branch}")]), "symbolic-ref") {
            Ok(said) => {
                let target = String::from_utf8_lossy(&said).trim_end().to_owned();
                Err(RepositoryError::Symbolic { branch: branch.to_owned(), target })
            }
            Err(GitError::Refused { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks that a partial clone has all objects of a commit.
    pub(crate) fn insist_on_objects(&self, branch: &str, commit: &str) -> Result<(), RepositoryError> {
        if !self.frozen.partial {
            return Ok(());
        }
        let private = PrivateGit::make(self, None)?;
        let said = private.run("rev-list", ["--objects", "--no-walk", "--missing=print", commit])?;
        let missing = said.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"?")).count();
        if missing > 0 {
            return Err(RepositoryError::MissingObjects { branch: branch.to_owned(), missing });
        }
        Ok(())
    }

    /// Checks that git can create the branch of an item: the name is valid and no other ref is in the way.
    pub fn check_branch(&self, item: &WorkItem) -> Result<(), RepositoryError> {
        let (branch, reference) = (item.branch(), item.reference());
        let named = output(self.registry("check-ref-format").arg(&reference), "check-ref-format");
        if named.is_err() || branch.starts_with('-') {
            return Err(RepositoryError::InvalidBranch { branch });
        }
        self.check_room(item)
    }

    /// Returns the merge base of a branch that may exist already. A branch without a common commit keeps
    /// `base`, and a later check handles it.
    pub fn forked(&self, base: BaseCommit, branch: &str) -> Result<BaseCommit, RepositoryError> {
        let Some(tip) = self.tip(&format!("refs/heads/{branch}"))? else { return Ok(base) };
        let private = PrivateGit::make(self, None)?;
        match private.line("merge-base", [&base.commit, &tip]) {
            Ok(commit) => Ok(BaseCommit { commit, ..base }),
            Err(RepositoryError::Git(GitError::Refused { .. })) => Ok(base),
            Err(error) => Err(error),
        }
    }

    /// Returns true if `later` contains `earlier`. Both must be here.
    pub fn has_taken_in(&self, later: &str, earlier: &str) -> Result<bool, RepositoryError> {
        self.contains(&PrivateGit::make(self, None)?, later, earlier)
    }

    /// Returns true if `earlier` equals `later` or is an ancestor of it.
    pub(crate) fn contains(
        &self,
        private: &PrivateGit<'_>,
        later: &str,
        earlier: &str,
    ) -> Result<bool, RepositoryError> {
        private.holds("merge-base", ["--is-ancestor", earlier, later])
    }
}

/// Returns the parent names of a branch: `a` and `a/b` for `a/b/c`.
pub(crate) fn above(branch: &str) -> impl Iterator<Item = &str> {
    branch.match_indices('/').map(|(end, _)| &branch[..end])
}
