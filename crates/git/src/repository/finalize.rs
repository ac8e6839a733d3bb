//! Commits the work of an agent, or explains why it cannot be delivered.

use std::path::PathBuf;

use super::refs::Seen;
use super::snapshot::Files;
use super::{Base, Error, Item, ItemLock, Keep, Repository, Rescued, Worktree, inspect, lists};
use crate::git::command::{Seat, judge, run};
use crate::repository::private::Private;

#[derive(Debug, Clone, Copy)]
pub struct Finalizing<'a> {
    pub worktree: &'a Worktree,
    pub base: &'a Base,
    /// The title of the issue, on one line.
    pub title: &'a str,
    pub run: &'a str,
    pub copied: &'a [String],
    /// Values that must not leave the machine.
    pub secrets: &'a [Vec<u8>],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finalized {
    Ready(Ready),
    NoChanges,
    /// Special files replace regular files, and git cannot store them. A person must decide.
    Special {
        paths: Vec<PathBuf>,
    },
    /// Git refuses to add files, and the delivery would lack them. A person must decide.
    Untaken {
        paths: Vec<PathBuf>,
    },
    Failed {
        problem: Problem,
        /// The ref with the saved state, if needed.
        rescued: Option<Rescued>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The tip of the branch.
    pub commit: String,
    /// The tree of the commit. An approval is bound to it.
    pub tree: String,
    /// The files that differ from the base.
    pub files: Vec<PathBuf>,
}

impl Repository {
    /// Commits the work of an agent, if it may be delivered. A repeated call finds the existing commit.
    pub fn finalize(&self, finalizing: Finalizing<'_>, lock: &ItemLock) -> Result<Finalized, Error> {
        let Finalizing { worktree, base, .. } = finalizing;
        let item = &worktree.item;
        let private = Private::make(self, None)?;
        let on = self.branch_of(&worktree.registered)?;
        let tip = self.tip(&item.reference())?;
        let is_on_its_own = on.as_deref() == Some(&item.reference());
        let Some(tip) = tip.filter(|_| is_on_its_own) else {
            if is_on_its_own {
                return self.fail(finalizing, Problem::BranchGone { branch: item.branch() });
            }
            let on = on.map(|on| on.strip_prefix("refs/heads/").unwrap_or(&on).to_owned());
            return self.fail(finalizing, Problem::BranchChanged { on });
        };
        if !self.contains(&private, &tip, &base.commit)? {
            return self.fail(finalizing, Problem::HistoryRewritten { base: base.commit.clone() });
        }
        if worktree.foreign_git().is_some() {
            let problem = Problem::GitReplaced { worktree: worktree.path().to_owned() };
            return Ok(Finalized::Failed { problem, rescued: None });
        }
        let snapshot = self.snapshot(worktree, &tip, finalizing.copied, Files::Visible)?;
        if !snapshot.embedded.is_empty() {
            let problem = Problem::EmbeddedRepository { paths: snapshot.embedded };
            return Ok(Finalized::Failed { problem, rescued: None });
        }
        if !snapshot.special.is_empty() {
            return Ok(Finalized::Special { paths: snapshot.special });
        }
        if !snapshot.untaken.is_empty() {
            return Ok(Finalized::Untaken { paths: snapshot.untaken });
        }
        let is_clean = snapshot.tree == self.tree(&private, &tip)?;
        if is_clean && tip == base.commit {
            return Ok(Finalized::NoChanges);
        }
        let outgoing = inspect::Outgoing { base, tip: &tip, tree: &snapshot.tree };
        if let Some(problem) = self.inspect(&private, outgoing, finalizing.copied, finalizing.secrets)? {
            return Ok(Finalized::Failed { problem, rescued: None });
        }
        let commit = if is_clean {
            tip
        } else {
            let message = item.message(finalizing.title, finalizing.run);
            let commit = self.commit(&private, &snapshot.tree, &[&tip], &message)?;
            lock.check()?;
            self.move_ref(&item.reference(), &commit, Seen::At(&tip))?;
            match self.install_index(worktree, &snapshot.private) {
                // An agent was killed during a git command of its own. Only the output of `git status` there
                // is wrong.
                Ok(()) | Err(Error::IndexLocked { .. }) => {}
                Err(error) => return Err(error),
            }
            commit
        };
        let files = self.files_between(&private, &base.commit, &commit)?;
        Ok(Finalized::Ready(Ready { commit, tree: snapshot.tree, files }))
    }

    /// Returns the state of a branch that was handed over before. It commits nothing. It searches for secrets
    /// again, because commits may have been added since.
    pub fn finalized(
        &self,
        item: &Item,
        base: &Base,
        copied: &[String],
        secrets: &[Vec<u8>],
    ) -> Result<Finalized, Error> {
        let private = Private::make(self, None)?;
        let failed = |problem| Ok(Finalized::Failed { problem, rescued: None });
        let Some(tip) = self.tip(&item.reference())? else {
            return failed(Problem::BranchGone { branch: item.branch() });
        };
        if !self.contains(&private, &tip, &base.commit)? {
            return failed(Problem::HistoryRewritten { base: base.commit.clone() });
        }
        if tip == base.commit {
            return Ok(Finalized::NoChanges);
        }
        let tree = self.tree(&private, &tip)?;
        let outgoing = inspect::Outgoing { base, tip: &tip, tree: &tree };
        if let Some(problem) = self.inspect(&private, outgoing, copied, secrets)? {
            return failed(problem);
        }
        let files = self.files_between(&private, &base.commit, &tip)?;
        Ok(Finalized::Ready(Ready { commit: tip, tree, files }))
    }

