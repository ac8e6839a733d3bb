//! What must be done by one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::{Error, Repository, own_directory};

/// Longer than many worktrees take that are made one after the other. Whoever holds it for longer is none of us: an agent can
/// leave a process behind that does.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(10);
/// A merge is made in moments and verified in an hour at most.
const LONGEST_MERGE: Duration = Duration::from_secs(70 * 60);

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

    /// The one for merging into a branch.
    pub(super) fn of_merging(repository: &Repository, branch: &str) -> Result<Turn, Error> {
        let name: String = branch.bytes().map(|byte| format!("{byte:02x}")).collect();
        let path = repository.own_directory()?.join(format!("merge-{name}.lock"));
        match turn(&path)? {
            // Whoever took it this very moment has not said so yet.
            Turn::Stuck { .. } => {
                std::thread::sleep(Duration::from_secs(1));
                turn(&path)
            }
            turn @ (Turn::Ours(_) | Turn::Theirs { .. }) => Ok(turn),
        }
    }
}

/// Whose turn it is to merge.
#[derive(Debug)]
pub(super) enum Turn {
    Ours(Turnstile),
    /// Somebody else merges.
    Theirs {
        lock: PathBuf,
    },
    /// Somebody else has the lock, and for longer than anybody merges.
    Stuck {
        lock: PathBuf,
    },
}

fn turn(path: &Path) -> Result<Turn, Error> {
    loop {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) if is_same(&file, path) => {
                // Since when it is held is for others to see.
                file.set_modified(SystemTime::now()).map_err(Error::file("mark", path))?;
                return Ok(Turn::Ours(Turnstile { _file: file }));
            }
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let since = file.metadata().and_then(|found| found.modified());
                let since = since.map_err(Error::file("look at", path))?;
                let lock = path.to_owned();
                let is_long = since.elapsed().is_ok_and(|held| held > LONGEST_MERGE);
                return Ok(if is_long { Turn::Stuck { lock } } else { Turn::Theirs { lock } });
            }
            Err(TryLockError::Error(source)) => return Err(Error::file("lock", path)(source)),
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

    #[test]
    fn whoever_holds_the_lock_for_longer_than_anybody_merges_does_not_merge() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("merge-6d61696e.lock");
        let long_ago = SystemTime::now() - LONGEST_MERGE - Duration::from_secs(1);
        let other = open(&path).unwrap();
        other.lock().unwrap();
        assert!(matches!(turn(&path).unwrap(), Turn::Theirs { lock } if lock == path));
        other.set_modified(long_ago).unwrap();
        assert!(matches!(turn(&path).unwrap(), Turn::Stuck { lock } if lock == path));
        drop(other);
        let Turn::Ours(ours) = turn(&path).unwrap() else { panic!("nobody has it") };
        assert!(matches!(turn(&path).unwrap(), Turn::Theirs { .. }), "taken a moment ago");
        drop(ours);
    }
}
