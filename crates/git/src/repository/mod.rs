//! Operations on a repository: worktrees, commits, pushes, merges, rescues.
//!
//! Our git runs no code of the repository. Commands that read files or contact a server use a [`private`] git
//! directory. It exists for one operation, contains only [`frozen`] settings and ignores the `.git` file of a
//! worktree. The repository's own directory serves only to read and move refs and to register worktrees, with
//! hooks off. A ref moves only from the value that was read.
//!
//! The user's checkout, index and HEAD are never touched. Nothing is forced, and nothing is removed before a
//! ref holds its content. All operations take plain data, return plain outcomes, and block.

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

#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
    common: PathBuf,
    /// The directory of the main worktree.
    main: PathBuf,
    environment: Environment,
    frozen: Frozen,
}

impl Repository {
    /// Opens the repository around `root` and freezes the user's configuration. Call it before the first
    /// agent starts.
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
        // File names may contain any bytes. The path of the repository is recorded as text, so it must be
        // UTF-8.
        if top.to_str().is_none() {
            return Err(Error::NotText { path: top });
        }
        let common = PathBuf::from(said(&["--path-format=absolute", "--git-common-dir"])?);
        let own = PathBuf::from(said(&["--absolute-git-dir"])?);
        match said(&["--verify", "--quiet", "HEAD^{commit}"]) {
            Ok(_) => {}
            // Git prints nothing if HEAD has no commit, but reports broken refs.
            Err(git::Error::Refused { said, .. }) if said == SILENT => return Err(Error::NoCommit),
            Err(error) => return Err(error.into()),
        }
        let lock = own.join("index.lock");
        if lock.symlink_metadata().is_ok() {
            return Err(Error::IndexLocked { path: lock });
        }
        let format = said(&["--show-object-format"])?.to_string_lossy().into_owned();
        let frozen = Frozen::read(&top, &common, environment, format)?;
        // Only a checkout itself knows its path if the git directory lies elsewhere, as in a submodule.
        let beside = || common.parent().unwrap_or(&common).to_owned();
        let main = if own == common { top.clone() } else { beside() };
        let mut repository = Self { root: top, common, main, environment: environment.clone(), frozen };
        match repository.find_identity() {
            // A CI machine is new for each job, and no person is there to configure a name.
            Err(Error::NoIdentity) if repository.frozen.commit_as_actions(environment) => {}
            found => found?,
        }
        repository.sweep();
        Ok(repository)
    }

    /// Returns the directory of the user's files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the settings read before the first agent.
    pub fn frozen(&self) -> &Frozen {
        &self.frozen
    }

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

    /// Runs git in the repository's own directory: only for refs and the list of worktrees.
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

/// Returns the git directory that all worktrees of the repository around `root` share.
pub fn common_directory(root: &Path, environment: &Environment) -> Result<PathBuf, Error> {
    let said = discover(root, environment, &["--path-format=absolute", "--git-common-dir"])?;
    let said = PathBuf::from(said);
    Ok(said.canonicalize().unwrap_or(said))
}

/// Returns our directory inside the git directory.
fn own_directory(common: &Path) -> Result<PathBuf, Error> {
    let directory = common.join("saihai");
    std::fs::create_dir_all(&directory).map_err(Error::file("make", &directory))?;
    Ok(directory)
}

/// Runs `git rev-parse` in the user's directory with the user's own configuration.
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
