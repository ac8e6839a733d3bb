//! A run that a screen follows while any process drives it.

use saihai_store::journal::JournalEnd;
use saihai_view::{RunState, RunView};

use crate::{DriverError, RunDirectory, StoreError};

/// A run whose journal is read piece by piece. A look at an unchanged journal costs one file status, and a look at a
/// longer one reads only the new records. No file stays open between two looks, so a screen can follow many runs.
#[derive(Debug)]
pub struct FollowedRun {
    directory: RunDirectory,
    /// Size of the journal at the last look.
    size: Option<u64>,
    end: JournalEnd,
    view: Option<RunView>,
}

impl FollowedRun {
    pub fn new(directory: RunDirectory) -> Self {
        Self { directory, size: None, end: JournalEnd::default(), view: None }
    }

    pub fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// Returns the view of the records so far; none before the first look and after [`Self::release`].
    pub fn view(&self) -> Option<&RunView> {
        self.view.as_ref()
    }

    /// Returns the current state: the records so far, and the holder of the lock now.
    pub fn state(&self) -> Option<RunState> {
        self.view.as_ref().map(|view| view.state(self.directory.owner()))
    }

    /// Reads the records since the last look. Returns true if there were any.
    pub fn look(&mut self) -> Result<bool, DriverError> {
        let path = self.directory.journal();
        let size = std::fs::metadata(&path).map_err(StoreError::io("read", &path))?.len();
        if self.size == Some(size) {
            return Ok(false);
        }
        // A journal that fails to read is not read again until it changes.
        self.size = Some(size);
        if self.view.is_none() || size < self.end.length {
            (self.view, self.end) = (None, JournalEnd::default());
        }
        let before = self.end.seq;
        let read = self.read();
        if read.is_err() {
            self.view = None;
        }
        read?;
        if self.view.is_none() {
            return Err(self.directory.unborn().into());
        }
        Ok(self.end.seq != before)
    }

    /// Frees the memory of a run that has ended. If its journal changes again, the next look reads all of it.
    pub fn release(&mut self) {
        self.view = None;
    }

    fn read(&mut self) -> Result<(), DriverError> {
        let mut reader = self.directory.open_journal_after(self.end)?;
        while let Some(records) = reader.next_records()? {
            for record in records {
                self.directory.remember_start(&record);
                match &mut self.view {
                    Some(view) => view.apply(record),
                    None => self.view = RunView::begin(&record),
                }
            }
        }
        self.end = reader.end();
        Ok(())
    }
}
