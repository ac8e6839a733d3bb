use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{FileKind, ReadError, Source, plain};

/// In-memory files for tests and for hosts without a disk. A directory exists while it contains a
/// file.
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
