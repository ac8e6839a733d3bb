//! What Saihai does with a repository: worktrees, commits, pushes, merges, rescues.
//!
//! Our git runs no code of the repository: whatever reads files or talks to a server goes through a [`private`] git directory that
//! is made for the occasion, holds only what was [`frozen`] when the call began, and never follows the `.git` file of a worktree.
//! The repository's own directory is only used to read and move refs and to register worktrees, with hooks off, and a ref moves only
//! from the value it was seen at.
//!
//! The user's checkout, index and HEAD are never touched, nothing is forced, and nothing is removed before its
//! content is reachable from a ref. Everything takes plain data, returns plain outcomes, and blocks.

mod base;
mod checkout;
mod clean_up;
mod error;
mod exclude;
mod fetch;
mod finalize;
mod follow;
mod frozen;
mod inspect;
mod item;
mod lists;
mod merge;
mod momentary;
mod place;
mod private;
mod push;
mod refs;
mod rescue;
mod snapshot;
mod turnstile;
mod untaken;
mod worktree;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use base::Base;
pub use clean_up::{Branch, CleanedUp, CleaningUp, Kept, Room};
pub use error::{Error, Form, Lasts};
pub use exclude::hide;
pub use finalize::{Finalized, Finalizing, Problem, Ready};
pub use follow::{Following, TakingIn};
pub use frozen::Frozen;
pub use frozen::address;
pub use item::{Item, ItemLock, Source, Standing, Taken};
pub use merge::{Landed, Merged, Merging, Onto, Verify};
pub use place::{Ours, Placed, Placing, Refill, Refusal};
pub use push::{Pushed, Pushing, Token};
pub use rescue::{Keep, Rescued};
pub use untaken::named;
pub use worktree::Worktree;

use crate::git;
use crate::git::command::{Environment, SILENT, output};
use private::Private;

/// A repository that Saihai works on.
#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
    common: PathBuf,
    /// Where the files of the repository's own checkout are.
    main: PathBuf,
    environment: Environment,
    frozen: Frozen,
}

impl Repository {
    /// The repository that `root` is in, with the user's configuration as it is now: before the first agent, that is.
    pub fn open(root: &Path, environment: &Environment) -> Result<Self, Error> {
        let said = |arguments: &[&str]| discover(root, environment, arguments);
        match said(&["--is-bare-repository"]) {
            Ok(bare) if bare == "true" => return Err(Error::Bare { path: root.to_owned() }),
            Ok(_) => {}
            Err(git::Error::Refused { said, .. }) if said.contains("not a git repository") => {
                return Err(Error::NotARepository { path: root.to_owned() });
            }
            Err(error) => return Err(error.into()),
        }
        let top = PathBuf::from(said(&["--show-toplevel"])?);
        if !top.is_dir() {
            return Err(Error::NoFiles { path: top });
        }
        // Files in it may have any names; of runs and branches it is written down where they are, and that is text.
        if top.to_str().is_none() {
            return Err(Error::NotText { path: top });
        }
        let common = PathBuf::from(said(&["--path-format=absolute", "--git-common-dir"])?);
        let own = PathBuf::from(said(&["--absolute-git-dir"])?);
        match said(&["--verify", "--quiet", "HEAD^{commit}"]) {
            Ok(_) => {}
            // It has nothing to say where there is none; of broken refs it has.
            Err(git::Error::Refused { said, .. }) if said == SILENT => return Err(Error::NoCommit),
            Err(error) => return Err(error.into()),
        }
        let lock = own.join("index.lock");
        if lock.symlink_metadata().is_ok() {
            return Err(Error::IndexLocked { path: lock });
        }
        let format = said(&["--show-object-format"])?.to_string_lossy().into_owned();
        let frozen = Frozen::read(&top, &common, environment, format)?;
        // Nothing says where its own checkout is but that checkout itself, if the directory lies elsewhere, as that of a submodule.
        let beside = || common.parent().unwrap_or(&common).to_owned();
        let main = if own == common { top.clone() } else { beside() };
        let mut repository = Self { root: top, common, main, environment: environment.clone(), frozen };
        match repository.find_identity() {
            // The machine of a job is new each time, and nobody sits there who could be asked to tell it a name.
            Err(Error::NoIdentity) if repository.frozen.commit_as_actions(environment) => {}
            found => found?,
        }
        repository.sweep();
        Ok(repository)
    }

    /// Where the user's files lie.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What was read before the first agent.
    pub fn frozen(&self) -> &Frozen {
        &self.frozen
    }

    /// The directory of everything of ours in the repository.
    fn own_directory(&self) -> Result<PathBuf, Error> {
        own_directory(&self.common)
    }

    fn find_identity(&self) -> Result<(), Error> {
        let private = Private::make(self, None)?;
        for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            match private.run("var", [who]) {
                Ok(_) => {}
                Err(Error::Git(git::Error::Refused { .. })) => return Err(Error::NoIdentity),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Git in the repository's own directory: only for refs and for the list of worktrees.
    fn registry(&self, command: &str) -> Command {
        let mut git = self.environment.git();
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .current_dir(&self.common)
            .arg("--git-dir")
            .arg(&self.common)
            .arg(command);
        git
    }
}

/// The git directory that all worktrees share with the repository that `root` is in.
pub fn common_directory(root: &Path, environment: &Environment) -> Result<PathBuf, Error> {
    let said = discover(root, environment, &["--path-format=absolute", "--git-common-dir"])?;
    let said = PathBuf::from(said);
    Ok(said.canonicalize().unwrap_or(said))
}

/// The directory of everything of ours in a repository.
fn own_directory(common: &Path) -> Result<PathBuf, Error> {
    let directory = common.join("saihai");
    std::fs::create_dir_all(&directory).map_err(Error::file("make", &directory))?;
    Ok(directory)
}

/// What `git rev-parse` says where the person stands, by their own configuration.
fn discover(root: &Path, environment: &Environment, arguments: &[&str]) -> Result<OsString, git::Error> {
    let mut git = environment.git();
    frozen::with_own_configuration(&mut git, environment);
    let mut said = output(git.current_dir(root).arg("rev-parse").args(arguments), "rev-parse")?;
    // A path may itself end in a line break.
    said.pop_if(|byte| *byte == b'\n');
    Ok(OsString::from_vec(said))
}

#[cfg(test)]
mod tests;
