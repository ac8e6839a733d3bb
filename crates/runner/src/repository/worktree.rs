//! Where an item is worked on.

use std::path::{Path, PathBuf};

use super::registered::Registered;
use super::{Error, Item, Repository};

/// The files of an item, on its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub(super) item: Item,
    pub(super) registered: Registered,
}

impl Worktree {
    /// Where its files are.
    pub fn path(&self) -> &Path {
        &self.registered.files
    }

    /// Whose it is.
    pub fn item(&self) -> &Item {
        &self.item
    }

    /// Whether whoever made it was stopped before all files were written. No agent has been there then.
    pub(super) fn is_unfinished(&self) -> bool {
        let directory = self.directory();
        let is_empty = || std::fs::read_dir(self.path()).is_ok_and(|files| files.count() <= 1);
        directory.join(FILLING).exists() || (!directory.join("index").exists() && is_empty())
    }

    /// Its `.git`, where an agent made another repository of it: no ref of ours holds what was committed there. A file or a link
    /// only leads to a place, and takes nothing with it when it goes.
    pub(super) fn foreign_git(&self) -> Option<PathBuf> {
        let found = self.path().join(".git").symlink_metadata();
        found.is_ok_and(|found| found.is_dir()).then(|| PathBuf::from(".git"))
    }

    /// What the repository keeps about it.
    pub(super) fn directory(&self) -> &Path {
        self.registered.directory.as_deref().expect("a linked worktree has a directory in the repository")
    }
}

/// Stands in what the repository keeps about a worktree as long as its files are being written.
pub(super) const FILLING: &str = "saihai-filling";

impl Repository {
    /// The worktree of an item, if the repository has one there.
    pub fn worktree(&self, item: &Item, worktree_root: &Path) -> Result<Option<Worktree>, Error> {
        let root = self.root.join(worktree_root);
        let root = root.canonicalize().unwrap_or(root);
        let found = self.registered_at(&item.worktree(&root))?;
        let found = found.filter(|registered| registered.directory.is_some());
        Ok(found.map(|registered| Worktree { item: item.clone(), registered }))
    }

    /// Where the files of all worktrees are that are linked to the repository, wherever that is.
    pub fn linked(&self) -> Result<Vec<PathBuf>, Error> {
        let linked = self.registered()?.into_iter().filter(|one| one.directory.is_some());
        Ok(linked.map(|one| one.files).collect())
    }

    /// Where worktrees are put: made if it is missing.
    pub(super) fn worktree_root(&self, worktree_root: &Path) -> Result<PathBuf, Error> {
        self.check_worktree_root(worktree_root)?;
        let root = self.root.join(worktree_root);
        std::fs::create_dir_all(&root).map_err(Error::file("make", &root))?;
        root.canonicalize().map_err(Error::file("find", &root))
    }

    /// Makes sure that worktrees can be put there: nothing else is in its place.
    pub fn check_worktree_root(&self, worktree_root: &Path) -> Result<(), Error> {
        let root = self.root.join(worktree_root);
        let present = root.ancestors().find(|path| path.symlink_metadata().is_ok());
        match present.filter(|path| !path.is_dir()) {
            Some(path) => Err(Error::NotADirectory { path: path.to_owned() }),
            None => Ok(()),
        }
    }
}
