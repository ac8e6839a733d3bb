//! What decides about a review, as a commit has it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use saihai_config::{DiskSource, FileKind, MemorySource, ReadError, Source};

use super::Error;
use crate::git::Git;

/// The files of a project that decide about a review, as they are in a commit; all other files as they are.
#[derive(Debug)]
pub struct RevisionSource {
    files: MemorySource,
    decisive: Vec<PathBuf>,
}

/// Agents, settings, and what the project decided not to hear of.
const DECISIVE: [&str; 4] =
    [".hachimoku", ".saihai/agents", ".saihai/config.toml", ".saihai/review-ignore.toml"];

impl RevisionSource {
    /// As a revision has them.
    ///
    /// # Errors
    /// There is no repository, or no such revision.
    pub fn of(root: &Path, revision: &str) -> Result<Self, Error> {
        let git = Git::open(root)?.ok_or_else(|| Error::NoRepository(root.to_owned()))?;
        let commit = git.commit(revision)?.ok_or_else(|| Error::NoRevision(revision.to_owned()))?;
        let mut files = MemorySource::default();
        for (path, content) in git.files_of(&commit, &DECISIVE)? {
            files.add(root.join(path), content);
        }
        Ok(Self { files, decisive: DECISIVE.iter().map(|path| root.join(path)).collect() })
    }

    fn at(&self, path: &Path) -> &dyn Source {
        let is_decisive = self.decisive.iter().any(|decisive| path.starts_with(decisive));
        if is_decisive { &self.files } else { &DiskSource }
    }
}

impl Source for RevisionSource {
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.at(path).read(path, limit)
    }

    fn kind(&self, path: &Path) -> Option<FileKind> {
        self.at(path).kind(path)
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>, ReadError> {
        self.at(path).list(path)
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf, ReadError> {
        self.at(path).canonical(path)
    }

    fn is_executable(&self, path: &Path) -> bool {
        self.at(path).is_executable(path)
    }
}
