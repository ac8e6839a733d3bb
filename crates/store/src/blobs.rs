//! Large texts, stored as files named by the hash of their content.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use saihai_model::Text;
use sha2::{Digest, Sha256};

use crate::Disk;

#[derive(Debug, Clone)]
pub struct Blobs {
    directory: PathBuf,
    disk: Disk,
}

/// Reason why a blob is unusable.
#[derive(Debug, thiserror::Error)]
pub enum Bad {
    #[error("its blob is missing")]
    Missing,
    #[error("its blob has {found} bytes instead of {expected}")]
    Length { expected: u64, found: u64 },
    #[error("its blob was changed")]
    Changed,
    #[error("its blob cannot be read: {0}")]
    Unreadable(io::Error),
}

impl Blobs {
    pub fn new(directory: PathBuf, disk: &Disk) -> Self {
        Self { directory, disk: disk.clone() }
    }

    /// Returns the path of a blob.
    pub fn path(&self, hash: &str) -> PathBuf {
        self.directory.join(hash)
    }

    /// Stores a text: short ones inline, long ones as a blob. The blob is durable when this returns.
    pub fn keep(&self, text: String) -> Result<Text, (PathBuf, io::Error)> {
        if text.len() <= Text::INLINE_LIMIT {
            return Ok(text.into());
        }
        self.keep_bytes(text.as_bytes())
    }

    /// Stores bytes as a blob, even short ones.
    pub fn keep_bytes(&self, bytes: &[u8]) -> Result<Text, (PathBuf, io::Error)> {
        let hash = sha256(bytes);
        let kept = Text::Blob { hash: hash.clone(), bytes: bytes.len() as u64 };
        if self.verify(&hash, bytes.len() as u64).is_ok() {
            return Ok(kept);
        }
        let path = self.path(&hash);
        self.disk.replace(&path, bytes).map_err(|error| (path, error))?;
        Ok(kept)
    }

