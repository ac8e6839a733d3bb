//! Large texts, kept as files named by the hash of their content.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use saihai_model::Text;
use sha2::{Digest, Sha256};

use crate::Disk;

/// The blobs of a run.
#[derive(Debug, Clone)]
pub(crate) struct Blobs {
    directory: PathBuf,
    disk: Disk,
}

/// Why a blob cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Bad {
    #[error("its blob is missing")]
    Missing,
    #[error("its blob has {found} bytes instead of {expected}")]
    Length { expected: u64, found: u64 },
    #[error("its blob is not what was written")]
    Changed,
    #[error("its blob cannot be read: {0}")]
    Unreadable(io::Error),
}

impl Blobs {
    pub(crate) fn new(directory: PathBuf, disk: &Disk) -> Self {
        Self { directory, disk: disk.clone() }
    }

    /// The file of a blob.
    pub(crate) fn path(&self, hash: &str) -> PathBuf {
        self.directory.join(hash)
    }

    /// Keeps a text: short ones in themselves, long ones as a blob that is durable when this returns.
    pub(crate) fn keep(&self, text: String) -> Result<Text, (PathBuf, io::Error)> {
        if text.len() <= Text::INLINE_LIMIT {
            return Ok(Text::Inline(text));
        }
        self.keep_bytes(text.as_bytes())
    }

    /// Keeps bytes as a blob, however few.
    pub(crate) fn keep_bytes(&self, bytes: &[u8]) -> Result<Text, (PathBuf, io::Error)> {
        let hash = sha256(bytes);
        let kept = Text::Blob { hash: hash.clone(), bytes: bytes.len() as u64 };
        if self.verify(&hash, bytes.len() as u64).is_ok() {
            return Ok(kept);
        }
        let path = self.path(&hash);
        self.disk.replace(&path, bytes).map_err(|error| (path, error))?;
        Ok(kept)
    }

    /// The content of a text.
    pub(crate) fn read(&self, text: &Text) -> Result<String, Bad> {
        match text {
            Text::Inline(text) => Ok(text.clone()),
            Text::Blob { hash, bytes } => {
                let content = self.read_bytes(hash, *bytes)?;
                // Blobs of texts are UTF-8; what an agent wrote into a file may be anything.
                Ok(String::from_utf8(content)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
            }
        }
    }

    /// The content of a blob.
    pub(crate) fn read_bytes(&self, hash: &str, bytes: u64) -> Result<Vec<u8>, Bad> {
        let (mut file, _) = self.open(hash, bytes)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(Bad::Unreadable)?;
        if sha256(&content) == hash { Ok(content) } else { Err(Bad::Changed) }
    }

    /// Whether a blob is there, with the right length and content. Nothing is kept in memory.
    pub(crate) fn verify(&self, hash: &str, bytes: u64) -> Result<(), Bad> {
        let (mut file, _) = self.open(hash, bytes)?;
        let mut digest = Sha256::new();
        io::copy(&mut file, &mut Hashing(&mut digest)).map_err(Bad::Unreadable)?;
        if hex(&digest.finalize()) == hash { Ok(()) } else { Err(Bad::Changed) }
    }

    /// Whether a blob is there, with the right length.
    pub(crate) fn look(&self, hash: &str, bytes: u64) -> Result<(), Bad> {
        self.open(hash, bytes).map(drop)
    }

    fn open(&self, hash: &str, bytes: u64) -> Result<(File, u64), Bad> {
        // A journal is checked before it is believed, yet a name out of it never leads out of the directory.
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Bad::Missing);
        }
        let file = File::open(self.path(hash)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Bad::Missing,
            _ => Bad::Unreadable(error),
        })?;
        let found = file.metadata().map_err(Bad::Unreadable)?.len();
        if found == bytes { Ok((file, found)) } else { Err(Bad::Length { expected: bytes, found }) }
    }

    /// Where they are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

struct Hashing<'a>(&'a mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
