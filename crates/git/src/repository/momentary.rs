//! Directories and worktrees that exist for a moment, and what is left of them where their owner was killed.

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

/// A directory for temporary files of our own. As long as its owner lives, a file in it is locked.
#[derive(Debug)]
pub(super) struct Momentary {
    directory: tempfile::TempDir,
    _owner: File,
}

/// With what its name begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A git directory, or files that only git looks at.
    Git,
    /// A worktree in it, which the repository has on its list.
    Merge,
}

/// Names the repository that a directory was made for, and is locked by whoever made it.
const OWNER: &str = "saihai-owner";
/// So long nobody takes to sign a directory, or to remove the last of it.
const AN_HOUR: Duration = Duration::from_secs(3_600);
/// So many letters of chance a name ends with.
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
    /// An empty one but for its owner's mark, outside the repository it is for.
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
    /// Its mark goes last: of what is left by whoever is killed meanwhile it still says whose that is.
    fn drop(&mut self) {
        empty(self.path()).ok();
    }
}

/// Removes everything from a directory but its mark.
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

/// The directory for temporary files with its whole path; none in the repository, by whatever way it leads there.
fn outside(root: &Path, place: PathBuf) -> Result<PathBuf, Error> {
    let place = std::path::absolute(&place).map_err(Error::file("find", &place))?;
    let real = place.canonicalize().unwrap_or_else(|_| place.clone());
    if real.starts_with(root) { Err(Error::TemporaryInside { path: place }) } else { Ok(place) }
}

/// The mark has its name only once it is locked: nobody finds it without a lock while its owner lives.
fn sign(directory: &Path, common: &Path) -> io::Result<File> {
    let unlocked = directory.join("saihai-owner.new");
    std::fs::write(&unlocked, common.as_os_str().as_bytes())?;
    let file = File::open(&unlocked)?;
    file.lock()?;
    std::fs::rename(&unlocked, directory.join(OWNER))?;
    Ok(file)
}

/// Whether a directory without a mark can only be one of ours, by its name and mode, whose maker is dead or has not touched
/// it for long.
fn is_forgotten(directory: &Path, found: &Metadata) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = Kind::of(directory).and_then(|kind| name.strip_prefix(kind.prefix())).unwrap_or_default();
    // Older versions did not write down who made it.
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
    /// Takes away what processes left that were killed: their directories for this repository, and worktrees in them that it has
    /// on its list. What cannot be taken away now is tried again by whoever comes next.
    pub(super) fn sweep(&self) {
        let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
        let registered = self.registered().unwrap_or_default();
        let listed = registered.iter().filter_map(|one| one.files.parent().map(Path::to_owned));
        // Where the machine was started anew, the list is all that is left.
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

    /// The mark of a dead owner, now ours; or nothing, where all of it is gone. Whatever says nothing of the kind is let be.
    fn orphaned(&self, directory: &Path) -> Option<Option<File>> {
        let found = match directory.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(None),
            Ok(found) if found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() => found,
            Ok(_) | Err(_) => return None,
        };
        let path = directory.join(OWNER);
        let whose = match std::fs::read(&path) {
            Ok(whose) => whose,
            // Its owner was killed before it could sign, or with nothing left to do but to remove the empty directory.
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

/// A worktree that exists for a moment. Nothing in it is worth keeping.
#[derive(Debug)]
pub(super) struct Scratch<'a> {
    repository: &'a Repository,
    directory: Momentary,
    worktree: Option<Worktree>,
}

impl<'a> Scratch<'a> {
    /// With the files of a commit.
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

    /// Takes it away, and says so if that fails.
    pub(super) fn remove(mut self) -> Result<(), Error> {
        self.worktree.take().map_or(Ok(()), |worktree| self.repository.forget(&worktree))
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Some(worktree) = self.worktree.take() {
            // Whatever is left on the list is taken off it by whoever comes next.
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
        // Where no way begins at the root of the machine, it begins where we are.
        let here = std::env::current_dir().unwrap();
        assert_eq!(outside(&root, PathBuf::from(".")).unwrap(), here);
        assert!(matches!(outside(&here, PathBuf::from("src")), Err(Error::TemporaryInside { .. })));
    }
}
