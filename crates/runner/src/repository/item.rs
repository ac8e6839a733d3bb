//! An issue, as far as a repository is concerned.

use std::path::{Path, PathBuf};

/// Where the number of an issue comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A file of a folder.
    Folder,
    /// A forge.
    Forge,
}

/// An issue, as far as a repository is concerned. All names derive from its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its number.
    pub number: u32,
    /// Where the number comes from.
    pub source: Source,
    /// What its branch is called before `issue-N`.
    pub branch_prefix: String,
}

impl Item {
    /// `issue-7`
    pub fn name(&self) -> String {
        format!("issue-{}", self.number)
    }

    /// `feature/issue-7`
    pub fn branch(&self) -> String {
        format!("{}{}", self.branch_prefix, self.name())
    }

    /// Where its files are.
    pub fn worktree(&self, root: &Path) -> PathBuf {
        root.join(self.name())
    }

    pub(super) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch())
    }

    /// The last lines of every commit of ours.
    pub(super) fn trailers(&self, run: &str) -> String {
        format!("Saihai-Issue: {}\nSaihai-Run: {run}\n", self.number)
    }

    /// What a commit of ours says.
    pub fn message(&self, title: &str, run: &str) -> String {
        let (number, trailers) = (self.number, self.trailers(run));
        match self.source {
            Source::Folder => format!("{title} (issue-{number})\n\n{trailers}"),
            Source::Forge => format!("{title} (#{number})\n\nCloses #{number}\n\n{trailers}"),
        }
    }

    /// Whose a commit is, by what it says.
    pub(super) fn made_for(&self, message: &str) -> Option<Source> {
        let last = message.trim_end().rsplit("\n\n").next()?;
        last.lines().any(|line| line == format!("Saihai-Issue: {}", self.number)).then(|| {
            let closes = format!("Closes #{}", self.number);
            if message.lines().any(|line| line == closes) { Source::Forge } else { Source::Folder }
        })
    }
}
