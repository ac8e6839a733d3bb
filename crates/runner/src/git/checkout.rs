//! The files of a commit in a directory of their own, for as long as they are looked at.

use std::path::Path;

use super::{Error, Git};

impl Git {
    /// Puts the files of a commit into a new directory, as a worktree without a branch.
    ///
    /// # Errors
    /// The directory exists, or git refuses.
    pub fn check_out(&self, commit: &str, directory: &Path) -> Result<(), Error> {
        let directory = directory.to_string_lossy();
        self.run("worktree", &["add", "--quiet", "--detach", "--", &directory, commit]).map(drop)
    }

    /// Removes such a directory with everything in it.
    ///
    /// # Errors
    /// It is none of ours, or git refuses.
    pub fn remove_checkout(&self, directory: &Path) -> Result<(), Error> {
        let directory = directory.to_string_lossy();
        self.run("worktree", &["remove", "--force", "--", &directory]).map(drop)
    }

    /// The tree of a commit.
    ///
    /// # Errors
    /// Git cannot be started.
    pub fn tree_of(&self, commit: &str) -> Result<Option<String>, Error> {
        self.ask("rev-parse", &["--verify", "--quiet", "--end-of-options", &format!("{commit}^{{tree}}")])
    }
}
