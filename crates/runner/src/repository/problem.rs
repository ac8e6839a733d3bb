//! Why the work of an item cannot be delivered.

use std::path::PathBuf;

/// Why the work of an item cannot be delivered. Everything stays where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The worktree is not on its branch any more.
    #[error("the worktree is on {} instead of its own", .on.as_deref().map_or("no branch".to_owned(), |on| format!("branch `{on}`")))]
    BranchChanged {
        /// Where it is instead.
        on: Option<String>,
    },
    /// The branch that was handed over is not there any more.
    #[error("branch `{branch}` is gone")]
    BranchGone {
        /// The branch.
        branch: String,
    },
    /// The branch does not come from its base any more.
    #[error("the branch does not descend from {base} any more")]
    HistoryRewritten {
        /// The commit it began at.
        base: String,
    },
    /// Git would only store a pointer to it.
    #[error("another repository is among the files: {}", shown(.paths))]
    EmbeddedRepository {
        /// Where.
        paths: Vec<PathBuf>,
    },
    /// The same, where `.gitmodules` calls it a submodule: that it names an address says nothing of who has the files.
    #[error(
        "another repository is among the files: {}; a submodule is added by a person: merge a base that has it into the branch, \
         or take it out of the branch, then `saihai work --retry`",
        shown(.paths)
    )]
    NewSubmodule {
        /// Where.
        paths: Vec<PathBuf>,
    },
    /// Its own `.git` is another repository, of which nothing is on the branch.
    #[error(
        "`.git` of the worktree is another repository now, and what was committed there is nowhere else; keep it and put \
         the worktree right: `mv {}/.git DIR && git worktree repair`, then `saihai work --retry`",
        .worktree.display()
    )]
    GitReplaced {
        /// Where the worktree is.
        worktree: PathBuf,
    },
    /// More than a forge takes.
    #[error("`{path}` has {size} bytes, more than 50 MB")]
    LargeFile {
        /// Which file.
        path: String,
        /// How large it is.
        size: u64,
    },
    /// Something secret would leave the machine.
    #[error("a secret is in {found}")]
    Secret {
        /// Where it was found.
        found: String,
    },
}

impl Problem {
    /// The reason in one word, for tables and programs.
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
