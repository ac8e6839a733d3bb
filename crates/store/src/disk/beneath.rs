//! Safe access to files below a directory that an agent can write to: follows no link and never blocks.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};

use super::{Disk, DiskOperation, parent};

/// A directory opened without following links.
#[derive(Debug)]
pub struct Beneath {
    directory: OwnedFd,
    path: PathBuf,
}

/// Result of reading a name.
#[derive(Debug, PartialEq, Eq)]
pub enum FileContent {
    File(Vec<u8>),
    Absent,
    /// Something that is not safe to open, with the reason.
    Unsafe(String),
}

impl Beneath {
    /// Maximum size of a file to read.
    const MOST: u64 = 64 * 1024 * 1024;

    /// Opens an absolute directory that was resolved at the start of the run. Any link in it was added later.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut directory = rustix::fs::open("/", way_flags(), Mode::empty())?;
        for component in path.components() {
            match component {
                Component::RootDir => {}
                Component::Normal(name) => {
                    directory = rustix::fs::openat(directory.as_fd(), name, way_flags(), Mode::empty())
                        .map_err(|error| linked(error, path))?;
                }
                Component::Prefix(_) | Component::CurDir | Component::ParentDir => {
                    return Err(refused(path, "its path is not absolute"));
                }
            }
        }
        Ok(Self { directory, path: path.to_path_buf() })
    }

    /// Reads a file by its relative name.
    pub fn read(&self, file: &str) -> io::Result<FileContent> {
        let (folders, name) = match split(file) {
            Ok(parts) => parts,
            Err(why) => return Ok(FileContent::Unsafe(why)),
        };
        let folder = match self.folder(&folders) {
            Ok(folder) => folder,
            Err(error) => return absent_or_unsafe(error),
        };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match rustix::fs::openat(folder.as_fd(), name, flags, Mode::empty()) {
            Ok(opened) => File::from(opened),
            Err(error) => return absent_or_unsafe(linked(error, &self.path.join(file))),
        };
        let metadata = opened.metadata()?;
        if !metadata.is_file() {
            return Ok(FileContent::Unsafe("it is not an ordinary file".to_owned()));
        }
        if metadata.len() > Self::MOST {
            return Ok(FileContent::Unsafe(format!("it is larger than {} MiB", Self::MOST >> 20)));
        }
        let mut bytes = Vec::new();
        opened.take(Self::MOST).read_to_end(&mut bytes)?;
        Ok(FileContent::File(bytes))
    }

    /// Returns true if a relative name exists. Does not follow a link.
    pub fn has(&self, file: &str) -> io::Result<bool> {
        let (folders, name) = split(file).map_err(|why| refused(&self.path.join(file), &why))?;
        let found = self
            .folder(&folders)
            .and_then(|folder| Ok(rustix::fs::statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)?));
        match found {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Replaces a whole file and creates folders on the way. Replaces a link of that name instead of following it.
    pub fn replace(&self, disk: &Disk, file: &str, bytes: &[u8]) -> io::Result<()> {
        let shown = self.path.join(file);
        let (folders, name) = split(file).map_err(|why| refused(&shown, &why))?;
        self.make(disk, &folders)?;
        let folder = self.folder(&folders)?;
        let draft = format!(".{name}.saihai");
        let shown_draft = shown.with_file_name(&draft);
        remove_draft(&folder, &draft)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let create = || Ok(File::from(rustix::fs::openat(folder.as_fd(), &draft, flags, mode)?));
        let opened = disk.step(DiskOperation::Create, &shown_draft, create)?;
        disk.write(&opened, &shown_draft, bytes)?;
        disk.sync(&opened, &shown_draft)?;
        let rename = || Ok(rustix::fs::renameat(folder.as_fd(), &draft, folder.as_fd(), name)?);
        disk.step(DiskOperation::Rename, &shown, rename)?;
        sync_folder(disk, &folder, parent(&shown))
    }

    fn make(&self, disk: &Disk, folders: &[&str]) -> io::Result<()> {
        for depth in 0..folders.len() {
            let above = self.folder(&folders[..depth])?;
            let shown = self.path.join(folders[..=depth].join("/"));
            let name = folders[depth];
            if rustix::fs::statat(above.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                continue;
            }
            let make = || Ok(rustix::fs::mkdirat(above.as_fd(), name, Mode::from_raw_mode(0o777))?);
            disk.step(DiskOperation::CreateDirectory, &shown, make)?;
            sync_folder(disk, &above, parent(&shown))?;
        }
        Ok(())
    }

    fn folder(&self, folders: &[&str]) -> io::Result<OwnedFd> {
        let mut directory =
            rustix::fs::openat(self.directory.as_fd(), ".", directory_flags(), Mode::empty())?;
        for (depth, name) in folders.iter().enumerate() {
            let shown = || self.path.join(folders[..=depth].join("/"));
            directory = rustix::fs::openat(directory.as_fd(), *name, directory_flags(), Mode::empty())
                .map_err(|error| linked(error, &shown()))?;
        }
        Ok(directory)
    }
}

