//! Locks: one process per work item, per merge target, and per change to the list of worktrees.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use saihai_model::Moment;
use saihai_store::Disk;
use saihai_store::lock::Lock;

use crate::Repository;
use crate::error::RepositoryError;
use crate::repository::own_directory;
use crate::work_item::WorkItem;

/// Upper limit for waiting. Creating many worktrees one after the other takes less.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(10);

/// A lock that is held for a moment.
#[derive(Debug)]
pub(crate) struct OperationLock {
    _file: File,
}

impl OperationLock {
    /// Waits for the lock on worktrees. Git fails if two processes register worktrees at the same time.
    pub(crate) fn of_worktrees(repository: &Repository) -> Result<Self, RepositoryError> {
        Self::at(&repository.common)
    }

    /// Waits for the lock in a repository that is not open.
    pub(crate) fn at(common: &Path) -> Result<Self, RepositoryError> {
        Self::waited_for(&own_directory(common)?.join("worktrees.lock"), PATIENCE)
    }

    fn waited_for(path: &Path, patience: Duration) -> Result<Self, RepositoryError> {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            let file = open_lock(path)?;
            match file.try_lock() {
                Ok(()) if is_same(&file, path) => return Ok(Self { _file: file }),
                Ok(()) | Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(source)) => return Err(RepositoryError::file("lock", path)(source)),
            }
        }
        let why = format!("another process has held it for {} s", patience.as_secs());
        Err(RepositoryError::file("lock", path)(io::Error::new(io::ErrorKind::TimedOut, why)))
    }

    /// Takes the lock for merging into a branch. Returns its path if another process has it.
    pub(crate) fn of_merging(
        repository: &Repository,
        branch: &str,
    ) -> Result<Result<Self, PathBuf>, RepositoryError> {
        let name: String = branch.bytes().map(|byte| format!("{byte:02x}")).collect();
        let path = repository.own_directory()?.join(format!("merge-{name}.lock"));
        loop {
            let file = open_lock(&path)?;
            match file.try_lock() {
                Ok(()) if is_same(&file, &path) => return Ok(Ok(Self { _file: file })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Err(path)),
                Err(TryLockError::Error(source)) => return Err(RepositoryError::file("lock", &path)(source)),
            }
        }
    }
}

/// Ownership of an item and its branch. The kernel releases the lock when its process ends.
#[derive(Debug)]
pub struct ItemLock {
    lock: Lock,
    path: PathBuf,
}

#[derive(Debug)]
pub enum ItemLockAttempt {
    Ours(ItemLock),
    Elsewhere {
        /// The owning process, if it wrote its id.
        process: Option<u32>,
        /// The run of the owner, if it wrote its name.
        run: Option<String>,
    },
}

impl ItemLock {
    /// Takes an item for a run. Never waits.
    pub fn take(
        repository: &Repository,
        item: &WorkItem,
        run: &str,
        now: Moment,
    ) -> Result<ItemLockAttempt, RepositoryError> {
        Self::take_named(&repository.common, &item.name(), run, now)
    }

    /// Takes an item by name, in the git directory that all worktrees share.
    pub(crate) fn take_named(
        common: &Path,
        name: &str,
        run: &str,
        now: Moment,
    ) -> Result<ItemLockAttempt, RepositoryError> {
        let path = own_directory(common)?.join(format!("{name}.lock"));
        let note = format!("{run}\n{}\n", now.0);
        match Lock::take_with_note(&path, run, &note, &Disk::new()) {
            Ok(lock) => Ok(ItemLockAttempt::Ours(Self { lock, path })),
            Err(saihai_store::StoreError::Owned { owner, .. }) => {
                let text = std::fs::read(&path).unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                let run = text.lines().nth(1).filter(|line| !line.is_empty()).map(str::to_owned);
                Ok(ItemLockAttempt::Elsewhere { process: owner, run })
            }
            Err(saihai_store::StoreError::Io { source, .. }) => {
                Err(RepositoryError::File { action: "lock", path, source })
            }
            Err(error) => Err(RepositoryError::File {
                action: "lock",
                path,
                source: std::io::Error::other(error.to_string()),
            }),
        }
    }

    /// Returns true if a process works on an item now. Does not lock the item.
    pub fn is_taken(repository: &Repository, item: &WorkItem) -> Result<bool, RepositoryError> {
        let path = repository.own_directory()?.join(format!("{}.lock", item.name()));
        Lock::holder(&path).map(|holder| holder.is_some()).map_err(RepositoryError::file("read", &path))
    }

    /// Writes the run's name into the lock for other processes. The lock is older than the run.
    pub fn name_run(&self, run: &str, now: Moment) -> Result<(), RepositoryError> {
        let note = format!("{run}\n{}\n", now.0);
        self.lock.sign(&note, &Disk::new()).map_err(RepositoryError::file("write", &self.path))
    }

    /// Checks that the item is still ours. Called before every external effect.
    pub fn check(&self) -> Result<(), RepositoryError> {
        if self.lock.is_held() { Ok(()) } else { Err(RepositoryError::LockLost { path: self.path.clone() }) }
    }
}

fn open_lock(path: &Path) -> Result<File, RepositoryError> {
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    opened.map_err(RepositoryError::file("open", path))
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
        let held = OperationLock::waited_for(&path, PATIENCE).unwrap();
        let refused = OperationLock::waited_for(&path, Duration::from_millis(50)).unwrap_err();
        let expected = format!("cannot lock `{}`: another process has held it for 0 s", path.display());
        assert_eq!(refused.to_string(), expected);
        drop(held);
        OperationLock::waited_for(&path, PATIENCE).unwrap();
    }
}
