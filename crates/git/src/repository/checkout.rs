//! Fills a worktree with the files of a commit and with copies of the user's own files.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path};

use super::private::Private;
use super::{Error, Frozen, Repository, Worktree};

impl Repository {
    /// Writes files into an empty worktree: those of its commit, or of a rescue based on it.
    pub(super) fn check_out(&self, worktree: &Worktree, commit: &str, files: &str) -> Result<(), Error> {
        let private = Private::make(self, Some(worktree.path()))?;
        private.run("read-tree", ["--reset", "-u", files])?;
        if files != commit {
            private.run("read-tree", [commit])?;
            // A non-zero exit status only means that files differ.
            private.holds("update-index", ["-q", "--refresh"])?;
        }
        self.install_index(worktree, &private)
    }

    /// Installs a prepared index into a worktree through its lock file, as git does.
    pub(super) fn install_index(&self, worktree: &Worktree, private: &Private<'_>) -> Result<(), Error> {
        let directory = worktree.directory();
        let (lock, index) = (directory.join("index.lock"), directory.join("index"));
        let mut from = File::open(private.path("index")).map_err(Error::file("open", &index))?;
        let mut to = match OpenOptions::new().write(true).create_new(true).open(&lock) {
            Ok(to) => to,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Error::IndexLocked { path: lock });
            }
            Err(error) => return Err(Error::file("make", &lock)(error)),
        };
        let written = io::copy(&mut from, &mut to).and_then(|_| std::fs::rename(&lock, &index));
        if written.is_err() {
            // The lock file is ours, created above.
            std::fs::remove_file(&lock).ok();
        }
        written.map_err(Error::file("write", &index))
    }

    /// Copies untracked files of the user's checkout, for the agent to read only.
    pub(super) fn copy_files(
        &self,
        worktree: &Worktree,
        commit: &str,
        paths: &[String],
    ) -> Result<(), Error> {
        let missing = self.check_copies(paths, Some(commit))?;
        for path in paths.iter().filter(|path| !missing.contains(path)) {
            let from = self.root.join(path);
            copy(&from, worktree.path(), Path::new(path)).map_err(Error::file("copy", &from))?;
        }
        Ok(())
    }

    /// Checks that files can be copied into a worktree at a commit, if that commit is known and here. Returns
    /// the missing files; they are skipped.
    pub fn check_copies(&self, paths: &[String], commit: Option<&str>) -> Result<Vec<String>, Error> {
        let (mut wrong, mut missing) = (Vec::new(), Vec::new());
        let private = Private::make(self, None)?;
        for path in paths {
            let from = self.root.join(path);
            let refused = match (check_path(path), from.symlink_metadata()) {
                (Err(why), _) => Some(why),
                (Ok(()), Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                    missing.push(path.clone());
                    None
                }
                (Ok(()), Err(error)) => return Err(Error::file("read", &from)(error)),
                (Ok(()), Ok(found)) if !found.is_file() => Some("it is not a file"),
                (Ok(()), Ok(_)) => match commit {
                    Some(commit) if !private.run("ls-tree", [commit, "--", path])?.is_empty() => {
                        Some("git tracks it, so it is there already")
                    }
                    Some(_) | None => None,
                },
            };
            wrong.extend(refused.map(|why| (path.clone(), why)));
        }
        if wrong.is_empty() { Ok(missing) } else { Err(Error::NotCopied { wrong }) }
    }
}

/// Checks that a path stays below its base directory.
fn check_path(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("it names nothing");
    }
    // `conf//a`, `./a`, `conf/`: git knows only one spelling of a file.
    if path.split('/').any(|part| part == ".") || path.split('/').skip(1).any(str::is_empty) {
        return Err("git writes it without `.`, `//` and a `/` at the end");
    }
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) if name.eq_ignore_ascii_case(".git") => {
                return Err("it is the repository's own");
            }
            Component::Normal(_) => {}
            Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err("it does not lie below the repository");
            }
        }
    }
    Ok(())
}

/// Copies a file without following a link that the commit put in the way.
fn copy(from: &Path, below: &Path, path: &Path) -> io::Result<()> {
    let mut to = below.to_owned();
    if let Some(parent) = path.parent() {
        for part in parent.components() {
            to.push(part);
            match std::fs::create_dir(&to) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
            if !to.symlink_metadata()?.is_dir() {
                return Err(io::Error::other("something that is no directory is in the way"));
            }
        }
    }
    to.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut File::open(from)?, &mut to).map(|_| ())
}

/// The files copied into a worktree. Ignore rules cannot keep them out of commits, because an agent could
/// edit `.gitignore`.
#[derive(Debug)]
pub(super) struct Copied {
    paths: Vec<String>,
    folds_case: bool,
}

impl Copied {
    /// Normalizes the spelling of the requested paths.
    pub(super) fn new(paths: &[String], frozen: &Frozen) -> Self {
        let paths = paths.iter().map(|path| normal(path)).collect();
        Self { paths, folds_case: frozen.is_on("core.ignorecase") }
    }

    /// Returns true if a path from git is one of them, or lies in a directory that replaced one.
    pub(super) fn holds(&self, path: &[u8]) -> bool {
        let is_below = |copied: &String| {
            let Some((start, rest)) = path.split_at_checked(copied.len()) else { return false };
            let same = if self.folds_case {
                start.eq_ignore_ascii_case(copied.as_bytes())
            } else {
                start == copied.as_bytes()
            };
            same && (rest.is_empty() || rest.starts_with(b"/"))
        };
        self.paths.iter().any(is_below)
    }

    /// Returns each path with its pathspec for commands that do not read paths literally.
    pub(super) fn specified(&self) -> impl Iterator<Item = (&str, String)> {
        let magic = if self.folds_case { "literal,icase" } else { "literal" };
        self.paths.iter().map(move |path| (path.as_str(), format!(":({magic}){path}")))
    }
}

/// Removes empty and `.` parts from a path.
fn normal(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<&str>>().join("/")
}
