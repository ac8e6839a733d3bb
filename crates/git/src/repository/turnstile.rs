//! Locks for operations that only one process may do at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Error, Repository, own_directory};

/// Upper limit for waiting. Creating many worktrees one after the other takes less.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(10);

/// A lock that is held for a moment.
#[derive(Debug)]
pub(super) struct Turnstile {
    _file: File,
}

impl Turnstile {
    /// Waits for the lock on worktrees. Git fails if two processes register worktrees at the same time.
    pub(super) fn of_worktrees(repository: &Repository) -> Result<Self, Error> {
        Self::at(&repository.common)
    }

    /// Waits for the lock in a repository that is not open.
    pub(super) fn at(common: &Path) -> Result<Self, Error> {
        Self::waited_for(&own_directory(common)?.join("worktrees.lock"), PATIENCE)
    }

    fn waited_for(path: &Path, patience: Duration) -> Result<Self, Error> {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            let file = open(path)?;
            match file.try_lock() {
                Ok(()) if is_same(&file, path) => return Ok(Self { _file: file }),
                Ok(()) | Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(source)) => return Err(Error::file("lock", path)(source)),
            }
        }
        let why = format!("another process has held it for {} s", patience.as_secs());
        Err(Error::file("lock", path)(io::Error::new(io::ErrorKind::TimedOut, why)))
    }

    /// Takes the lock for merging into a branch. Returns its path if another process has it.
    pub(super) fn of_merging(repository: &Repository, branch: &str) -> Result<Result<Self, PathBuf>, Error> {
        let name: String = branch.bytes().map(|byte| format!("{byte:02x}")).collect();
        let path = repository.own_directory()?.join(format!("merge-{name}.lock"));
        loop {
            let file = open(&path)?;
            match file.try_lock() {
                Ok(()) if is_same(&file, &path) => return Ok(Ok(Self { _file: file })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Err(path)),
                Err(TryLockError::Error(source)) => return Err(Error::file("lock", &path)(source)),
            }
        }
    }
}

fn open(path: &Path) -> Result<File, Error> {
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    opened.map_err(Error::file("open", path))
}

/// Checks that the locked file is still at its path. It may have been replaced between opening and locking.
fn is_same(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.metadata()) {
        (Ok(ours), Ok(theirs)) => ours.dev() == theirs.dev() && ours.ino() == theirs.ino(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_for_good_is_not_waited_for_for_good() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("worktrees.lock");
        let held = Turnstile::waited_for(&path, PATIENCE).unwrap();
        let refused = Turnstile::waited_for(&path, Duration::from_millis(50)).unwrap_err();
        let expected = format!("cannot lock `{}`: another process has held it for 0 s", path.display());
        assert_eq!(refused.to_string(), expected);
        drop(held);
        Turnstile::waited_for(&path, PATIENCE).unwrap();
    }
}
