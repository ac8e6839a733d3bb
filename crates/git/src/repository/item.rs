//! Items: the purpose of a branch and a worktree, and their locks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use saihai_model::IssueNumber;

use super::{Error, Repository, discover, own_directory};
use saihai_model::Moment;
use saihai_store::Disk;
use saihai_store::lock::Lock;

use crate::Environment;

/// Source of an issue number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A file in a folder.
    Folder,
    Forge,
}

/// The purpose of a branch and a worktree. All names derive from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    Issue {
        number: u32,
        source: Source,
        /// The part of the branch name before `issue-N`.
        branch_prefix: String,
    },
    /// A run without an issue (K-23).
    Run { id: String },
}

impl Item {
    /// Returns `issue-7`, or the id of the run.
    pub fn name(&self) -> String {
        match self {
            Self::Issue { number, .. } => format!("issue-{number}"),
            Self::Run { id } => id.clone(),
        }
    }

    pub fn branch(&self) -> String {
        match self {
            Self::Issue { branch_prefix, .. } => format!("{branch_prefix}{}", self.name()),
            Self::Run { id } => format!("saihai/{id}"),
        }
    }

    pub fn worktree(&self, root: &Path) -> PathBuf {
        root.join(self.name())
    }

    pub(super) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch())
    }

    /// Returns the commit trailer that names the item.
    pub(super) fn trailer(&self) -> String {
        match self {
            Self::Issue { number, .. } => format!("Saihai-Issue: {number}"),
            Self::Run { id } => format!("Saihai-Run: {id}"),
        }
    }

    /// Returns the last lines of every commit of ours.
    pub(super) fn trailers(&self, run: &str) -> String {
        match self {
            Self::Issue { .. } => format!("{}\nSaihai-Run: {run}\n", self.trailer()),
            Self::Run { .. } => format!("{}\n", self.trailer()),
        }
    }

    /// Returns the message of a commit.
    pub fn message(&self, title: &str, run: &str) -> String {
        let trailers = self.trailers(run);
        match self {
            Self::Issue { number, source: Source::Folder, .. } => {
                format!("{title} (issue-{number})\n\n{trailers}")
            }
            Self::Issue { number, source: Source::Forge, .. } => {
                format!("{title} (#{number})\n\nCloses #{number}\n\n{trailers}")
            }
            Self::Run { .. } => format!("{title}\n\n{trailers}"),
        }
    }

    pub(super) fn source(&self) -> Option<Source> {
        match self {
            Self::Issue { source, .. } => Some(*source),
            Self::Run { .. } => None,
        }
    }

    /// Returns the source of the issue that a commit message names, if it is this item.
    pub(super) fn made_for(&self, message: &str) -> Option<Source> {
        let Self::Issue { number, .. } = self else { return None };
        let last = message.trim_end().rsplit("\n\n").next()?;
        last.lines().any(|line| line == format!("Saihai-Issue: {number}")).then(|| {
            let closes = format!("Closes #{number}");
            if message.lines().any(|line| line == closes) { Source::Forge } else { Source::Folder }
        })
    }
}

/// Ownership of an item and its branch. The kernel releases the lock when its process ends.
#[derive(Debug)]
pub struct ItemLock {
    lock: Lock,
    path: PathBuf,
}

#[derive(Debug)]
pub enum Taken {
    Ours(ItemLock),
    Elsewhere {
        /// The owning process, if it wrote its id.
        process: Option<u32>,
        /// The run of the owner, if it wrote its name.
        run: Option<String>,
    },
}

impl ItemLock {
    /// Takes an item for a run. Never waits.
    pub fn take(repository: &Repository, item: &Item, run: &str, now: Moment) -> Result<Taken, Error> {
        Self::take_named(&repository.common, &item.name(), run, now)
    }

    /// Takes an item by name, in the git directory that all worktrees share.
    pub(super) fn take_named(common: &Path, name: &str, run: &str, now: Moment) -> Result<Taken, Error> {
        let path = own_directory(common)?.join(format!("{name}.lock"));
        let note = format!("{run}\n{}\n", now.0);
        match Lock::take_with_note(&path, run, &note, &Disk::new()) {
            Ok(lock) => Ok(Taken::Ours(Self { lock, path })),
            Err(saihai_store::StoreError::Owned { owner, .. }) => {
                let text = std::fs::read(&path).unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                let run = text.lines().nth(1).filter(|line| !line.is_empty()).map(str::to_owned);
                Ok(Taken::Elsewhere { process: owner, run })
            }
            Err(saihai_store::StoreError::Io { source, .. }) => {
                Err(Error::File { action: "lock", path, source })
            }
            Err(error) => {
                Err(Error::File { action: "lock", path, source: std::io::Error::other(error.to_string()) })
            }
        }
    }

    /// Returns true if a process works on an item now. Does not lock the item.
    pub fn is_taken(repository: &Repository, item: &Item) -> Result<bool, Error> {
        let path = repository.own_directory()?.join(format!("{}.lock", item.name()));
        Lock::holder(&path).map(|holder| holder.is_some()).map_err(Error::file("read", &path))
    }

    /// Writes the run's name into the lock, to inform other processes. The lock is taken before the run
    /// exists.
    pub fn name_run(&self, run: &str, now: Moment) -> Result<(), Error> {
        let note = format!("{run}\n{}\n", now.0);
        self.lock.sign(&note, &Disk::new()).map_err(Error::file("write", &self.path))
    }

    /// Checks that the item is still ours. Called before every external effect.
    pub fn check(&self) -> Result<(), Error> {
        if self.lock.is_held() { Ok(()) } else { Err(Error::LockLost { path: self.path.clone() }) }
    }
}

/// A checkout on the branch of an issue. Work there counts as work on the issue.
#[derive(Debug, PartialEq, Eq)]
pub struct Standing {
    number: IssueNumber,
    common: PathBuf,
}

impl Standing {
    /// Returns the issue whose branch is checked out at `root`. Returns `None` without a readable repository,
    /// because issues need one.
    pub fn at(root: &Path, environment: &Environment, branch_prefix: &str) -> Result<Option<Self>, Error> {
        let wanted = ["--symbolic-full-name", "HEAD", "--path-format=absolute", "--git-common-dir"];
        let Ok(said) = discover(root, environment, &wanted) else { return Ok(None) };
        // Two lines. The second is a path, which may contain any bytes.
        let mut lines = said.as_bytes().splitn(2, |byte| *byte == b'\n');
        let (Some(head), Some(common)) = (lines.next(), lines.next()) else { return Ok(None) };
        let number = str::from_utf8(head)
            .ok()
            .and_then(|head| head.strip_prefix("refs/heads/")?.strip_prefix(branch_prefix))
            .and_then(|name| IssueNumber::parse(name.strip_prefix("issue-")?));
        Ok(number.map(|number| Self { number, common: PathBuf::from(OsStr::from_bytes(common)) }))
    }

    pub fn number(&self) -> IssueNumber {
        self.number
    }

    pub fn take(&self, run: &str, now: Moment) -> Result<Taken, Error> {
        ItemLock::take_named(&self.common, &self.number.slug(), run, now)
    }
}
