//! All files below a directory that a model may see, sorted by name.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::Reach;
use super::ignored::Ignored;

/// A file that the walk visits.
pub(super) struct Found<'a> {
    pub(super) path: &'a str,
    directory: &'a OwnedFd,
    name: &'a str,
}

impl Found<'_> {
    /// Opens the file. It does not follow a symbolic link that has replaced it.
    pub(super) fn open(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(self.directory, self.name, flags, Mode::empty())?.into())
    }
}

/// Maximum depth of a tree.
const DEEPEST: usize = 64;

/// Visits every file below a directory. It skips links, ignored files and files of git.
pub(super) fn walk(
    reach: &Reach,
    from: &str,
    visit: &mut dyn FnMut(&Found<'_>) -> Result<ControlFlow<()>, String>,
) -> Result<(), String> {
    let from = reach.allowed(from)?;
    let mut ignored = Ignored::of(&reach.tree, reach.excludes());
    let names: Vec<&str> = from.split('/').filter(|name| !name.is_empty()).collect();
    let is_below_ignored = reach.is_ignored(&names);
    let mut above = String::new();
    for name in names {
        above = join(&above, name);
        ignored.enter(&reach.tree, &above);
    }
    let directory = reach.tree.directory(&from).map_err(|error| error.to_string())?;
    let _: ControlFlow<()> = Walk { reach, ignored, is_below_ignored, visit }.below(&directory, &from, 0)?;
    Ok(())
}

struct Walk<'a> {
    reach: &'a Reach,
    ignored: Ignored<'a>,
    /// git ignores everything here except tracked files.
    is_below_ignored: bool,
    visit: &'a mut dyn FnMut(&Found<'_>) -> Result<ControlFlow<()>, String>,
}

impl Walk<'_> {
    fn below(&mut self, directory: &OwnedFd, path: &str, depth: usize) -> Result<ControlFlow<()>, String> {
        // A missing or unreadable directory does not stop the walk.
        let Ok(entries) = entries(directory) else { return Ok(ControlFlow::Continue(())) };
        for (name, kind) in entries {
            self.reach.halt.check()?;
            let inner = join(path, &name);
            let is_directory = kind == FileType::Directory;
            if name == ".git" {
                continue;
            }
            let is_ignored = self.is_below_ignored || self.ignored.matches(&inner, is_directory);
            if is_ignored && !self.is_shown_all_the_same(&inner) {
                continue;
            }
            let flow = match kind {
                FileType::Directory if depth < DEEPEST => {
                    let above = std::mem::replace(&mut self.is_below_ignored, is_ignored);
                    let flow = self.enter(directory, &name, &inner, depth);
                    self.is_below_ignored = above;
                    flow?
                }
                FileType::RegularFile => (self.visit)(&Found { path: &inner, directory, name: &name })?,
                FileType::Directory
                | FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => continue,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn is_shown_all_the_same(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        self.reach.is_of_this_run(&names) || self.reach.excludes().tracks(path)
    }

    fn enter(
        &mut self,
        above: &OwnedFd,
        name: &str,
        path: &str,
        depth: usize,
    ) -> Result<ControlFlow<()>, String> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(directory) = rustix::fs::openat(above, name, flags, Mode::empty()) else {
            return Ok(ControlFlow::Continue(()));
        };
        let rules = self.ignored.depth();
        self.ignored.enter(&self.reach.tree, path);
        let flow = self.below(&directory, path, depth + 1);
        self.ignored.leave(rules);
        flow
    }
}

/// Lists a directory by name, without names that are not UTF-8. A model could not request those.
fn entries(directory: &OwnedFd) -> rustix::io::Result<Vec<(String, FileType)>> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name == "." || name == ".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown
            && let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        {
            kind = FileType::from_raw_mode(stat.st_mode);
        }
        entries.push((name.to_owned(), kind));
    }
    entries.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok(entries)
}

fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}
