//! A private git directory over the objects of a repository, and the temporary directories it lives in.
//! Leftovers of killed processes are removed when a repository is opened.

use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::Repository;
use crate::error::RepositoryError;
use crate::git_program::{GitError, GitTerminalAccess, feed, judge, output, run};
use crate::locks::OperationLock;
use crate::work_item::WorkItem;
use crate::worktree::{RegisteredWorktree, Worktree};

/// A git directory for one operation that other programs cannot write to. Through it, git sees the
/// repository's objects and the files of one directory, but none of its configuration, hooks, refs and index.
#[derive(Debug)]
pub(crate) struct PrivateGit<'a> {
    repository: &'a Repository,
    directory: TemporaryDirectory,
    files: Option<PathBuf>,
}

/// Protocols that git may use.
const PROTOCOLS: &str = "https:ssh:file";

impl<'a> PrivateGit<'a> {
    /// Creates a directory over the files at `files`, or over none.
    pub(crate) fn make(repository: &'a Repository, files: Option<&Path>) -> Result<Self, RepositoryError> {
        let directory = TemporaryDirectory::make(repository, TemporaryDirectoryKind::Git)?;
        let private = Self { repository, directory, files: files.map(Path::to_owned) };
        private.furnish()?;
        Ok(private)
    }

    fn furnish(&self) -> Result<(), RepositoryError> {
        for inner in ["objects", "refs", "info"] {
            let inner = self.path(inner);
            std::fs::create_dir(&inner).map_err(RepositoryError::file("make", &inner))?;
        }
        let frozen = &self.repository.frozen;
        self.write("HEAD", b"ref: refs/heads/none\n")?;
        self.write("config", self.configuration().as_bytes())?;
        self.write("info/exclude", &frozen.excludes[0])?;
        self.write("own-exclude", &frozen.excludes[1])?;
        self.write("info/attributes", &frozen.attributes[0])?;
        self.write("own-attributes", &frozen.attributes[1])?;
        // The file lists the ends of a shallow history.
        match std::fs::read(self.repository.common.join("shallow")) {
            Ok(ends) => self.write("shallow", &ends),
            Err(_) => Ok(()),
        }
    }

