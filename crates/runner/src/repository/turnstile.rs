//! What must be done by one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::{Error, Repository, own_directory};

/// A lock that is held for a moment.
#[derive(Debug)]
pub(super) struct Turnstile {
    _file: File,
}

impl Turnstile {
    /// The one that is waited for: git fails where worktrees are registered at the same time.
    pub(super) fn of_worktrees(repository: &Repository) -> Result<Self, Error> {
        Self::at(&repository.common)
    }

    /// The same in a repository of which only the directory is known.
    pub(super) fn at(common: &Path) -> Result<Self, Error> {
        let path = own_directory(common)?.join("worktrees.lock");
        loop {
            let file = open(&path)?;
            file.lock().map_err(Error::file("lock", &path))?;
            if is_same(&file, &path) {
                return Ok(Self { _file: file });
            }
        }
    }

    /// The one for merging into a branch; nothing where somebody is at it.
    pub(super) fn of_merging(repository: &Repository, branch: &str) -> Result<Option<Self>, Error> {
        let name: String = branch.bytes().map(|byte| format!("{byte:02x}")).collect();
        let path = repository.own_directory()?.join(format!("merge-{name}.lock"));
        loop {
            let file = open(&path)?;
            match file.try_lock() {
                Ok(()) if is_same(&file, &path) => return Ok(Some(Self { _file: file })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(source)) => return Err(Error::file("lock", &path)(source)),
            }
        }
    }
}

fn open(path: &Path) -> Result<File, Error> {
    let no_links = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).expect("a flag of the kernel");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(no_links);
    options.open(path).map_err(Error::file("open", path))
}

/// Between opening and locking the file may have been replaced; then the lock is on nothing.
fn is_same(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(ours), Ok(theirs)) => ours.dev() == theirs.dev() && ours.ino() == theirs.ino(),
        _ => false,
    }
}
