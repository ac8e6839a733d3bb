//! Git repositories for tests.

use std::path::{Path, PathBuf};

use saihai_model::Moment;

/// The start time of test runs.
pub const BEGINNING: Moment = Moment(1_770_368_160_000);

/// A git repository in a temporary directory, on the branch `main`.
pub struct Repository {
    directory: tempfile::TempDir,
    pub(crate) root: PathBuf,
}

impl Default for Repository {
    fn default() -> Self {
        Self::new()
    }
}

impl Repository {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a repository for tests");
        let root = directory.path().canonicalize().expect("a repository for tests").join("repository");
        std::fs::create_dir(&root).expect("a repository for tests");
        let repository = Self { directory, root };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// Returns the directory of its files. Its parent has room for files outside the repository.
    pub fn root(&self) -> &Path {
        debug_assert!(
            self.root.starts_with(self.directory.path().canonicalize().expect("a repository for tests"))
        );
        &self.root
    }

    pub fn write(&self, path: &str, text: &str) -> &Self {
        let file = self.root.join(path);
        std::fs::create_dir_all(file.parent().expect("a repository for tests"))
            .expect("a repository for tests");
        std::fs::write(file, text).expect("a repository for tests");
        self
    }

    pub fn commit(&self, message: &str) -> &Self {
        self.git(&["add", "--all"]).git(&["commit", "--quiet", "--message", message])
    }

    /// Runs git without the machine's configuration.
    pub fn git(&self, arguments: &[&str]) -> &Self {
        let status = std::process::Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"])
            .args(arguments)
            .current_dir(&self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status()
            .expect("a repository for tests");
        assert!(status.success(), "git {arguments:?}");
        self
    }
}
