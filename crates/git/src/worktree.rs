//! The worktree of a work item: finding it, creating it with its branch, and filling it with files.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use crate::Repository;
use crate::branches::ExpectedRef;
use crate::error::RepositoryError;
use crate::frozen_settings::FrozenGitSettings;
use crate::git_program::{GitError, output};
use crate::locks::OperationLock;
use crate::private_git::PrivateGit;
use crate::rescue::RescueCondition;
use crate::work_item::{BaseCommit, WorkItem};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub(crate) item: WorkItem,
    pub(crate) registered: RegisteredWorktree,
}

impl Worktree {
    pub fn path(&self) -> &Path {
        &self.registered.files
    }

    pub fn item(&self) -> &WorkItem {
        &self.item
    }

    /// Returns true if its creation was interrupted before all files were written. No agent has seen it then.
    pub(crate) fn is_unfinished(&self) -> bool {
        let directory = self.directory();
        let is_empty = || std::fs::read_dir(self.path()).is_ok_and(|files| files.count() <= 1);
        directory.join(FILLING).exists() || (!directory.join("index").exists() && is_empty())
    }

    /// Returns its `.git` if an agent replaced it with another repository. No ref of ours holds the commits
    /// there. A file or a link is harmless: removing it loses nothing.
    pub(crate) fn foreign_git(&self) -> Option<PathBuf> {
        let found = self.path().join(".git").symlink_metadata();
        found.is_ok_and(|found| found.is_dir()).then(|| PathBuf::from(".git"))
    }

    /// Returns the directory that the repository keeps for it.
    pub(crate) fn directory(&self) -> &Path {
        self.registered.directory.as_deref().expect("a linked worktree has a directory in the repository")
    }
}

/// The marker in the repository's directory of a worktree while files are being written.
const FILLING: &str = "saihai-filling";

impl Repository {
    /// Returns the worktree of an item, if the repository has one at this path.
    pub fn worktree(
        &self,
        item: &WorkItem,
        worktree_root: &Path,
    ) -> Result<Option<Worktree>, RepositoryError> {
        let root = self.root.join(worktree_root);
        let root = root.canonicalize().unwrap_or(root);
        let found = self.registered_at(&item.worktree(&root))?;
        let found = found.filter(|registered| registered.directory.is_some());
        Ok(found.map(|registered| Worktree { item: item.clone(), registered }))
    }

    /// Returns the directories of all linked worktrees.
    pub fn linked(&self) -> Result<Vec<PathBuf>, RepositoryError> {
        let linked = self.registered()?.into_iter().filter(|one| one.directory.is_some());
        Ok(linked.map(|one| one.files).collect())
    }

    /// Returns the parent directory of worktrees and creates it if missing.
    pub(crate) fn worktree_root(&self, worktree_root: &Path) -> Result<PathBuf, RepositoryError> {
        self.check_worktree_root(worktree_root)?;
        let root = self.root.join(worktree_root);
        std::fs::create_dir_all(&root).map_err(RepositoryError::file("make", &root))?;
        root.canonicalize().map_err(RepositoryError::file("find", &root))
    }

    /// Checks that the parent directory of worktrees exists or can be created.
    pub fn check_worktree_root(&self, worktree_root: &Path) -> Result<(), RepositoryError> {
        let root = self.root.join(worktree_root);
        let present = root.ancestors().find(|path| path.symlink_metadata().is_ok());
        match present.filter(|path| !path.is_dir()) {
            Some(path) => Err(RepositoryError::NotADirectory { path: path.to_owned() }),
            None => Ok(()),
        }
    }
}

/// Reads a HEAD that names a branch or a commit. Returns `None` if only git can tell: HEAD is not a file, refs are kept in
/// another format, or the branch is itself a symbolic ref.
fn plain_head(head: &Path, common: &Path) -> Option<Option<String>> {
    head.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let text = std::fs::read_to_string(head).ok()?;
    let text = text.trim_end();
    let Some(reference) = text.strip_prefix("ref: ") else {
        let is_commit = text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        return is_commit.then_some(None);
    };
    let is_branch = reference.starts_with("refs/heads/") && reference != "refs/heads/.invalid";
    let is_symbolic = || std::fs::read(common.join(reference)).is_ok_and(|text| text.starts_with(b"ref:"));
    (is_branch && !is_symbolic()).then(|| Some(reference.to_owned()))
}

