//! The subject of a review, resolved from the arguments.

use std::path::Path;

use saihai_config::{Diagnostics, PYPROJECT, ProjectPaths, Settings, names_hachimoku, plain};
use saihai_git::{Git, GitError};
use saihai_model::Subject;
use saihai_review::RevisionSource;
use saihai_review::subject::{
    CommittedChange, ReviewBase, SubjectError, UntrackedFiles, changes, changes_of_commit, changes_of_range,
    parted_from, whole_files,
};

use crate::error::{CommandError, sentence};
use crate::project::Project;

#[derive(Debug, Clone, Copy)]
pub(super) struct SubjectRequest<'a> {
    pub(super) what: &'a [String],
    /// The revision given by a flag.
    pub(super) base: Option<&'a str>,
    /// The revision from the settings.
    pub(super) usual: Option<&'a str>,
    /// True if untracked files are excluded.
    pub(super) no_untracked: bool,
}

/// The remote for the default base branch.
const REMOTE: &str = "origin";

impl SubjectRequest<'_> {
    pub(super) fn take(&self, places: &ProjectPaths) -> Result<Subject, CommandError> {
        if self.what.iter().any(String::is_empty) {
            let error = CommandError::usage("the argument is empty");
            return Err(
                error.hint("remove it to compare with the base branch, or check for an unset variable")
            );
        }
        let base = match self.what {
            [] => self.base.map(str::to_owned),
            [one] => match meant(one, places)? {
                RevisionOrFile::Revision => Some(one.clone()),
                RevisionOrFile::File => return self.files(places),
            },
            _ => return self.files(places),
        };
        let base = match (base, self.usual) {
            (Some(named), _) => ReviewBase::Named(named),
            (None, Some(usual)) => ReviewBase::Usual(usual.to_owned()),
            (None, None) => ReviewBase::Found { remote: REMOTE.to_owned() },
        };
        let untracked = if self.no_untracked { UntrackedFiles::LeftOut } else { UntrackedFiles::Counted };
        changes(&places.root, &base, untracked).map_err(|error| match (&base, &error) {
            // This base comes from the settings, not from the command line.
            (ReviewBase::Usual(_), SubjectError::NoRevision(_)) => refusal(error)
                .hint("it comes from `[review] base`: `saihai config review.base --explain` prints the file"),
            _ => refusal(error),
        })
    }

    /// returns a message if the change itself changes `[review] base`. The value before the change would apply.
    pub(super) fn decided(
        &self,
        project: &Project,
        settings: &Settings,
    ) -> Result<Option<String>, CommandError> {
        let ([], None, Some(usual)) = (self.what, self.base, self.usual) else { return Ok(None) };
        let parted = parted_from(&project.places.root, REMOTE).map_err(refusal)?;
        let Some((branch, commit)) = parted else { return Ok(None) };
        let before = match RevisionSource::of(project.source.clone(), &project.places.root, &commit) {
            Ok(source) => project.settings_from(&source, false, &mut Diagnostics::new()).review.base,
            Err(SubjectError::Elsewhere { .. }) => None,
            Err(error) => return Err(refusal(error)),
        };
        if before == settings.review.base {
            return Ok(None);
        }
        let before = match before {
            Some(before) => format!("it was `{before}`"),
            None => "it was not set".to_owned(),
        };
        Ok(Some(format!(
            "the change affects its own review: `[review] base` is `{usual}`, and at the fork point from `{branch}` \
             {before}"
        )))
    }

    fn files(&self, places: &ProjectPaths) -> Result<Subject, CommandError> {
        whole_files(&places.root, &places.current, self.what).map_err(refusal)
    }
}

/// Returns the changes of one commit.
pub(super) fn of_commit(revision: &str, places: &ProjectPaths) -> Result<CommittedChange, CommandError> {
    changes_of_commit(&places.root, revision).map_err(refusal)
}

