//! Who owns a run: a lock of the kernel, which vanishes with its process.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::{Disk, Error};

/// The ownership of a run. Its file is closed when a program is started, so no child keeps it.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
    run: String,
}

impl Lock {
    /// Takes the run, or says who has it.
    pub(crate) fn take(path: &Path, run: &str, disk: &Disk) -> Result<Self, Error> {
        loop {
            let file = open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                // Somebody who only looks keeps it for a moment, and shares it.
                Err(TryLockError::WouldBlock) if file.try_lock_shared().is_ok() => {
                    std::thread::yield_now();
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Owned { run: run.to_owned(), owner: owner(&file) });
                }
                Err(TryLockError::Error(source)) => return Err(Error::io("lock", path)(source)),
            }
            let lock = Self { file, path: path.to_path_buf(), run: run.to_owned() };
            // Between opening and locking the file may have been replaced; then the lock is on nothing.
            if lock.is_held() {
                lock.sign(disk).map_err(Error::io("write", path))?;
                return Ok(lock);
            }
        }
    }

    /// Who has the run, if somebody has. Taking it for this moment keeps no one else out for longer than that.
    pub(crate) fn holder(path: &Path) -> io::Result<Option<Option<u32>>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(owner(&file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether the file that is locked is still the one others would find.
    pub(crate) fn is_held(&self) -> bool {
        let same =
            |ours: &Metadata, theirs: &Metadata| ours.dev() == theirs.dev() && ours.ino() == theirs.ino();
        match (self.file.metadata(), std::fs::symlink_metadata(&self.path)) {
            (Ok(ours), Ok(theirs)) => same(&ours, &theirs),
            _ => false,
        }
    }

    /// The error for a lock that is not held any more.
    pub(crate) fn lost(&self) -> Error {
        Error::LockLost { run: self.run.clone(), path: self.path.clone() }
    }

    /// Leaves our process id in it, for those who are refused.
    fn sign(&self, disk: &Disk) -> io::Result<()> {
        disk.truncate(&self.file, &self.path, 0)?;
        disk.write(&self.file, &self.path, format!("{}\n", std::process::id()).as_bytes())
    }
}

fn open(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    options.open(path).map_err(Error::io("open", path))
}

fn owner(mut file: &File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
