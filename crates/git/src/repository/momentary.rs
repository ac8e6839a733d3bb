//! Short-lived directories and worktrees, and the removal of leftovers after a crash.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::turnstile::Turnstile;
use super::worktree::Registered;
use super::{Error, Item, Repository, Worktree};
use crate::git::command::output;

/// A temporary directory of our own. A file in it is locked while its owner lives.
#[derive(Debug)]
pub(super) struct Momentary {
    directory: tempfile::TempDir,
    _owner: File,
}

/// The purpose of a directory, visible in the prefix of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A git directory, or files for git only.
    Git,
    /// A directory with a worktree that the repository lists.
    Merge,
}

/// The owner file. It names the repository and is locked by its creator.
const OWNER: &str = "saihai-owner";
/// Upper limit for the time between creating and signing a directory, and for the last step of its removal.
const AN_HOUR: Duration = Duration::from_secs(3_600);
/// Number of random characters at the end of a name.
const CHANCE: usize = 6;

impl Kind {
    const ALL: [Self; 2] = [Self::Git, Self::Merge];

    fn prefix(self) -> &'static str {
        match self {
            Self::Git => "saihai-git-",
            Self::Merge => "saihai-merge-",
        }
    }

    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        Self::ALL.into_iter().find(|kind| name.starts_with(kind.prefix()))
    }
}

impl Momentary {
    /// Creates a directory outside the repository, empty except for the owner file.
    pub(super) fn make(repository: &Repository, kind: Kind) -> Result<Self, Error> {
        let place = outside(&repository.root, std::env::temp_dir())?;
        let directory = tempfile::Builder::new()
            .prefix(&format!("{}{}-", kind.prefix(), std::process::id()))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&place)
            .map_err(Error::file("make a directory in", &place))?;
        let owner = sign(directory.path(), &repository.common);
        let owner = owner.map_err(Error::file("write in", directory.path()))?;
        Ok(Self { directory, _owner: owner })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Momentary {
    /// Removes the owner file last. If the process is killed meanwhile, the file still names the repository
    /// of the leftovers.
    fn drop(&mut self) {
        empty(self.path()).ok();
    }
}

/// Removes everything in a directory except its owner file.
fn empty(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() == OWNER {
            continue;
        }
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the absolute path of the temporary directory. Refuses one inside the repository, links included.
fn outside(root: &Path, place: PathBuf) -> Result<PathBuf, Error> {
    let place = std::path::absolute(&place).map_err(Error::file("find", &place))?;
    let real = place.canonicalize().unwrap_or_else(|_| place.clone());
    if real.starts_with(root) { Err(Error::TemporaryInside { path: place }) } else { Ok(place) }
}

/// Creates the owner file. It gets its name only after it is locked, so other processes never find it
/// unlocked while the owner lives.
fn sign(directory: &Path, common: &Path) -> io::Result<File> {
    let unlocked = directory.join("saihai-owner.new");
    std::fs::write(&unlocked, common.as_os_str().as_bytes())?;
    let file = File::open(&unlocked)?;
    file.lock()?;
    std::fs::rename(&unlocked, directory.join(OWNER))?;
    Ok(file)
}

/// Recognizes a leftover directory without an owner file. Its name and mode must be ours, and its creator dead
/// or idle for an hour.
fn is_forgotten(directory: &Path, found: &Metadata) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = Kind::of(directory).and_then(|kind| name.strip_prefix(kind.prefix())).unwrap_or_default();
    // Older versions did not include the process id.
    let (maker, chance) = name.split_once('-').map_or((None, name), |(maker, chance)| (Some(maker), chance));
    let maker = maker.map(|maker| maker.parse().ok().and_then(Pid::from_raw));
    let is_made = chance.len() == CHANCE
        && chance.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && maker.is_none_or(|maker| maker.is_some());
    let is_dead = maker.flatten().is_some_and(|maker| test_kill_process(maker) == Err(Errno::SRCH));
    let age = found.modified().ok().and_then(|then| then.elapsed().ok()).unwrap_or_default();
    is_made && found.mode() & 0o777 == 0o700 && (is_dead || age > AN_HOUR)
}

impl Repository {
    /// Removes the leftovers of killed processes: directories for this repository and their listed worktrees.
    /// The next sweep retries what fails now.
    pub(super) fn sweep(&self) {
        let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
        let registered = self.registered().unwrap_or_default();
        let listed = registered.iter().filter_map(|one| one.files.parent().map(Path::to_owned));
        // After a reboot, only the list of worktrees is left.
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).chain(listed).collect();
        found.retain(|path| Kind::of(path).is_some());
        found.sort();
        found.dedup();
        for directory in found {
            if let Some(_owner) = self.orphaned(&directory) {
                self.take_away(&directory, &registered).ok();
            }
        }
    }