/// Returns the changes of a range `A..B` or `A...B`. Both mean the changes of `B` since it left `A`, because a review of
/// what `A` has got since then helps no one. Returns nothing for all other arguments.
pub(super) fn of_range(
    what: &[String],
    places: &ProjectPaths,
) -> Result<Option<CommittedChange>, CommandError> {
    let [word] = what else { return Ok(None) };
    let Some((base, head)) = range(word) else { return Ok(None) };
    if std::fs::symlink_metadata(places.current.join(word)).is_ok() {
        return Ok(None);
    }
    changes_of_range(&places.root, base, head).map(Some).map_err(refusal)
}

/// Splits a range. A missing side is `HEAD`, as for git. No revision has a dot next to a slash, but paths do.
fn range(word: &str) -> Option<(&str, &str)> {
    let (base, head) = word.split_once("...").or_else(|| word.split_once(".."))?;
    let is_path = |side: &str| side.starts_with('/') || side.ends_with('/') || side.contains("..");
    if is_path(base) || is_path(head) || (base.is_empty() && head.is_empty()) {
        return None;
    }
    let [base, head] = [base, head].map(|side| if side.is_empty() { "HEAD" } else { side });
    Some((base, head))
}

/// Returns the checked-out branch, if any.
pub(super) fn branch(places: &ProjectPaths) -> Option<String> {
    Git::open(&places.root).ok().flatten()?.branch().ok().flatten()
}

enum RevisionOrFile {
    Revision,
    File,
}

/// Decides if a word is a revision or a file. Rejects a word that is both or neither.
fn meant(word: &str, places: &ProjectPaths) -> Result<RevisionOrFile, CommandError> {
    let git = Git::open(&places.root).map_err(|error| refusal(SubjectError::Git(error)))?;
    let commit = git.map(|git| git.commit(word)).transpose();
    let commit = commit.map_err(|error| refusal(SubjectError::Git(error)))?.flatten();
    let is_file = std::fs::symlink_metadata(places.current.join(word)).is_ok();
    match (commit.is_some(), is_file) {
        (true, true) => {
            let error = CommandError::usage(format!("`{word}` is both a revision and a file"));
            Err(error
                .hint(format!("`saihai review --base {word}` reviews the changes since that revision"))
                .hint(format!("`saihai review ./{word}` reviews the file or directory")))
        }
        (true, false) => Ok(RevisionOrFile::Revision),
        (false, true) => Ok(RevisionOrFile::File),
        (false, false) if word.contains(['*', '?', '[', '{']) => Ok(RevisionOrFile::File),
        (false, false) => {
            let error = CommandError::usage(format!("`{word}` is neither a revision nor a file here"));
            Err(if word.bytes().all(|byte| byte.is_ascii_digit()) {
                error.hint(format!("`saihai review --pr {word}` reviews a pull request"))
            } else {
                error.hint("`git fetch` downloads revisions that only the remote has")
            })
        }
    }
}

/// Lists the link targets in the repository of files that configure a review.
pub(super) fn led_to(places: &ProjectPaths) -> Vec<String> {
    const FILES: [&str; 2] = [".saihai/config.toml", ".saihai/review-ignore.toml"];
    const DIRECTORIES: [&str; 2] = [".hachimoku/agents", ".saihai/agents"];
    let agents = DIRECTORIES.iter().flat_map(|directory| {
        let files = std::fs::read_dir(places.root.join(directory)).into_iter().flatten().flatten();
        files.filter_map(move |file| Some(format!("{directory}/{}", file.file_name().to_str()?)))
    });
    let all = FILES.iter().chain(&DIRECTORIES).map(|own| (*own).to_owned()).chain(agents);
    let mut led: Vec<String> =
        all.filter_map(|own| real(places, &places.root.join(&own)).filter(|real| *real != own)).collect();
    let pyproject = std::fs::read(places.root.join(PYPROJECT)).unwrap_or_default();
    led.extend(names_hachimoku(&pyproject).then(|| PYPROJECT.to_owned()));
    led.sort();
    led.dedup();
    led
}

