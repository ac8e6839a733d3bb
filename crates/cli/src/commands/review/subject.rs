//! What is to be reviewed, from what was typed.

use saihai::{Base, Git, GitError, SubjectError, Untracked, changes, whole_files};
use saihai_config::Places;
use saihai_model::Subject;

use crate::error::{Error, sentence};

/// What was typed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// A revision, or files.
    pub(super) what: &'a [String],
    /// The revision that was named as one.
    pub(super) base: Option<&'a str>,
    /// The one that the settings name.
    pub(super) usual: Option<&'a str>,
    /// Whether files count that git does not track.
    pub(super) no_untracked: bool,
}

/// The remote whose branch is compared with where nothing else is said.
const REMOTE: &str = "origin";

impl Wanted<'_> {
    /// The subject itself.
    pub(super) fn take(&self, places: &Places) -> Result<Subject, Error> {
        let base = match self.what {
            [] => self.base.map(str::to_owned),
            [one] => match meant(one, places)? {
                Meant::Revision => Some(one.clone()),
                Meant::File => return self.files(places),
            },
            _ => return self.files(places),
        };
        let base = match (base, self.usual) {
            (Some(named), _) => Base::Named(named),
            (None, Some(usual)) => Base::Usual(usual.to_owned()),
            (None, None) => Base::Found { remote: REMOTE.to_owned() },
        };
        let untracked = if self.no_untracked { Untracked::LeftOut } else { Untracked::Counted };
        changes(&places.root, &base, untracked).map_err(refusal)
    }

    fn files(&self, places: &Places) -> Result<Subject, Error> {
        whole_files(&places.root, &places.current, self.what).map_err(refusal)
    }
}

/// The branch that is checked out, where there is one.
pub(super) fn branch(places: &Places) -> Option<String> {
    Git::open(&places.root).ok().flatten()?.branch().ok().flatten()
}

enum Meant {
    Revision,
    File,
}

/// Whether one word is a revision or a file; both and neither are refused.
fn meant(word: &str, places: &Places) -> Result<Meant, Error> {
    let git = Git::open(&places.root).map_err(|error| refusal(SubjectError::Git(error)))?;
    let commit = git.map(|git| git.commit(word)).transpose();
    let commit = commit.map_err(|error| refusal(SubjectError::Git(error)))?.flatten();
    let is_file = std::fs::symlink_metadata(places.current.join(word)).is_ok();
    match (commit.is_some(), is_file) {
        (true, true) => {
            let error = Error::usage(format!("`{word}` is a revision and a file"));
            Err(error
                .hint(format!("`saihai review --base {word}` reviews the changes since that revision"))
                .hint(format!("`saihai review ./{word}` reviews the file or directory")))
        }
        (true, false) => Ok(Meant::Revision),
        (false, true) => Ok(Meant::File),
        (false, false) if word.contains(['*', '?', '[', '{']) => Ok(Meant::File),
        (false, false) => {
            let error = Error::usage(format!("`{word}` is neither a revision nor a file here"));
            Err(if word.bytes().all(|byte| byte.is_ascii_digit()) {
                error.hint(format!("a pull request is reviewed by `saihai review --pr {word}`"))
            } else {
                error.hint("`git fetch` brings revisions that only the remote has")
            })
        }
    }
}

/// Where in the repository lies what decides about a review, as far as links lead there.
pub(super) fn led_to(places: &Places) -> Vec<String> {
    const DECISIVE: [&str; 4] =
        [".hachimoku/agents", ".saihai/agents", ".saihai/config.toml", ".saihai/review-ignore.toml"];
    let Ok(root) = places.root.canonicalize() else { return Vec::new() };
    let led = DECISIVE.iter().filter_map(|own| {
        let real = places.root.join(own).canonicalize().ok()?;
        let inside = real.strip_prefix(&root).ok()?.to_str()?.to_owned();
        (inside != *own).then_some(inside)
    });
    led.collect()
}

/// What to do about it.
pub(super) fn refusal(error: SubjectError) -> Error {
    let message = sentence(&error);
    match error {
        SubjectError::Git(GitError::Missing(_) | GitError::Ended { .. }) => Error::unavailable(message),
        SubjectError::NoRepository(_) => Error::usage(message).hint("name files to review them whole"),
        SubjectError::NoRevision(_) => {
            Error::usage(message).hint("`git fetch` brings revisions of the remote")
        }
        SubjectError::Link { .. } => {
            Error::usage(message).hint("name a revision in which it is a file or a directory")
        }
        SubjectError::NoBase => Error::usage(message).hint("say it: `saihai review --base REVISION`"),
        SubjectError::NoMergeBase(_) => {
            Error::usage(message).hint("a shallow clone lacks it: `git fetch --unshallow` brings the history")
        }
        SubjectError::Git(GitError::Refused { .. } | GitError::Unreadable { .. })
        | SubjectError::Missing(_)
        | SubjectError::Outside(_)
        | SubjectError::Io { .. }
        | SubjectError::BadPattern { .. } => Error::usage(message),
    }
}
