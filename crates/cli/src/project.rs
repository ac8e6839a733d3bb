//! The project a command works in.

use std::path::PathBuf;

use saihai::Runs;

use crate::error::Error;

/// Where we are.
pub(crate) struct Project {
    /// Its root (K-10).
    pub(crate) root: PathBuf,
    /// Where the command was typed.
    pub(crate) current: PathBuf,
}

impl Project {
    /// The project around the current directory.
    pub(crate) fn find() -> Result<Self, Error> {
        let current = std::env::current_dir()
            .map_err(|error| Error::usage(format!("cannot tell the current directory: {error}")))?;
        Ok(Self { root: current.clone(), current })
    }

    /// Its runs.
    pub(crate) fn runs(&self) -> Runs {
        Runs::of_project(&self.root)
    }

    /// Where reports of new runs go.
    pub(crate) fn reports(&self) -> Result<PathBuf, Error> {
        Ok(self.root.join(".takt/reports"))
    }
}
