//! Why something could not be done with a repository.

use std::io;
use std::path::{Path, PathBuf};

use crate::git;

/// Why something could not be done with a repository.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{}` is not in a git repository", .path.display())]
    NotARepository {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// What waits beside a branch conflicts with it.
    #[error("`{beside}` and `{branch}` conflict in {}", named(.files))]
    Unmerged {
        branch: String,
        /// What was merged and waits to be taken in.
        beside: String,
        files: Vec<PathBuf>,
    },
    /// Where it is cannot be written down.
    #[error("the path `{}` is not UTF-8", .path.display())]
    NotText { path: PathBuf },
    #[error("`{}` is a bare repository", .path.display())]
    Bare { path: PathBuf },
    /// Its files are said to be where nothing is.
    #[error("the files of the repository are said to be in `{}`, and there is no such directory", .path.display())]
    NoFiles { path: PathBuf },
    /// Nothing can branch from it.
    #[error("the repository has no commit yet")]
    NoCommit,
    #[error("git does not know who you are")]
    NoIdentity,
    /// Another git is at work, or was killed.
    #[error("another git process is working in this repository: `{}` exists", .path.display())]
    IndexLocked { path: PathBuf },
    /// A partial clone that lacks files of the base.
    #[error("files of `{branch}` are not in this partial clone: {missing}")]
    MissingObjects { branch: String, missing: usize },
    #[error("there is no branch `{branch}`")]
    NoBranch { branch: String },
    /// A name for another branch.
    #[error("branch `{branch}` is another name of `{}`: a symbolic ref", short(.target))]
    Symbolic {
        branch: String,
        /// The ref that it stands for.
        target: String,
    },
    /// No such branch on the server.
    #[error("the server has no branch `{branch}`")]
    NotOnServer { branch: String },
    /// Git keeps branches like files: one cannot be inside another.
    #[error("branch `{present}` exists, so git cannot make `{branch}`")]
    InTheWay {
        /// The branch that is wanted.
        branch: String,
        present: String,
    },
    /// The same for a ref that is no branch.
    #[error("`{present}` exists, so git cannot make `{reference}`")]
    RefInTheWay {
        /// The ref that is wanted.
        reference: String,
        present: String,
    },
    /// Another git changes refs, or was killed.
    #[error("git cannot change `{reference}`: the lock file `{}` exists", .path.display())]
    RefLocked { reference: String, path: PathBuf },
    /// A server that gives no answer, or none to us.
    #[error("the server cannot be asked: {said}")]
    Unreachable { said: String },
    /// Not something git takes for a branch.
    #[error("`{branch}` is not a valid name of a branch")]
    InvalidBranch { branch: String },
    /// The private git directory would be where agents work.
    #[error("the directory for temporary files, `{}`, is inside the repository", .path.display())]
    TemporaryInside { path: PathBuf },
    /// Files that were to be copied into a worktree.
    #[error("{}", not_copied(.wrong))]
    NotCopied {
        /// Each as it was written, and what is wrong with it.
        wrong: Vec<(String, &'static str)>,
    },
    /// Attributes or settings want a file of a worktree in a form that it has not got.
    #[error("a file of the worktree cannot be committed: {said}")]
    NotTaken {
        /// What git said: it names the file.
        said: String,
        /// What is wrong with it.
        why: Form,
    },
    /// No directory can be made there.
    #[error("worktrees cannot be made in `{}`, which is not a directory", .path.display())]
    NotADirectory { path: PathBuf },
    /// The lock of an item is not ours any more.
    #[error("lock-lost: `{}` was removed or replaced while the item was worked on", .path.display())]
    LockLost { path: PathBuf },
    /// A ref is not where it was when it was looked at.
    #[error("`{reference}` moved meanwhile: {said}")]
    Moved { reference: String, said: String },
    #[error("cannot {action} `{}`: {source}", .path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Git(#[from] git::Error),
}

/// What is wrong with a file that git does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Its encoding, where attributes name one.
    Encoding,
    /// Its line ends, where they may not be changed.
    LineEnds,
}

impl Form {
    /// By what git says of it.
    fn told(said: &str) -> Option<Self> {
        const OF_ENCODING: [&str; 5] = [
            "failed to encode ",
            "BOM is ",
            "encoding '",
            "working-tree-encoding",
            "and back is not the same",
        ];
        if OF_ENCODING.iter().any(|word| said.contains(word)) {
            Some(Self::Encoding)
        } else {
            said.contains(" would be replaced by ").then_some(Self::LineEnds)
        }
    }

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

/// How long what is in the way stays there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// It may be gone the next time: a lock file, a full disk, a server that is away, a key that is locked.
    AWhile,
    /// Until a person has changed something.
    UntilMended,
    /// For good: what is asked for stands fast, and can never be done.
    ForGood,
}

