//! Branches on a server: pushing, fetching, following and setting aside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::{Command, Output};

use crate::Repository;
use crate::branches::ExpectedRef;
use crate::error::RepositoryError;
use crate::git_program::{GitError, GitTerminalAccess, configure, judge, output, run};
use crate::locks::ItemLock;
use crate::private_git::PrivateGit;
use crate::rescue::RescueCondition;
use crate::snapshot::SnapshotScope;
use crate::work_item::{BaseCommit, WorkItem, above};
use crate::worktree::{BranchOwnership, PlaceItemRefusal, Worktree};

#[derive(Debug, Clone, Copy)]
pub struct GitPushRequest<'a> {
    /// The address, read before the first agent starts.
    pub url: &'a str,
    pub branch: &'a str,
    pub commit: &'a str,
    /// The token for the forge at this address. It replaces the user's credential helpers.
    pub token: Option<&'a GitAccessToken>,
}

/// A token for a forge. Git receives it by environment, never on a command line; no helper stores it.
#[derive(Clone, PartialEq, Eq)]
pub struct GitAccessToken {
    secret: String,
    host: String,
}

impl std::fmt::Debug for GitAccessToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}

impl GitAccessToken {
    pub fn new(text: impl Into<String>, host: impl Into<String>) -> Self {
        Self { secret: text.into(), host: host.into() }
    }

    /// Gives git the token for an `https` address on its own host only: agents can change addresses (I-12).
    pub fn lend(&self, git: &mut Command, url: &str) {
        let Some(rest) = url.strip_prefix("https://") else { return };
        let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or(host);
        let name = host.split_once(':').map_or(host, |(name, _)| name);
        if !name.eq_ignore_ascii_case(&self.host) {
            return;
        }
        let key = format!("credential.https://{host}.helper");
        // The empty value makes git drop all other helpers.
        configure(git, &key, "");
        configure(git, &key, ANSWER);
        git.env(VARIABLE, &self.secret);
    }
}

/// The environment variable with the token.
const VARIABLE: &str = "SAIHAI_PUSH_TOKEN";
/// A credential helper: prints the password for `get` and ignores other requests.
const ANSWER: &str = "!f() { test \"$1\" = get || exit 0; echo username=x-access-token; \
                      printf 'password=%s\\n' \"$SAIHAI_PUSH_TOKEN\"; }; f";

/// The result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitPushOutcome {
    /// The remote has the commit now.
    Done,
    Already,
    /// The remote has other commits, or refuses the push. Nothing was forced.
    Rejected {
        said: String,
    },
    /// The state of the remote is unreadable, and nothing was pushed.
    Unread {
        said: String,
    },
    /// The remote did not answer and does not have the commit.
    Unanswered {
        said: String,
    },
    /// The push went out, and it is unknown whether the remote has the commit.
    Unknown {
        said: String,
    },
}

impl Repository {
    /// Pushes a commit, forward only, from the value that the remote has just reported.
    pub fn push(
        &self,
        pushing: GitPushRequest<'_>,
        lock: &ItemLock,
    ) -> Result<GitPushOutcome, RepositoryError> {
        let private = PrivateGit::make(self, None)?;
        let reference = format!("refs/heads/{}", pushing.branch);
        let server = GitServer { url: pushing.url, token: pushing.token };
        let remote = match server.tip(&private, &reference)? {
            Ok(remote) => remote,
            Err(said) => return Ok(GitPushOutcome::Unread { said }),
        };
        match &remote {
            Some(remote) if remote == pushing.commit => return Ok(GitPushOutcome::Already),
            Some(remote) if !self.is_before(&private, remote, pushing.commit)? => {
                let said = format!(
                    "`{}` is at {remote} on the server, which these commits do not contain",
                    pushing.branch
                );
                return Ok(GitPushOutcome::Rejected { said });
            }
            Some(_) | None => {}
        }
        lock.check()?;
        // The lease makes the push fail if the remote has moved. The check above ensures that it goes
        // forward.
        let seen = format!("--force-with-lease={reference}:{}", remote.unwrap_or_default());
        let refspec = format!("{}:{reference}", pushing.commit);
        let flags = ["--porcelain", "--no-verify", "--no-signed", &seen, "--", pushing.url, &refspec];
        let pushed =
            run(&mut server.command(&private, "push", &flags), "push", None, GitTerminalAccess::Apart)?;
        let refusal = refusal(&pushed);
        let Err(GitError::Refused { said, .. }) = judge(pushed, "push") else {
            return Ok(GitPushOutcome::Done);
        };
        // The commit may have arrived without a confirmation.
        Ok(match (server.tip(&private, &reference)?, refusal) {
            (Ok(Some(remote)), _) if remote == pushing.commit => GitPushOutcome::Done,
            (Ok(_), Some(said)) => GitPushOutcome::Rejected { said },
            (Ok(_), None) => GitPushOutcome::Unanswered { said },
            (Err(said), _) => GitPushOutcome::Unknown { said },
        })
    }

