//! Who works on an item.

use std::path::{Path, PathBuf};

use super::{Error, Item, Repository, own_directory};
use crate::lock::Lock;
use crate::{Clock, Disk};

/// The ownership of an item and of its branch: a lock of the kernel, which vanishes with its process.
#[derive(Debug)]
pub struct ItemLock {
    lock: Lock,
    path: PathBuf,
}

/// Whether an item could be taken.
#[derive(Debug)]
pub enum Taken {
    /// It is ours.
    Ours(ItemLock),
    /// Somebody else has it.
    Elsewhere {
        /// The process, where it said so.
        process: Option<u32>,
        /// The run it works in, where it said so.
        run: Option<String>,
    },
}

impl ItemLock {
    /// Takes an item for a run. Nobody is ever waited for.
    pub fn take(repository: &Repository, item: &Item, run: &str, clock: &Clock) -> Result<Taken, Error> {
        Self::take_named(&repository.common, &item.name(), run, clock)
    }

    /// The same by the name of the item, in the git directory that all worktrees share.
    pub(super) fn take_named(common: &Path, name: &str, run: &str, clock: &Clock) -> Result<Taken, Error> {
        let path = own_directory(common)?.join(format!("{name}.lock"));
        let note = format!("{run}\n{}\n", clock.now().0);
        match Lock::take_with_note(&path, run, &note, &Disk::new()) {
            Ok(lock) => Ok(Taken::Ours(Self { lock, path })),
            Err(crate::Error::Owned { owner, .. }) => {
                let text = std::fs::read(&path).unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                let run = text.lines().nth(1).filter(|line| !line.is_empty()).map(str::to_owned);
                Ok(Taken::Elsewhere { process: owner, run })
            }
            Err(crate::Error::Io { source, .. }) => Err(Error::File { action: "lock", path, source }),
            Err(error) => {
                Err(Error::File { action: "lock", path, source: std::io::Error::other(error.to_string()) })
            }
        }
    }

    /// Whether somebody works on an item just now. Nobody is kept from taking it by that.
    pub fn is_taken(repository: &Repository, item: &Item) -> Result<bool, Error> {
        let path = repository.own_directory()?.join(format!("{}.lock", item.name()));
        Lock::holder(&path).map(|holder| holder.is_some()).map_err(Error::file("read", &path))
    }

    /// Says in it which run has the item, for those who are refused: it is taken before there is one.
    pub fn name_run(&self, run: &str, clock: &Clock) -> Result<(), Error> {
        let note = format!("{run}\n{}\n", clock.now().0);
        self.lock.sign(&note, &Disk::new()).map_err(Error::file("write", &self.path))
    }

    /// Asked before every effect outside: whether the item is still ours.
    pub fn check(&self) -> Result<(), Error> {
        if self.lock.is_held() { Ok(()) } else { Err(Error::LockLost { path: self.path.clone() }) }
    }
}