    /// Returns true if another repository is among the files of a worktree, on its branch, or in place of its
    /// `.git`.
    pub fn embeds(&self, worktree: &Worktree, base: &Base, copied: &[String]) -> Result<bool, Error> {
        if worktree.foreign_git().is_some() {
            return Ok(true);
        }
        let Some(tip) = self.tip(&worktree.item.reference())? else { return Ok(false) };
        let snapshot = self.snapshot(worktree, &tip, copied, Files::Visible)?;
        let outgoing = inspect::Outgoing { base, tip: &tip, tree: &snapshot.tree };
        Ok(!snapshot.embedded.is_empty() || inspect::new_pointers(&snapshot.private, outgoing)?.is_some())
    }

    /// Returns the current tree of a branch, to compare with the approved one.
    pub fn tree_of(&self, branch: &str) -> Result<Option<String>, Error> {
        match self.tip(&format!("refs/heads/{branch}"))? {
            Some(tip) => self.tree(&Private::make(self, None)?, &tip).map(Some),
            None => Ok(None),
        }
    }

    fn fail(&self, finalizing: Finalizing<'_>, problem: Problem) -> Result<Finalized, Error> {
        let Finalizing { worktree, base, copied, .. } = finalizing;
        let rescued = Some(self.rescue(worktree, &base.commit, copied, Keep::Everything)?);
        Ok(Finalized::Failed { problem, rescued })
    }

    pub(super) fn tree(&self, private: &Private<'_>, commit: &str) -> Result<String, Error> {
        private.line("rev-parse", [format!("{commit}^{{tree}}")])
    }

    /// Creates a commit as the user, signed if they sign commits.
    pub(super) fn commit(
        &self,
        private: &Private<'_>,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Result<String, Error> {
        let mut arguments = vec![tree];
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        if self.frozen.signs {
            arguments.push("-S");
        }
        let mut git = private.command("commit-tree");
        git.args(arguments);
        // Signing may have to ask for a passphrase.
        let seat = if self.frozen.signs { Seat::AtTerminal } else { Seat::Apart };
        let commit = judge(run(&mut git, "commit-tree", Some(message.as_bytes()), seat)?, "commit-tree")?;
        Ok(String::from_utf8_lossy(&commit).trim_end().to_owned())
    }

    fn files_between(&self, private: &Private<'_>, old: &str, new: &str) -> Result<Vec<PathBuf>, Error> {
        let flags = ["-r", "-z", "--name-only", "--no-renames", "--end-of-options", old, new];
        let said = private.run("diff-tree", flags)?;
        Ok(lists::split(&said).map(|path| lists::path(path).to_owned()).collect())
    }
}

/// Reason why work cannot be delivered. Everything stays in place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The worktree is on another branch.
    #[error("the worktree is on {} instead of its own", .on.as_deref().map_or("no branch".to_owned(), |on| format!("branch `{on}`")))]
    BranchChanged { on: Option<String> },
    /// The branch that was handed over no longer exists.
    #[error("branch `{branch}` is gone")]
    BranchGone { branch: String },
    /// The branch no longer descends from its base.
    #[error("the branch does not descend from {base} any more")]
    HistoryRewritten {
        /// The commit it started at.
        base: String,
    },
    /// Git would only store a pointer to it.
    #[error("another repository is among the files: {}", shown(.paths))]
    EmbeddedRepository { paths: Vec<PathBuf> },
    /// The same with an entry in `.gitmodules`. The address there does not prove that a server has the files.
    #[error(
        "another repository is among the files: {}; a submodule is added by a person: merge a base that has it into the branch, \
         or take it out of the branch, then `saihai work --retry`",
        shown(.paths)
    )]
    NewSubmodule { paths: Vec<PathBuf> },
    /// The `.git` of the worktree is another repository, and the branch has none of its commits.
    #[error(
        "`.git` of the worktree is another repository now, and what was committed there is nowhere else; keep it and put \
         the worktree right: `mv {}/.git DIR && git worktree repair`, then `saihai work --retry`",
        .worktree.display()
    )]
    GitReplaced { worktree: PathBuf },
    /// The file exceeds the limit.
    #[error("`{path}` has {size} bytes, more than 50 MB")]
    LargeFile { path: String, size: u64 },
    /// A secret would leave the machine.
    #[error("a secret is in {found}")]
    Secret { found: String },
}

impl Problem {
    /// Returns the reason as one word, for tables and programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::BranchChanged { .. } | Self::BranchGone { .. } => "branch-changed",
            Self::HistoryRewritten { .. } => "history-rewritten",
            Self::EmbeddedRepository { .. } | Self::NewSubmodule { .. } | Self::GitReplaced { .. } => {
                "embedded-repository"
            }
            Self::LargeFile { .. } => "large-file",
            Self::Secret { .. } => "secret",
        }
    }
}

fn shown(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    paths.join(", ")
}