/// A worktree in the repository's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegisteredWorktree {
    /// Its directory in the repository. `None` for the main worktree.
    pub(crate) directory: Option<PathBuf>,
    pub(crate) files: PathBuf,
}

impl Repository {
    /// Lists all worktrees, the main one first. The list of a copied repository still names the worktrees of
    /// the original; these are skipped.
    pub(crate) fn registered(&self) -> Result<Vec<RegisteredWorktree>, RepositoryError> {
        let mut all = vec![RegisteredWorktree { directory: None, files: self.main.clone() }];
        let list = self.common.join("worktrees");
        let entries = match std::fs::read_dir(&list) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(all),
            Err(error) => return Err(RepositoryError::file("read", &list)(error)),
        };
        for entry in entries {
            let directory = entry.map_err(RepositoryError::file("read", &list))?.path();
            // Each entry names the `.git` file of its worktree. Skip other entries.
            let Some(files) = listed_by(&directory) else { continue };
            let files = files.canonicalize().unwrap_or(files);
            let is_anothers = |named: &PathBuf| {
                !is_same(named, &directory) && listed_by(named).is_some_and(|listed| is_same(&listed, &files))
            };
            if named_by(&files).is_some_and(|named| is_anothers(&named)) {
                continue;
            }
            all.push(RegisteredWorktree { directory: Some(directory), files });
        }
        Ok(all)
    }

    /// Returns the worktree at a path.
    pub(crate) fn registered_at(&self, files: &Path) -> Result<Option<RegisteredWorktree>, RepositoryError> {
        let mut all = self.registered()?.into_iter().filter(|one| one.files == files);
        Ok(all.next())
    }

    /// Makes git repair a worktree that was moved or copied with its repository: absolute paths link them.
    fn repair_moved(&self, files: &Path) -> Result<(), RepositoryError> {
        let Some(named) = named_by(files) else { return Ok(()) };
        let ours = self.common.join("worktrees").join(named.file_name().unwrap_or_default());
        let is_used = |one: &RegisteredWorktree| one.directory.as_ref() == Some(&ours) && one.files.exists();
        if !ours.is_dir() || is_same(&named, &ours) || self.registered()?.iter().any(is_used) {
            return Ok(());
        }
        let _one_at_a_time = OperationLock::of_worktrees(self)?;
        let link = files.join(".git");
        let content = [b"gitdir: ", ours.as_os_str().as_bytes(), b"\n"].concat();
        std::fs::write(&link, content).map_err(RepositoryError::file("write", &link))?;
        output(self.registry("worktree").arg("repair").arg(files), "worktree repair")?;
        Ok(())
    }

    /// Returns the reason why a run in a worktree below `root` cannot continue: the repository was moved
    /// since. `now` is the current parent directory of worktrees.
    pub fn begun_elsewhere(
        &self,
        item: &WorkItem,
        root: &Path,
        now: &Path,
    ) -> Result<Option<PlaceItemRefusal>, RepositoryError> {
        let found = |root: &Path| {
            let root = self.root.join(root);
            root.canonicalize().unwrap_or(root)
        };
        let (root, now) = (found(root), found(now));
        let path = item.worktree(&root);
        let is_here = root == now || [&self.root, &self.main].into_iter().any(|own| root.starts_with(own));
        let is_ours = is_here || (path.is_dir() && self.registered_at(&path)?.is_some());
        Ok((!is_ours).then_some(PlaceItemRefusal::BegunElsewhere { path }))
    }

    /// Returns the worktree that has a branch checked out, or will after an operation such as a rebase.
    pub(crate) fn checked_out(&self, branch: &str) -> Result<Option<PathBuf>, RepositoryError> {
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
    pub fn current_commit(&self) -> Result<String, RepositoryError> {
        let own = self.registered_at(&self.root)?;
        let commit = own.map_or(Ok(None), |own| self.tip(&self.head_name(&own)))?;
        commit.ok_or(RepositoryError::NoCommit)
    }

    /// Returns the branch of a worktree, if it is on one.
    pub(crate) fn branch_of(&self, one: &RegisteredWorktree) -> Result<Option<String>, RepositoryError> {
        // A batch of issues asks this about many worktrees, so a plain HEAD is read without git.
        if let Some(head) = plain_head(&self.state_of(one).join("HEAD"), &self.common) {
            return Ok(head);
        }
        let head = self.head_name(one);
        let mut git = self.registry("symbolic-ref");
        match output(git.args(["--quiet", &head]), "symbolic-ref") {
            Ok(said) => Ok(Some(String::from_utf8_lossy(&said).trim_end().to_owned())),
            Err(GitError::Refused { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the name of a worktree's HEAD as seen from other worktrees.
    pub(crate) fn head_name(&self, one: &RegisteredWorktree) -> String {
        match one.directory.as_ref().and_then(|directory| directory.file_name()) {
            Some(name) => format!("worktrees/{}/HEAD", name.to_string_lossy()),
            None => "HEAD".to_owned(),
        }
    }

    fn state_of(&self, one: &RegisteredWorktree) -> PathBuf {
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

/// Input for placing an item.
#[derive(Debug, Clone, Copy)]
pub struct PlaceItemRequest<'a> {
    pub item: &'a WorkItem,
    pub base: &'a BaseCommit,
    /// The parent directory of worktrees, relative to the repository or absolute.
    pub worktree_root: &'a Path,
    /// Files of the user's checkout to copy into a new worktree.
    pub copy_files: &'a [String],
    /// Evidence that an existing branch is ours.
    pub ours: BranchOwnership,
    pub refill: WorktreeContent,
}

/// The content of a recreated worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeContent {
    Branch,
    /// The last rescue, if nothing was committed since. Otherwise the content of the branch.
    Rescue,
}

/// Evidence that an existing branch is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchOwnership {
    /// The journal of a run names it.
    ByJournal,
    /// A commit on it must name the item.
    ByTrailers,
    Adopted,
}

impl BranchOwnership {
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
pub enum PlaceItemOutcome {
    /// Branch and worktree are new.
    Created(Worktree),
    Continued(Worktree),
    /// The branch existed, the worktree is new.
    Recreated(Worktree),
    /// Something is in the way and stays unchanged.
    Refused(PlaceItemRefusal),
}

/// The obstacle to placing an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceItemRefusal {
    /// The branch name is taken.
    #[error("branch `{branch}` exists, but Saihai did not create it")]
    NotOurs { branch: String },
    /// The branch belongs to an issue with the same number from another source.
    #[error("branch `{branch}` belongs to another issue of that number")]
    OtherSource { branch: String },
    /// The server has commits that are not here.
    #[error(
        "branch `{branch}` has commits on the server that are not here; pull them first: \
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
        "branch `{branch}` has different commits here and on the server; to continue with the server's commits: {}; \
         the commits here stay in `git reflog {branch}`",
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
        "branch `{branch}` on the server has commits that `{base}` lacks, for example after a squash, so git cannot \
         push new work from `{base}` to it; if they are merged, delete it there: `git push {url} --delete {branch}`"
    )]
    NotInBase { branch: String, base: String, url: String },
    /// The path of the worktree is occupied.
    #[error("`{}` exists and is not a worktree of Saihai; move it away", .path.display())]
    Occupied { path: PathBuf },
    /// The worktree is on another branch or on none, so work there would not be delivered.
    #[error(
        "the worktree `{}` is on {}, not on `{branch}`; `git -C {} switch {branch}` fixes it",
        .path.display(), .on.as_ref().map_or("no branch".to_owned(), |on| format!("`{on}`")), .path.display()
    )]
    OffItsBranch { path: PathBuf, branch: String, on: Option<String> },
    /// The run started before the repository was moved.
    #[error(
        "it was started in `{}`, before this repository was moved; `saihai work --retry` starts again here, with its branch and \
         the files that came along",
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

