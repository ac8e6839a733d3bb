//! The files of this machine, with links of a project confined to the project.
//!
//! Error messages quote the faulty line of a file, and texts go into prompts. A change under review can add a
//! link as easily as a file. A link to a key would then print the key into a CI log, or send it to a model.
//! So a project's files must lie below its root and must not be ignored by git. One check here replaces a
//! check in every reader, and git is asked only for links. The user's own files may link anywhere, because
//! only the user puts links there.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use saihai_config::{DiskSource, FileKind, ReadError, Source, plain};

use saihai_git::Git;

/// Files of this machine. Files of the project must stay inside the project.
#[derive(Debug, Clone)]
pub struct ProjectSource {
    root: PathBuf,
    user: Option<PathBuf>,
}

impl ProjectSource {
    /// Creates a source for the project at `root`. `user` is the directory of the user's own files.
    pub fn new(root: PathBuf, user: Option<PathBuf>) -> Self {
        Self { root, user }
    }

    /// Returns an error if a path leads outside the project's files.
    fn insist(&self, path: &Path) -> Result<(), ReadError> {
        let written = plain(path);
        let is_users = self.user.as_ref().is_some_and(|user| written.starts_with(user));
        let Some(name) = written.strip_prefix(&self.root).ok().filter(|_| !is_users) else { return Ok(()) };
        // The read itself reports a missing file.
        let (Ok(root), Ok(real)) = (DiskSource.canonical(&self.root), DiskSource.canonical(&written)) else {
            return Ok(());
        };
        match real.strip_prefix(&root) {
            Ok(inside) if inside == name || self.shows(inside) => Ok(()),
            Ok(inside) => Err(ReadError::KeptOut { to: inside.to_owned() }),
            Err(_) => Err(ReadError::Outside { to: real }),
        }
    }

    /// Returns true if git answers that the file is part of the project.
    fn shows(&self, inside: &Path) -> bool {
        match Git::open(&self.root) {
            Ok(Some(git)) => git.shows(inside).unwrap_or(false),
            Ok(None) => true,
            Err(_) => false,
        }
    }
}

impl Source for ProjectSource {
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.insist(path)?;
        DiskSource.read(path, limit)
    }

    fn kind(&self, path: &Path) -> Option<FileKind> {
        DiskSource.kind(path)
    }

    fn list(&self, path: &Path) -> Result<Vec<OsString>, ReadError> {
        DiskSource.list(path)
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf, ReadError> {
        DiskSource.canonical(path)
    }

    fn is_executable(&self, path: &Path) -> bool {
        DiskSource.is_executable(path)
    }
}

/// Checks that a directory can be created, or exists and is writable. Changes nothing.
pub fn can_create_directory(path: &Path) -> io::Result<()> {
    let there = path.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok());
    let there = there.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    if !there.metadata()?.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::NotADirectory,
            format!("`{}` is not a directory", there.display()),
        ));
    }
    rustix::fs::access(there, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    fn git(root: &Path, arguments: &[&str]) {
        let done = Command::new("git").current_dir(root).args(arguments).output().expect("git runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn a_link_of_the_project_leads_to_its_own_files_only() {
        let directory = tempfile::tempdir().expect("a directory");
        let home = directory.path().canonicalize().expect("it is there");
        let (root, user) = (home.join("project"), home.join("user"));
        for place in [&root, &user, &root.join("own")] {
            std::fs::create_dir(place).expect("a directory");
        }
        for (file, text) in [
            ("key", "outside"),
            ("project/.env", "ignored"),
            ("project/.gitignore", ".env\n"),
            ("project/own/a.toml", "tracked"),
            ("project/new.toml", "new"),
        ] {
            std::fs::write(home.join(file), text).expect("a file");
        }
        for (link, to) in [
            ("project/outside.toml", "../key"),
            ("project/ignored.toml", ".env"),
            ("project/inside.toml", "own/a.toml"),
            ("project/untracked.toml", "new.toml"),
            ("project/git.toml", ".git/config"),
            ("project/nowhere.toml", "gone"),
            ("project/elsewhere", ".."),
            ("user/config.toml", "../key"),
        ] {
            symlink(to, home.join(link)).expect("a link");
        }
        let source = ProjectSource::new(root.clone(), Some(user.clone()));
        let read = |path: PathBuf| {
            source
                .read(&path, 99)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(|error| error.to_string().replace(home.to_str().expect("a name"), "~"))
        };
        // Without git, every file below the root belongs to the project.
        assert_eq!(read(root.join("ignored.toml")), Ok("ignored".to_owned()));
        git(&root, &["init", "--quiet"]);
        git(&root, &["add", "own/a.toml"]);
        let refused = |why: &str| Err(why.to_owned());
        let ignored = "a link leads to `.env`, which git ignores or owns";
        for (path, expected) in [
            ("own/a.toml", Ok("tracked".to_owned())),
            (".env", Ok("ignored".to_owned())),
            ("inside.toml", Ok("tracked".to_owned())),
            ("untracked.toml", Ok("new".to_owned())),
            ("outside.toml", refused("a link leads out of the project, to `~/key`")),
            ("own/../outside.toml", refused("a link leads out of the project, to `~/key`")),
            ("elsewhere/key", refused("a link leads out of the project, to `~/key`")),
            ("ignored.toml", refused(ignored)),
            ("git.toml", refused("a link leads to `.git/config`, which git ignores or owns")),
            ("nowhere.toml", refused("it does not exist")),
        ] {
            assert_eq!(read(root.join(path)), expected, "{path}");
        }
        assert_eq!(read(user.join("config.toml")), Ok("outside".to_owned()));
        assert_eq!(read(home.join("key")), Ok("outside".to_owned()));
    }

    #[test]
    fn a_directory_can_be_made_below_one_and_not_below_a_file() {
        // P-54
        let scratch = tempfile::tempdir().unwrap();
        assert!(can_create_directory(scratch.path()).is_ok());
        assert!(can_create_directory(&scratch.path().join("a/b/c")).is_ok());
        let file = scratch.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let error = can_create_directory(&file.join("reports")).unwrap_err();
        assert_eq!(error.to_string(), format!("`{}` is not a directory", file.display()));
        assert!(!scratch.path().join("a").exists(), "it only looks");
    }
}