    /// Returns the owner file of a dead owner, now locked by us. Returns `Some(None)` for a leftover without an
    /// owner file, and `None` for directories that must stay.
    fn orphaned(&self, directory: &Path) -> Option<Option<File>> {
        let found = match directory.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(None),
            Ok(found) if found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() => found,
            Ok(_) | Err(_) => return None,
        };
        let path = directory.join(OWNER);
        let whose = match std::fs::read(&path) {
            Ok(whose) => whose,
            // The owner was killed before signing, or just before removing the empty directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_forgotten(directory, &found) => {
                return Some(None);
            }
            Err(_) => return None,
        };
        let file = OpenOptions::new().read(true).open(&path).ok()?;
        let is_ours = whose == self.common.as_os_str().as_bytes();
        (is_ours && file.try_lock().is_ok()).then_some(Some(file))
    }

    fn take_away(&self, directory: &Path, registered: &[Registered]) -> Result<(), Error> {
        for one in registered.iter().filter(|one| one.files.parent() == Some(directory)) {
            if let Some(name) = one.files.file_name().filter(|_| one.directory.is_some()) {
                let item = Item::Run { id: name.to_string_lossy().into_owned() };
                self.forget(&Worktree { item, registered: one.clone() })?;
            }
        }
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::file("remove", directory)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// A short-lived worktree. Nothing in it is worth keeping.
#[derive(Debug)]
pub(super) struct Scratch<'a> {
    repository: &'a Repository,
    directory: Momentary,
    worktree: Option<Worktree>,
}

impl<'a> Scratch<'a> {
    /// Creates a worktree with the files of a commit.
    pub(super) fn make(repository: &'a Repository, item: &Item, commit: &str) -> Result<Self, Error> {
        let directory = Momentary::make(repository, Kind::Merge)?;
        let found = directory.path().canonicalize().map_err(Error::file("find", directory.path()))?;
        let path = found.join(item.name());
        {
            let _one_at_a_time = Turnstile::of_worktrees(repository)?;
            let mut git = repository.registry("worktree");
            git.args(["add", "--quiet", "--no-checkout", "--detach"]).arg(&path).arg(commit);
            output(&mut git, "worktree add")?;
        }
        let registered = repository.registered_at(&path)?;
        let worktree = registered.map(|registered| Worktree { item: item.clone(), registered });
        let scratch = Self { repository, directory, worktree };
        match &scratch.worktree {
            Some(worktree) => repository.check_out(worktree, commit, commit)?,
            None => return Err(crate::git::Error::Unreadable { command: "worktree add" }.into()),
        }
        Ok(scratch)
    }

    pub(super) fn path(&self) -> &Path {
        self.worktree.as_ref().map_or(self.directory.path(), Worktree::path)
    }

    /// Removes the worktree and returns an error on failure.
    pub(super) fn remove(mut self) -> Result<(), Error> {
        self.worktree.take().map_or(Ok(()), |worktree| self.repository.forget(&worktree))
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Some(worktree) = self.worktree.take() {
            // The next sweep removes leftover entries from the list.
            self.repository.forget(&worktree).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_what_is_removed_last() {
        let directory = tempfile::tempdir().unwrap();
        let _owner = sign(directory.path(), Path::new("/somewhere")).unwrap();
        std::fs::create_dir_all(directory.path().join("objects/x")).unwrap();
        std::fs::write(directory.path().join("HEAD"), "").unwrap();
        empty(directory.path()).unwrap();
        let left: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(left, [OWNER]);
    }

    #[test]
    fn a_link_into_the_repository_is_inside_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let (root, link) = (home.join("project"), home.join("link"));
        std::fs::create_dir_all(root.join("tmp")).unwrap();
        std::os::unix::fs::symlink(&root, &link).unwrap();
        for inside in [root.join("tmp"), link.join("tmp")] {
            assert!(matches!(outside(&root, inside), Err(Error::TemporaryInside { .. })));
        }
        assert_eq!(outside(&root, home.clone()).unwrap(), home);
        // A relative path starts at the current directory.
        let here = std::env::current_dir().unwrap();
        assert_eq!(outside(&root, PathBuf::from(".")).unwrap(), here);
        assert!(matches!(outside(&here, PathBuf::from("src")), Err(Error::TemporaryInside { .. })));
    }
}
