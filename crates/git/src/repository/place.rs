//! Making the branch and the worktree of an item, or finding them again.

use std::path::{Path, PathBuf};

use super::refs::Seen;
use super::turnstile::Turnstile;
use super::worktree::FILLING;
use super::{Base, Error, Item, Keep, Repository, Worktree};
use crate::git::command::output;
use crate::repository::private::Private;

/// What is to be worked on, and where.
#[derive(Debug, Clone, Copy)]
pub struct Placing<'a> {
    pub item: &'a Item,
    pub base: &'a Base,
    /// Where worktrees are kept, relative to the repository or absolute.
    pub worktree_root: &'a Path,
    /// Files of the user's checkout that are copied into a new worktree.
    pub copy_files: &'a [String],
    /// How a branch that exists is known to be ours.
    pub ours: Ours,
    /// What a worktree is filled with that has to be made again.
    pub refill: Refill,
}

/// What a worktree is filled with that has to be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refill {
    Branch,
    /// What was last rescued from it, if nothing was committed since; else what its branch holds.
    Rescue,
}

/// How a branch that exists is known to be ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// A run's journal says so.
    ByJournal,
    /// Only if a commit on it says so.
    ByTrailers,
    Adopted,
}

impl Ours {
    /// By what a person and the journals say.
    pub fn by(adopted: bool, known: bool) -> Self {
        match (adopted, known) {
            (true, _) => Self::Adopted,
            (false, true) => Self::ByJournal,
            (false, false) => Self::ByTrailers,
        }
    }
}

/// Where an item is worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    /// Branch and worktree are new.
    Created(Worktree),
    Continued(Worktree),
    /// The branch was there, the worktree is new.
    Recreated(Worktree),
    /// Something is in the way, and stays as it is.
    Refused(Refusal),
}

/// What is in the way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A branch of that name.
    #[error("branch `{branch}` exists, not ours")]
    NotOurs { branch: String },
    /// It belongs to an issue of that number from elsewhere.
    #[error("branch `{branch}` belongs to another issue of that number")]
    OtherSource { branch: String },
    /// The server has something that is not here.
    #[error(
        "branch `{branch}` has commits on the server that are not here; take them in first: \
         `git -C {} pull --ff-only {url} {branch}`",
        .path.display()
    )]
    Ahead {
        branch: String,
        url: String,
        /// Where it is checked out.
        path: PathBuf,
    },
    /// The server has something that is not here, and the other way round: it was rewritten there, or here.
    #[error(
        "branch `{branch}` has commits on the server that are not here, and others here; \
         to go on with those of the server: {}; what is here stays in `git reflog {branch}`",
        commands(.branch, .url, .path.as_deref())
    )]
    Parted {
        branch: String,
        url: String,
        /// Where it is checked out, if it is.
        path: Option<PathBuf>,
    },
    /// What was merged from it is not in its base as it is: other commits were made of it there.
    #[error(
        "branch `{branch}` of the server holds commits that `{base}` does not, as after a squash, so that nothing new from `{base}` can be pushed to it; \
         if they are merged, remove it there: `git push {url} --delete {branch}`"
    )]
    NotInBase { branch: String, base: String, url: String },
    /// Something is where the worktree would be.
    #[error("`{}` exists and is not a worktree of ours; move it away to make room", .path.display())]
    Occupied { path: PathBuf },
    /// Its worktree was left on another branch, or on none: what is done there would be delivered for nobody.
    #[error(
        "the worktree `{}` is on {}, not on `{branch}`; `git -C {} switch {branch}` puts it right",
        .path.display(), .on.as_ref().map_or("no branch".to_owned(), |on| format!("`{on}`")), .path.display()
    )]
    OffItsBranch { path: PathBuf, branch: String, on: Option<String> },
    /// It was begun before the repository was moved.
    #[error(
        "it was begun in `{}`, before this repository was moved; `saihai work --retry` starts again here, with its branch and the \
         files that came along",
        .path.display()
    )]
    BegunElsewhere { path: PathBuf },
    /// The branch is checked out in another place.
    #[error("branch `{branch}` is checked out in `{}`", .path.display())]
    CheckedOut { branch: String, path: PathBuf },
}