impl PlaceItemOutcome {
    pub fn worktree(self) -> Result<Worktree, PlaceItemRefusal> {
        match self {
            Self::Created(worktree) | Self::Continued(worktree) | Self::Recreated(worktree) => Ok(worktree),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}

impl Repository {
    /// Creates or finds the branch and the worktree of an item.
    pub fn place(&self, placing: PlaceItemRequest<'_>) -> Result<PlaceItemOutcome, RepositoryError> {
        let item = placing.item;
        self.check_branch(item)?;
        let path = item.worktree(&self.worktree_root(placing.worktree_root)?);
        self.repair_moved(&path)?;
        let tip = self.tip(&item.reference())?;
        if let Some(refusal) = self.refusal(&placing, tip.as_deref(), &path)? {
            return Ok(PlaceItemOutcome::Refused(refusal));
        }
        if path.symlink_metadata().is_ok() {
            match self.worktree(item, placing.worktree_root)? {
                // Missing files would look like deletions by an agent.
                Some(worktree) if worktree.is_unfinished() => self.undo(item, &path, None)?,
                Some(worktree) => return Ok(PlaceItemOutcome::Continued(worktree)),
                None => return Ok(PlaceItemOutcome::Refused(PlaceItemRefusal::Occupied { path })),
            }
        }
        match tip {
            None => self.create(&placing, &path).map(PlaceItemOutcome::Created),
            Some(tip) => self.recreate(&placing, &path, &tip).map(PlaceItemOutcome::Recreated),
        }
    }

    /// Returns the reason not to work in an existing worktree: it is on another branch than its own.
    pub fn off_its_branch(&self, worktree: &Worktree) -> Result<Option<PlaceItemRefusal>, RepositoryError> {
        let item = &worktree.item;
        let on = self.branch_of(&worktree.registered)?;
        if on.as_deref() == Some(&item.reference()) {
            return Ok(None);
        }
        let on = on.map(|on| on.strip_prefix("refs/heads/").unwrap_or(&on).to_owned());
        Ok(Some(PlaceItemRefusal::OffItsBranch {
            path: worktree.path().to_owned(),
            branch: item.branch(),
            on,
        }))
    }

    /// Recreates a missing branch at a commit that was on it. Returns true if the branch exists now.
    pub fn bring_back(&self, item: &WorkItem, commit: Option<&str>) -> Result<bool, RepositoryError> {
        let reference = item.reference();
        match (self.tip(&reference)?, commit) {
            (Some(_), _) => Ok(true),
            (None, Some(commit)) => self.move_ref(&reference, commit, ExpectedRef::Absent).map(|()| true),
            (None, None) => Ok(false),
        }
    }

    fn refusal(
        &self,
        placing: &PlaceItemRequest<'_>,
        tip: Option<&str>,
        path: &Path,
    ) -> Result<Option<PlaceItemRefusal>, RepositoryError> {
        let branch = placing.item.branch();
        // A link may point elsewhere tomorrow, even if it points to our worktree now. A worktree without our
        // branch belongs to the user, unless a journal or an option says otherwise.
        let is_unknown = tip.is_none() && placing.ours == BranchOwnership::ByTrailers;
        let is_foreign = match path.symlink_metadata() {
            Ok(found) => !found.is_dir() || is_unknown || self.registered_at(path)?.is_none(),
            Err(_) => false,
        };
        if is_foreign {
            return Ok(Some(PlaceItemRefusal::Occupied { path: path.to_owned() }));
        }
        let Some(tip) = tip else { return Ok(None) };
        let foreign = self.foreign_branch(placing.item, placing.base, placing.ours, tip)?;
        if let Some(refusal) = foreign {
            return Ok(Some(refusal));
        }
        let elsewhere = self.checked_out(&branch)?.filter(|found| found != path);
        Ok(elsewhere.map(|path| PlaceItemRefusal::CheckedOut { branch, path }))
    }

    /// Returns the reason not to touch a branch at a commit.
    pub(crate) fn foreign_branch(
        &self,
        item: &WorkItem,
        base: &BaseCommit,
        ours: BranchOwnership,
        tip: &str,
    ) -> Result<Option<PlaceItemRefusal>, RepositoryError> {
        let branch = item.branch();
        match ours {
            BranchOwnership::ByJournal | BranchOwnership::Adopted => return Ok(None),
            BranchOwnership::ByTrailers => {}
        }
        let private = PrivateGit::make(self, None)?;
        let said = private.run("log", ["-z", "--format=%B", tip, "--not", &base.commit])?;
        let said = String::from_utf8_lossy(&said);
        let mut sources = said.split('\0').filter_map(|message| item.made_for(message));
        Ok(match sources.next() {
            None => Some(PlaceItemRefusal::NotOurs { branch }),
            Some(source) if item.source() == Some(source) => None,
            Some(_) => Some(PlaceItemRefusal::OtherSource { branch }),
        })
    }

    fn create(&self, placing: &PlaceItemRequest<'_>, path: &Path) -> Result<Worktree, RepositoryError> {
        let (branch, commit) = (placing.item.branch(), &placing.base.commit);
        let added = {
            let _one_at_a_time = OperationLock::of_worktrees(self)?;
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

    fn recreate(
        &self,
        placing: &PlaceItemRequest<'_>,
        path: &Path,
        tip: &str,
    ) -> Result<Worktree, RepositoryError> {
        let gone = self.worktree(placing.item, placing.worktree_root)?;
        if let Some(gone) = gone {
            // The files are gone, but its reflog may name commits that nothing else holds.
            self.rescue(&gone, &placing.base.commit, placing.copy_files, RescueCondition::WhatNothingHolds)?;
            self.forget(&gone)?;
        }
        let files = match placing.refill {
            WorktreeContent::Branch => None,
            WorktreeContent::Rescue => self.last_rescue(placing.item, tip)?,
        };
        let files = files.unwrap_or_else(|| tip.to_owned());
        let added = {
            let _one_at_a_time = OperationLock::of_worktrees(self)?;
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
    fn fill(
        &self,
        placing: &PlaceItemRequest<'_>,
        path: &Path,
        commit: &str,
        files: &str,
    ) -> Result<Worktree, RepositoryError> {
        let found = self.registered_at(path)?.filter(|registered| registered.directory.is_some());
        let registered = found.ok_or(GitError::Unreadable { command: "worktree add" })?;
        let worktree = Worktree { item: placing.item.clone(), registered };
        let mark = worktree.directory().join(FILLING);
        std::fs::write(&mark, "").map_err(RepositoryError::file("make", &mark))?;
        self.check_out(&worktree, commit, files)?;
        self.copy_files(&worktree, commit, placing.copy_files)?;
        std::fs::remove_file(&mark).map_err(RepositoryError::file("remove", &mark))?;
        Ok(worktree)
    }

    /// Removes everything of a worktree that could not be created. No agent has seen it yet.
    fn undo(&self, item: &WorkItem, path: &Path, made_at: Option<&str>) -> Result<(), RepositoryError> {
        let registered = self.registered_at(path)?;
        if path.symlink_metadata().is_ok() {
            std::fs::remove_dir_all(path).map_err(RepositoryError::file("remove", path))?;
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
    pub(crate) fn forget(&self, worktree: &Worktree) -> Result<(), RepositoryError> {
        let _one_at_a_time = OperationLock::of_worktrees(self)?;
        let directory = worktree.directory();
        std::fs::remove_dir_all(directory).map_err(RepositoryError::file("remove", directory))
    }
}

impl Repository {
    /// Writes files into an empty worktree: those of its commit, or of a rescue based on it.
    pub(crate) fn check_out(
        &self,
        worktree: &Worktree,
        commit: &str,
        files: &str,
    ) -> Result<(), RepositoryError> {
        let private = PrivateGit::make(self, Some(worktree.path()))?;
        private.run("read-tree", ["--reset", "-u", files])?;
        if files != commit {
            private.run("read-tree", [commit])?;
            // A non-zero exit status only means that files differ.
            private.holds("update-index", ["-q", "--refresh"])?;
        }
        self.install_index(worktree, &private)
    }

    /// Installs a prepared index into a worktree through its lock file, as git does.
    pub(crate) fn install_index(
        &self,
        worktree: &Worktree,
        private: &PrivateGit<'_>,
    ) -> Result<(), RepositoryError> {
        let directory = worktree.directory();
        let (lock, index) = (directory.join("index.lock"), directory.join("index"));
        let mut from = File::open(private.path("index")).map_err(RepositoryError::file("open", &index))?;
        let mut to = match OpenOptions::new().write(true).create_new(true).open(&lock) {
            Ok(to) => to,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(RepositoryError::IndexLocked { path: lock });
            }
            Err(error) => return Err(RepositoryError::file("make", &lock)(error)),
        };
        let written = io::copy(&mut from, &mut to).and_then(|_| std::fs::rename(&lock, &index));
        if written.is_err() {
            // The lock file is ours, created above.
            std::fs::remove_file(&lock).ok();
        }
        written.map_err(RepositoryError::file("write", &index))
    }

    /// Copies untracked files of the user's checkout, for the agent to read only.
    pub(crate) fn copy_files(
        &self,
        worktree: &Worktree,
        commit: &str,
        paths: &[String],
    ) -> Result<(), RepositoryError> {
        let missing = self.check_copies(paths, Some(commit))?;
        for path in paths.iter().filter(|path| !missing.contains(path)) {
            let from = self.root.join(path);
            copy_file(&from, worktree.path(), Path::new(path))
                .map_err(RepositoryError::file("copy", &from))?;
        }
        Ok(())
    }

    /// Checks that files can be copied into a worktree at a commit, if that commit is known and here. Returns
    /// the missing files; they are skipped.
    pub fn check_copies(
        &self,
        paths: &[String],
        commit: Option<&str>,
    ) -> Result<Vec<String>, RepositoryError> {
        let (mut wrong, mut missing) = (Vec::new(), Vec::new());
        let private = PrivateGit::make(self, None)?;
        for path in paths {
            let from = self.root.join(path);
            let refused = match (check_path(path), from.symlink_metadata()) {
                (Err(why), _) => Some(why),
                (Ok(()), Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                    missing.push(path.clone());
                    None
                }
                (Ok(()), Err(error)) => return Err(RepositoryError::file("read", &from)(error)),
                (Ok(()), Ok(found)) if !found.is_file() => Some("it is not a file"),
                (Ok(()), Ok(_)) => match commit {
                    Some(commit) if !private.run("ls-tree", [commit, "--", path])?.is_empty() => {
                        Some("git tracks it, so it is there already")
                    }
                    Some(_) | None => None,
                },
            };
            wrong.extend(refused.map(|why| (path.clone(), why)));
        }
        if wrong.is_empty() { Ok(missing) } else { Err(RepositoryError::NotCopied { wrong }) }
    }
}

/// Checks that a path stays below its base directory.
fn check_path(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("it is empty");
    }
    // `conf//a`, `./a`, `conf/`: git knows only one spelling of a file.
    if path.split('/').any(|part| part == ".") || path.split('/').skip(1).any(str::is_empty) {
        return Err("git writes it without `.`, `//` and a `/` at the end");
    }
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) if name.eq_ignore_ascii_case(".git") => {
                return Err("it is the repository's own");
            }
            Component::Normal(_) => {}
            Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err("it is not inside the repository");
            }
        }
    }
    Ok(())
}

/// Copies a file without following a link that the commit put in the way.
fn copy_file(from: &Path, below: &Path, path: &Path) -> io::Result<()> {
    let mut to = below.to_owned();
    if let Some(parent) = path.parent() {
        for part in parent.components() {
            to.push(part);
            match std::fs::create_dir(&to) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
            if !to.symlink_metadata()?.is_dir() {
                return Err(io::Error::other("a file blocks the path"));
            }
        }
    }
    to.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut File::open(from)?, &mut to).map(|_| ())
}

/// The files copied into a worktree. Ignore rules cannot keep them out of commits: agents can edit those.
#[derive(Debug)]
pub(crate) struct CopiedFiles {
    paths: Vec<String>,
    folds_case: bool,
}

impl CopiedFiles {
    /// Normalizes the spelling of the requested paths.
    pub(crate) fn new(paths: &[String], frozen: &FrozenGitSettings) -> Self {
        let paths = paths.iter().map(|path| normal(path)).collect();
        Self { paths, folds_case: frozen.is_on("core.ignorecase") }
    }

    /// Returns true if a path from git is one of them, or lies in a directory that replaced one.
    pub(crate) fn holds(&self, path: &[u8]) -> bool {
        let is_below = |copied: &String| {
            let Some((start, rest)) = path.split_at_checked(copied.len()) else { return false };
            let same = if self.folds_case {
                start.eq_ignore_ascii_case(copied.as_bytes())
            } else {
                start == copied.as_bytes()
            };
            same && (rest.is_empty() || rest.starts_with(b"/"))
        };
        self.paths.iter().any(is_below)
    }

    /// Returns each path with its pathspec for commands that do not read paths literally.
    pub(crate) fn specified(&self) -> impl Iterator<Item = (&str, String)> {
        let magic = if self.folds_case { "literal,icase" } else { "literal" };
        self.paths.iter().map(move |path| (path.as_str(), format!(":({magic}){path}")))
    }
}

/// Removes empty and `.` parts from a path.
fn normal(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<&str>>().join("/")
}
