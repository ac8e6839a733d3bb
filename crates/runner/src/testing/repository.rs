//! Git repositories for tests.

use std::path::{Path, PathBuf};

/// A git repository in a temporary directory, on the branch `main`.
pub(crate) struct Repository {
    directory: tempfile::TempDir,
    root: PathBuf,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap().join("repository");
        std::fs::create_dir(&root).unwrap();
        let repository = Self { directory, root };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// Returns the directory of its files. Its parent has room for files outside the repository.
    pub(crate) fn root(&self) -> &Path {
        debug_assert!(self.root.starts_with(self.directory.path().canonicalize().unwrap()));
        &self.root
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> &Self {
        let file = self.root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        self
    }

    pub(crate) fn commit(&self, message: &str) -> &Self {
        self.git(&["add", "--all"]).git(&["commit", "--quiet", "--message", message])
    }

    /// Runs git without the machine's configuration.
    pub(crate) fn git(&self, arguments: &[&str]) -> &Self {
        let status = std::process::Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"])
            .args(arguments)
            .current_dir(&self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status()
            .unwrap();
        assert!(status.success(), "git {arguments:?}");
        self
    }
}