/// Lists a file's paths from the project root, by name and by link target. Empty outside the project.
pub(super) fn inside(places: &ProjectPaths, named: &Path) -> Vec<String> {
    let path = places.current.join(named);
    let by_name =
        plain(&path).strip_prefix(plain(&places.root)).ok().and_then(Path::to_str).map(str::to_owned);
    let mut all: Vec<String> = by_name.into_iter().chain(real(places, &path)).collect();
    all.dedup();
    all
}

fn real(places: &ProjectPaths, path: &Path) -> Option<String> {
    let root = places.root.canonicalize().ok()?;
    Some(path.canonicalize().ok()?.strip_prefix(root).ok()?.to_str()?.to_owned())
}

/// Converts the error and adds hints.
pub(super) fn refusal(error: SubjectError) -> CommandError {
    let message = sentence(&error);
    match error {
        SubjectError::Git(GitError::Missing(_) | GitError::OutOfResources(_) | GitError::Ended { .. }) => {
            CommandError::unavailable(message)
        }
        SubjectError::NoFile(_) => CommandError::usage(message).hint("remove it, or put the file back: `git restore FILE`"),
        SubjectError::NoRepository(_) => CommandError::usage(message).hint("name files to review them whole"),
        SubjectError::NoRevision(_) => {
            CommandError::usage(message).hint("`git fetch` downloads revisions of the remote")
        }
        SubjectError::Elsewhere { .. } => {
            CommandError::usage(message).hint("name a revision in which it is a file or a directory of its own")
        }
        SubjectError::AnotherRepository(_) => {
            CommandError::usage(message).hint("run the review inside the submodule or nested repository")
        }
        SubjectError::NoBase => CommandError::usage(message).hint("pass it: `saihai review --base REVISION`"),
        SubjectError::NoMergeBase(_) | SubjectError::NoCommonHistory { .. } => {
            CommandError::usage(message).hint("a shallow clone lacks it: `git fetch --unshallow` downloads the history")
        }
        SubjectError::Git(GitError::Ambiguous { meanings, .. }) => {
            let quoted: Vec<String> = meanings.iter().map(|meaning| format!("`{meaning}`")).collect();
            CommandError::usage(message).hint(format!("write the full name: {}", quoted.join(" or ")))
        }
        SubjectError::Git(GitError::Refused { kind, .. }) if kind.is_foreign_owner() => {
            CommandError::usage(message).hint(
                "another user owns the files: if you trust them, `git config --global --add safe.directory DIRECTORY`",
            )
        }
        SubjectError::Git(GitError::Refused { .. } | GitError::Unreadable { .. } | GitError::Bare(_))
        | SubjectError::Missing(_)
        | SubjectError::Outside(_)
        | SubjectError::Io { .. }
        | SubjectError::BadPattern { .. } => CommandError::usage(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_revisions_and_a_path_is_none() {
        let check = |word: &str, expected: Option<(&str, &str)>| assert_eq!(range(word), expected, "{word}");
        check("main..feature/x", Some(("main", "feature/x")));
        check("v1.2...HEAD~1", Some(("v1.2", "HEAD~1")));
        check("main..", Some(("main", "HEAD")));
        check("..topic", Some(("HEAD", "topic")));
        for path in ["..", "../src/a.rs", "src/../b.rs", "../..", "main", "a/..b/.."] {
            check(path, None);
        }
    }

    #[test]
    fn a_user_who_does_not_own_the_files_learns_how_to_trust_them() {
        let said = "fatal: detected dubious ownership in repository at '/p'";
        let error = GitError::refused("rev-parse", Some(said));
        let CommandError::Refused(refusal) = refusal(SubjectError::Git(error)) else {
            panic!("it is a refusal")
        };
        assert!(refusal.hints.iter().any(|hint| hint.contains("safe.directory")), "{:?}", refusal.hints);
    }
}
