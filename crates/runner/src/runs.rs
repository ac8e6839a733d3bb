//! The runs of a project.

use std::path::{Path, PathBuf};

use crate::{Disk, Error, RunDirectory, Summary};

/// The runs of a project: `.saihai/runs/`.
#[derive(Debug, Clone)]
pub struct Runs {
    directory: PathBuf,
    disk: Disk,
}

/// A run in a list.
#[derive(Debug)]
pub struct Listed {
    /// Its id.
    pub run: String,
    /// What it is; a damaged run says why and hides no other.
    pub summary: Result<Summary, Error>,
}

impl Runs {
    /// The runs below a project's root.
    pub fn of_project(root: &Path) -> Self {
        Self { directory: root.join(".saihai").join("runs"), disk: Disk::new() }
    }

    /// Where they are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Runs {
    /// All of them, newest first.
    ///
    /// # Errors
    /// The directory cannot be read; that it does not exist yet is no error.
    pub fn list(&self) -> Result<Vec<Listed>, Error> {
        Err(Error::NotBuilt("listing runs"))
    }

    /// A run by its id, a unique beginning of it, or `last`.
    ///
    /// # Errors
    /// None or several are meant.
    pub fn find(&self, _name: &str) -> Result<RunDirectory, Error> {
        Err(Error::NotBuilt("finding a run"))
    }
}
