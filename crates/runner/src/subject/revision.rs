//! What decides about a review, as a commit has it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use saihai_config::{FileKind, MemorySource, ReadError, Source};

use super::Error;
use crate::ProjectSource;
use crate::git::{Below, Committed, Followed, Git};

/// The files of a project that decide about a review, as they are in a commit; all other files as they are.
#[derive(Debug)]
pub struct RevisionSource {
    files: MemorySource,
    now: ProjectSource,
    decisive: Vec<PathBuf>,
}

/// Agents, settings, and what the project decided not to hear of.
const DECISIVE: [&str; 4] =
    [".hachimoku", ".saihai/agents", ".saihai/config.toml", ".saihai/review-ignore.toml"];

/// These, and the directories on the way to them.
const LEADING: [&str; 6] = [
    ".saihai",
    ".saihai/agents",
    ".saihai/config.toml",
    ".saihai/review-ignore.toml",
    ".hachimoku",
    ".hachimoku/agents",
];

/// What leads out of a commit.
const LINK: &str = "a link";

impl RevisionSource {
    /// As a revision has them, and all others as they are `now`.
    pub fn of(now: ProjectSource, revision: &str) -> Result<Self, Error> {
        let root = now.root();
        let git = Git::open(root)?.ok_or_else(|| Error::NoRepository(root.to_owned()))?;
        let commit = git.commit(revision)?.ok_or_else(|| Error::NoRevision(revision.to_owned()))?;
        let elsewhere = |path: String, what| Error::Elsewhere { what, revision: revision.to_owned(), path };
        // What lies behind one of these is not in the commit: defaults would stand in for what somebody decided.
        for (path, what) in git.committed(&commit, &LEADING, Below::Not)? {
            match what {
                Committed::Link => return Err(elsewhere(path, LINK)),
                Committed::Submodule => return Err(elsewhere(path, "a submodule")),
                Committed::File => {}
            }
        }
        let mut files = MemorySource::default();
        for (path, what) in git.committed(&commit, &DECISIVE, Below::Too)? {
            // Whatever else lies there has no effect.
            let counts = path.ends_with(".toml");
            match git.followed(&commit, &path)? {
                Followed::File(content) => {
                    files.add(root.join(path), content);
                }
                Followed::Missing | Followed::Elsewhere if counts && what == Committed::Link => {
                    return Err(elsewhere(path, LINK));
                }
                Followed::Missing | Followed::Elsewhere => {}
            }
        }
        let decisive = DECISIVE.iter().map(|path| root.join(path)).collect();
        Ok(Self { files, now, decisive })
    }

    /// What a file of the project holds in a revision, by its path from the root. Nothing where there is none.
    pub fn file(root: &Path, revision: &str, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let git = Git::open(root)?.ok_or_else(|| Error::NoRepository(root.to_owned()))?;
        let commit = git.commit(revision)?.ok_or_else(|| Error::NoRevision(revision.to_owned()))?;
        match git.followed(&commit, path)? {
            Followed::File(content) => Ok(Some(content)),
            Followed::Missing => Ok(None),
            Followed::Elsewhere => {
                Err(Error::Elsewhere { what: LINK, revision: revision.to_owned(), path: path.to_owned() })
            }
        }
    }

    fn at(&self, path: &Path) -> &dyn Source {
        let is_decisive = self.decisive.iter().any(|decisive| path.starts_with(decisive));
        if is_decisive { &self.files } else { &self.now }
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
        let listed = self.at(path).list(path);
        let decisive: Vec<&PathBuf> =
            self.decisive.iter().filter(|file| file.parent() == Some(path)).collect();
        if decisive.is_empty() {
            return listed;
        }
        // Of these names only the revision's are there, whatever lies beside the others now.
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
