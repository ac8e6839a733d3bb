//! The worktree of an item, and the list of worktrees of a repository.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::turnstile::Turnstile;
use super::{Error, Item, Refusal, Repository};
use crate::git::command::output;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub(super) item: Item,
    pub(super) registered: Registered,
}

impl Worktree {
    pub fn path(&self) -> &Path {
        &self.registered.files
    }

    pub fn item(&self) -> &Item {
        &self.item
    }

    /// Returns true if its creation was interrupted before all files were written. No agent has seen it then.
    pub(super) fn is_unfinished(&self) -> bool {
        let directory = self.directory();
        let is_empty = || std::fs::read_dir(self.path()).is_ok_and(|files| files.count() <= 1);
        directory.join(FILLING).exists() || (!directory.join("index").exists() && is_empty())
    }

    /// Returns its `.git` if an agent replaced it with another repository. No ref of ours holds the commits
    /// there. A file or a link is harmless: removing it loses nothing.
    pub(super) fn foreign_git(&self) -> Option<PathBuf> {
        let found = self.path().join(".git").symlink_metadata();
        found.is_ok_and(|found| found.is_dir()).then(|| PathBuf::from(".git"))
    }

    /// Returns the directory that the repository keeps for it.
    pub(super) fn directory(&self) -> &Path {
        self.registered.directory.as_deref().expect("a linked worktree has a directory in the repository")
    }
}

/// The marker in the repository's directory of a worktree while files are being written.
pub(super) const FILLING: &str = "saihai-filling";

impl Repository {
    /// Returns the worktree of an item, if the repository has one at this path.
    pub fn worktree(&self, item: &Item, worktree_root: &Path) -> Result<Option<Worktree>, Error> {
        let root = self.root.join(worktree_root);
        let root = root.canonicalize().unwrap_or(root);
        let found = self.registered_at(&item.worktree(&root))?;
        let found = found.filter(|registered| registered.directory.is_some());
        Ok(found.map(|registered| Worktree { item: item.clone(), registered }))
    }

    /// Returns the directories of all linked worktrees.
    pub fn linked(&self) -> Result<Vec<PathBuf>, Error> {
        let linked = self.registered()?.into_iter().filter(|one| one.directory.is_some());
        Ok(linked.map(|one| one.files).collect())
    }

    /// Returns the parent directory of worktrees and creates it if missing.
    pub(super) fn worktree_root(&self, worktree_root: &Path) -> Result<PathBuf, Error> {
        self.check_worktree_root(worktree_root)?;
        let root = self.root.join(worktree_root);
        std::fs::create_dir_all(&root).map_err(Error::file("make", &root))?;
        root.canonicalize().map_err(Error::file("find", &root))
    }

    /// Checks that the parent directory of worktrees exists or can be created.
    pub fn check_worktree_root(&self, worktree_root: &Path) -> Result<(), Error> {
        let root = self.root.join(worktree_root);
        let present = root.ancestors().find(|path| path.symlink_metadata().is_ok());
        match present.filter(|path| !path.is_dir()) {
            Some(path) => Err(Error::NotADirectory { path: path.to_owned() }),
            None => Ok(()),
        }
    }
}

/// A worktree in the repository's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registered {
    /// Its directory in the repository. `None` for the main worktree.
    pub(super) directory: Option<PathBuf>,
    pub(super) files: PathBuf,
}

