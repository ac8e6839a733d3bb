use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use saihai_model::{Moment, Record, RecordEntry};

use super::line;
use super::reader::JournalEnd;
use crate::{Disk, StoreError};

/// Writer of a journal. It opens the file per append, so that a thousand runs need no more descriptors.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    disk: Disk,
    end: JournalEnd,
    buffer: Vec<u8>,
    poisoned: bool,
}

/// A failed append. This process trusts neither its bytes nor any later ones.
#[derive(Debug, thiserror::Error)]
#[error("cannot append to `{}`: {source}", path.display())]
pub struct JournalWriteError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Writes a whole journal from the batches of another and returns its end. The journal appears only once it is complete.
/// The records keep their numbers.
pub fn copy(path: &Path, disk: &Disk, batches: &[Vec<Record>]) -> Result<JournalEnd, StoreError> {
    let draft = path.with_extension("draft");
    let file = disk.create_new(&draft).map_err(StoreError::io("create", &draft))?;
    let mut buffer = Vec::new();
    let mut end = JournalEnd::default();
    for records in batches {
        end.batch += 1;
        for (record, left) in records.iter().zip((0..records.len() as u64).rev()) {
            line::write(&mut buffer, record, end.batch, left);
            (end.seq, end.at) = (record.seq, record.at);
        }
        if buffer.len() > COPIED_AT_ONCE {
            disk.write(&file, &draft, &buffer).map_err(StoreError::io("write", &draft))?;
            end.length += buffer.len() as u64;
            buffer.clear();
        }
    }
    disk.write(&file, &draft, &buffer).map_err(StoreError::io("write", &draft))?;
    end.length += buffer.len() as u64;
    disk.sync(&file, &draft).map_err(StoreError::io("sync", &draft))?;
    disk.put_in_place(&draft, path).map_err(StoreError::io("write", path))?;
    Ok(end)
}

/// Maximum bytes of a copied journal in memory.
const COPIED_AT_ONCE: usize = 1024 * 1024;

impl Journal {
    /// Creates an empty journal. The caller of the first append syncs its directory.
    pub fn create(path: &Path, disk: &Disk) -> Result<Self, StoreError> {
        disk.create_new(path).map_err(StoreError::io("create", path))?;
        Ok(Self::at(path, disk, JournalEnd::default()))
    }

    /// Continues after the part that a reader found intact, and cuts off the rest.
    pub fn reopen(path: &Path, disk: &Disk, end: JournalEnd, torn: bool) -> Result<Self, StoreError> {
        if torn {
            let file = OpenOptions::new().write(true).open(path);
            let file = file.map_err(StoreError::io("open", path))?;
            disk.truncate(&file, path, end.length).map_err(StoreError::io("truncate", path))?;
            disk.sync(&file, path).map_err(StoreError::io("sync", path))?;
        }
        Ok(Self::at(path, disk, end))
    }

    fn at(path: &Path, disk: &Disk, end: JournalEnd) -> Self {
        Self { path: path.to_path_buf(), disk: disk.clone(), end, buffer: Vec::new(), poisoned: false }
    }

    pub fn last(&self) -> Moment {
        self.end.at
    }

    /// Appends one batch: one write, one sync. The caller may act on it only after success.
    pub fn append(&mut self, entries: Vec<(Moment, RecordEntry)>) -> Result<Vec<Record>, JournalWriteError> {
        if self.poisoned {
            return Err(self.failed(io::Error::other("an earlier append has failed")));
        }
        let (batch, count) = (self.end.batch + 1, entries.len() as u64);
        let numbered = entries.into_iter().zip(self.end.seq + 1..);
        let records: Vec<_> = numbered.map(|((at, entry), seq)| Record { seq, at, entry }).collect();
        self.buffer.clear();
        for (record, left) in records.iter().zip((0..count).rev()) {
            line::write(&mut self.buffer, record, batch, left);
        }
        if let Err(source) = self.write() {
            self.poisoned = true;
            return Err(self.failed(source));
        }
        self.end.length += self.buffer.len() as u64;
        self.end.seq += count;
        self.end.batch = batch;
        self.end.at = records.last().map_or(self.end.at, |record| record.at);
        // Do not keep the memory of one huge batch for the rest of the run.
        self.buffer.shrink_to(64 * 1024);
        Ok(records)
    }

    fn write(&self) -> io::Result<()> {
        let file = OpenOptions::new().append(true).open(&self.path)?;
        if file.metadata()?.len() != self.end.length {
            return Err(io::Error::other("another process has written to it"));
        }
        self.disk.write(&file, &self.path, &self.buffer)?;
        self.disk.sync(&file, &self.path)
    }

    fn failed(&self, source: io::Error) -> JournalWriteError {
        JournalWriteError { path: self.path.clone(), source }
    }
}
