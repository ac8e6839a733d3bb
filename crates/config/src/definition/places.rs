use std::path::{Path, PathBuf};

use crate::plain;

/// Directories that a command uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub current: PathBuf,
    pub root: PathBuf,
    /// The user's Saihai directory, if it exists.
    pub user: Option<PathBuf>,
    /// The user's home directory, if known.
    pub home: Option<PathBuf>,
}

impl Places {
    /// Resolves a path from a file. Absolute paths and `~/…` do not depend on `directory`. Others are
    /// relative to it, or to the current directory. Returns `None` if the home directory is unknown.
    pub fn resolve(&self, directory: Option<&Path>, written: &str) -> Option<PathBuf> {
        if let Some(rest) = written.strip_prefix('~') {
            let home = self.home.as_ref()?;
            if rest.is_empty() {
                return Some(home.clone());
            }
            return rest.strip_prefix(std::path::is_separator).map(|rest| home.join(rest));
        }
        Some(directory.unwrap_or(&self.current).join(written))
    }

    /// Returns a path for display: relative to the current directory, or with `~` for the home directory.
    pub fn shown(&self, path: &Path) -> String {
        let path = plain(path);
        if let Ok(relative) = path.strip_prefix(&self.current) {
            return relative.display().to_string();
        }
        if let Some(below) = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            return Path::new("~").join(below).display().to_string();
        }
        path.display().to_string()
    }
}