impl Repository {
    /// Lists all worktrees, the main one first. The list of a copied repository still names the worktrees of
    /// the original; these are skipped.
    pub(super) fn registered(&self) -> Result<Vec<Registered>, Error> {
        let mut all = vec![Registered { directory: None, files: self.main.clone() }];
        let list = self.common.join("worktrees");
        let entries = match std::fs::read_dir(&list) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(all),
            Err(error) => return Err(Error::file("read", &list)(error)),
        };
        for entry in entries {
            let directory = entry.map_err(Error::file("read", &list))?.path();
            // Each entry names the `.git` file of its worktree. Skip other entries.
            let Some(files) = listed_by(&directory) else { continue };
            let files = files.canonicalize().unwrap_or(files);
            let is_anothers = |named: &PathBuf| {
                !is_same(named, &directory) && listed_by(named).is_some_and(|listed| is_same(&listed, &files))
            };
            if named_by(&files).is_some_and(|named| is_anothers(&named)) {
                continue;
            }
            all.push(Registered { directory: Some(directory), files });
        }
        Ok(all)
    }

    /// Returns the worktree at a path.
    pub(super) fn registered_at(&self, files: &Path) -> Result<Option<Registered>, Error> {
        let mut all = self.registered()?.into_iter().filter(|one| one.files == files);
        Ok(all.next())
    }

    /// Makes git repair a worktree that was moved or copied with its repository. Both name each other by
    /// absolute paths.
    pub(super) fn repair_moved(&self, files: &Path) -> Result<(), Error> {
        let Some(named) = named_by(files) else { return Ok(()) };
        let ours = self.common.join("worktrees").join(named.file_name().unwrap_or_default());
        let is_used = |one: &Registered| one.directory.as_ref() == Some(&ours) && one.files.exists();
        if !ours.is_dir() || is_same(&named, &ours) || self.registered()?.iter().any(is_used) {
            return Ok(());
        }
        let _one_at_a_time = Turnstile::of_worktrees(self)?;
        let link = files.join(".git");
        let content = [b"gitdir: ", ours.as_os_str().as_bytes(), b"\n"].concat();
        std::fs::write(&link, content).map_err(Error::file("write", &link))?;
        output(self.registry("worktree").arg("repair").arg(files), "worktree repair")?;
        Ok(())
    }

    /// Returns the reason why a run in a worktree below `root` cannot continue: the repository was moved
    /// since. `now` is the current parent directory of worktrees.
    pub fn begun_elsewhere(&self, item: &Item, root: &Path, now: &Path) -> Result<Option<Refusal>, Error> {
        let found = |root: &Path| {
            let root = self.root.join(root);
            root.canonicalize().unwrap_or(root)
        };
        let (root, now) = (found(root), found(now));
        let path = item.worktree(&root);
        let is_here = root == now || [&self.root, &self.main].into_iter().any(|own| root.starts_with(own));
        let is_ours = is_here || (path.is_dir() && self.registered_at(&path)?.is_some());
        Ok((!is_ours).then_some(Refusal::BegunElsewhere { path }))
    }

    /// Returns the worktree that has a branch checked out, or will after an operation such as a rebase.
    pub(super) fn checked_out(&self, branch: &str) -> Result<Option<PathBuf>, Error> {
        let reference = format!("refs/heads/{branch}");
        for one in self.registered()? {
            if self.branch_of(&one)?.as_deref() == Some(&reference)
                || is_underway(&self.state_of(&one), branch)
            {
                return Ok(Some(one.files));
            }
        }
        Ok(None)
    }

    /// Returns the branch that the user has checked out, if any.
    pub fn current_branch(&self) -> Option<String> {
        let own = self.registered_at(&self.root).ok().flatten()?;
        let name = self.branch_of(&own).ok().flatten()?;
        name.strip_prefix("refs/heads/").map(str::to_owned)
    }

    /// Returns the commit that the user has checked out.
    pub fn current_commit(&self) -> Result<String, Error> {
        let own = self.registered_at(&self.root)?;
        let commit = own.map_or(Ok(None), |own| self.tip(&self.head_name(&own)))?;
        commit.ok_or(Error::NoCommit)
    }

    /// Returns the branch of a worktree, if it is on one.
    pub(super) fn branch_of(&self, one: &Registered) -> Result<Option<String>, Error> {
        let head = self.head_name(one);
        let mut git = self.registry("symbolic-ref");
        match output(git.args(["--quiet", &head]), "symbolic-ref") {
            Ok(said) => Ok(Some(String::from_utf8_lossy(&said).trim_end().to_owned())),
            Err(crate::git::Error::Refused { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the name of a worktree's HEAD as seen from other worktrees.
    pub(super) fn head_name(&self, one: &Registered) -> String {
        match one.directory.as_ref().and_then(|directory| directory.file_name()) {
            Some(name) => format!("worktrees/{}/HEAD", name.to_string_lossy()),
            None => "HEAD".to_owned(),
        }
    }

    fn state_of(&self, one: &Registered) -> PathBuf {
        one.directory.clone().unwrap_or_else(|| self.common.clone())
    }
}

/// Returns true during a rebase or bisection of a branch. HEAD is detached then, but returns to the branch.
fn is_underway(state: &Path, branch: &str) -> bool {
    let names = ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"];
    names.iter().filter_map(|name| std::fs::read(state.join(name)).ok()).any(|text| {
        let text = String::from_utf8_lossy(&text);
        let text = text.trim_end();
        text == branch || text.strip_prefix("refs/heads/") == Some(branch)
    })
}

/// Returns the directory that the `.git` file of a worktree names.
fn named_by(files: &Path) -> Option<PathBuf> {
    let said = std::fs::read(files.join(".git")).ok()?;
    Some(files.join(as_path(said.strip_prefix(b"gitdir: ")?)))
}

/// Returns the worktree that an entry of the list names.
fn listed_by(directory: &Path) -> Option<PathBuf> {
    // The path may be relative to the entry.
    let said = std::fs::read(directory.join("gitdir")).ok()?;
    directory.join(as_path(&said)).parent().map(Path::to_owned)
}

fn as_path(said: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(said.strip_suffix(b"\n").unwrap_or(said).to_vec()))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
