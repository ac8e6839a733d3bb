//! The files that decide about a review, read from a commit.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use saihai_config::{FileKind, MemorySource, PYPROJECT, ReadError, Source};
use saihai_git::Git;
use saihai_git::{CommitEntryKind, CommittedFile, TreeDepth};

use crate::subject::SubjectError;

/// A source that reads the deciding files from a commit and all other files from disk.
#[derive(Debug)]
pub struct RevisionSource<S> {
    files: MemorySource,
    now: S,
    decisive: Vec<PathBuf>,
}

/// Review agents, settings and suppressions.
const DECISIVE: [&str; 5] =
    [".hachimoku", ".saihai/agents", ".saihai/config.toml", ".saihai/review-ignore.toml", PYPROJECT];

/// The deciding files and the directories above them.
const LEADING: [&str; 7] = [
    ".saihai",
    ".saihai/agents",
    ".saihai/config.toml",
    ".saihai/review-ignore.toml",
    ".hachimoku",
    ".hachimoku/agents",
    PYPROJECT,
];

/// The word for a link that leads out of a commit.
const LINK: &str = "a link";

/// Returns a project file in a revision, by its path from the root, or `None` if it is missing.
pub fn file_at_revision(root: &Path, revision: &str, path: &str) -> Result<Option<Vec<u8>>, SubjectError> {
    let git = Git::open(root)?.ok_or_else(|| SubjectError::NoRepository(root.to_owned()))?;
    let commit = git.commit(revision)?.ok_or_else(|| SubjectError::NoRevision(revision.to_owned()))?;
    match git.followed(&commit, path)? {
        CommittedFile::File(content) => Ok(Some(content)),
        CommittedFile::Missing => Ok(None),
        CommittedFile::Elsewhere => {
            Err(SubjectError::Elsewhere { what: LINK, revision: revision.to_owned(), path: path.to_owned() })
        }
    }
}

impl<S: Source> RevisionSource<S> {
    /// Reads the deciding files from `revision` and all others from `now`.
    pub fn of(now: S, root: &Path, revision: &str) -> Result<Self, SubjectError> {
        let git = Git::open(root)?.ok_or_else(|| SubjectError::NoRepository(root.to_owned()))?;
        let commit = git.commit(revision)?.ok_or_else(|| SubjectError::NoRevision(revision.to_owned()))?;
        let elsewhere =
            |path: String, what| SubjectError::Elsewhere { what, revision: revision.to_owned(), path };
        // The target of a link or submodule is not in the commit. Continuing would replace the project's
        // decision by defaults.
        for (path, what) in git.committed(&commit, &LEADING, TreeDepth::Not)? {
            match what {
                CommitEntryKind::Link => return Err(elsewhere(path, LINK)),
                CommitEntryKind::Submodule => return Err(elsewhere(path, "a submodule")),
                CommitEntryKind::File => {}
            }
        }
        let mut files = MemorySource::default();
        for (path, what) in git.committed(&commit, &DECISIVE, TreeDepth::Too)? {
            // Other files there have no effect.
            let counts = path.ends_with(".toml");
            match git.followed(&commit, &path)? {
                CommittedFile::File(content) => {
                    files.add(root.join(path), content);
                }
                CommittedFile::Missing | CommittedFile::Elsewhere
                    if counts && what == CommitEntryKind::Link =>
                {
                    return Err(elsewhere(path, LINK));
                }
                CommittedFile::Missing | CommittedFile::Elsewhere => {}
            }
        }
        let decisive = DECISIVE.iter().map(|path| root.join(path)).collect();
        Ok(Self { files, now, decisive })
    }

    fn at(&self, path: &Path) -> &dyn Source {
        let is_decisive = self.decisive.iter().any(|decisive| path.starts_with(decisive));
        if is_decisive { &self.files } else { &self.now }
    }
}

impl<S: Source> Source for RevisionSource<S> {
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.at(path).read(path, limit)
    }

    fn kind(&self, path: &Path) -> Option<FileKind> {
        self.at(path).kind(path)
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>, ReadError> {
        let listed = self.at(path).list(path);
        let decisive: Vec<&PathBuf> =
            self.decisive.iter().filter(|file| file.parent() == Some(path)).collect();
        if decisive.is_empty() {
            return listed;
        }
        // List only the deciding files of the revision, even if others exist on disk now.
        let name = |file: &Path| file.file_name().map(OsStr::to_owned);
        let there: Vec<OsString> = decisive
            .iter()
            .filter(|file| self.files.kind(file).is_some())
            .filter_map(|file| name(file))
            .collect();
        let mut names = match listed {
            Err(error) if there.is_empty() => return Err(error),
            listed => listed.unwrap_or_default(),
        };
        names.retain(|one| !decisive.iter().any(|file| name(file).as_ref() == Some(one)));
        names.extend(there);
        names.sort();
        Ok(names)
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf, ReadError> {
        self.at(path).canonical(path)
    }

    fn is_executable(&self, path: &Path) -> bool {
        self.at(path).is_executable(path)
    }
}