/// Replaces a whole file below a directory, without syncs. Only people read such files, so they need not survive a
/// power loss. Creates folders on the way. Follows no link, neither below the directory nor in its own absolute path.
pub fn replace_below(directory: &Path, file: &str, bytes: &[u8]) -> io::Result<()> {
    let beneath = Beneath::open(directory)?;
    let (folders, name) = split(file).map_err(|why| refused(&beneath.path.join(file), &why))?;
    for depth in 0..folders.len() {
        let above = beneath.folder(&folders[..depth])?;
        match rustix::fs::mkdirat(above.as_fd(), folders[depth], Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let folder = beneath.folder(&folders)?;
    let draft = format!(".{name}");
    remove_draft(&folder, &draft)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder.as_fd(), &draft, flags, Mode::from_raw_mode(0o666))?;
    File::from(opened).write_all(bytes)?;
    Ok(rustix::fs::renameat(folder.as_fd(), &draft, folder.as_fd(), name)?)
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Flags for intermediate directories, which need not be readable.
fn way_flags() -> OFlags {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if cfg!(target_os = "linux") { flags | OFlags::PATH } else { flags | OFlags::RDONLY }
}

fn sync_folder(disk: &Disk, folder: &OwnedFd, shown: &Path) -> io::Result<()> {
    let skip = disk.faults.skips_syncs();
    disk.step(
        DiskOperation::SyncDirectory,
        shown,
        || if skip { Ok(()) } else { Ok(rustix::fs::fsync(folder)?) },
    )
}

/// Removes the temporary file of an attempt that died.
fn remove_draft(folder: &OwnedFd, draft: &str) -> io::Result<()> {
    match rustix::fs::unlinkat(folder.as_fd(), draft, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Splits a relative path into its folders and its name. Every part must be an ordinary name.
fn split(file: &str) -> Result<(Vec<&str>, &str), String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    let ordinary =
        |part: &&str| !part.is_empty() && *part != "." && *part != ".." && !part.contains(['\\', '\0']);
    if !parts.iter().all(ordinary) {
        return Err("its path is not valid".to_owned());
    }
    let name = parts.pop().unwrap_or_default();
    Ok((parts, name))
}

/// Translates a system error about a link.
fn linked(error: rustix::io::Errno, path: &Path) -> io::Error {
    match error {
        rustix::io::Errno::LOOP | rustix::io::Errno::MLINK => refused(path, "it is a link"),
        // A link or a file in place of a directory.
        rustix::io::Errno::NOTDIR => refused(path, "it is not a directory, or a link to one"),
        other => other.into(),
    }
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("`{}`: {why}", path.display()))
}

fn absent_or_unsafe(error: io::Error) -> io::Result<FileContent> {
    if error.kind() == io::ErrorKind::NotFound {
        Ok(FileContent::Absent)
    } else if error.kind() == io::ErrorKind::InvalidInput {
        Ok(FileContent::Unsafe(error.to_string()))
    } else {
        Err(error)
    }
}