fn not_copied(wrong: &[(String, &'static str)]) -> String {
    let said = wrong.iter().map(|(path, why)| format!("`{path}` cannot be copied into a worktree: {why}"));
    said.collect::<Vec<_>>().join("; ")
}

fn short(reference: &str) -> &str {
    reference.strip_prefix("refs/heads/").unwrap_or(reference)
}

/// The first of these files, and how many more there are.
fn named(files: &[PathBuf]) -> String {
    let first = files.first().map(|file| format!("`{}`", file.display())).unwrap_or_default();
    match files.len() {
        0 | 1 => first,
        more => format!("{first} and {} more", more - 1),
    }
}

impl Error {
    /// What the person can do about it.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::NotARepository { .. } => "run `git init` and commit something first".to_owned(),
            Self::Unmerged { branch, beside, .. } => {
                format!("take in what is merged, then ask again: `git switch {branch} && git merge {beside}`")
            }
            Self::NotText { .. } => {
                "give its directories names that are UTF-8: runs write down where they are".to_owned()
            }
            Self::Bare { .. } => {
                "work in a clone that has files: `git clone REPOSITORY DIRECTORY`".to_owned()
            }
            Self::NoFiles { .. } => {
                "put `core.worktree` right, or take it out: `git config --unset core.worktree`".to_owned()
            }
            Self::NoCommit => "commit something first: `git commit --allow-empty -m start`".to_owned(),
            Self::NoIdentity => "set both `git config --global user.name NAME` and \
                                 `git config --global user.email ADDRESS`"
                .to_owned(),
            Self::IndexLocked { .. } | Self::RefLocked { .. } => {
                "wait until it has ended; if no git is running, remove that file yourself".to_owned()
            }
            Self::MissingObjects { branch, .. } => {
                format!("fetch them: `git fetch --refetch --no-filter origin {branch}`")
            }
            Self::NoBranch { .. } => "name a branch that exists: `git branch --list`".to_owned(),
            Self::Symbolic { target, .. } => format!("name `{}` itself", short(target)),
            Self::NotOnServer { .. } => {
                "push it, or name a branch that is there: `git ls-remote --heads`".to_owned()
            }
            Self::InvalidBranch { .. } => "write another `branch_prefix` into `[work]`".to_owned(),
            // The branch for merges, whose name no setting changes.
            Self::InTheWay { branch, present } if branch.starts_with("saihai/merge/") => {
                format!("rename that branch: `git branch -m {present} NAME`")
            }
            Self::InTheWay { .. } => {
                "write another `branch_prefix` into `[work]`, or rename that branch".to_owned()
            }
            Self::RefInTheWay { present, .. } => {
                let moved = format!("git update-ref refs/kept/NAME {present}");
                format!("give it another name: `{moved} && git update-ref -d {present}`")
            }
            Self::TemporaryInside { .. } => "set TMPDIR to a directory elsewhere".to_owned(),
            Self::NotCopied { .. } => "correct `copy_files`".to_owned(),
            Self::NotTaken { why, .. } => why.remedy().to_owned(),
            Self::NotADirectory { .. } => {
                "write another `worktree_root` into `[work]`, or move away what is there".to_owned()
            }
            Self::Moved { .. } => "try again".to_owned(),
            Self::LockLost { .. } | Self::File { .. } | Self::Unreachable { .. } | Self::Git(_) => {
                return None;
            }
        })
    }

    /// How long it stays in the way of whoever tries the very same again.
    pub fn lasts(&self) -> Lasts {
        match self {
            // Why git itself refuses is not told apart: whatever it is, trying again costs no turn.
            Self::Git(git::Error::Missing(_) | git::Error::Refused { .. } | git::Error::Ended { .. })
            | Self::Moved { .. }
            | Self::IndexLocked { .. }
            | Self::Unreachable { .. }
            | Self::File { .. } => Lasts::AWhile,
            Self::Git(git::Error::Unreadable { .. } | git::Error::Ambiguous { .. } | git::Error::Bare(_))
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
            | Self::TemporaryInside { .. } => Lasts::UntilMended,
            Self::NotARepository { .. }
            | Self::NotText { .. }
            | Self::Bare { .. }
            | Self::NoFiles { .. }
            | Self::NoCommit
            | Self::InvalidBranch { .. }
            | Self::NotCopied { .. }
            | Self::LockLost { .. } => Lasts::ForGood,
        }
    }

    /// For what git said when it was given files. What it refuses for their form it refuses until somebody changes that.
    pub(super) fn taking(self) -> Self {
        if let Self::Git(git::Error::Refused { said, .. }) = &self
            && let Some(why) = Form::told(said)
        {
            let said = said.trim_start_matches("fatal: ").trim_start_matches("error: ").to_owned();
            return Self::NotTaken { said, why };
        }
        self
    }

    /// For what the operating system refused to do with a file.
    pub(super) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }
}
