//! What a branch and a worktree are made for.

use std::path::{Path, PathBuf};

/// Where the number of an issue comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A file of a folder.
    Folder,
    /// A forge.
    Forge,
}

/// What a branch and a worktree are made for. All names derive from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// An issue.
    Issue {
        /// Its number.
        number: u32,
        /// Where the number comes from.
        source: Source,
        /// What its branch is called before `issue-N`.
        branch_prefix: String,
    },
    /// A run that is about no issue (K-23).
    Run {
        /// Its id.
        id: String,
    },
}

impl Item {
    /// `issue-7`, or the id of the run.
    pub fn name(&self) -> String {
        match self {
            Self::Issue { number, .. } => format!("issue-{number}"),
            Self::Run { id } => id.clone(),
        }
    }

    /// `feature/issue-7`, `saihai/20260301-120000-fix-login`
    pub fn branch(&self) -> String {
        match self {
            Self::Issue { branch_prefix, .. } => format!("{branch_prefix}{}", self.name()),
            Self::Run { id } => format!("saihai/{id}"),
        }
    }

    /// Where its files are.
    pub fn worktree(&self, root: &Path) -> PathBuf {
        root.join(self.name())
    }

    pub(super) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch())
    }

    /// The line of a commit that says what it was made for.
    pub(super) fn trailer(&self) -> String {
        match self {
            Self::Issue { number, .. } => format!("Saihai-Issue: {number}"),
            Self::Run { id } => format!("Saihai-Run: {id}"),
        }
    }

    /// The last lines of every commit of ours.
    pub(super) fn trailers(&self, run: &str) -> String {
        match self {
            Self::Issue { .. } => format!("{}\nSaihai-Run: {run}\n", self.trailer()),
            Self::Run { .. } => format!("{}\n", self.trailer()),
        }
    }

    /// What a commit of ours says.
    pub fn message(&self, title: &str, run: &str) -> String {
        let trailers = self.trailers(run);
        match self {
            Self::Issue { number, source: Source::Folder, .. } => {
                format!("{title} (issue-{number})\n\n{trailers}")
            }
            Self::Issue { number, source: Source::Forge, .. } => {
                format!("{title} (#{number})\n\nCloses #{number}\n\n{trailers}")
            }
            Self::Run { .. } => format!("{title}\n\n{trailers}"),
        }
    }

    /// Where its number comes from, if it has one.
    pub(super) fn source(&self) -> Option<Source> {
        match self {
            Self::Issue { source, .. } => Some(*source),
            Self::Run { .. } => None,
        }
    }

    /// Whose a commit is, by what it says.
    pub(super) fn made_for(&self, message: &str) -> Option<Source> {
        let Self::Issue { number, .. } = self else { return None };
        let last = message.trim_end().rsplit("\n\n").next()?;
        last.lines().any(|line| line == format!("Saihai-Issue: {number}")).then(|| {
            let closes = format!("Closes #{number}");
            if message.lines().any(|line| line == closes) { Source::Forge } else { Source::Folder }
        })
    }
}
