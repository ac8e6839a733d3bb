//! Temporary checkouts of a commit.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::{Error, Git};

/// Returns the directories `KIND-COMMIT-PROCESS` whose processes have ended.
pub fn abandoned_checkouts(below: &Path, kind: &str) -> Vec<PathBuf> {
    let is_abandoned = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let rest = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
        let process = rest.and_then(|rest| rest.rsplit_once('-')?.1.parse().ok()).and_then(Pid::from_raw);
        process.is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH))
    };
    let entries = std::fs::read_dir(below).into_iter().flatten().filter_map(Result::ok);
    let mut abandoned: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_abandoned).collect();
    abandoned.sort();
    abandoned
}

impl Git {
    /// Checks out a commit into a new directory, as a worktree without a branch.
    pub fn check_out(&self, commit: &str, directory: &Path) -> Result<(), Error> {
        let directory = directory.to_string_lossy();
        self.run("worktree", &["add", "--quiet", "--detach", "--", &directory, commit]).map(drop)
    }

    /// Removes such a directory with all its content.
    pub fn remove_checkout(&self, directory: &Path) -> Result<(), Error> {
        let directory = directory.to_string_lossy();
        self.run("worktree", &["remove", "--force", "--", &directory]).map(drop)
    }

    pub fn tree_of(&self, commit: &str) -> Result<Option<String>, Error> {
        self.ask("rev-parse", &["--verify", "--quiet", "--end-of-options", &format!("{commit}^{{tree}}")])
    }
}
