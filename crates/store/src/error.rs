//! Errors of reading, writing and finding runs on disk.

use std::io;
use std::path::{Path, PathBuf};

/// Error of the store. Nothing was changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        /// A verb: `read`, `write`, `create`, …
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The journal, or a file it names, differs from the written version.
    #[error("`{}`:{line}: {why}", path.display())]
    Damaged {
        path: PathBuf,
        /// Line of the journal, from 1.
        line: u64,
        why: String,
    },
    #[error("`{}`:{line}: written by a newer version of Saihai (format {version})", path.display())]
    Newer { path: PathBuf, line: u64, version: u64 },
    /// A living process owns the run. `owner` is its process id, if the lock contains it.
    #[error("run `{run}` is owned by {}", owner_words(*.owner))]
    Owned { run: String, owner: Option<u32> },
    /// Another process removed the lock while this one held it. The running calls were stopped.
    #[error("lock-lost: `{}` was removed or replaced while run `{run}` was active", path.display())]
    LockLost { run: String, path: PathBuf },
    /// A server drives the run, and the journal of this project is a copy.
    #[error("run `{run}` belongs to a server; the journal here is a copy")]
    OnServer { run: String },
    #[error("there is no run `{name}`")]
    NoSuchRun { name: String },
    #[error("there are no runs yet in `{}`", directory.display())]
    NoRuns { directory: PathBuf },
    #[error("`{name}` is ambiguous: it matches {}", names(.runs))]
    AmbiguousRun { name: String, runs: Vec<String> },
}

impl StoreError {
    /// Returns a closure for `map_err` that adds the failed operation and its file.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { doing, path, source }
    }
}

fn owner_words(owner: Option<u32>) -> String {
    owner.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

fn names(runs: &[String]) -> String {
    runs.iter().map(|run| format!("`{run}`")).collect::<Vec<_>>().join(", ")
}
