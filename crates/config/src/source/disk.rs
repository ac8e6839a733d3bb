use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{FileKind, ReadError, Source};

#[derive(Debug, Clone, Copy, Default)]
pub struct DiskSource;

impl Source for DiskSource {
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
        // Check the kind before opening: opening a pipe without a writer would block forever.
        let metadata = fs::metadata(path).map_err(|error| explain(&error))?;
        if metadata.is_dir() {
            return Err(ReadError::Directory);
        }
        if !metadata.is_file() {
            return Err(ReadError::Other("it is not an ordinary file".to_owned()));
        }
        if metadata.len() > limit {
            return Err(ReadError::TooLarge { limit });
        }
        let file = fs::File::open(path).map_err(|error| explain(&error))?;
        let mut content = Vec::new();
        // The file may have grown since, and kernel files report size zero.
        file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(|error| explain(&error))?;
        if content.len() as u64 > limit {
            return Err(ReadError::TooLarge { limit });
        }
        Ok(content)
    }

    fn kind(&self, path: &Path) -> Option<FileKind> {
        let metadata = fs::metadata(path).ok()?;
        Some(if metadata.is_dir() {
            FileKind::Directory
        } else if metadata.is_file() {
            FileKind::File
        } else {
            FileKind::Other
        })
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>, ReadError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(|error| explain(&error))? {
            names.push(entry.map_err(|error| explain(&error))?.file_name());
        }
        names.sort();
        Ok(names)
    }

    #[cfg(unix)]
    fn is_executable(&self, path: &Path) -> bool {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    }

    #[cfg(not(unix))]
    fn is_executable(&self, path: &Path) -> bool {
        self.is_file(path)
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf, ReadError> {
        fs::canonicalize(path).map_err(|error| explain(&error))
    }
}

fn explain(error: &io::Error) -> ReadError {
    const MISSING: [io::ErrorKind; 2] = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    let kind = error.kind();
    if MISSING.contains(&kind) {
        ReadError::Missing
    } else if kind == io::ErrorKind::IsADirectory {
        ReadError::Directory
    } else if kind == io::ErrorKind::PermissionDenied {
        ReadError::Unreadable
    } else {
        ReadError::Other(error.to_string())
    }
}