    /// Returns true if `earlier` is here and equals `later` or is an ancestor of it.
    pub fn holds(&self, later: &str, earlier: &str) -> Result<bool, RepositoryError> {
        self.is_before(&PrivateGit::make(self, None)?, earlier, later)
    }

    fn is_before(
        &self,
        private: &PrivateGit<'_>,
        earlier: &str,
        later: &str,
    ) -> Result<bool, RepositoryError> {
        // A commit that is not here cannot be an ancestor of one that is.
        match private.run("cat-file", ["-e", earlier]) {
            Ok(_) => self.contains(private, later, earlier),
            Err(RepositoryError::Git(GitError::Refused { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns the remote's reason for a refused push, or `None` if the connection ended before an answer.
fn refusal(pushed: &Output) -> Option<String> {
    let (said, beside) = (String::from_utf8_lossy(&pushed.stdout), String::from_utf8_lossy(&pushed.stderr));
    // The format: `!`, the refspec, and `[rejected] (why)`.
    let line = said.lines().find_map(|line| line.strip_prefix("!\t"))?;
    let why = line.split_once('\t').map_or(line, |(_, why)| why);
    if why.starts_with("[remote failure]") {
        return None;
    }
    let words = beside.lines().filter_map(|line| line.strip_prefix("remote: ")).map(str::trim);
    let words: Vec<&str> = words.filter(|words| !words.is_empty()).collect();
    Some(if words.is_empty() { why.to_owned() } else { format!("{why}: {}", words.join(" ")) })
}

/// A server and its token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GitServer<'a> {
    pub(crate) url: &'a str,
    pub(crate) token: Option<&'a GitAccessToken>,
}

impl GitServer<'_> {
    /// Runs a command that contacts the server.
    pub(crate) fn speak(
        self,
        private: &PrivateGit<'_>,
        command: &str,
        arguments: &[&str],
    ) -> Result<Vec<u8>, GitError> {
        output(&mut self.command(private, command, arguments), command)
    }

    fn command(self, private: &PrivateGit<'_>, command: &str, arguments: &[&str]) -> Command {
        let mut git = private.command(command);
        if let Some(token) = self.token {
            token.lend(&mut git, self.url);
        }
        git.args(arguments);
        git
    }

    /// Returns the commit of a ref on the server, or the reason why it is unknown.
    pub(crate) fn tip(
        self,
        private: &PrivateGit<'_>,
        reference: &str,
    ) -> Result<Result<Option<String>, String>, RepositoryError> {
        let found = self.tips(private, &[reference.to_owned()])?;
        Ok(found.map(|mut found| found.remove(reference)))
    }

    /// Returns the commits of several refs, without missing ones.
    pub(crate) fn tips(
        self,
        private: &PrivateGit<'_>,
        references: &[String],
    ) -> Result<Result<BTreeMap<String, String>, String>, RepositoryError> {
        let names = references.iter().map(String::as_str);
        let arguments: Vec<&str> = ["--quiet", "--", self.url].into_iter().chain(names).collect();
        match self.speak(private, "ls-remote", &arguments) {
            Ok(said) => {
                let said = String::from_utf8_lossy(&said);
                let lines = said.lines().filter_map(|line| line.split_once('\t'));
                let pairs = lines.map(|(commit, name)| (name.to_owned(), commit.to_owned()));
                // Git also lists refs whose names only end the same.
                Ok(Ok(pairs.filter(|(name, _)| references.contains(name)).collect()))
            }
            Err(GitError::Refused { said, .. }) => Ok(Err(said)),
            Err(error) => Err(error.into()),
        }
    }
}

impl Repository {
    /// Returns the commit of a branch on a server, or `None` if the branch is missing. Fetches nothing.
    pub fn tip_there(
        &self,
        url: &str,
        branch: &str,
        token: Option<&GitAccessToken>,
    ) -> Result<Option<String>, RepositoryError> {
        let private = PrivateGit::make(self, None)?;
        let said = GitServer { url, token }.tip(&private, &format!("refs/heads/{branch}"))?;
        said.map_err(|said| RepositoryError::Unreachable { said })
    }

    /// Checks that a server has a branch and no ref in the way of the item's branch. Fetches nothing. Returns
    /// the commit of the branch if it is already here.
    pub fn check_server(
        &self,
        url: &str,
        branch: &str,
        item: &WorkItem,
        token: Option<&GitAccessToken>,
    ) -> Result<Option<String>, RepositoryError> {
        let private = PrivateGit::make(self, None)?;
        let wanted = item.branch();
        let mut references = vec![format!("refs/heads/{branch}")];
        references.extend(above(&wanted).map(|one| format!("refs/heads/{one}")));
        let there = GitServer { url, token }.tips(&private, &references)?;
        let there = there.map_err(|said| RepositoryError::Unreachable { said })?;
        let commit = there.get(&references[0]);
        let commit = commit.ok_or_else(|| RepositoryError::NotOnServer { branch: branch.to_owned() })?;
        let here = Some(commit.clone()).filter(|commit| is_here(&private, commit));
        if let Some(commit) = &here {
            self.insist_on_objects(branch, commit)?;
        }
        let mut inside = references[1..].iter().filter(|one| there.contains_key(*one));
        match inside.next().and_then(|one| one.strip_prefix("refs/heads/")) {
            Some(present) => Err(RepositoryError::InTheWay { branch: wanted, present: present.to_owned() }),
            None => Ok(here),
        }
    }

    /// Fetches a branch of a server completely. Changes no ref: the branch made from it holds the commits.
    pub fn fetch(
        &self,
        url: &str,
        branch: &str,
        token: Option<&GitAccessToken>,
    ) -> Result<BaseCommit, RepositoryError> {
        let private = PrivateGit::make(self, None)?;
        let (remote, reference) = (GitServer { url, token }, format!("refs/heads/{branch}"));
        let commit =
            remote.tip(&private, &reference)?.map_err(|said| RepositoryError::Unreachable { said })?;
        let commit = commit.ok_or_else(|| RepositoryError::NotOnServer { branch: branch.to_owned() })?;
        if !is_here(&private, &commit) {
            let mut flags =
                vec!["--quiet".to_owned(), "--no-tags".to_owned(), "--no-write-fetch-head".to_owned()];
            // A private directory has no refs. Without naming the known commits, git would fetch everything
            // again.
            for known in [reference.clone(), "HEAD".to_owned()] {
                if let Some(tip) = self.tip(&known)? {
                    flags.push(format!("--negotiation-tip={tip}"));
                }
            }
            flags.extend(["--".to_owned(), url.to_owned(), reference]);
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            remote.fetch(&private, &flags)?;
        }
        self.insist_on_objects(branch, &commit)?;
        Ok(BaseCommit { branch: branch.to_owned(), commit })
    }
}

fn is_here(private: &PrivateGit<'_>, commit: &str) -> bool {
    private.holds("cat-file", ["-e", &format!("{commit}^{{commit}}")]).unwrap_or(false)
}

/// The file in which git lists the ends of a shallow history.
const SHALLOW: &str = "shallow";

impl Repository {
    /// Fetches the common history of a branch and its base. A shallow clone of the base knows neither the
    /// start of the branch nor whether it is merged. Continuing without that pays for work that cannot be
    /// handed over (I-39).
    fn deepen(
        &self,
        remote: GitServer<'_>,
        base: &BaseCommit,
        branch: &str,
        tip: &str,
    ) -> Result<(), RepositoryError> {
        let ends = self.ends()?;
        if ends.is_empty() {
            return Ok(());
        }
        let private = PrivateGit::make(self, None)?;
        if private.holds("merge-base", [&base.commit, tip])? {
            return Ok(());
        }
        let known = [&base.commit, tip].map(|commit| format!("--negotiation-tip={commit}"));
        let references = [&base.branch, branch].map(|branch| format!("refs/heads/{branch}"));
        let mut flags = vec!["--quiet", "--no-tags", "--no-write-fetch-head", "--unshallow"];
        flags.extend(known.iter().map(String::as_str));
        flags.extend(["--", remote.url]);
        flags.extend(references.iter().map(String::as_str));
        remote.fetch(&private, &flags)?;
        // Git shortened the list of the private directory. Remove the same entries from the repository's
        // list.
        let left = lines(&std::fs::read(private.path(SHALLOW)).unwrap_or_default());
        self.take_off(&ends.difference(&left).cloned().collect())
    }

    /// Returns the commits at which the history of this clone ends.
    fn ends(&self) -> Result<BTreeSet<String>, RepositoryError> {
        let path = self.common.join(SHALLOW);
        match std::fs::read(&path) {
            Ok(text) => Ok(lines(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(RepositoryError::file("read", &path)(error)),
        }
    }

    /// Removes these commits from the list of ends. As in git, the holder of the lock file writes.
    fn take_off(&self, found: &BTreeSet<String>) -> Result<(), RepositoryError> {
        let [path, lock] = [SHALLOW, "shallow.lock"].map(|name| self.common.join(name));
        let mut file = match OpenOptions::new().write(true).create_new(true).open(&lock) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(RepositoryError::IndexLocked { path: lock });
            }
            opened => opened.map_err(RepositoryError::file("make", &lock))?,
        };
        let written = self.ends().and_then(|ends| {
            let left: Vec<String> = ends.difference(found).map(|commit| format!("{commit}\n")).collect();
            if left.is_empty() {
                std::fs::remove_file(&path).map_err(RepositoryError::file("remove", &path))?;
                return std::fs::remove_file(&lock).map_err(RepositoryError::file("remove", &lock));
            }
            let synced = file.write_all(left.concat().as_bytes()).and_then(|()| file.sync_all());
            synced.and_then(|()| std::fs::rename(&lock, &path)).map_err(RepositoryError::file("write", &path))
        });
        if written.is_err() {
            drop(std::fs::remove_file(&lock));
        }
        written
    }
}

impl GitServer<'_> {
    pub(crate) fn fetch(self, private: &PrivateGit<'_>, flags: &[&str]) -> Result<(), RepositoryError> {
        let fetched = self.speak(private, "fetch", flags);
        fetched.map(drop).map_err(|error| match error {
            GitError::Refused { said, .. } => RepositoryError::Unreachable { said },
            other @ (GitError::Missing(_)
            | GitError::OutOfResources(_)
            | GitError::Unreadable { .. }
            | GitError::Ambiguous { .. }
            | GitError::Bare(_)
            | GitError::Ended { .. }) => other.into(),
        })
    }
}

fn lines(text: &[u8]) -> BTreeSet<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

/// A branch on a server.
#[derive(Debug, Clone, Copy)]
pub struct ServerBranchRequest<'a> {
    pub item: &'a WorkItem,
    pub base: &'a BaseCommit,
    pub url: &'a str,
    /// The token for the server.
    pub token: Option<&'a GitAccessToken>,
    /// Evidence that the branch is ours.
    pub ours: BranchOwnership,
}

impl Repository {
    /// Fetches the server's state of a branch. Another clone may have worked on it, as each CI job does
    /// (I-34). A branch that could not be pushed is refused before agents cost money.
    pub fn follow(
        &self,
        following: ServerBranchRequest<'_>,
    ) -> Result<Option<PlaceItemRefusal>, RepositoryError> {
        let ServerBranchRequest { item, base, url, token, ours } = following;
        let (branch, reference) = (item.branch(), item.reference());
        let private = PrivateGit::make(self, None)?;
        let unreachable = |said: String| RepositoryError::Unreachable { said };
        let remote = GitServer { url, token };
        let theirs = remote.tip(&private, &reference)?.map_err(unreachable)?;
        let (Some(theirs), mine) = (theirs, self.tip(&reference)?) else { return Ok(None) };
        let theirs =
            if mine.as_ref() == Some(&theirs) { theirs } else { self.fetch(url, &branch, token)?.commit };
        self.deepen(remote, base, &branch, &theirs)?;
        if mine.as_ref() == Some(&theirs) {
            return Ok(None);
        }
        // The fetched commits may have more history.
        let private = PrivateGit::make(self, None)?;
        let Some(mine) = mine else {
            // The base already contains the merged branch, so there is nothing to continue.
            if ours != BranchOwnership::ByTrailers && self.contains(&private, &base.commit, &theirs)? {
                return Ok(None);
            }
            let foreign = self.foreign_branch(item, base, ours, &theirs)?;
            if foreign.is_none() {
                self.move_ref(&reference, &theirs, ExpectedRef::Absent)?;
            }
            return Ok(foreign);
        };
        if self.contains(&private, &mine, &theirs)? {
            return Ok(None);
        }
        let (path, url) = (self.checked_out(&branch)?, url.to_owned());
        if !self.contains(&private, &theirs, &mine)? {
            return Ok(Some(PlaceItemRefusal::Parted { branch, url, path }));
        }
        // Do not move files that a person may be working on.
        if let Some(path) = path {
            return Ok(Some(PlaceItemRefusal::Ahead { branch, url, path }));
        }
        self.move_ref(&reference, &theirs, ExpectedRef::At(&mine))?;
        Ok(None)
    }

    /// Returns true if a branch ends with a commit of ours that its base lacks, here and on a server.
    pub fn is_pushed_by_us(
        &self,
        item: &WorkItem,
        base: &BaseCommit,
        url: &str,
        token: Option<&GitAccessToken>,
    ) -> Result<bool, RepositoryError> {
        let Some(tip) = self.tip(&item.reference())? else { return Ok(false) };
        let private = PrivateGit::make(self, None)?;
        let said = private.run("log", ["-1", "--format=%B", &tip])?;
        let is_ours = item.made_for(&String::from_utf8_lossy(&said)) == item.source();
        if !is_ours || self.contains(&private, &base.commit, &tip)? {
            return Ok(false);
        }
        Ok(self.tip_there(url, &item.branch(), token)? == Some(tip))
    }
}

impl Repository {
    /// Removes a branch that its base contains, so that work restarts there. A checked-out branch stays.
    pub fn begin_anew(&self, item: &WorkItem, base: &BaseCommit) -> Result<(), RepositoryError> {
        let reference = item.reference();
        let Some(tip) = self.tip(&reference)? else { return Ok(()) };
        let private = PrivateGit::make(self, None)?;
        let is_merged = self.contains(&private, &base.commit, &tip)?;
        if is_merged && self.checked_out(&item.branch())?.is_none() {
            self.remove_ref(&reference, &tip)?;
        }
        Ok(())
    }

    /// Sets a branch aside that a forge has merged. The forge may have rewritten its commits, so the base
    /// need not contain them, and the branch is kept under another name.
    ///
    /// Returns the reason if work cannot restart. New work from the base can only be pushed onto commits of the
    /// base. Work that cannot be pushed must cost nothing.
    pub fn set_aside(
        &self,
        following: ServerBranchRequest<'_>,
    ) -> Result<Option<PlaceItemRefusal>, RepositoryError> {
        let ServerBranchRequest { item, base, url, token, .. } = following;
        let (branch, reference) = (item.branch(), item.reference());
        let remote = GitServer { url, token };
        let private = PrivateGit::make(self, None)?;
        let unreachable = |said: String| RepositoryError::Unreachable { said };
        if remote.tip(&private, &reference)?.map_err(unreachable)?.is_some() {
            let theirs = self.fetch(url, &branch, token)?.commit;
            self.deepen(remote, base, &branch, &theirs)?;
            if !self.contains(&PrivateGit::make(self, None)?, &base.commit, &theirs)? {
                let (base, url) = (base.branch.clone(), url.to_owned());
                return Ok(Some(PlaceItemRefusal::NotInBase { branch, base, url }));
            }
        }
        let Some(mine) = self.tip(&reference)? else { return Ok(None) };
        let private = PrivateGit::make(self, None)?;
        let is_merged = self.contains(&private, &base.commit, &mine)?;
        match self.checked_out(&branch)? {
            Some(_) if is_merged => return Ok(None),
            Some(path) => return Ok(Some(PlaceItemRefusal::CheckedOut { branch, path })),
            None if is_merged => {}
            None => self.rescue_tip(item, &mine)?,
        }
        self.remove_ref(&reference, &mine)?;
        Ok(None)
    }
}

/// A pushed branch and its files.
#[derive(Debug, Clone, Copy)]
pub struct ServerUpdateRequest<'a> {
    pub item: &'a WorkItem,
    pub base: &'a BaseCommit,
    pub url: &'a str,
    /// The token for the server.
    pub token: Option<&'a GitAccessToken>,
    /// The worktree, if there is one.
    pub worktree: Option<&'a Worktree>,
    /// Files of the user that were copied into the worktree.
    pub copied: &'a [String],
}

impl Repository {
    /// Fetches commits that a server has beyond our push. A reviewer may have added them. Returns the reason
    /// if that is impossible: a rewritten history must not be discarded on either side.
    pub fn take_in(
        &self,
        taking: ServerUpdateRequest<'_>,
        lock: &ItemLock,
    ) -> Result<Option<PlaceItemRefusal>, RepositoryError> {
        let ServerUpdateRequest { item, url, token, worktree, .. } = taking;
        let (branch, reference) = (item.branch(), item.reference());
        let private = PrivateGit::make(self, None)?;
        let unreachable = |said: String| RepositoryError::Unreachable { said };
        let theirs = GitServer { url, token }.tip(&private, &reference)?.map_err(unreachable)?;
        let (Some(theirs), Some(mine)) = (theirs, self.tip(&reference)?) else { return Ok(None) };
        if theirs == mine {
            return Ok(None);
        }
        let theirs = self.fetch(url, &branch, token)?.commit;
        let url = url.to_owned();
        if self.contains(&private, &mine, &theirs)? {
            return Ok(None);
        }
        if !self.contains(&private, &theirs, &mine)? {
            let path = self.checked_out(&branch)?;
            return Ok(Some(PlaceItemRefusal::Parted { branch, url, path }));
        }
        let index = match (self.checked_out(&branch)?, worktree) {
            (None, _) => None,
            (Some(path), Some(worktree)) if path == worktree.path() => {
                match self.carried_over(taking, worktree, [&mine, &theirs])? {
                    Some(index) => Some((worktree, index)),
                    None => return Ok(Some(PlaceItemRefusal::Ahead { branch, url, path })),
                }
            }
            // Do not move files that a person may be working on.
            (Some(path), _) => return Ok(Some(PlaceItemRefusal::Ahead { branch, url, path })),
        };
        lock.check()?;
        self.move_ref(&reference, &theirs, ExpectedRef::At(&mine))?;
        match index.map_or(Ok(()), |(worktree, index)| self.install_index(worktree, &index)) {
            // Only the output of `git status` there is wrong.
            Ok(()) | Err(RepositoryError::IndexLocked { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Updates the files of an unchanged worktree to a later commit and returns their index. Files go first:
    /// if the process is stopped before the branch moves, the files are already right.
    fn carried_over(
        &self,
        taking: ServerUpdateRequest<'_>,
        worktree: &Worktree,
        [mine, theirs]: [&str; 2],
    ) -> Result<Option<PrivateGit<'_>>, RepositoryError> {
        let snapshot = self.snapshot(worktree, mine, taking.copied, SnapshotScope::Visible)?;
        let private = PrivateGit::make(self, Some(worktree.path()))?;
        if !snapshot.embedded.is_empty() || !snapshot.special.is_empty() {
            return Ok(None);
        }
        let is_carried = snapshot.tree == self.tree(&private, theirs)?;
        if !is_carried && snapshot.tree != self.tree(&private, mine)? {
            return Ok(None);
        }
        private.run("read-tree", [if is_carried { theirs } else { mine }])?;
        // A non-zero exit status only means that files differ.
        private.holds("update-index", ["-q", "--refresh"])?;
        if is_carried {
            return Ok(Some(private));
        }
        // An ignored file may be in the way of a new one.
        self.rescue(worktree, &taking.base.commit, taking.copied, RescueCondition::WhatNothingHolds)?;
        match private.run("read-tree", ["-m", "-u", mine, theirs]) {
            Ok(_) => Ok(Some(private)),
            Err(RepositoryError::Git(GitError::Refused { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
