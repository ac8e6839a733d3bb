//! Reading what an agent may have put in the place of a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// What a file holds. Of anything that is none, such as a pipe whose other end nobody holds, nothing is waited for.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// A file to be read, and nothing else that may stand in its place.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// The same, for whatever the options say.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    insist(options, OFlags::NONBLOCK, path)
}

/// The same, and no link is followed: for what is known by its place, such as a lock.
pub fn open_at(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    insist(options, OFlags::NONBLOCK | OFlags::NOFOLLOW, path)
}

fn insist(options: &mut OpenOptions, flags: OFlags, path: &Path) -> io::Result<File> {
    let flags = i32::try_from(flags.bits()).expect("flags are small");
    let file = options.custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"))
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
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let to_write = || OpenOptions::new().read(true).append(true).to_owned();
        assert_eq!(open_at(&mut to_write(), &pipe).unwrap_err().to_string(), "it is not a file");
        assert!(open_at(&mut to_write(), &link).is_err());
        assert!(open_at(&mut to_write(), &file).is_ok() && open(&link).is_ok());
        assert!(read(place.path()).is_err());
        assert_eq!(read(&place.path().join("nowhere")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
