//! Ownership of a run: a kernel lock that vanishes with its process.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Disk, StoreError};

/// Number of attempts, and the pause between them, for a lock that another process holds briefly. Two seconds in total.
const TRIES: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(2);

/// Ownership of a run. The file is close-on-exec, so no child process inherits it.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    run: String,
}

impl Lock {
    /// Takes the run, or returns its owner as an error.
    pub fn take(path: &Path, run: &str, disk: &Disk) -> Result<Self, StoreError> {
        Self::take_with_note(path, run, "", disk)
    }

    /// Like [`Lock::take`], and leaves a note for refused processes.
    pub fn take_with_note(path: &Path, run: &str, note: &str, disk: &Disk) -> Result<Self, StoreError> {
        let lock = Self::take_opened(path, run, || open(path, disk))?;
        lock.sign(note, disk).map_err(StoreError::io("write", path))?;
        Ok(lock)
    }

    /// Locks the file that `open` returns. Opens it again if the file was replaced, or if a viewer holds it briefly.
    fn take_opened(
        path: &Path,
        run: &str,
        open: impl Fn() -> Result<File, StoreError>,
    ) -> Result<Self, StoreError> {
        for _ in 0..TRIES {
            let file = open()?;
            match file.try_lock() {
                Ok(()) => {}
                // A viewer holds the lock briefly, as a shared lock.
                Err(TryLockError::WouldBlock) if file.try_lock_shared().is_ok() => {
                    drop(file);
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Owned { run: run.to_owned(), owner: owner(&file) });
                }
                Err(TryLockError::Error(source)) => return Err(StoreError::io("lock", path)(source)),
            }
            let lock = Self { file, path: path.to_path_buf(), run: run.to_owned() };
            // The file may have been replaced between open and lock. The lock would then protect nothing.
            if lock.is_held() {
                return Ok(lock);
            }
        }
        // No Saihai process holds or replaces the file this long.
        Err(StoreError::Owned { run: run.to_owned(), owner: None })
    }

    /// Returns the owner of the run, if any. Takes a shared lock for a moment only.
    pub fn holder(path: &Path) -> io::Result<Option<Option<u32>>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => file.unlock().map(|()| None),
            Err(TryLockError::WouldBlock) => Ok(Some(owner(&file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns true if the locked file is still the one at the path.
    pub fn is_held(&self) -> bool {
        let same =
            |ours: &Metadata, theirs: &Metadata| ours.dev() == theirs.dev() && ours.ino() == theirs.ino();
        match (self.file.metadata(), std::fs::symlink_metadata(&self.path)) {
            (Ok(ours), Ok(theirs)) => same(&ours, &theirs),
            _ => false,
        }
    }

    /// Returns the error for a lock that is no longer held.
    pub fn lost(&self) -> StoreError {
        StoreError::LockLost { run: self.run.clone(), path: self.path.clone() }
    }

    /// Writes our process id and the note for refused processes.
    pub fn sign(&self, note: &str, disk: &Disk) -> io::Result<()> {
        disk.truncate(&self.file, &self.path, 0)?;
        disk.write(&self.file, &self.path, format!("{}\n{note}", std::process::id()).as_bytes())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone is not enough: a child process between fork and exec still has the file.
        drop(self.file.unlock());
    }
}

fn open(path: &Path, disk: &Disk) -> Result<File, StoreError> {
    let present = || OpenOptions::new().read(true).append(true).open(path);
    let opened = match present() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match disk.create_new(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            // We created it, or another process did meanwhile.
            Ok(_) | Err(_) => present(),
        },
        opened => opened,
    };
    opened.map_err(StoreError::io("open", path))
}

fn owner(mut file: &File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(1024).read_to_string(&mut text).ok()?;
    text.lines().next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        (directory, path)
    }

    fn take(path: &Path) -> Result<Lock, StoreError> {
        Lock::take(path, "a-run", &Disk::new())
    }

    // A process that an agent left behind can hold the lock like this.
    #[test]
    fn a_lock_that_is_shared_for_good_is_not_waited_for() {
        let (_directory, path) = place();
        drop(take(&path).unwrap());
        let looking = File::open(&path).unwrap();
        looking.lock_shared().unwrap();
        let refusal = take(&path).unwrap_err();
        assert_eq!(refusal.to_string(), "run `a-run` is owned by another process");
        drop(looking);
        take(&path).unwrap();
    }

    // T-30
    #[test]
    fn the_second_owner_is_refused_and_told_who_the_first_is() {
        let (_directory, path) = place();
        assert_eq!(Lock::holder(&path).unwrap(), None);
        let first = take(&path).unwrap();
        let refusal = take(&path).unwrap_err();
        let own = std::process::id();
        assert_eq!(refusal.to_string(), format!("run `a-run` is owned by process {own}"));
        assert_eq!(Lock::holder(&path).unwrap(), Some(Some(own)));
        drop(first);
        assert_eq!(Lock::holder(&path).unwrap(), None);
        take(&path).unwrap();
    }

    // T-30
    #[test]
    fn of_fifty_at_once_one_owns() {
        let (_directory, path) = place();
        let barrier = std::sync::Barrier::new(50);
        let owners = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..50)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        let taken = take(&path);
                        barrier.wait();
                        taken.is_ok()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|owns| *owns).count()
        });
        assert_eq!(owners, 1);
    }

    // T-30: viewers never keep the run from its owner.
    #[test]
    fn looking_does_not_get_in_the_way_of_taking() {
        let (_directory, path) = place();
        drop(take(&path).unwrap());
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        Lock::holder(&path).unwrap();
                    }
                });
            }
            let taken = (0..500).try_for_each(|_| take(&path).map(drop));
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            taken.unwrap();
        });
    }

    // T-32
    #[test]
    fn a_lock_that_was_removed_or_replaced_is_not_held_any_more() {
        let (_directory, path) = place();
        let lock = take(&path).unwrap();
        assert!(lock.is_held());
        std::fs::remove_file(&path).unwrap();
        assert!(!lock.is_held());
        std::fs::write(&path, "").unwrap();
        assert!(!lock.is_held());
        let shown = lock.lost().to_string().replace(&path.display().to_string(), "LOCK");
        insta::assert_snapshot!(shown, @"lock-lost: `LOCK` was removed or replaced while run `a-run` was active");
        let second = take(&path).unwrap();
        assert!(second.is_held() && !lock.is_held());
    }

    // I-32: two processes that each lock a different file would both own the run.
    #[test]
    fn a_file_that_is_replaced_before_it_is_locked_is_let_go_and_the_new_one_is_taken() {
        let (_directory, path) = place();
        let opened = std::cell::Cell::new(0);
        let lock = Lock::take_opened(&path, "a-run", || {
            let file = open(&path, &Disk::new())?;
            opened.set(opened.get() + 1);
            match opened.get() {
                1 => std::fs::remove_file(&path).unwrap(),
                2 => {
                    std::fs::write(path.with_extension("new"), "").unwrap();
                    std::fs::rename(path.with_extension("new"), &path).unwrap();
                }
                _ => {}
            }
            Ok(file)
        })
        .unwrap();
        assert_eq!(opened.get(), 3);
        assert!(lock.is_held());
        take(&path).unwrap_err();
    }

    // I-32: the attempts end.
    #[test]
    fn a_file_that_is_replaced_each_time_is_taken_for_owned() {
        let (_directory, path) = place();
        let refusal = Lock::take_opened(&path, "a-run", || {
            let file = open(&path, &Disk::new())?;
            std::fs::remove_file(&path).unwrap();
            Ok(file)
        });
        assert_eq!(refusal.unwrap_err().to_string(), "run `a-run` is owned by another process");
    }

    // T-33
    #[test]
    fn a_program_started_meanwhile_does_not_inherit_the_lock() {
        let (_directory, path) = place();
        let _lock = take(&path).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let files = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
        let held = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
        let inherits = held.into_iter().any(|file| file == path);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!inherits);
    }

    // T-33: between fork and exec a child process has all our files.
    #[test]
    fn a_lock_that_is_given_back_is_free_though_another_still_has_the_file() {
        let (_directory, path) = place();
        let lock = take(&path).unwrap();
        let inherited = lock.file.try_clone().unwrap();
        drop(lock);
        take(&path).unwrap();
        drop(inherited);
    }
}
