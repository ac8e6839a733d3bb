//! Saves the reports in a reply, without ever losing a file that an agent wrote.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use saihai_model::{CallId, Json, ReportClue, ReportLocation, SavedReport, Text};

use crate::Disk;
use crate::blobs::{Bad, Blobs, sha256};
use crate::disk::{Beneath, FileContent};
use crate::secrets::SecretRedactor;

#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyReports<'a> {
    /// The call that saves them.
    pub(crate) call: &'a CallId,
    pub(crate) text: &'a str,
    /// The position of each report in the text.
    pub(crate) found: &'a [ReportLocation],
    /// SHA-256 of the last content that we saved under each name.
    pub(crate) last: &'a BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportStore<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) blobs: &'a Blobs,
    pub(crate) disk: &'a Disk,
    /// The redactor for our copies of agents' files.
    pub(crate) secrets: &'a SecretRedactor,
}

#[derive(Debug)]
pub(crate) struct ReportWriteError {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

impl ReportStore<'_> {
    /// Saves every report and stops at the first failure. Saving all again later is harmless.
    pub(crate) fn save(
        &self,
        reports: &ReplyReports<'_>,
    ) -> Result<BTreeMap<String, Json>, ReportWriteError> {
        let directory = self.open()?;
        let mut saved = BTreeMap::new();
        for found in reports.found {
            let report = self.save_one(&directory, reports, found)?;
            let report = serde_json::to_value(report).expect("a saved report has text keys only");
            saved.insert(found.file.clone(), report);
        }
        Ok(saved)
    }

    fn save_one(
        &self,
        directory: &Beneath,
        reports: &ReplyReports<'_>,
        found: &ReportLocation,
    ) -> Result<SavedReport, ReportWriteError> {
        let failed = |source| self.failed(&found.file, source);
        let content = slice(reports.text, found).ok_or_else(|| failed(out_of_range()))?;
        let present = match directory.read(&found.file).map_err(failed)? {
            FileContent::File(bytes) => Some(bytes),
            FileContent::Absent => None,
            FileContent::Unsafe(why) => return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, why))),
        };
        // The file is the agent's if it is neither our last version nor the new one.
        let ours = |bytes: &Vec<u8>| {
            bytes == content.as_bytes() || reports.last.get(&found.file) == Some(&sha256(bytes))
        };
        let written = present.filter(|bytes| !ours(bytes));
        match (written, found.how) {
            (Some(bytes), ReportClue::Whole | ReportClue::Agent) => self.leave(&bytes),
            (Some(bytes), ReportClue::Clue | ReportClue::Only | ReportClue::Position) => {
                self.put_aside(reports.call, found, &bytes)?;
                self.put(directory, reports.call, found, content)
            }
            (None, _) => self.put(directory, reports.call, found, content),
        }
    }

    /// Leaves a file that the agent wrote itself, because the reply has no block for it (P-38).
    fn leave(&self, bytes: &[u8]) -> Result<SavedReport, ReportWriteError> {
        let copy = self.secrets.bytes(bytes);
        let kept =
            self.blobs.keep_bytes(&copy).map_err(|(path, source)| ReportWriteError { path, source })?;
        Ok(SavedReport {
            how: ReportClue::Agent,
            sha256: sha256(bytes),
            bytes: copy.len() as u64,
            start: 0,
            end: copy.len() as u64,
            content: Some(kept),
            agents_own: None,
        })
    }

    fn put(
        &self,
        directory: &Beneath,
        call: &CallId,
        found: &ReportLocation,
        content: &str,
    ) -> Result<SavedReport, ReportWriteError> {
        directory
            .replace(self.disk, &found.file, content.as_bytes())
            .map_err(|source| self.failed(&found.file, source))?;
        Ok(SavedReport {
            how: found.how,
            sha256: sha256(content.as_bytes()),
            bytes: content.len() as u64,
            start: found.start,
            end: found.end,
            content: None,
            agents_own: self.was_put_aside(call, found),
        })
    }

    /// Keeps the agent's version, with a note that survives a crash before the save is recorded.
    fn put_aside(&self, call: &CallId, found: &ReportLocation, bytes: &[u8]) -> Result<(), ReportWriteError> {
        let kept = self
            .blobs
            .keep_bytes(&self.secrets.bytes(bytes))
            .map_err(|(path, source)| ReportWriteError { path, source })?;
        let note = self.note(call, found);
        let text = serde_json::to_vec(&kept).expect("a text has text keys only");
        self.disk.replace(&note, &text).map_err(|source| ReportWriteError { path: note, source })
    }

    fn was_put_aside(&self, call: &CallId, found: &ReportLocation) -> Option<Text> {
        let text = std::fs::read(self.note(call, found)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn note(&self, call: &CallId, found: &ReportLocation) -> PathBuf {
        let name = sha256(format!("{call} {}", found.file).as_bytes());
        self.blobs.directory().join(format!("{name}.aside"))
    }

    fn open(&self) -> Result<Beneath, ReportWriteError> {
        let failed = |source| ReportWriteError { path: self.directory.to_path_buf(), source };
        match Beneath::open(self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.disk.create_directories(self.directory).map_err(failed)?;
                Beneath::open(self.directory).map_err(failed)
            }
            opened => opened.map_err(failed),
        }
    }

    fn failed(&self, file: &str, source: io::Error) -> ReportWriteError {
        ReportWriteError { path: self.directory.join(file), source }
    }
}

pub(crate) fn content(blobs: &Blobs, text: &Text, start: u64, end: u64) -> Result<Vec<u8>, Bad> {
    let bytes = match text {
        Text::Inline(text) => text.as_bytes().to_vec(),
        Text::Blob { hash, bytes } => blobs.read_bytes(hash, *bytes)?,
    };
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range.and_then(|(start, end)| bytes.get(start..end)).map(<[u8]>::to_vec).ok_or(Bad::Changed)
}

fn slice<'a>(text: &'a str, found: &ReportLocation) -> Option<&'a str> {
    text.get(usize::try_from(found.start).ok()?..usize::try_from(found.end).ok()?)
}

fn out_of_range() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not at the recorded position")
}

#[cfg(test)]
mod tests;
