//! File access. No other module of this crate touches a disk.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// Read-only access to files by path.
pub trait Source {
    /// Reads a file of at most `limit` bytes. Follows symbolic links.
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError>;

    /// Returns the kind of the file at a path, if it exists. Follows symbolic links.
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
    #[error("a link leads out of the project, to `{}`", .to.display())]
    Outside { to: PathBuf },
    /// A symbolic link of the project leads to a file that git ignores or owns.
    #[error("a link leads to `{}`, which git ignores or owns", .to.display())]
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
                Some("replace the link with the file: a link could expose files outside the project")
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

/// Files in memory, for tests and hosts without a disk. A directory exists while it contains a file.
#[derive(Debug, Clone, Default)]
pub struct MemorySource {
    files: BTreeMap<PathBuf, Vec<u8>>,
    links: BTreeMap<PathBuf, PathBuf>,
    programs: BTreeSet<PathBuf>,
}

impl MemorySource {
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut source = Self::default();
        for (path, content) in files {
            source.add(path, content);
        }
        source
    }

    pub fn add(&mut self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) {
        self.files.insert(plain(path.as_ref()), content.into());
    }

    pub fn add_program(&mut self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) {
        self.programs.insert(plain(path.as_ref()));
        self.add(path, content);
    }

    pub fn remove(&mut self, path: impl AsRef<Path>) {
        self.files.remove(&plain(path.as_ref()));
    }

    /// Adds a symbolic link to an absolute path.
    pub fn link(&mut self, path: impl AsRef<Path>, to: impl AsRef<Path>) {
        self.links.insert(plain(path.as_ref()), plain(to.as_ref()));
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        let mut resolved = PathBuf::new();
        for part in plain(path).components() {
            resolved.push(part);
            // A chain longer than the number of links is a cycle and resolves to nothing.
            for _ in 0..self.links.len() {
                let Some(to) = self.links.get(&resolved) else { break };
                resolved.clone_from(to);
            }
        }
        resolved
    }
}

impl Source for MemorySource {
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
        match self.kind(path) {
            None => Err(ReadError::Missing),
            Some(FileKind::Directory) => Err(ReadError::Directory),
            Some(FileKind::File | FileKind::Other) => {
                let content = self.files.get(&self.resolve(path)).ok_or(ReadError::Missing)?;
                if content.len() as u64 > limit {
                    return Err(ReadError::TooLarge { limit });
                }
                Ok(content.clone())
            }
        }
    }

    fn kind(&self, path: &Path) -> Option<FileKind> {
        let path = self.resolve(path);
        if self.files.contains_key(&path) {
            return Some(FileKind::File);
        }
        self.files.keys().any(|file| file.starts_with(&path)).then_some(FileKind::Directory)
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>, ReadError> {
        if self.kind(path) != Some(FileKind::Directory) {
            return Err(ReadError::Missing);
        }
        let path = self.resolve(path);
        let inside = self.files.keys().chain(self.links.keys());
        let mut names: Vec<OsString> = inside
            .filter_map(|file| file.strip_prefix(&path).ok())
            .filter_map(|rest| rest.components().next())
            .map(|part| part.as_os_str().to_owned())
            .collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn is_executable(&self, path: &Path) -> bool {
        self.is_file(path) && self.programs.contains(&self.resolve(path))
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf, ReadError> {
        self.kind(path).map(|_| self.resolve(path)).ok_or(ReadError::Missing)
    }
}

/// A source that caches the first result of every access and ignores later changes to the files.
#[derive(Debug)]
pub struct RememberedSource<S> {
    now: S,
    read: Answers<(PathBuf, u64), Result<Vec<u8>, ReadError>>,
    kinds: Answers<PathBuf, Option<FileKind>>,
    lists: Answers<PathBuf, Result<Vec<OsString>, ReadError>>,
    canonical: Answers<PathBuf, Result<PathBuf, ReadError>>,
    executable: Answers<PathBuf, bool>,
}

#[derive(Debug)]
struct Answers<K, V>(RefCell<BTreeMap<K, V>>);

impl<K: Ord, V: Clone> Answers<K, V> {
    fn none() -> Self {
        Self(RefCell::new(BTreeMap::new()))
    }

    fn first(&self, key: K, ask: impl FnOnce() -> V) -> V {
        self.0.borrow_mut().entry(key).or_insert_with(ask).clone()
    }
}

impl<S: Source> RememberedSource<S> {
    /// Wraps a source with an empty cache.
    pub fn new(now: S) -> Self {
        Self {
            now,
            read: Answers::none(),
            kinds: Answers::none(),
            lists: Answers::none(),
            canonical: Answers::none(),
            executable: Answers::none(),
        }
    }
}

impl<S: Source> Source for RememberedSource<S> {
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.read.first((path.to_owned(), limit), || self.now.read(path, limit))
    }

    fn kind(&self, path: &Path) -> Option<FileKind> {
        self.kinds.first(path.to_owned(), || self.now.kind(path))
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>, ReadError> {
        self.lists.first(path.to_owned(), || self.now.list(path))
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf, ReadError> {
        self.canonical.first(path.to_owned(), || self.now.canonical(path))
    }

    fn is_executable(&self, path: &Path) -> bool {
        self.executable.first(path.to_owned(), || self.now.is_executable(path))
    }
}

/// Removes `.` and `..` lexically. The real path may differ if a symbolic link precedes `..`.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
