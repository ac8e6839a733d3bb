//! Where definitions are looked for.

use std::path::{Path, PathBuf};

use crate::plain;

/// The directories a command works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub current: PathBuf,
    pub root: PathBuf,
    /// The user's Saihai directory, if there is one.
    pub user: Option<PathBuf>,
    /// The user's home directory, if it is known.
    pub home: Option<PathBuf>,
}

impl Places {
    /// What a written path means: absolute ones and `~/…` as they are, others below `directory`, or below where the
    /// command was called. Nothing where `~` cannot be known.
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

    /// A path as the person knows it: relative to where the command was called where it lies below.
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
