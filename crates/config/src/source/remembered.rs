use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{FileKind, ReadError, Source};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DiskSource;

    #[test]
    fn what_was_looked_at_stays_as_it_was_and_the_rest_is_as_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let files = RememberedSource::new(DiskSource);
        std::fs::write(at("a"), "one").expect("a file");
        assert_eq!(files.read(&at("a"), 9), Ok(b"one".to_vec()));
        assert_eq!((files.kind(&at("b")), files.list(directory.path())), (None, Ok(vec!["a".into()])));
        for name in ["a", "b", "c"] {
            std::fs::write(at(name), "two").expect("a file");
        }
        assert_eq!(files.read(&at("a"), 9), Ok(b"one".to_vec()));
        assert_eq!((files.kind(&at("b")), files.list(directory.path())), (None, Ok(vec!["a".into()])));
        assert_eq!(files.read(&at("c"), 9), Ok(b"two".to_vec()));
    }
}