    fn configuration(&self) -> String {
        let frozen = &self.repository.frozen;
        let mut text = String::new();
        // The user's LFS filter stores large files in the git directory. Point it to the repository, because
        // this directory is temporary.
        let large_files = self.repository.common.join("lfs");
        append(&mut text, "lfs.storage", Some(&large_files.to_string_lossy()));
        for (key, value) in &frozen.settings {
            append(&mut text, key, value.as_deref());
        }
        let path = |name: &str| self.path(name).to_string_lossy().into_owned();
        let held = [
            ("core.repositoryformatversion", "1"),
            ("extensions.objectformat", &frozen.object_format),
            ("core.bare", if self.files.is_some() { "false" } else { "true" }),
            ("core.excludesfile", &path("own-exclude")),
            ("core.attributesfile", &path("own-attributes")),
            ("user.useconfigonly", "true"),
            ("submodule.recurse", "false"),
            ("push.recursesubmodules", "no"),
            ("push.gpgsign", "false"),
            ("protocol.ext.allow", "never"),
        ];
        for (key, value) in held {
            append(&mut text, key, Some(value));
        }
        text
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RepositoryError> {
        let path = self.path(name);
        std::fs::write(&path, bytes).map_err(RepositoryError::file("write", &path))
    }

    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        command: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, RepositoryError> {
        Ok(output(self.command(command).args(arguments), command)?)
    }

    /// Runs git with input and returns its output.
    pub(crate) fn feed<S: AsRef<OsStr>>(
        &self,
        command: &str,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Vec<u8>, RepositoryError> {
        Ok(feed(self.command(command).args(arguments), command, input)?)
    }

    /// Runs git and returns one line of output.
    pub(crate) fn line<S: AsRef<OsStr>>(
        &self,
        command: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, RepositoryError> {
        Ok(String::from_utf8_lossy(&self.run(command, arguments)?).trim_end().to_owned())
    }

    /// Runs a git command that answers yes or no by its exit status.
    pub(crate) fn holds<S: AsRef<OsStr>>(
        &self,
        command: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<bool, RepositoryError> {
        let output = run(self.command(command).args(arguments), command, None, GitTerminalAccess::Apart)?;
        if output.status.code() == Some(1) {
            return Ok(false);
        }
        judge(output, command)?;
        Ok(true)
    }

    pub(crate) fn command(&self, command: &str) -> Command {
        let repository = self.repository;
        let mut git = repository.environment.git();
        git.env("GIT_DIR", self.directory.path())
            .env("GIT_OBJECT_DIRECTORY", repository.common.join("objects"))
            .env("GIT_INDEX_FILE", self.path("index"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
            .envs(repository.frozen.identity.iter().map(|(name, value)| (name, value)));
        match &self.files {
            Some(files) => git.env("GIT_WORK_TREE", files).current_dir(files),
            None => git.current_dir(self.directory.path()),
        };
        git.arg(command);
        git
    }
}

/// Appends a key in the format of git's configuration.
fn append(text: &mut String, key: &str, value: Option<&str>) {
    let Some((section, rest)) = key.split_once('.') else { return };
    let quote = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"");
    let name = match rest.rsplit_once('.') {
        Some((subsection, name)) => {
            text.push_str(&format!("[{section} \"{}\"]\n", quote(subsection)));
            name
        }
        None => {
            text.push_str(&format!("[{section}]\n"));
            rest
        }
    };
    match value {
        Some(value) => {
            let value = quote(value).replace('\n', "\\n").replace('\t', "\\t");
            text.push_str(&format!("\t{name} = \"{value}\"\n"));
        }
        None => text.push_str(&format!("\t{name}\n")),
    }
}

/// A temporary directory of our own. A file in it is locked while its owner lives.
#[derive(Debug)]
pub(crate) struct TemporaryDirectory {
    directory: tempfile::TempDir,
    _owner: File,
}

/// The purpose of a directory, visible in the prefix of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemporaryDirectoryKind {
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

impl TemporaryDirectoryKind {
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

impl TemporaryDirectory {
    /// Creates a directory outside the repository, empty except for the owner file.
    pub(crate) fn make(
        repository: &Repository,
        kind: TemporaryDirectoryKind,
    ) -> Result<Self, RepositoryError> {
        let place = outside(&repository.root, std::env::temp_dir())?;
        let directory = tempfile::Builder::new()
            .prefix(&format!("{}{}-", kind.prefix(), std::process::id()))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&place)
            .map_err(RepositoryError::file("make a directory in", &place))?;
        let owner = sign(directory.path(), &repository.common);
        let owner = owner.map_err(RepositoryError::file("write in", directory.path()))?;
        Ok(Self { directory, _owner: owner })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for TemporaryDirectory {
    /// Removes the owner file last. After a kill it still names the repository of the leftovers.
    fn drop(&mut self) {
        remove_all_but_owner(self.path()).ok();
    }
}

/// Removes everything in a directory except its owner file.
fn remove_all_but_owner(directory: &Path) -> io::Result<()> {
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
fn outside(root: &Path, place: PathBuf) -> Result<PathBuf, RepositoryError> {
    let place = std::path::absolute(&place).map_err(RepositoryError::file("find", &place))?;
    let real = place.canonicalize().unwrap_or_else(|_| place.clone());
    if real.starts_with(root) { Err(RepositoryError::TemporaryInside { path: place }) } else { Ok(place) }
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
    let name = TemporaryDirectoryKind::of(directory)
        .and_then(|kind| name.strip_prefix(kind.prefix()))
        .unwrap_or_default();
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
    pub(crate) fn sweep(&self) {
        let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
        let registered = self.registered().unwrap_or_default();
        let listed = registered.iter().filter_map(|one| one.files.parent().map(Path::to_owned));
        // After a reboot, only the list of worktrees is left.
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).chain(listed).collect();
        found.retain(|path| TemporaryDirectoryKind::of(path).is_some());
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

    fn take_away(&self, directory: &Path, registered: &[RegisteredWorktree]) -> Result<(), RepositoryError> {
        for one in registered.iter().filter(|one| one.files.parent() == Some(directory)) {
            if let Some(name) = one.files.file_name().filter(|_| one.directory.is_some()) {
                let item = WorkItem::Run { id: name.to_string_lossy().into_owned() };
                self.forget(&Worktree { item, registered: one.clone() })?;
            }
        }
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(RepositoryError::file("remove", directory)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// A short-lived worktree. Nothing in it is worth keeping.
#[derive(Debug)]
pub(crate) struct TemporaryWorktree<'a> {
    repository: &'a Repository,
    directory: TemporaryDirectory,
    worktree: Option<Worktree>,
}

impl<'a> TemporaryWorktree<'a> {
    /// Creates a worktree with the files of a commit.
    pub(crate) fn make(
        repository: &'a Repository,
        item: &WorkItem,
        commit: &str,
    ) -> Result<Self, RepositoryError> {
        let directory = TemporaryDirectory::make(repository, TemporaryDirectoryKind::Merge)?;
        let found =
            directory.path().canonicalize().map_err(RepositoryError::file("find", directory.path()))?;
        let path = found.join(item.name());
        {
            let _one_at_a_time = OperationLock::of_worktrees(repository)?;
            let mut git = repository.registry("worktree");
            git.args(["add", "--quiet", "--no-checkout", "--detach"]).arg(&path).arg(commit);
            output(&mut git, "worktree add")?;
        }
        let registered = repository.registered_at(&path)?;
        let worktree = registered.map(|registered| Worktree { item: item.clone(), registered });
        let scratch = Self { repository, directory, worktree };
        match &scratch.worktree {
            Some(worktree) => repository.check_out(worktree, commit, commit)?,
            None => return Err(GitError::Unreadable { command: "worktree add" }.into()),
        }
        Ok(scratch)
    }

    pub(crate) fn path(&self) -> &Path {
        self.worktree.as_ref().map_or(self.directory.path(), Worktree::path)
    }

    /// Removes the worktree and returns an error on failure.
    pub(crate) fn remove(mut self) -> Result<(), RepositoryError> {
        self.worktree.take().map_or(Ok(()), |worktree| self.repository.forget(&worktree))
    }
}

impl Drop for TemporaryWorktree<'_> {
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
        remove_all_but_owner(directory.path()).unwrap();
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
            assert!(matches!(outside(&root, inside), Err(RepositoryError::TemporaryInside { .. })));
        }
        assert_eq!(outside(&root, home.clone()).unwrap(), home);
        // A relative path starts at the current directory.
        let here = std::env::current_dir().unwrap();
        assert_eq!(outside(&root, PathBuf::from(".")).unwrap(), here);
        assert!(matches!(outside(&here, PathBuf::from("src")), Err(RepositoryError::TemporaryInside { .. })));
    }
}