    pub fn read(&self, text: &Text) -> Result<String, Bad> {
        match text {
            Text::Inline(text) => Ok(text.to_string()),
            Text::Blob { hash, bytes } => {
                let content = self.read_bytes(hash, *bytes)?;
                // Blobs of texts are UTF-8, but a file that an agent wrote may contain any bytes.
                Ok(String::from_utf8(content)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
            }
        }
    }

    /// Reads a text, or its first `most` bytes if it is longer and a blob. Returns whether it is cut. All of it is
    /// checked, but memory holds only what is returned.
    pub fn read_start(&self, text: &Text, most: u64) -> Result<(String, bool), Bad> {
        match text {
            Text::Blob { hash, bytes } if *bytes > most => {
                let mut start = Vec::new();
                let file = self.open_checked(hash, *bytes)?;
                file.take(most).read_to_end(&mut start).map_err(Bad::Unreadable)?;
                if let Err(error) = str::from_utf8(&start)
                    && error.error_len().is_none()
                {
                    // The last character is cut in the middle.
                    start.truncate(error.valid_up_to());
                }
                Ok((String::from_utf8_lossy(&start).into_owned(), true))
            }
            Text::Inline(_) | Text::Blob { .. } => Ok((self.read(text)?, false)),
        }
    }

    pub fn read_bytes(&self, hash: &str, bytes: u64) -> Result<Vec<u8>, Bad> {
        let (mut file, _) = self.open(hash, bytes)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(Bad::Unreadable)?;
        if sha256(&content) == hash { Ok(content) } else { Err(Bad::Changed) }
    }

    /// Checks that a blob exists with the right length and content. Keeps nothing in memory.
    pub fn verify(&self, hash: &str, bytes: u64) -> Result<(), Bad> {
        let (mut file, _) = self.open(hash, bytes)?;
        let mut digest = Sha256::new();
        io::copy(&mut file, &mut Hashing(&mut digest)).map_err(Bad::Unreadable)?;
        if hex(&digest.finalize()) == hash { Ok(()) } else { Err(Bad::Changed) }
    }

    /// Checks a blob, and opens it.
    pub(crate) fn open_checked(&self, hash: &str, bytes: u64) -> Result<File, Bad> {
        self.verify(hash, bytes)?;
        Ok(self.open(hash, bytes)?.0)
    }

    /// Checks that a blob exists with the right length.
    pub fn look(&self, hash: &str, bytes: u64) -> Result<(), Bad> {
        self.open(hash, bytes).map(drop)
    }

    fn open(&self, hash: &str, bytes: u64) -> Result<(File, u64), Bad> {
        // The journal is checked before use. Still, a name from it must never lead out of the directory.
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Bad::Missing);
        }
        let missing = |error: io::Error| {
            if error.kind() == io::ErrorKind::NotFound { Bad::Missing } else { Bad::Unreadable(error) }
        };
        let file = File::open(self.path(hash)).map_err(missing)?;
        let found = file.metadata().map_err(Bad::Unreadable)?.len();
        if found == bytes { Ok((file, found)) } else { Err(Bad::Length { expected: bytes, found }) }
    }

    pub fn directory(&self) -> &Path {
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

pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blobs() -> (tempfile::TempDir, Blobs) {
        let directory = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(directory.path().to_path_buf(), &Disk::new());
        (directory, blobs)
    }

    fn long() -> String {
        "長い".repeat(Text::INLINE_LIMIT)
    }

    // V-12
    #[test]
    fn the_start_of_a_long_text_ends_with_a_whole_character_and_all_of_it_is_checked() {
        let (_directory, blobs) = blobs();
        let kept = blobs.keep(long()).unwrap();
        assert_eq!(blobs.read_start(&kept, 10).unwrap(), ("長い長".to_owned(), true));
        assert_eq!(blobs.read_start(&kept, 12).unwrap(), ("長い長い".to_owned(), true));
        assert_eq!(blobs.read_start(&kept, u64::MAX).unwrap(), (long(), false));
        let Text::Blob { hash, .. } = &kept else { panic!("inline") };
        let end_changed = long().replace('い', "う");
        std::fs::write(blobs.path(hash), end_changed).unwrap();
        assert!(matches!(blobs.read_start(&kept, 3), Err(Bad::Changed)));
    }

    // DESIGN 3.5
    #[test]
    fn short_texts_stay_inline_and_long_ones_become_files_named_by_their_hash() {
        let (directory, blobs) = blobs();
        let edge = "x".repeat(Text::INLINE_LIMIT);
        assert_eq!(blobs.keep(edge.clone()).unwrap(), Text::Inline(edge.into()));
        let kept = blobs.keep(long()).unwrap();
        let hash = sha256(long().as_bytes());
        assert_eq!(kept, Text::Blob { hash: hash.clone(), bytes: long().len() as u64 });
        assert_eq!(std::fs::read_to_string(directory.path().join(&hash)).unwrap(), long());
        assert_eq!(blobs.read(&kept).unwrap(), long());
        insta::assert_snapshot!(sha256(b"abc"), @"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn the_same_text_is_written_once_and_again_only_if_it_was_damaged() {
        let (directory, blobs) = blobs();
        let kept = blobs.keep(long()).unwrap();
        let once = blobs.disk.operations();
        assert_eq!(blobs.keep(long()).unwrap(), kept);
        assert_eq!(blobs.disk.operations(), once);
        let Text::Blob { hash, .. } = &kept else { panic!("{kept:?}") };
        std::fs::write(directory.path().join(hash), long().replacen('長', "短", 1)).unwrap();
        assert_eq!(blobs.keep(long()).unwrap(), kept);
        assert_eq!(blobs.read(&kept).unwrap(), long());
    }

    // T-13
    #[test]
    fn a_blob_that_is_missing_cut_or_changed_is_never_read_as_its_text() {
        let (directory, blobs) = blobs();
        let kept = blobs.keep(long()).unwrap();
        let Text::Blob { hash, bytes } = kept.clone() else { panic!("{kept:?}") };
        let path = directory.path().join(&hash);
        let check = |expected: &str| {
            assert_eq!(blobs.read(&kept).unwrap_err().to_string(), expected);
            assert_eq!(blobs.verify(&hash, bytes).unwrap_err().to_string(), expected);
        };
        std::fs::write(&path, long().replacen('長', "短", 1)).unwrap();
        check("its blob was changed");
        blobs.look(&hash, bytes).unwrap();
        std::fs::write(&path, "short").unwrap();
        check("its blob has 5 bytes instead of 98304");
        std::fs::remove_file(&path).unwrap();
        check("its blob is missing");
        let elsewhere = Text::Blob { hash: "../../etc/passwd".into(), bytes: 1 };
        assert_eq!(blobs.read(&elsewhere).unwrap_err().to_string(), "its blob is missing");
    }
}
