//! The complete output of a process, in a file of the run.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use saihai_model::{Ask, CallId};

/// The file and its length.
pub(super) struct Transcript {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Transcript {
    /// Creates the file of an attempt. It replaces a file that a crashed process left for the same attempt.
    pub(super) fn create(ask: &Ask) -> io::Result<Self> {
        let path = transcript_of(ask);
        let file = OpenOptions::new().create(true).truncate(true).read(true).write(true).open(&path)?;
        Ok(Self { file, path, length: 0 })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Reads a part of the file, then returns to its end.
    pub(super) fn read<T>(
        &mut self,
        from: u64,
        length: u64,
        reader: impl FnOnce(&mut dyn io::Read) -> io::Result<T>,
    ) -> io::Result<T> {
        self.file.seek(SeekFrom::Start(from))?;
        let read = reader(&mut (&self.file).take(length));
        self.file.seek(SeekFrom::Start(self.length))?;
        read
    }
}

pub(crate) fn transcript_of(ask: &Ask) -> PathBuf {
    Path::new(&ask.scratch).join(name(&ask.call, ask.attempt))
}

/// Builds a file name from the call and the attempt, in characters that every file system allows. Other
/// characters are escaped, so that two calls never share a file.
fn name(call: &CallId, attempt: u32) -> String {
    const LONGEST: usize = 120;
    let mut name = String::new();
    for byte in call.stage.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    if name.len() > LONGEST {
        name.truncate(LONGEST);
        name.push('~');
    }
    format!("{name}.{}.{}.{}-{attempt}.out", call.visit, call.round, call.n)
}
