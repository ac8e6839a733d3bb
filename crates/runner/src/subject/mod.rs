//! The subject of a review, read from the project before the review starts: changes since a revision, or
//! whole files.

mod changes;
mod files;
mod frozen;
mod revision;
mod text;

use std::io;
use std::path::PathBuf;

pub(crate) use changes::changes_since;
pub use changes::{Base, Untracked, changes, parted_from, proposed};
pub use files::whole_files;
pub(crate) use frozen::{FrozenSubject, whole};
pub use frozen::{SUBJECT, frozen};
pub use revision::RevisionSource;

use crate::git;

/// Reason for a missing subject.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error("`{}` is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("the revision `{0}` does not exist here")]
    NoRevision(String),
    /// A file that decides about a review is not part of the commit.
    #[error("`{path}` is {what} in `{revision}`: what it leads to is not read from there")]
    Elsewhere {
        what: &'static str,
        revision: String,
        /// The link or the submodule.
        path: String,
    },
    /// No base was named or found.
    #[error("nothing says what to compare with: there is no remote branch, no `main` and no `master`")]
    NoBase,
    /// Two commits have no common history.
    #[error("`{0}` and the current commit have no common history here")]
    NoMergeBase(String),
    #[error("{} not exist", missing(.0))]
    Missing(Vec<String>),
    /// A special file replaces a tracked file.
    #[error("`{}` is a pipe, a socket or a device, and git knows a file there", .0.display())]
    NoFile(PathBuf),
    /// A file outside the project.
    #[error("`{0}` lies outside the project")]
    Outside(String),
    /// An embedded repository, which is not reviewed.
    #[error("`{0}` is another repository")]
    AnotherRepository(String),
    #[error("cannot read `{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`{pattern}` is no pattern of files: {why}")]
    BadPattern { pattern: String, why: String },
}

fn missing(files: &[String]) -> String {
    let quoted: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
    let verb = if files.len() == 1 { "does" } else { "do" };
    format!("{} {verb}", quoted.join(", "))
}

#[cfg(test)]
mod tests;
