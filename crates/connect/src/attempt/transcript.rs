//! All that a process printed, in a file of the run.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use saihai_model::{Ask, CallId};

/// The file, and how much stands in it.
pub(super) struct Transcript {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Transcript {
    /// A new file for an attempt; what a crashed process left of the same attempt is replaced.
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

    /// Reads a part of it, and then goes on at its end.
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

/// Where all stands that a process printed for an ask.
pub(crate) fn transcript_of(ask: &Ask) -> PathBuf {
    Path::new(&ask.scratch).join(name(&ask.call, ask.attempt))
}

/// The call and the attempt, in letters that every file system takes; what is no such letter is spelled out, so that
/// two calls never share a file.
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
