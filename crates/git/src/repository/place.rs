//! Creates or finds the branch and the worktree of an item.

use std::path::{Path, PathBuf};

use super::refs::Seen;
use super::turnstile::Turnstile;
use super::worktree::FILLING;
use super::{Base, Error, Item, Keep, Repository, Worktree};
use crate::git::command::output;
use crate::repository::private::Private;

/// Input for placing an item.
#[derive(Debug, Clone, Copy)]
pub struct Placing<'a> {
    pub item: &'a Item,
    pub base: &'a Base,
    /// The parent directory of worktrees, relative to the repository or absolute.
    pub worktree_root: &'a Path,
    /// Files of the user's checkout to copy into a new worktree.
    pub copy_files: &'a [String],
    /// Evidence that an existing branch is ours.
    pub ours: Ours,
    pub refill: Refill,
}

/// The content of a recreated worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refill {
    Branch,
    /// The last rescue, if nothing was committed since. Otherwise the content of the branch.
    Rescue,
}

/// Evidence that an existing branch is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// The journal of a run names it.
    ByJournal,
    /// A commit on it must name the item.
    ByTrailers,
    Adopted,
}

impl Ours {
    /// Selects the evidence from the user's option and the journals.
    pub fn by(adopted: bool, known: bool) -> Self {
        match (adopted, known) {
            (true, _) => Self::Adopted,
            (false, true) => Self::ByJournal,
            (false, false) => Self::ByTrailers,
        }
    }
}

/// The result of placing an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    /// Branch and worktree are new.
    Created(Worktree),
    Continued(Worktree),
    /// The branch existed, the worktree is new.
    Recreated(Worktree),
    /// Something is in the way and stays unchanged.
    Refused(Refusal),
}

/// The obstacle to placing an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The branch name is taken.
    #[error("branch `{branch}` exists, not ours")]
    NotOurs { branch: String },
    /// The branch belongs to an issue with the same number from another source.
    #[error("branch `{branch}` belongs to another issue of that number")]
    OtherSource { branch: String },
    /// The server has commits that are not here.
    #[error(
        "branch `{branch}` has commits on the server that are not here; take them in first: \
         `git -C {} pull --ff-only {url} {branch}`",
        .path.display()
    )]
    Ahead {
        branch: String,
        url: String,
        /// The worktree of the branch.
        path: PathBuf,
    },
    /// The server and this repository both have commits that the other lacks. One side was rewritten.
    #[error(
        "branch `{branch}` has commits on the server that are not here, and others here; \
         to go on with those of the server: {}; what is here stays in `git reflog {branch}`",
        commands(.branch, .url, .path.as_deref())
    )]
    Parted {
        branch: String,
        url: String,
        /// The worktree of the branch, if it is checked out.
        path: Option<PathBuf>,
    },
    /// The base contains the work of the branch as other commits, for example after a squash.
    #[error(
        "branch `{branch}` of the server holds commits that `{base}` does not, as after a squash, so that nothing new from `{base}` can be pushed to it; \
         if they are merged, remove it there: `git push {url} --delete {branch}`"
    )]
    NotInBase { branch: String, base: String, url: String },
    /// The path of the worktree is occupied.
    #[error("`{}` exists and is not a worktree of ours; move it away to make room", .path.display())]
    Occupied { path: PathBuf },
    /// The worktree is on another branch or on none, so work there would not be delivered.
    #[error(
        "the worktree `{}` is on {}, not on `{branch}`; `git -C {} switch {branch}` puts it right",
        .path.display(), .on.as_ref().map_or("no branch".to_owned(), |on| format!("`{on}`")), .path.display()
    )]
    OffItsBranch { path: PathBuf, branch: String, on: Option<String> },
    /// The run started before the repository was moved.
    #[error(
        "it was begun in `{}`, before this repository was moved; `saihai work --retry` starts again here, with its branch and the \
         files that came along",
        .path.display()
    )]
    BegunElsewhere { path: PathBuf },
    /// The branch is checked out in another worktree.
    #[error("branch `{branch}` is checked out in `{}`", .path.display())]
    CheckedOut { branch: String, path: PathBuf },
}

/// Returns commands that reset a branch to its state on the server and keep changed files.
fn commands(branch: &str, url: &str, path: Option<&Path>) -> String {
    match path.map(Path::display) {
        Some(path) => {
            format!("`git -C {path} fetch {url} {branch} && git -C {path} reset --keep FETCH_HEAD`")
        }
        None => format!("`git fetch {url} +{branch}:{branch}`"),
    }
}

impl Placed {
    pub fn worktree(self) -> Result<Worktree, Refusal> {
        match self {
            Self::Created(worktree) | Self::Continued(worktree) | Self::Recreated(worktree) => Ok(worktree),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}

impl Repository {
    /// Creates or finds the branch and the worktree of an item.
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
                // Missing files would look like deletions by an agent.
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

    /// Returns the reason not to work in an existing worktree: it is on another branch than its own.
    pub fn off_its_branch(&self, worktree: &Worktree) -> Result<Option<Refusal>, Error> {
        let item = &worktree.item;
        let on = self.branch_of(&worktree.registered)?;
        if on.as_deref() == Some(&item.reference()) {
            return Ok(None);
        }
        let on = on.map(|on| on.strip_prefix("refs/heads/").unwrap_or(&on).to_owned());
        Ok(Some(Refusal::OffItsBranch { path: worktree.path().to_owned(), branch: item.branch(), on }))
    }

    /// Recreates a missing branch at a commit that was on it. Returns true if the branch exists now.
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
        // A link may point elsewhere tomorrow, even if it points to our worktree now. A worktree without our
        // branch belongs to the user, unless a journal or an option says otherwise.
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

    /// Returns the reason not to touch a branch at a commit.
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
            // The files are gone, but its reflog may name commits that nothing else holds.
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
            // The list of a copied repository claims that the branch is checked out in the original.
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

    /// Writes files without the lock, so that many worktrees fill in parallel.
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

    /// Removes everything of a worktree that could not be created. No agent has seen it yet.
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

    /// Removes a worktree from the list. Its files are already gone.
    pub(super) fn forget(&self, worktree: &Worktree) -> Result<(), Error> {
        let _one_at_a_time = Turnstile::of_worktrees(self)?;
        let directory = worktree.directory();
        std::fs::remove_dir_all(directory).map_err(Error::file("remove", directory))
    }
}
