//! Errors of operations on a repository.

use crate::git_program::{GitError, GitRefusalKind, RefusedFileForm};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    #[error("`{}` is not in a git repository", .path.display())]
    NotARepository {
        /// The path of the search.
        path: PathBuf,
    },
    /// The merge branch conflicts with its base.
    #[error("`{beside}` and `{branch}` conflict in {}", named(.files))]
    Unmerged {
        branch: String,
        /// The merge branch with the waiting merges.
        beside: String,
        files: Vec<PathBuf>,
    },
    /// The path is not valid UTF-8, so it cannot be recorded.
    #[error("the path `{}` is not UTF-8", .path.display())]
    NotText { path: PathBuf },
    #[error("`{}` is a bare repository", .path.display())]
    Bare { path: PathBuf },
    /// The configured directory of its files does not exist.
    #[error("the configured directory of the repository's files does not exist: `{}`", .path.display())]
    NoFiles { path: PathBuf },
    /// The repository has no commit to branch from.
    #[error("the repository has no commit yet")]
    NoCommit,
    #[error("git has no user name and email address")]
    NoIdentity,
    /// Another git process is running, or was killed.
    #[error("another git process is working in this repository: `{}` exists", .path.display())]
    IndexLocked { path: PathBuf },
    /// A partial clone lacks files of the base.
    #[error("files of `{branch}` are not in this partial clone: {missing}")]
    MissingObjects { branch: String, missing: usize },
    #[error("there is no branch `{branch}`")]
    NoBranch { branch: String },
    /// The branch is a symbolic ref.
    #[error("branch `{branch}` is another name of `{}`: a symbolic ref", short(.target))]
    Symbolic { branch: String, target: String },
    #[error("the server has no branch `{branch}`")]
    NotOnServer { branch: String },
    /// Git stores branches like files: a branch cannot be inside another.
    #[error("branch `{present}` exists, so git cannot create `{branch}`")]
    InTheWay { branch: String, present: String },
    /// The same for a ref that is not a branch.
    #[error("`{present}` exists, so git cannot create `{reference}`")]
    RefInTheWay { reference: String, present: String },
    /// Another git process changes refs, or was killed.
    #[error("git cannot change `{reference}`: the lock file `{}` exists", .path.display())]
    RefLocked { reference: String, path: PathBuf },
    /// The server does not answer, or refuses us.
    #[error("cannot query the server: {said}")]
    Unreachable { said: String },
    #[error("`{branch}` is not a valid name of a branch")]
    InvalidBranch { branch: String },
    /// The private git directory would be inside the agents' working area.
    #[error("the directory for temporary files, `{}`, is inside the repository", .path.display())]
    TemporaryInside { path: PathBuf },
    /// Files that could not be copied into a worktree.
    #[error("{}", not_copied(.wrong))]
    NotCopied {
        /// Each path as written, and its problem.
        wrong: Vec<(String, &'static str)>,
    },
    /// Attributes or settings require another form of a file.
    #[error("a file of the worktree cannot be committed: {said}")]
    NotTaken {
        /// The message of git, which names the file.
        said: String,
        why: RefusedFileForm,
    },
    /// A file is in place of the directory.
    #[error("cannot create worktrees in `{}`: it is not a directory", .path.display())]
    NotADirectory { path: PathBuf },
    #[error("lock-lost: `{}` was removed or replaced during the work on the item", .path.display())]
    LockLost { path: PathBuf },
    /// A ref has moved since it was read.
    #[error("`{reference}` moved meanwhile: {said}")]
    Moved { reference: String, said: String },
    #[error("cannot {action} `{}`: {source}", .path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl RefusedFileForm {
    fn remedy(self) -> &'static str {
        match self {
            Self::Encoding => {
                "write the file in the encoding that `working-tree-encoding` in `.gitattributes` names, or correct that line"
            }
            Self::LineEnds => {
                "give the file the line ends that git would, or let git change them: `git config core.safecrlf warn`"
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositoryErrorDuration {
    /// It may be gone at the next try: a lock file, a full disk, an unreachable server, a locked key.
    AWhile,
    /// A person must change something.
    UntilFixed,
    /// The request is fixed and can never succeed.
    ForGood,
}

fn not_copied(wrong: &[(String, &'static str)]) -> String {
    let said = wrong.iter().map(|(path, why)| format!("`{path}` cannot be copied into a worktree: {why}"));
    said.collect::<Vec<_>>().join("; ")
}

fn short(reference: &str) -> &str {
    reference.strip_prefix("refs/heads/").unwrap_or(reference)
}

/// Formats the first file and the number of the others.
fn named(files: &[PathBuf]) -> String {
    let first = files.first().map(|file| format!("`{}`", file.display())).unwrap_or_default();
    match files.len() {
        0 | 1 => first,
        more => format!("{first} and {} more", more - 1),
    }
}

impl RepositoryError {
    /// Returns advice for the user.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::NotARepository { .. } => "run `git init` and commit something first".to_owned(),
            Self::Unmerged { branch, beside, .. } => {
                format!(
                    "merge the waiting work, then run the command again: `git switch {branch} && git merge {beside}`"
                )
            }
            Self::NotText { .. } => {
                "rename its directories to valid UTF-8: a run records its path".to_owned()
            }
            Self::Bare { .. } => {
                "work in a clone that has files: `git clone REPOSITORY DIRECTORY`".to_owned()
            }
            Self::NoFiles { .. } => {
                "fix `core.worktree`, or remove it: `git config --unset core.worktree`".to_owned()
            }
            Self::NoCommit => "commit something first: `git commit --allow-empty -m start`".to_owned(),
            Self::NoIdentity => "set both `git config --global user.name NAME` and \
                                 `git config --global user.email ADDRESS`"
                .to_owned(),
            Self::IndexLocked { .. } | Self::RefLocked { .. } => {
                "wait until it ends; if no git is running, remove that file".to_owned()
            }
            Self::MissingObjects { branch, .. } => {
                format!("fetch them: `git fetch --refetch --no-filter origin {branch}`")
            }
            Self::NoBranch { .. } => "name a branch that exists: `git branch --list`".to_owned(),
            Self::Symbolic { target, .. } => format!("name `{}` itself", short(target)),
            Self::NotOnServer { .. } => {
                "push it, or name a branch that is there: `git ls-remote --heads`".to_owned()
            }
            Self::InvalidBranch { .. } => "set another `branch_prefix` in `[work]`".to_owned(),
            // No setting changes the name of a merge branch.
            Self::InTheWay { branch, present } if branch.starts_with("saihai/merge/") => {
                format!("rename that branch: `git branch -m {present} NAME`")
            }
            Self::InTheWay { .. } => {
                "set another `branch_prefix` in `[work]`, or rename that branch".to_owned()
            }
            Self::RefInTheWay { present, .. } => {
                let moved = format!("git update-ref refs/kept/NAME {present}");
                format!("give it another name: `{moved} && git update-ref -d {present}`")
            }
            Self::TemporaryInside { .. } => "set TMPDIR to a directory elsewhere".to_owned(),
            Self::NotCopied { .. } => "correct `copy_files`".to_owned(),
            Self::NotTaken { why, .. } => why.remedy().to_owned(),
            Self::NotADirectory { .. } => {
                "set another `worktree_root` in `[work]`, or move the existing file away".to_owned()
            }
            Self::Moved { .. } => "try again".to_owned(),
            Self::LockLost { .. } | Self::File { .. } | Self::Unreachable { .. } | Self::Git(_) => {
                return None;
            }
        })
    }

    /// Returns how long an identical retry would fail.
    pub fn lasts(&self) -> RepositoryErrorDuration {
        match self {
            // The reasons of git are not distinguished, because a retry costs no turn.
            Self::Git(
                GitError::Missing(_)
                | GitError::OutOfResources(_)
                | GitError::Refused { .. }
                | GitError::Ended { .. },
            )
            | Self::Moved { .. }
            | Self::IndexLocked { .. }
            | Self::Unreachable { .. }
            | Self::File { .. } => RepositoryErrorDuration::AWhile,
            Self::Git(GitError::Unreadable { .. } | GitError::Ambiguous { .. } | GitError::Bare(_))
            | Self::NoIdentity
            | Self::Unmerged { .. }
            | Self::MissingObjects { .. }
            | Self::NoBranch { .. }
            | Self::Symbolic { .. }
            | Self::NotOnServer { .. }
            | Self::InTheWay { .. }
            | Self::RefInTheWay { .. }
            | Self::RefLocked { .. }
            | Self::NotTaken { .. }
            | Self::NotADirectory { .. }
            | Self::TemporaryInside { .. } => RepositoryErrorDuration::UntilFixed,
            Self::NotARepository { .. }
            | Self::NotText { .. }
            | Self::Bare { .. }
            | Self::NoFiles { .. }
            | Self::NoCommit
            | Self::InvalidBranch { .. }
            | Self::NotCopied { .. }
            | Self::LockLost { .. } => RepositoryErrorDuration::ForGood,
        }
    }

    /// Wraps an error of git about the form of files. It lasts until a person changes the files.
    pub(crate) fn taking(self) -> Self {
        if let Self::Git(GitError::Refused { said, kind: GitRefusalKind::FileForm(why), .. }) = &self {
            let said = said.trim_start_matches("fatal: ").trim_start_matches("error: ").to_owned();
            return Self::NotTaken { said, why: *why };
        }
        self
    }

    /// Builds the closure for `map_err` of a file operation.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }
}
