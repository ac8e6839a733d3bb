//! File content as text for searching and display.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use saihai_model::{LeftOut, SubjectFile};

/// Maximum size of a file that is read.
pub(super) const LARGEST: u64 = 20 * 1024 * 1024;
/// Number of bytes to search for a NUL, which marks a binary file. Git does the same.
pub(super) const LOOKED_AT: usize = 8 * 1024;

/// Builds a file of a subject from its bytes.
pub(super) fn of_bytes(path: String, previous: Option<String>, bytes: Vec<u8>) -> SubjectFile {
    let (text, lossy) = match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    };
    SubjectFile { path, previous, text, left_out: None, lossy }
}

/// Builds a file of a subject that has only a name.
pub(super) fn without_content(path: String, previous: Option<String>, why: LeftOut) -> SubjectFile {
    SubjectFile { path, previous, text: String::new(), left_out: Some(why), lossy: false }
}

pub(super) enum Content {
    Bytes(Vec<u8>),
    /// The reason for the missing content.
    LeftOut(LeftOut),
}

pub(super) fn content(file: &Path) -> io::Result<Content> {
    let mut bytes = Vec::new();
    fs::File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(if is_binary(&bytes) {
        Content::LeftOut(LeftOut::Binary)
    } else if bytes.len() as u64 > LARGEST {
        Content::LeftOut(LeftOut::TooLarge)
    } else {
        Content::Bytes(bytes)
    })
}

/// Returns true if the start of a file marks it as binary.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(LOOKED_AT)].contains(&0)
}
