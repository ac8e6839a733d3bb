//! Access to files below one directory, and nowhere else.
//!
//! A path is opened one component at a time from an open directory, without following symbolic links. So
//! neither `..` nor a link leads outside, even if another process creates the link meanwhile.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use saihai_model::ScriptEdit;

#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    #[error("`{path}` is not a relative path that stays inside the working directory")]
    Outside { path: String },
    /// The path contains a symbolic link.
    #[error("`{path}` goes through the symbolic link `{link}`")]
    Link { path: String, link: String },
    /// The name belongs to something other than a file.
    #[error("`{path}` is not a file")]
    NotAFile { path: String },
    #[error("`{path}` cannot be edited because it is not UTF-8 text")]
    NotText { path: String },
    /// The text to replace does not occur exactly once.
    #[error("{find:?} occurs {times} times in `{path}` instead of once")]
    Occurs { path: String, find: String, times: usize },
    #[error("`{path}` could not be {verb}: {source}")]
    Io { path: String, verb: &'static str, source: io::Error },
}

/// The expected state before an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditState {
    /// The edit has not been made.
    Once,
    /// A crashed process may have made the edit, which then stays.
    MayBeDone,
}

/// A directory and everything below it.
pub(crate) struct ConfinedTree {
    root: OwnedFd,
}

