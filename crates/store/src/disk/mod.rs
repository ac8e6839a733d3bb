//! The only module that writes the files of a run.
//!
//! Every change on disk for a run is an operation here. Operations are counted. In builds with the feature `faults`
//! they can fail, tear, or kill the process. Reading is not restricted.

mod beneath;
#[cfg(any(test, feature = "testing"))]
mod faults;
#[cfg(not(any(test, feature = "testing")))]
mod no_faults;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use beneath::replace_below;
pub use beneath::{Beneath, FileContent};
#[cfg(any(test, feature = "testing"))]
use faults::Faults;
#[cfg(not(any(test, feature = "testing")))]
use no_faults::Faults;

#[cfg(any(test, feature = "testing"))]
pub use faults::{Deadly, DiskStep, Errno, FaultPlan, Moment as Death, Tape};

/// The only disk access for journals, blobs, locks, run directories and reports. Clones share one count.
#[derive(Debug, Clone)]
pub struct Disk {
    counted: Arc<DiskCounters>,
    faults: Faults,
}

#[derive(Debug, Default)]
struct DiskCounters {
    operations: AtomicU64,
    writes: AtomicU64,
    syncs: AtomicU64,
}

/// Operation counts of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operations {
    /// All changes, including writes and syncs.
    pub all: u64,
    pub writes: u64,
    /// Syncs of a file or a directory.
    pub syncs: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskOperation {
    CreateDirectory,
    Create,
    Write,
    Sync,
    SyncDirectory,
    Rename,
    Truncate,
    Remove,
}

/// The part of a journal that a reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalRead {
    /// Only the first batch.
    Start,
    All,
    /// Only the records after those of an earlier read.
    Rest,
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

impl Disk {
    /// Creates the disk of this machine.
    pub fn new() -> Self {
        Self { counted: Arc::default(), faults: Faults::of_process() }
    }

    /// Creates a disk that fails as planned.
    #[cfg(any(test, feature = "testing"))]
    pub fn failing(plan: FaultPlan) -> Self {
        Self { counted: Arc::default(), faults: Faults::planned(plan) }
    }

    pub fn operations(&self) -> Operations {
        Operations {
            all: self.counted.operations.load(Ordering::Relaxed),
            writes: self.counted.writes.load(Ordering::Relaxed),
            syncs: self.counted.syncs.load(Ordering::Relaxed),
        }
    }

    /// Notes that a journal is opened to be read, for tests that count it.
    pub fn note_journal_read(&self, read: JournalRead, path: &Path) {
        self.faults.note_journal_read(read, path);
    }

    /// Creates one directory; fails if it exists.
    pub fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.step(DiskOperation::CreateDirectory, path, || fs::create_dir(path))?;
        self.sync_directory(parent(path))
    }

    /// Creates a directory and its missing parents.
    pub fn create_directories(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        let above = parent(path);
        if above != path {
            self.create_directories(above)?;
        }
        match self.create_directory(path) {
            // Another process has created it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        }
    }

    /// Creates a file that must not exist yet. Its name is durable after [`Self::sync_directory`].
    pub fn create_new(&self, path: &Path) -> io::Result<File> {
        self.step(DiskOperation::Create, path, || OpenOptions::new().write(true).create_new(true).open(path))
    }

    /// Appends bytes to a file.
    pub fn write(&self, mut file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.count(DiskOperation::Write);
        self.faults.write(path, bytes, |part| file.write_all(part))
    }

    /// Makes the written bytes durable. After an error their state is unknown.
    pub fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        let skip = self.faults.skips_syncs();
        self.step(DiskOperation::Sync, path, || if skip { Ok(()) } else { file.sync_data() })
    }

    /// Makes the names in a directory durable.
    pub fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let skip = self.faults.skips_syncs();
        self.step(DiskOperation::SyncDirectory, path, || {
            if skip { Ok(()) } else { File::open(path)?.sync_all() }
        })
    }

    pub fn truncate(&self, file: &File, path: &Path, length: u64) -> io::Result<()> {
        self.step(DiskOperation::Truncate, path, || file.set_len(length))
    }

    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(DiskOperation::Remove, path, || fs::remove_file(path))
    }

    pub fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.step(DiskOperation::Remove, path, || fs::remove_dir(path))
    }

    pub fn remove_tree(&self, path: &Path) -> io::Result<()> {
        self.step(DiskOperation::Remove, path, || fs::remove_dir_all(path))
    }

    /// Replaces a whole file: after a crash the old or the new version exists, never half of it.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let draft = draft_of(path);
        let file = self.step(DiskOperation::Create, &draft, || File::create(&draft))?;
        self.write(&file, &draft, bytes)?;
        self.sync(&file, &draft)?;
        self.put_in_place(&draft, path)
    }

    /// Renames a synced draft to its final name.
    pub fn put_in_place(&self, draft: &Path, path: &Path) -> io::Result<()> {
        self.step(DiskOperation::Rename, path, || fs::rename(draft, path))?;
        self.sync_directory(parent(path))
    }

    fn step<T>(
        &self,
        kind: DiskOperation,
        path: &Path,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.count(kind);
        self.faults.around(kind, path, act)
    }

    fn count(&self, kind: DiskOperation) {
        self.counted.operations.fetch_add(1, Ordering::Relaxed);
        match kind {
            DiskOperation::Write => self.counted.writes.fetch_add(1, Ordering::Relaxed),
            DiskOperation::Sync | DiskOperation::SyncDirectory => {
                self.counted.syncs.fetch_add(1, Ordering::Relaxed)
            }
            DiskOperation::CreateDirectory
            | DiskOperation::Create
            | DiskOperation::Rename
            | DiskOperation::Truncate
            | DiskOperation::Remove => 0,
        };
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

fn draft_of(path: &Path) -> std::path::PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".draft");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests;
