//! One run on disk.

use std::path::{Path, PathBuf};

use saihai_model::{Record, Script, Text, Workflow};

use crate::{Disk, Error, Summary, Warning};

/// One run on disk: `journal.ndjson`, `workflow.json`, `script.json`, `blobs/`, `lock`, `inbox/`. Holding this
/// means to know where the run is, not to own it.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
    id: String,
    disk: Disk,
}

impl RunDirectory {
    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The journal's file.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.ndjson")
    }

    /// Shows every record of the journal in order; what was torn off its end comes back as a warning. Nothing is
    /// changed, and the run may be going on meanwhile.
    ///
    /// # Errors
    /// A journal that cannot be read or is damaged.
    pub fn read(&self, _see: &mut dyn FnMut(Record)) -> Result<Option<Warning>, Error> {
        Err(Error::NotBuilt("reading a journal"))
    }

    /// The workflow as it was frozen when the run began.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged.
    pub fn workflow(&self) -> Result<Workflow, Error> {
        Err(Error::NotBuilt("reading a frozen workflow"))
    }

    /// The script as it was frozen, where there is one.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged.
    pub fn script(&self) -> Result<Option<Script>, Error> {
        Err(Error::NotBuilt("reading a frozen script"))
    }

    /// The content of a text, from its blob where it has one.
    ///
    /// # Errors
    /// A blob that is missing or not what was written.
    pub fn text(&self, _text: &Text) -> Result<String, Error> {
        Err(Error::NotBuilt("reading a text"))
    }

    /// The run in one line.
    ///
    /// # Errors
    /// A journal that cannot be read or is damaged.
    pub fn summary(&self) -> Result<Summary, Error> {
        Err(Error::NotBuilt("summing up a run"))
    }
}