impl ConfinedTree {
    /// Opens the tree below an existing directory.
    pub(crate) fn open(directory: &Path) -> Result<Self, TreeError> {
        let root = rustix::fs::open(directory, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let path = directory.display().to_string();
        Ok(Self { root: root.map_err(|error| TreeError::io(&path, "opened", error.into()))? })
    }

    /// Checks that a path can be a file of this tree, without changing anything.
    pub(crate) fn check(&self, path: &str) -> Result<(), TreeError> {
        match self.parent(path, MissingDirectory::Stays)? {
            Some((directory, name)) => self.kind(&directory, name, path).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Writes a whole file and creates its directories. The replacement is atomic, even if this process is
    /// killed: a reply with half-made edits could not be replayed.
    pub(crate) fn write(&self, path: &str, content: &str) -> Result<(), TreeError> {
        let failed = |error: Errno| TreeError::io(path, "written", error.into());
        let (directory, name) =
            self.parent(path, MissingDirectory::IsMade)?.ok_or_else(|| failed(Errno::NOENT))?;
        self.kind(&directory, name, path)?;
        let (beside, file) = new_file(&directory).map_err(failed)?;
        let written = keep_mode(&directory, name, &file)
            .map_err(io::Error::from)
            .and_then(|()| File::from(file).write_all(content.as_bytes()))
            .and_then(|()| {
                rustix::fs::renameat(&directory, &beside, &directory, name).map_err(io::Error::from)
            });
        written.map_err(|error| {
            // Remove the temporary file.
            let _ = rustix::fs::unlinkat(&directory, &beside, AtFlags::empty());
            TreeError::io(path, "written", error)
        })
    }

    /// Replaces a text that occurs once.
    pub(crate) fn edit(&self, edit: &ScriptEdit, how: EditState) -> Result<(), TreeError> {
        match self.edited(edit, how)? {
            Some(content) => self.write(&edit.path, &content),
            None => Ok(()),
        }
    }

    /// Returns the content after the edit, or nothing if the file already has it.
    pub(crate) fn edited(&self, edit: &ScriptEdit, how: EditState) -> Result<Option<String>, TreeError> {
        let content = self.read(&edit.path)?;
        let times = content.matches(&edit.find).count();
        let done = how == EditState::MayBeDone && content.contains(&edit.replace);
        match times {
            1 => Ok(Some(content.replacen(&edit.find, &edit.replace, 1))),
            0 if done => Ok(None),
            times => Err(TreeError::Occurs { path: edit.path.clone(), find: edit.find.clone(), times }),
        }
    }

    /// Opens a regular file for reading.
    pub(crate) fn file(&self, path: &str) -> Result<File, TreeError> {
        let failed = |error: Errno| TreeError::io(path, "read", error.into());
        let (directory, name) =
            self.parent(path, MissingDirectory::Stays)?.ok_or_else(|| failed(Errno::NOENT))?;
        self.kind(&directory, name, path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(&directory, name, flags, Mode::empty()).map(File::from).map_err(failed)
    }

    /// Opens a directory of the tree for listing. An empty path and `.` mean its root.
    pub(crate) fn directory(&self, path: &str) -> Result<OwnedFd, TreeError> {
        if path.starts_with('/') {
            return Err(TreeError::Outside { path: path.to_owned() });
        }
        let mut directory = rustix::io::fcntl_dupfd_cloexec(&self.root, 0)
            .map_err(|error| TreeError::io(path, "opened", error.into()))?;
        for name in components(path.trim_end_matches('/'))? {
            directory = self
                .descend(&directory, name, path, MissingDirectory::Stays)?
                .ok_or_else(|| TreeError::io(path, "opened", Errno::NOENT.into()))?;
        }
        Ok(directory)
    }

    fn read(&self, path: &str) -> Result<String, TreeError> {
        let mut bytes = Vec::new();
        self.file(path)?.read_to_end(&mut bytes).map_err(|error| TreeError::io(path, "read", error))?;
        String::from_utf8(bytes).map_err(|_| TreeError::NotText { path: path.to_owned() })
    }

    /// Returns the open directory of a file, and the file's name; nothing if the directory is missing.
    fn parent<'p>(
        &self,
        path: &'p str,
        missing: MissingDirectory,
    ) -> Result<Option<(OwnedFd, &'p str)>, TreeError> {
        let names = components(path)?;
        let Some((last, directories)) = names.split_last() else {
            return Err(TreeError::Outside { path: path.to_owned() });
        };
        let mut directory = rustix::io::fcntl_dupfd_cloexec(&self.root, 0)
            .map_err(|error| TreeError::io(path, "opened", error.into()))?;
        for name in directories {
            match self.descend(&directory, name, path, missing)? {
                Some(inner) => directory = inner,
                None => return Ok(None),
            }
        }
        Ok(Some((directory, last)))
    }

    fn descend(
        &self,
        from: &OwnedFd,
        name: &str,
        path: &str,
        missing: MissingDirectory,
    ) -> Result<Option<OwnedFd>, TreeError> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let failed = |error: Errno| TreeError::io(path, "opened", error.into());
        match rustix::fs::openat(from, name, flags, Mode::empty()) {
            Ok(inner) => Ok(Some(inner)),
            Err(Errno::NOENT) if missing == MissingDirectory::Stays => Ok(None),
            Err(Errno::NOENT) => {
                match rustix::fs::mkdirat(from, name, Mode::from_raw_mode(0o777)) {
                    // A concurrent writer may have created it.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(TreeError::io(path, "made", error.into())),
                }
                rustix::fs::openat(from, name, flags, Mode::empty()).map(Some).map_err(failed)
            }
            Err(error @ (Errno::LOOP | Errno::NOTDIR)) => match self.kind(from, name, path) {
                Err(link @ TreeError::Link { .. }) => Err(link),
                Ok(()) | Err(_) => Err(failed(error)),
            },
            Err(error) => Err(failed(error)),
        }
    }

    /// Rejects anything that exists and is not a regular file.
    fn kind(&self, directory: &OwnedFd, name: &str, path: &str) -> Result<(), TreeError> {
        match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Ok(()),
                FileType::Symlink => Err(TreeError::Link { path: path.to_owned(), link: name.to_owned() }),
                FileType::Directory
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => Err(TreeError::NotAFile { path: path.to_owned() }),
            },
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(TreeError::io(path, "opened", error.into())),
        }
    }
}

/// Creates an empty file with an unused name.
fn new_file(directory: &OwnedFd) -> Result<(String, OwnedFd), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let process = std::process::id();
    let mut number = 0_u32;
    loop {
        let name = format!(".saihai-{process}-{number}.tmp");
        match rustix::fs::openat(directory, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, file)),
            // A concurrent writer has this name, or a killed process left it behind.
            Err(Errno::EXIST) => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Copies the mode of the file that is replaced.
fn keep_mode(directory: &OwnedFd, name: &str, file: &OwnedFd) -> Result<(), Errno> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => rustix::fs::fchmod(file, Mode::from_raw_mode(stat.st_mode)),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The reaction to a missing directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingDirectory {
    Stays,
    IsMade,
}

impl TreeError {
    fn io(path: &str, verb: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), verb, source }
    }
}

/// Splits a relative path into names.
pub(crate) fn components(path: &str) -> Result<Vec<&str>, TreeError> {
    let outside = || TreeError::Outside { path: path.to_owned() };
    if path.ends_with('/') || path.contains('\0') {
        return Err(outside());
    }
    let mut names = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => names.push(name.to_str().ok_or_else(outside)?),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return Err(outside()),
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
