//! What a review is about, taken from the project before it begins: changes since some revision, or whole files.

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

/// Why there is no subject.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Git did not do what was asked.
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error("`{}` is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    /// A revision does not exist.
    #[error("the revision `{0}` does not exist here")]
    NoRevision(String),
    /// What decides about a review is not in the commit.
    #[error("`{path}` is {what} in `{revision}`: what it leads to is not read from there")]
    Elsewhere {
        what: &'static str,
        revision: String,
        /// The link, or the submodule.
        path: String,
    },
    /// Nothing says what to compare with.
    #[error("nothing says what to compare with: there is no remote branch, no `main` and no `master`")]
    NoBase,
    /// Two commits have no common history.
    #[error("`{0}` and the current commit have no common history here")]
    NoMergeBase(String),
    /// Files that are not there.
    #[error("{} not exist", missing(.0))]
    Missing(Vec<String>),
    /// Something else in the place of a file that git tracks.
    #[error("`{}` is a pipe, a socket or a device, and git knows a file there", .0.display())]
    NoFile(PathBuf),
    /// A file outside the project.
    #[error("`{0}` lies outside the project")]
    Outside(String),
    /// Another repository, which is not looked into.
    #[error("`{0}` is another repository")]
    AnotherRepository(String),
    /// A file that cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// A pattern that is none.
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
