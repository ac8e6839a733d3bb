//! The directories of a worker: mirrors, worktrees and the spool.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use saihai_git::{FencedPush, GitEnvironment, Mirror, MirrorError, MirrorTree, WorkRevision, work_reference};
use sha2::{Digest as _, Sha256};

#[derive(Debug, Clone)]
pub(crate) struct WorkArea {
    root: PathBuf,
}

/// A worktree of a run in the hands of one call. Other calls of the run use other worktrees meanwhile.
#[derive(Debug)]
pub(crate) struct HeldTree {
    mirror: Mirror,
    tree: MirrorTree,
    reference: String,
    run: String,
    /// The revision that the files began with.
    began: WorkRevision,
    /// Held as long as the call uses the worktree.
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkAreaError {
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    #[error("cannot use `{}`: {source}", .path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// The push of this machine came too late.
    #[error("another machine continued this run: {said}")]
    Overtaken { said: String },
}

impl WorkArea {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.root.join("spool")
    }

    /// Takes a worktree of the run, with the files of a revision.
    pub(crate) fn take(
        &self,
        repository: &str,
        run: &str,
        revision: &WorkRevision,
        claims: bool,
    ) -> Result<HeldTree, WorkAreaError> {
        let name: String =
            Sha256::digest(repository).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let trees = self.root.join("trees");
        std::fs::create_dir_all(&trees).map_err(file(&trees))?;
        let (lock, path) = free_tree(&trees, run)?;
        let reference = work_reference(run);
        // Git locks the files of a mirror for a moment only, but two of its processes can meet there.
        let mirrors = self.root.join("mirrors");
        std::fs::create_dir_all(&mirrors).map_err(file(&mirrors))?;
        let guard = locked(&mirrors.join(format!("{name}.lock")), FlockOperation::LockExclusive)?;
        let mirror = Mirror::open(&mirrors.join(&name), repository, &GitEnvironment::of_process())?;
        mirror.fetch(&reference, &revision.files)?;
        let mut began = revision.clone();
        if claims {
            began.files = mirror.claim(&reference, revision, run)?;
        }
        let tree = mirror.tree_at(&path, &began)?;
        drop(guard);
        Ok(HeldTree { mirror, tree, reference, run: run.to_owned(), began, _lock: lock })
    }
}

impl HeldTree {
    pub(crate) fn path(&self) -> &Path {
        self.tree.path()
    }

    pub(crate) fn revision(&self) -> &WorkRevision {
        &self.began
    }

    /// Publishes the files of the worktree, unless another machine has continued the run.
    pub(crate) fn publish(&self) -> Result<WorkRevision, WorkAreaError> {
        let kept = self.mirror.keep(&self.tree, &self.began, &self.run)?;
        if kept == self.began {
            return Ok(kept);
        }
        match self.mirror.push(&self.reference, &kept.files, &self.began.files)? {
            FencedPush::Done => Ok(kept),
            FencedPush::Refused { said } => Err(WorkAreaError::Overtaken { said }),
        }
    }
}

/// Returns the first worktree of the run that no call uses, with its lock. A session of an agent belongs to the path of
/// its directory, so the first one is used again and again.
fn free_tree(trees: &Path, run: &str) -> Result<(File, PathBuf), WorkAreaError> {
    let mut number = 1;
    loop {
        let path = trees.join(format!("{run}.{number}"));
        let name = trees.join(format!("{run}.{number}.lock"));
        let lock = opened(&name)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok((lock, path)),
            Err(rustix::io::Errno::WOULDBLOCK) => number += 1,
            Err(error) => return Err(file(&name)(error.into())),
        }
    }
}

fn locked(path: &Path, how: FlockOperation) -> Result<File, WorkAreaError> {
    let lock = opened(path)?;
    flock(&lock, how).map_err(|error| file(path)(error.into()))?;
    Ok(lock)
}

fn opened(path: &Path) -> Result<File, WorkAreaError> {
    let opened = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    opened.map_err(file(path))
}

fn file(path: &Path) -> impl FnOnce(std::io::Error) -> WorkAreaError {
    let path = path.to_owned();
    move |source| WorkAreaError::File { path, source }
}
