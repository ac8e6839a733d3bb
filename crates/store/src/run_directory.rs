use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use saihai_model::{Fact, FrozenJson, Record, RecordEntry, Script, Start, Text, Workflow};

use crate::blobs::{Blobs, sha256};
use crate::disk::JournalRead;
use crate::journal::{JournalEnd, JournalReader, TornBatch};
use crate::lock::Lock;
use crate::{Disk, Glimpses, Runs, StoreError};

/// One run on disk: `journal.ndjson`, `workflow.json`, `script.json`, `blobs/`, `lock`, `inbox/`, `scratch/` and, while
/// it is active, `live/`. This value locates the run; it does not own it.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
    id: String,
    disk: Disk,
    /// The first fact of the journal, once read. It never changes, so all clones share it.
    start: Arc<OnceLock<Start>>,
}

impl RunDirectory {
    pub fn new(runs: &Path, id: String, disk: &Disk) -> Self {
        Self { path: runs.join(&id), id, disk: disk.clone(), start: Arc::default() }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory of the project: the run lies in its `.saihai/runs`.
    pub fn project_root(&self) -> &Path {
        self.path.ancestors().nth(3).unwrap_or(&self.path)
    }

    /// Returns the shortest name to type for this run, see [`Runs::short_name`].
    pub fn short_name(&self) -> String {
        let runs = self.path.parent().map(|directory| Runs::in_directory(directory, self.disk.clone()));
        runs.map_or_else(|| self.id.clone(), |runs| runs.short_name(&self.id))
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.ndjson")
    }

    /// Opens the journal to read all of it. A command does this once per run and keeps the reader or the result.
    pub fn open_journal(&self) -> Result<JournalReader, StoreError> {
        self.open_for(JournalRead::All)
    }

    /// Opens the journal to read the records after `end`, for a screen that follows the run.
    pub fn open_journal_after(&self, end: JournalEnd) -> Result<JournalReader, StoreError> {
        let path = self.journal();
        let read = if end == JournalEnd::default() { JournalRead::All } else { JournalRead::Rest };
        self.disk.note_journal_read(read, &path);
        JournalReader::open_after(&path, end)
    }

    fn open_for(&self, read: JournalRead) -> Result<JournalReader, StoreError> {
        let path = self.journal();
        self.disk.note_journal_read(read, &path);
        JournalReader::open(&path)
    }

    /// Keeps the start of the run, if this is its record, so that [`Self::start`] needs no file.
    pub fn remember_start(&self, record: &Record) {
        if let RecordEntry::Fact(Fact::Started(start)) = &record.entry {
            self.start.get_or_init(|| (**start).clone());
        }
    }

    /// Passes every record of the journal to `see`, in order. Returns the incomplete last append, if the run's owner
    /// died during the write. Changes nothing; the run may be active meanwhile.
    pub fn read(&self, see: &mut dyn FnMut(Record)) -> Result<Option<TornBatch>, StoreError> {
        let mut reader = self.open_journal()?;
        while let Some(batch) = reader.next_records()? {
            for record in batch {
                self.remember_start(&record);
                see(record);
            }
        }
        // To another process, an append in progress looks torn.
        Ok(reader.torn().filter(|_| self.owner().is_none()))
    }

    /// Reads the workflow as frozen at the start.
    pub fn workflow(&self) -> Result<Workflow, StoreError> {
        self.frozen_workflow(self.start()?)
    }

    /// Reads the script as frozen at the start, if there is one.
    pub fn script(&self) -> Result<Option<Script>, StoreError> {
        let path = self.path.join(SCRIPT);
        if !path.exists() {
            return Ok(None);
        }
        let bytes = std::fs::read(&path).map_err(StoreError::io("read", &path))?;
        Script::from_json(&bytes).map(Some).map_err(|error| damaged(&path, 1, &error.to_string()))
    }

    /// Reads the content of a text, inline or from its blob.
    pub fn text(&self, text: &Text) -> Result<String, StoreError> {
        self.blobs().read(text).map_err(|bad| self.bad_text(text, &bad.to_string()))
    }

    /// Reads a text, or about its first `most` bytes if it is a longer blob. Also returns whether it is cut.
    pub fn text_start(&self, text: &Text, most: u64) -> Result<(String, bool), StoreError> {
        self.blobs().read_start(text, most).map_err(|bad| self.bad_text(text, &bad.to_string()))
    }

    /// Checks a text, and opens it for reading in parts.
    pub fn open_text(&self, text: &Text) -> Result<Box<dyn std::io::Read + Send>, StoreError> {
        match text {
            Text::Inline(text) => Ok(Box::new(std::io::Cursor::new(text.to_string()))),
            Text::Blob { hash, bytes } => {
                let opened = self.blobs().open_checked(hash, *bytes);
                Ok(Box::new(opened.map_err(|bad| self.bad_text(text, &bad.to_string()))?))
            }
        }
    }

    /// Creates a viewer for the live output of the run.
    pub fn glimpses(&self) -> Glimpses {
        Glimpses::new(self.live())
    }

    /// Returns the owner of the run if it is alive. The inner value is its process id, if known.
    pub fn owner(&self) -> Option<Option<u32>> {
        // A lock that cannot be read counts as free: taking it then gives the real error.
        Lock::holder(&self.lock_path()).unwrap_or(None)
    }

    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    pub fn blobs(&self) -> Blobs {
        Blobs::new(self.path.join(BLOBS), &self.disk)
    }

    pub fn inbox(&self) -> PathBuf {
        self.path.join(INBOX)
    }

    /// Directory for the files and raw output of providers.
    pub fn scratch(&self) -> PathBuf {
        self.path.join(SCRATCH)
    }

    /// Directory for the live output of running turns.
    pub fn live(&self) -> PathBuf {
        self.path.join(LIVE)
    }

    /// Takes the run. A run with a ticket belongs to the server, and the journal here is a copy.
    pub fn lock(&self) -> Result<Lock, StoreError> {
        if self.path.join(SERVER_TICKET).exists() {
            return Err(StoreError::OnServer { run: self.id.clone() });
        }
        Lock::take(&self.lock_path(), &self.id, &self.disk)
    }

    /// Writes all files that never change afterwards.
    pub fn freeze(&self, workflow: &[u8], script: Option<&Script>) -> Result<(), StoreError> {
        for folder in [BLOBS, INBOX] {
            let path = self.path.join(folder);
            self.disk.create_directory(&path).map_err(StoreError::io("create", &path))?;
        }
        let path = self.path.join(WORKFLOW);
        self.disk.replace(&path, workflow).map_err(StoreError::io("write", &path))?;
        if let Some(script) = script {
            let path = self.path.join(SCRIPT);
            self.disk.replace(&path, &script.to_json()).map_err(StoreError::io("write", &path))?;
        }
        Ok(())
    }

    /// Copies all files that never change to another directory of the run, except those that are there.
    pub fn copy_frozen(&self, to: &Self) -> Result<(), StoreError> {
        for folder in [BLOBS, INBOX] {
            let path = to.path.join(folder);
            to.disk.create_directories(&path).map_err(StoreError::io("create", &path))?;
        }
        let blobs = self.path.join(BLOBS);
        let mut names = vec![PathBuf::from(WORKFLOW), PathBuf::from(SCRIPT)];
        for entry in std::fs::read_dir(&blobs).map_err(StoreError::io("read", &blobs))? {
            let entry = entry.map_err(StoreError::io("read", &blobs))?;
            names.push(Path::new(BLOBS).join(entry.file_name()));
        }
        for name in names {
            let (from, to_path) = (self.path.join(&name), to.path.join(&name));
            if from.exists() && !to_path.exists() {
                let content = std::fs::read(&from).map_err(StoreError::io("read", &from))?;
                to.disk.replace(&to_path, &content).map_err(StoreError::io("write", &to_path))?;
            }
        }
        // A process that died while it wrote the journal.
        drop(to.disk.remove(&to.journal().with_extension("draft")));
        Ok(())
    }

    /// Returns the bytes of the frozen workflow.
    pub fn workflow_bytes(&self) -> Result<Vec<u8>, StoreError> {
        let path = self.path.join(WORKFLOW);
        std::fs::read(&path).map_err(StoreError::io("read", &path))
    }

    /// Reads the frozen workflow and checks it against the start record.
    pub fn frozen_workflow(&self, start: &Start) -> Result<Workflow, StoreError> {
        let path = self.path.join(WORKFLOW);
        let bytes = self.workflow_bytes()?;
        if sha256(&bytes) != start.workflow {
            return Err(damaged(&path, 1, "it differs from the workflow at the start of the run"));
        }
        Workflow::from_json(&bytes).map_err(|error| damaged(&path, 1, &error.to_string()))
    }

    /// Returns the error for a text with an unusable blob. It names the journal line that refers to the blob.
    pub fn bad_text(&self, text: &Text, why: &str) -> StoreError {
        let Text::Blob { hash, .. } = text else { return damaged(&self.journal(), 1, why) };
        let path = self.blobs().path(hash);
        damaged(&path, self.line_naming(hash).unwrap_or(1), why)
    }

    /// Returns the start record of the run. Reads it from the journal the first time.
    pub fn start(&self) -> Result<&Start, StoreError> {
        if let Some(start) = self.start.get() {
            return Ok(start);
        }
        let first = self.open_for(JournalRead::Start)?.next_records()?.unwrap_or_default();
        first.first().into_iter().for_each(|record| self.remember_start(record));
        self.start.get().ok_or_else(|| self.unborn())
    }

    /// Returns true if the process died before its first append was complete.
    pub fn never_started(&self) -> bool {
        let first = || self.open_for(JournalRead::Start)?.next_records();
        match self.start.get().is_none().then(first) {
            Some(Ok(Some(records))) => {
                records.first().into_iter().for_each(|record| self.remember_start(record));
                false
            }
            Some(Ok(None)) => true,
            // Reading the run will report the error.
            Some(Err(_)) | None => false,
        }
    }

    pub fn unborn(&self) -> StoreError {
        damaged(&self.journal(), 1, "the run never started: its first append is incomplete")
    }

    fn line_naming(&self, hash: &str) -> Option<u64> {
        self.disk.note_journal_read(JournalRead::All, &self.journal());
        let text = std::fs::read(self.journal()).ok()?;
        let found = text.windows(hash.len()).position(|window| window == hash.as_bytes())?;
        Some(1 + text[..found].iter().filter(|byte| **byte == b'\n').count() as u64)
    }

    fn lock_path(&self) -> PathBuf {
        self.path.join("lock")
    }
}

/// The file of a run that a server drives: the way back to it.
pub const SERVER_TICKET: &str = "server.json";
const WORKFLOW: &str = "workflow.json";
const SCRIPT: &str = "script.json";
const BLOBS: &str = "blobs";
const INBOX: &str = "inbox";
const SCRATCH: &str = "scratch";
const LIVE: &str = "live";

pub fn damaged(path: &Path, line: u64, why: &str) -> StoreError {
    StoreError::Damaged { path: path.to_path_buf(), line, why: why.to_owned() }
}
