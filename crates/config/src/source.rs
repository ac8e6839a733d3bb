//! Where files come from. Nothing else in this crate touches a disk.

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

/// Files by path, read only.
pub trait Source {
    /// The whole content of a file of at most `limit` bytes. Symbolic links are followed.
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError>;

    /// What stands at a path, or nothing. Symbolic links are followed.
    fn kind(&self, path: &Path) -> Option<FileKind>;

    /// The names in a directory, sorted. Not every name of a file is text.
    fn list(&self, path: &Path) -> Result<Vec<OsString>, ReadError>;

    /// The names in a directory that are text, sorted; none where it cannot be looked into.
    fn texts(&self, path: &Path) -> Vec<String> {
        let names = self.list(path).unwrap_or_default();
        names.into_iter().filter_map(|name| name.into_string().ok()).collect()
    }

    /// The path with every symbolic link and `..` resolved, for checks that a file stays where it belongs.
    fn canonical(&self, path: &Path) -> Result<PathBuf, ReadError>;

    /// Whether a file stands at a path.
    fn is_file(&self, path: &Path) -> bool {
        self.kind(path) == Some(FileKind::File)
    }

    /// Whether a file stands at a path that can be run as a program.
    fn is_executable(&self, path: &Path) -> bool;

    /// Whether a directory stands at a path.
    fn is_directory(&self, path: &Path) -> bool {
        self.kind(path) == Some(FileKind::Directory)
    }
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    /// A pipe, a socket, a device.
    Other,
}

/// Why something could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("it does not exist")]
    Missing,
    #[error("it is a directory, not a file")]
    Directory,
    #[error("permission is denied")]
    Unreadable,
    /// It is larger than allowed.
    #[error("it is larger than {}", bytes(*.limit))]
    TooLarge { limit: u64 },
    /// A link of the project leads out of it.
    #[error("it leads by a link out of the project, to `{}`", .to.display())]
    Outside { to: PathBuf },
    /// A link of the project leads to what git keeps out of it: what it ignores, or its own files.
    #[error("it leads by a link to `{}`, which git keeps out of the project", .to.display())]
    KeptOut {
        /// Where it leads to, from the root.
        to: PathBuf,
    },
    /// Anything else, in the words of the system.
    #[error("{0}")]
    Other(String),
}

impl ReadError {
    /// What can be done about it, where that does not depend on what the file is for.
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
