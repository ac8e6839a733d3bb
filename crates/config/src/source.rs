//! File access. No other module of this crate touches a disk.

mod disk;
mod memory;
mod plain;
mod remembered;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use disk::DiskSource;
pub use memory::MemorySource;
pub use plain::plain;
pub use remembered::RememberedSource;

/// Read-only access to files by path.
pub trait Source {
    /// Reads a file of at most `limit` bytes. Follows symbolic links.
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError>;

    /// Returns the kind of the file at a path, or `None` if it does not exist. Follows symbolic
    /// links.
    fn kind(&self, path: &Path) -> Option<FileKind>;

    /// Lists the names in a directory, sorted. Names need not be valid UTF-8.
    fn list(&self, path: &Path) -> Result<Vec<OsString>, ReadError>;

    /// Lists the valid UTF-8 names in a directory, sorted; empty if the directory is unreadable.
    fn texts(&self, path: &Path) -> Vec<String> {
        let names = self.list(path).unwrap_or_default();
        names.into_iter().filter_map(|name| name.into_string().ok()).collect()
    }

    /// Resolves every symbolic link and `..`, for checks that a file stays inside a directory.
    fn canonical(&self, path: &Path) -> Result<PathBuf, ReadError>;

    fn is_file(&self, path: &Path) -> bool {
        self.kind(path) == Some(FileKind::File)
    }

    fn is_executable(&self, path: &Path) -> bool;

    fn is_directory(&self, path: &Path) -> bool {
        self.kind(path) == Some(FileKind::Directory)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    Other,
}

/// Reason for a failed read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("it does not exist")]
    Missing,
    #[error("it is a directory, not a file")]
    Directory,
    #[error("permission is denied")]
    Unreadable,
    #[error("it is larger than {}", bytes(*.limit))]
    TooLarge { limit: u64 },
    /// A symbolic link of the project leads outside it.
    #[error("it leads by a link out of the project, to `{}`", .to.display())]
    Outside { to: PathBuf },
    /// A symbolic link of the project leads to a file that git ignores or owns.
    #[error("it leads by a link to `{}`, which git keeps out of the project", .to.display())]
    KeptOut {
        /// Target of the link, relative to the root.
        to: PathBuf,
    },
    /// Any other error, in the words of the operating system.
    #[error("{0}")]
    Other(String),
}

impl ReadError {
    /// Returns a suggested fix, if it is independent of the file's purpose.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Outside { .. } | Self::KeptOut { .. } => {
                Some("put the file itself here: a link could show what is not the project's")
            }
            Self::Missing | Self::Directory | Self::Unreadable | Self::TooLarge { .. } | Self::Other(_) => {
                None
            }
        }
    }
}

fn bytes(count: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    if count >= MIB && count.is_multiple_of(MIB) {
        format!("{} MiB", count / MIB)
    } else {
        format!("{count} bytes")
    }
}

#[cfg(test)]
mod tests;
