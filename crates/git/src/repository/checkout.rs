//! Filling a worktree with files: those of a commit, and copies of the user's own.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path};

use super::private::Private;
use super::{Error, Frozen, Repository, Worktree};

impl Repository {
    /// Writes files into a worktree that is empty: those of its commit, or of another that was made from it.
    pub(super) fn check_out(&self, worktree: &Worktree, commit: &str, files: &str) -> Result<(), Error> {
        let private = Private::make(self, Some(worktree.path()))?;
        private.run("read-tree", ["--reset", "-u", files])?;
        if files != commit {
            private.run("read-tree", [commit])?;
            // It says no where something differs, as it is meant to.
            private.holds("update-index", ["-q", "--refresh"])?;
        }
        self.install_index(worktree, &private)
    }

    /// Gives a worktree the index that was made for it, as git itself would: by its lock file.
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
            // Ours: it was made above.
            std::fs::remove_file(&lock).ok();
        }
        written.map_err(Error::file("write", &index))
    }

    /// Copies files of the user's checkout that git does not track, for the agent's eyes only.
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

    /// Makes sure that files can be copied into a worktree that begins at a commit, where that is known and here. Those that
    /// are not there are told: what somebody has not got is not given.
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

/// A path that stays below the directory it is relative to.
fn check_path(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("it names nothing");
    }
    // `conf//a`, `./a`, `conf/`: git knows a file by one spelling only.
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

/// Copies without following a link that the commit put in the way.
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

/// The files that were copied into a worktree. No rule of git's holds them back: a `.gitignore` of the agent's would take it away.
#[derive(Debug)]
pub(super) struct Copied {
    paths: Vec<String>,
    folds_case: bool,
}

impl Copied {
    /// By the paths that were asked for, however they are spelled.
    pub(super) fn new(paths: &[String], frozen: &Frozen) -> Self {
        let paths = paths.iter().map(|path| normal(path)).collect();
        Self { paths, folds_case: frozen.is_on("core.ignorecase") }
    }

    /// Whether a path as git says it is one of them, or lies in what has been put in the place of one.
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

    /// Each of them, and how git is asked for it where it is not told to take everything literally.
    pub(super) fn specified(&self) -> impl Iterator<Item = (&str, String)> {
        let magic = if self.folds_case { "literal,icase" } else { "literal" };
        self.paths.iter().map(move |path| (path.as_str(), format!(":({magic}){path}")))
    }
}

/// A path without what means nothing in it.
fn normal(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<&str>>().join("/")
}