/// What makes a branch the one of a server, without losing files that somebody has changed.
fn commands(branch: &str, url: &str, path: Option<&Path>) -> String {
    match path.map(Path::display) {
        Some(path) => {
            format!("`git -C {path} fetch {url} {branch} && git -C {path} reset --keep FETCH_HEAD`")
        }
        None => format!("`git fetch {url} +{branch}:{branch}`"),
    }
}

impl Placed {
    /// The worktree, however it came to be.
    pub fn worktree(self) -> Result<Worktree, Refusal> {
        match self {
            Self::Created(worktree) | Self::Continued(worktree) | Self::Recreated(worktree) => Ok(worktree),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}

impl Repository {
    /// Makes the branch and the worktree of an item, or finds them again.
    pub fn place(&self, placing: Placing<'_>) -> Result<Placed, Error> {
        let item = placing.item;
        self.check_branch(item)?;
        let path = item.worktree(&self.worktree_root(placing.worktree_root)?);
        self.repair_moved(&path)?;
        let tip = self.tip(&item.reference())?;
        if let Some(refusal) = self.refusal(&placing, tip.as_deref(), &path)? {
            return Ok(Placed::Refused(refusal));
        }
        if path.symlink_metadata().is_ok() {
            match self.worktree(item, placing.worktree_root)? {
                // Half of its files would pass for an agent's deletions.
                Some(worktree) if worktree.is_unfinished() => self.undo(item, &path, None)?,
                Some(worktree) => return Ok(Placed::Continued(worktree)),
                None => return Ok(Placed::Refused(Refusal::Occupied { path })),
            }
        }
        match tip {
            None => self.create(&placing, &path).map(Placed::Created),
            Some(tip) => self.recreate(&placing, &path, &tip).map(Placed::Recreated),
        }
    }

    /// Why nothing is begun in a worktree that was found again: it was left on another branch than its own.
    pub fn off_its_branch(&self, worktree: &Worktree) -> Result<Option<Refusal>, Error> {
        let item = &worktree.item;
        let on = self.branch_of(&worktree.registered)?;
        if on.as_deref() == Some(&item.reference()) {
            return Ok(None);
        }
        let on = on.map(|on| on.strip_prefix("refs/heads/").unwrap_or(&on).to_owned());
        Ok(Some(Refusal::OffItsBranch { path: worktree.path().to_owned(), branch: item.branch(), on }))
    }

    /// Makes the branch of an item again where it is gone, at a commit that was on it. Whether there is one now.
    pub fn bring_back(&self, item: &Item, commit: Option<&str>) -> Result<bool, Error> {
        let reference = item.reference();
        match (self.tip(&reference)?, commit) {
            (Some(_), _) => Ok(true),
            (None, Some(commit)) => self.move_ref(&reference, commit, Seen::Absent).map(|()| true),
            (None, None) => Ok(false),
        }
    }

    fn refusal(
        &self,
        placing: &Placing<'_>,
        tip: Option<&str>,
        path: &Path,
    ) -> Result<Option<Refusal>, Error> {
        let branch = placing.item.branch();
        // A link, even to a worktree of ours, may lead anywhere tomorrow; and a worktree without our branch is a
        // person's, unless somebody knows better.
        let is_unknown = tip.is_none() && placing.ours == Ours::ByTrailers;
        let is_foreign = match path.symlink_metadata() {
            Ok(found) => !found.is_dir() || is_unknown || self.registered_at(path)?.is_none(),
            Err(_) => false,
        };
        if is_foreign {
            return Ok(Some(Refusal::Occupied { path: path.to_owned() }));
        }
        let Some(tip) = tip else { return Ok(None) };
        let foreign = self.foreign_branch(placing.item, placing.base, placing.ours, tip)?;
        if let Some(refusal) = foreign {
            return Ok(Some(refusal));
        }
        let elsewhere = self.checked_out(&branch)?.filter(|found| found != path);
        Ok(elsewhere.map(|path| Refusal::CheckedOut { branch, path }))
    }

    /// Why a branch at that commit is not to be touched.
    pub(super) fn foreign_branch(
        &self,
        item: &Item,
        base: &Base,
        ours: Ours,
        tip: &str,
    ) -> Result<Option<Refusal>, Error> {
        let branch = item.branch();
        match ours {
            Ours::ByJournal | Ours::Adopted => return Ok(None),
            Ours::ByTrailers => {}
        }
        let private = Private::make(self, None)?;
        let said = private.run("log", ["-z", "--format=%B", tip, "--not", &base.commit])?;
        let said = String::from_utf8_lossy(&said);
        let mut sources = said.split('\0').filter_map(|message| item.made_for(message));
        Ok(match sources.next() {
            None => Some(Refusal::NotOurs { branch }),
            Some(source) if item.source() == Some(source) => None,
            Some(_) => Some(Refusal::OtherSource { branch }),
        })
    }

    fn create(&self, placing: &Placing<'_>, path: &Path) -> Result<Worktree, Error> {
        let (branch, commit) = (placing.item.branch(), &placing.base.commit);
        let added = {
            let _one_at_a_time = Turnstile::of_worktrees(self)?;
            let mut git = self.registry("worktree");
            git.args(["add", "--quiet", "--no-checkout", "--no-track", "-b", &branch]).arg(path).arg(commit);
            output(&mut git, "worktree add")
        };
        let made = match added {
            Ok(_) => self.fill(placing, path, commit, commit),
            Err(error) => match self.obstacle(&placing.item.reference())? {
                Some(obstacle) => Err(obstacle),
                None => Err(error.into()),
            },
        };
        if made.is_err() {
            self.undo(placing.item, path, Some(commit))?;
        }
        made
    }

    fn recreate(&self, placing: &Placing<'_>, path: &Path, tip: &str) -> Result<Worktree, Error> {
        let gone = self.worktree(placing.item, placing.worktree_root)?;
        if let Some(gone) = gone {
            // Its files are gone, but not yet the commits that only its own log knows of.
            self.rescue(&gone, &placing.base.commit, placing.copy_files, Keep::WhatNothingHolds)?;
            self.forget(&gone)?;
        }
        let files = match placing.refill {
            Refill::Branch => None,
            Refill::Rescue => self.last_rescue(placing.item, tip)?,
        };
        let files = files.unwrap_or_else(|| tip.to_owned());
        let added = {
            let _one_at_a_time = Turnstile::of_worktrees(self)?;
            let mut git = self.registry("worktree");
            // The list of a copied repository says that the branch is checked out in the original.
            git.args(["add", "--quiet", "--force", "--no-checkout"]).arg(path).arg(placing.item.branch());
            output(&mut git, "worktree add")
        };
        let made = match added {
            Ok(_) => self.fill(placing, path, tip, &files),
            Err(error) => Err(error.into()),
        };
        if made.is_err() {
            self.undo(placing.item, path, None)?;
        }
        made
    }

    /// Files are written outside the lock, so that many worktrees fill at once.
    fn fill(&self, placing: &Placing<'_>, path: &Path, commit: &str, files: &str) -> Result<Worktree, Error> {
        let found = self.registered_at(path)?.filter(|registered| registered.directory.is_some());
        let registered = found.ok_or(crate::git::Error::Unreadable { command: "worktree add" })?;
        let worktree = Worktree { item: placing.item.clone(), registered };
        let mark = worktree.directory().join(FILLING);
        std::fs::write(&mark, "").map_err(Error::file("make", &mark))?;
        self.check_out(&worktree, commit, files)?;
        self.copy_files(&worktree, commit, placing.copy_files)?;
        std::fs::remove_file(&mark).map_err(Error::file("remove", &mark))?;
        Ok(worktree)
    }

    /// A worktree that could not be made leaves nothing. No agent has seen it yet.
    fn undo(&self, item: &Item, path: &Path, made_at: Option<&str>) -> Result<(), Error> {
        let registered = self.registered_at(path)?;
        if path.symlink_metadata().is_ok() {
            std::fs::remove_dir_all(path).map_err(Error::file("remove", path))?;
        }
        if let Some(registered) = registered {
            self.forget(&Worktree { item: item.clone(), registered })?;
        }
        if let Some(commit) = made_at
            && self.tip(&item.reference())?.as_deref() == Some(commit)
        {
            self.remove_ref(&item.reference(), commit)?;
        }
        Ok(())
    }

    /// Takes a worktree off the list. Its files are gone.
    pub(super) fn forget(&self, worktree: &Worktree) -> Result<(), Error> {
        let _one_at_a_time = Turnstile::of_worktrees(self)?;
        let directory = worktree.directory();
        std::fs::remove_dir_all(directory).map_err(Error::file("remove", directory))
    }
}
