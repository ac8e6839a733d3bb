//! Reading what an agent may have put in the place of a file.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// What a file holds. Of anything that is none, such as a pipe whose other end nobody holds, nothing is waited for.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("flags are small");
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_read_and_nothing_is_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let (pipe, file) = (place.path().join("pipe"), place.path().join("file"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read(&file).unwrap(), b"text");
        assert_eq!(read(&pipe).unwrap_err().to_string(), "it is not a file");
        assert!(read(place.path()).is_err());
        assert_eq!(read(&place.path().join("nowhere")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
