//! Commits the work of an agent, or explains why it cannot be delivered.

use crate::git_program::path_of;
use crate::git_program::split_paths;
use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use memchr::memmem;

use crate::Repository;
use crate::branches::ExpectedRef;
use crate::error::RepositoryError;
use crate::git_program::{GitError, GitTerminalAccess, judge, output, run, stream};
use crate::locks::ItemLock;
use crate::private_git::PrivateGit;
use crate::rescue::{RescueCondition, RescueOutcome};
use crate::snapshot::SnapshotScope;
use crate::work_item::{BaseCommit, WorkItem};
use crate::worktree::{CopiedFiles, Worktree};

#[derive(Debug, Clone, Copy)]
pub struct CommitWorkRequest<'a> {
    pub worktree: &'a Worktree,
    pub base: &'a BaseCommit,
    /// The title of the issue, on one line.
    pub title: &'a str,
    pub run: &'a str,
    pub copied: &'a [String],
    /// Values that must not leave the machine.
    pub secrets: &'a [Vec<u8>],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitWorkOutcome {
    Ready(CommittedWork),
    NoChanges,
    /// Special files replace regular files, and git cannot store them. A person must decide.
    Special {
        paths: Vec<PathBuf>,
    },
    /// Git refuses to add files, and the delivery would lack them. A person must decide.
    Untaken {
        paths: Vec<PathBuf>,
    },
    Failed {
        problem: UndeliverableWork,
        /// The ref with the saved state, if needed.
        rescued: Option<RescueOutcome>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedWork {
    /// The tip of the branch.
    pub commit: String,
    /// The tree of the commit. An approval is bound to it.
    pub tree: String,
    /// The files that differ from the base.
    pub files: Vec<PathBuf>,
}

impl Repository {
    /// Commits the work of an agent, if it may be delivered. A repeated call finds the existing commit.
    pub fn finalize(
        &self,
        finalizing: CommitWorkRequest<'_>,
        lock: &ItemLock,
    ) -> Result<CommitWorkOutcome, RepositoryError> {
        let CommitWorkRequest { worktree, base, .. } = finalizing;
        let item = &worktree.item;
        let private = PrivateGit::make(self, None)?;
        let on = self.branch_of(&worktree.registered)?;
        let tip = self.tip(&item.reference())?;
        let is_on_its_own = on.as_deref() == Some(&item.reference());
        let Some(tip) = tip.filter(|_| is_on_its_own) else {
            if is_on_its_own {
                return self.fail(finalizing, UndeliverableWork::BranchGone { branch: item.branch() });
            }
            let on = on.map(|on| on.strip_prefix("refs/heads/").unwrap_or(&on).to_owned());
            return self.fail(finalizing, UndeliverableWork::BranchChanged { on });
        };
        if !self.contains(&private, &tip, &base.commit)? {
            return self.fail(finalizing, UndeliverableWork::HistoryRewritten { base: base.commit.clone() });
        }
        if worktree.foreign_git().is_some() {
            let problem = UndeliverableWork::GitReplaced { worktree: worktree.path().to_owned() };
            return Ok(CommitWorkOutcome::Failed { problem, rescued: None });
        }
        let snapshot = self.snapshot(worktree, &tip, finalizing.copied, SnapshotScope::Visible)?;
        if !snapshot.embedded.is_empty() {
            let problem = UndeliverableWork::EmbeddedRepository { paths: snapshot.embedded };
            return Ok(CommitWorkOutcome::Failed { problem, rescued: None });
        }
        if !snapshot.special.is_empty() {
            return Ok(CommitWorkOutcome::Special { paths: snapshot.special });
        }
        if !snapshot.untaken.is_empty() {
            return Ok(CommitWorkOutcome::Untaken { paths: snapshot.untaken });
        }
        let is_clean = snapshot.tree == self.tree(&private, &tip)?;
        if is_clean && tip == base.commit {
            return Ok(CommitWorkOutcome::NoChanges);
        }
        let outgoing = OutgoingWork { base, tip: &tip, tree: &snapshot.tree };
        if let Some(problem) = self.inspect(&private, outgoing, finalizing.copied, finalizing.secrets)? {
            return Ok(CommitWorkOutcome::Failed { problem, rescued: None });
        }
        let commit = if is_clean {
            tip
        } else {
            let message = item.message(finalizing.title, finalizing.run);
            let commit = self.commit(&private, &snapshot.tree, &[&tip], &message)?;
            lock.check()?;
            self.move_ref(&item.reference(), &commit, ExpectedRef::At(&tip))?;
            match self.install_index(worktree, &snapshot.private) {
                // An agent was killed during a git command of its own. Only the output of `git status` there
                // is wrong.
                Ok(()) | Err(RepositoryError::IndexLocked { .. }) => {}
                Err(error) => return Err(error),
            }
            commit
        };
        let files = self.files_between(&private, &base.commit, &commit)?;
        Ok(CommitWorkOutcome::Ready(CommittedWork { commit, tree: snapshot.tree, files }))
    }

    /// Returns the state of a branch that was handed over before. It commits nothing. It searches for secrets
    /// again, because commits may have been added since.
    pub fn finalized(
        &self,
        item: &WorkItem,
        base: &BaseCommit,
        copied: &[String],
        secrets: &[Vec<u8>],
    ) -> Result<CommitWorkOutcome, RepositoryError> {
        let private = PrivateGit::make(self, None)?;
        let failed = |problem| Ok(CommitWorkOutcome::Failed { problem, rescued: None });
        let Some(tip) = self.tip(&item.reference())? else {
            return failed(UndeliverableWork::BranchGone { branch: item.branch() });
        };
        if !self.contains(&private, &tip, &base.commit)? {
            return failed(UndeliverableWork::HistoryRewritten { base: base.commit.clone() });
        }
        if tip == base.commit {
            return Ok(CommitWorkOutcome::NoChanges);
        }
        let tree = self.tree(&private, &tip)?;
        let outgoing = OutgoingWork { base, tip: &tip, tree: &tree };
        if let Some(problem) = self.inspect(&private, outgoing, copied, secrets)? {
            return failed(problem);
        }
        let files = self.files_between(&private, &base.commit, &tip)?;
        Ok(CommitWorkOutcome::Ready(CommittedWork { commit: tip, tree, files }))
    }

    /// Returns true if another repository is in a worktree, on its branch, or in place of its `.git`.
    pub fn embeds(
        &self,
        worktree: &Worktree,
        base: &BaseCommit,
        copied: &[String],
    ) -> Result<bool, RepositoryError> {
        if worktree.foreign_git().is_some() {
            return Ok(true);
        }
        let Some(tip) = self.tip(&worktree.item.reference())? else { return Ok(false) };
        let snapshot = self.snapshot(worktree, &tip, copied, SnapshotScope::Visible)?;
        let outgoing = OutgoingWork { base, tip: &tip, tree: &snapshot.tree };
        Ok(!snapshot.embedded.is_empty() || new_pointers(&snapshot.private, outgoing)?.is_some())
    }

    /// Returns the current tree of a branch, to compare with the approved one.
    pub fn tree_of(&self, branch: &str) -> Result<Option<String>, RepositoryError> {
        match self.tip(&format!("refs/heads/{branch}"))? {
            Some(tip) => self.tree(&PrivateGit::make(self, None)?, &tip).map(Some),
            None => Ok(None),
        }
    }

    fn fail(
        &self,
        finalizing: CommitWorkRequest<'_>,
        problem: UndeliverableWork,
    ) -> Result<CommitWorkOutcome, RepositoryError> {
        let CommitWorkRequest { worktree, base, copied, .. } = finalizing;
        let rescued = Some(self.rescue(worktree, &base.commit, copied, RescueCondition::Everything)?);
        Ok(CommitWorkOutcome::Failed { problem, rescued })
    }

    pub(crate) fn tree(&self, private: &PrivateGit<'_>, commit: &str) -> Result<String, RepositoryError> {
        private.line("rev-parse", [format!("{commit}^{{tree}}")])
    }

    /// Creates a commit as the user, signed if they sign commits.
    pub(crate) fn commit(
        &self,
        private: &PrivateGit<'_>,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Result<String, RepositoryError> {
        let mut arguments = vec![tree];
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        if self.frozen.signs {
            arguments.push("-S");
        }
        let mut git = private.command("commit-tree");
        git.args(arguments);
        // Signing may have to ask for a passphrase.
        let seat = if self.frozen.signs { GitTerminalAccess::AtTerminal } else { GitTerminalAccess::Apart };
        let commit = judge(run(&mut git, "commit-tree", Some(message.as_bytes()), seat)?, "commit-tree")?;
        Ok(String::from_utf8_lossy(&commit).trim_end().to_owned())
    }

    fn files_between(
        &self,
        private: &PrivateGit<'_>,
        old: &str,
        new: &str,
    ) -> Result<Vec<PathBuf>, RepositoryError> {
        let flags = ["-r", "-z", "--name-only", "--no-renames", "--end-of-options", old, new];
        let said = private.run("diff-tree", flags)?;
        Ok(split_paths(&said).map(|path| path_of(path).to_owned()).collect())
    }
}

/// Reason why work cannot be delivered. Everything stays in place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndeliverableWork {
    /// The worktree is on another branch.
    #[error("the worktree is on {} instead of its own branch", .on.as_deref().map_or("no branch".to_owned(), |on| format!("branch `{on}`")))]
    BranchChanged { on: Option<String> },
    /// The branch that was handed over no longer exists.
    #[error("branch `{branch}` is gone")]
    BranchGone { branch: String },
    /// The branch no longer descends from its base.
    #[error("the branch no longer descends from {base}")]
    HistoryRewritten {
        /// The commit it started at.
        base: String,
    },
    /// Git would only store a pointer to it.
    #[error("the files contain another repository: {}", quoted(.paths))]
    EmbeddedRepository { paths: Vec<PathBuf> },
    /// The same with an entry in `.gitmodules`. The address there does not prove that a server has the files.
    #[error(
        "the files contain another repository: {}; only a person can add a submodule: merge a base that has it into \
         the branch, or remove it from the branch, then `saihai work --retry`",
        quoted(.paths)
    )]
    NewSubmodule { paths: Vec<PathBuf> },
    /// The `.git` of the worktree is another repository, and the branch has none of its commits.
    #[error(
        "`.git` of the worktree is now another repository, and its commits exist nowhere else; keep it and repair the \
         worktree: `mv {}/.git DIR && git worktree repair`, then `saihai work --retry`",
        .worktree.display()
    )]
    GitReplaced { worktree: PathBuf },
    /// The file exceeds the limit.
    #[error("`{path}` has {size} bytes, more than 50 MB")]
    LargeFile { path: String, size: u64 },
    /// A secret would leave the machine.
    #[error("found a secret in {found}")]
    Secret { found: String },
}

impl UndeliverableWork {
    /// Returns the reason as one word, for tables and programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::BranchChanged { .. } | Self::BranchGone { .. } => "branch-changed",
            Self::HistoryRewritten { .. } => "history-rewritten",
            Self::EmbeddedRepository { .. } | Self::NewSubmodule { .. } | Self::GitReplaced { .. } => {
                "embedded-repository"
            }
            Self::LargeFile { .. } => "large-file",
            Self::Secret { .. } => "secret",
        }
    }
}

fn quoted(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    paths.join(", ")
}

/// Size limit for a file. Forges warn about larger files, and a history never loses them.
const LARGEST: u64 = 50_000_000;
/// Buffer size for reading objects.
const READ_BUFFER: usize = 64 * 1024;

/// The content to deliver: a tree on top of the commits of a branch.
#[derive(Debug, Clone, Copy)]
struct OutgoingWork<'a> {
    pub(crate) base: &'a BaseCommit,
    pub(crate) tip: &'a str,
    pub(crate) tree: &'a str,
}

struct GitObject {
    id: String,
    kind: String,
}

impl Repository {
    /// Returns the first problem that prevents delivery.
    fn inspect(
        &self,
        private: &PrivateGit<'_>,
        outgoing: OutgoingWork<'_>,
        copied: &[String],
        secrets: &[Vec<u8>],
    ) -> Result<Option<UndeliverableWork>, RepositoryError> {
        if let Some(problem) = new_pointers(private, outgoing)? {
            return Ok(Some(problem));
        }
        if let Some(found) = committed_copy(private, outgoing, &CopiedFiles::new(copied, &self.frozen))? {
            return Ok(Some(UndeliverableWork::Secret { found }));
        }
        let OutgoingWork { base, tip, tree } = outgoing;
        // Exclude the commit and its tree. With the commit alone, git may list objects of that tree again.
        let (before, files) = (format!("^{}", base.commit), format!("^{}^{{tree}}", base.commit));
        let objects = private.run("rev-list", ["--objects", tip, tree, &before, &files])?;
        let objects = String::from_utf8_lossy(&objects).into_owned();
        let objects: BTreeMap<&str, &str> =
            objects.lines().map(|line| line.split_once(' ').unwrap_or((line, ""))).collect();
        let sizes = sizes(private, &objects)?;
        let sizes: Vec<(&str, u64)> = sizes.iter().map(|(id, size)| (id.as_str(), *size)).collect();
        if let Some(problem) = large_file(&sizes, &objects) {
            return Ok(Some(problem));
        }
        let secrets: Vec<memmem::Finder<'_>> =
            secrets.iter().filter(|secret| !secret.is_empty()).map(memmem::Finder::new).collect();
        if secrets.is_empty() {
            return Ok(None);
        }
        let found = first_with(private, objects.keys().copied(), &secrets)?;
        let named = found.map(|GitObject { id, kind }| {
            let path = objects.get(id.as_str()).copied().unwrap_or_default();
            match kind.as_str() {
                "blob" => format!("`{path}`"),
                "tree" => format!("the name of a file in `{path}/`"),
                _ => format!("the message of commit {id}"),
            }
        });
        Ok(named.map(|found| UndeliverableWork::Secret { found }))
    }
}

/// Returns pointers to other repositories that the base lacks. It is unknown whether a server has their
/// commits, and an address in `.gitmodules` proves nothing. A pointer is allowed only if the base already has
/// the same one at another path.
fn new_pointers(
    private: &PrivateGit<'_>,
    outgoing: OutgoingWork<'_>,
) -> Result<Option<UndeliverableWork>, RepositoryError> {
    let flags =
        ["-r", "-z", "--raw", "--no-renames", "--end-of-options", &outgoing.base.commit, outgoing.tree];
    let said = private.run("diff-tree", flags)?;
    let mut parts = said.split(|byte| *byte == 0);
    let mut pointers = Vec::new();
    while let (Some(entry), Some(path)) = (parts.next(), parts.next()) {
        let is_pointer = |mode: Option<&[u8]>| mode == Some(b"160000");
        // The columns: mode before, mode after, object before, object after.
        let mut columns = entry.strip_prefix(b":").unwrap_or(entry).split(|byte| *byte == b' ');
        if !is_pointer(columns.next()) && is_pointer(columns.next()) {
            let to = columns.nth(1).unwrap_or_default();
            pointers.push((path.to_vec(), to.to_vec()));
        }
    }
    if pointers.is_empty() {
        return Ok(None);
    }
    let base = private.run("ls-tree", ["-r", "-z", "--end-of-options", &outgoing.base.commit])?;
    let known = |to: &[u8]| {
        split_paths(&base)
            .any(|entry| entry.strip_prefix(b"160000 commit ").is_some_and(|at| at.starts_with(to)))
    };
    let new: Vec<Vec<u8>> = pointers.into_iter().filter(|(_, to)| !known(to)).map(|(path, _)| path).collect();
    if new.is_empty() {
        return Ok(None);
    }
    let (called, bare): (Vec<Vec<u8>>, Vec<Vec<u8>>) = {
        let called = submodules(private, outgoing.tree)?;
        new.into_iter().partition(|path| called.contains(path))
    };
    let paths = |all: Vec<Vec<u8>>| all.iter().map(|path| path_of(path).to_owned()).collect();
    Ok(Some(if bare.is_empty() {
        UndeliverableWork::NewSubmodule { paths: paths(called) }
    } else {
        UndeliverableWork::EmbeddedRepository { paths: paths(bare) }
    }))
}

/// Returns the submodule paths in the `.gitmodules` of a tree.
fn submodules(private: &PrivateGit<'_>, tree: &str) -> Result<Vec<Vec<u8>>, RepositoryError> {
    let modules = format!("{tree}:.gitmodules");
    let arguments = ["--blob", &modules, "--null", "--get-regexp", r"^submodule\..*\.path$"];
    let said = match private.run("config", arguments) {
        Ok(said) => said,
        // The file does not exist.
        Err(RepositoryError::Git(GitError::Refused { .. })) => Vec::new(),
        Err(error) => return Err(error),
    };
    let value = |entry: &[u8]| Some(entry[entry.iter().position(|byte| *byte == b'\n')? + 1..].to_vec());
    Ok(split_paths(&said).filter_map(value).collect())
}

/// Returns a copied file that an agent's commit or the new commit contains.
fn committed_copy(
    private: &PrivateGit<'_>,
    outgoing: OutgoingWork<'_>,
    copied: &CopiedFiles,
) -> Result<Option<String>, RepositoryError> {
    let OutgoingWork { base, tip, tree } = outgoing;
    let flags = ["-r", "-z", "--name-only", "--no-renames", "--end-of-options", &base.commit, tree];
    let changed = private.run("diff-tree", flags)?;
    if let Some(path) = split_paths(&changed).find(|path| copied.holds(path)) {
        return Ok(Some(format!("`{}`, a copied file", path_of(path).display())));
    }
    let before = format!("^{}", base.commit);
    for (path, specified) in copied.specified() {
        let mut git = private.command("rev-list");
        // A case-insensitive pathspec is not literal.
        git.env_remove("GIT_LITERAL_PATHSPECS");
        // Include a side that a merge discarded: its commits are delivered too.
        git.args(["--max-count=1", "--full-history", tip, &before, "--", &specified]);
        let commit = output(&mut git, "rev-list")?;
        if !commit.is_empty() {
            let commit = String::from_utf8_lossy(&commit);
            return Ok(Some(format!("`{path}`, a copied file, in commit {}", commit.trim_end())));
        }
    }
    Ok(None)
}

fn sizes(
    private: &PrivateGit<'_>,
    objects: &BTreeMap<&str, &str>,
) -> Result<Vec<(String, u64)>, RepositoryError> {
    let input: String = objects.keys().map(|id| format!("{id}\n")).collect();
    let said = private.feed("cat-file", ["--batch-check=%(objectname) %(objectsize)"], input.as_bytes())?;
    let said = String::from_utf8_lossy(&said);
    let sizes = said.lines().filter_map(|line| line.split_once(' '));
    Ok(sizes.filter_map(|(id, size)| Some((id.to_owned(), size.parse().ok()?))).collect())
}

fn large_file(sizes: &[(&str, u64)], objects: &BTreeMap<&str, &str>) -> Option<UndeliverableWork> {
    let largest = sizes.iter().max_by_key(|(_, size)| *size).filter(|(_, size)| *size > LARGEST);
    largest.map(|(id, size)| {
        let path = objects.get(id).copied().unwrap_or_default();
        UndeliverableWork::LargeFile { path: path.to_owned(), size: *size }
    })
}

/// Returns the first object that contains one of the texts: file content, file names or commit messages.
fn first_with<'a>(
    private: &PrivateGit<'_>,
    objects: impl Iterator<Item = &'a str>,
    texts: &[memmem::Finder<'_>],
) -> Result<Option<GitObject>, RepositoryError> {
    let mut git = private.command("cat-file");
    git.arg("--batch");
    let input: String = objects.map(|id| format!("{id}\n")).collect();
    let read = |said| find_in_objects(BufReader::new(said), texts);
    Ok(stream(&mut git, "cat-file", input.as_bytes(), read)?)
}

fn find_in_objects(
    mut output: impl std::io::BufRead,
    texts: &[memmem::Finder<'_>],
) -> std::io::Result<Option<GitObject>> {
    let overlap = texts.iter().map(|text| text.needle().len()).max().unwrap_or(1) - 1;
    let mut header = String::new();
    loop {
        header.clear();
        if output.read_line(&mut header)? == 0 {
            return Ok(None);
        }
        let mut words = header.split_whitespace();
        let (Some(id), Some(kind), Some(size)) = (words.next(), words.next(), words.next()) else {
            return Err(std::io::ErrorKind::InvalidData.into());
        };
        let size = size.parse::<u64>().map_err(|_| std::io::ErrorKind::InvalidData)?;
        if contains_text(output.by_ref().take(size), texts, overlap)? {
            return Ok(Some(GitObject { id: id.to_owned(), kind: kind.to_owned() }));
        }
        // The line break after an object.
        output.read_exact(&mut [0])?;
    }
}

/// Searches a stream for texts without loading it whole.
fn contains_text(
    mut object: impl Read,
    texts: &[memmem::Finder<'_>],
    overlap: usize,
) -> std::io::Result<bool> {
    let mut window = Vec::with_capacity(READ_BUFFER + overlap);
    loop {
        let kept = window.len().saturating_sub(overlap);
        window.drain(..kept);
        if object.by_ref().take(READ_BUFFER as u64).read_to_end(&mut window)? == 0 {
            return Ok(false);
        }
        if texts.iter().any(|text| text.find(&window).is_some()) {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_found_wherever_it_lies(before in 0..3 * READ_BUFFER, length in 1..40_usize, is_there: bool) {
            let text = vec![b'x'; length];
            let mut object = vec![b'.'; before];
            if is_there {
                object.extend(&text);
            }
            object.extend([b'.'; 100]);
            let found = contains_text(object.as_slice(), &[memmem::Finder::new(&text)], length - 1).unwrap();
            prop_assert_eq!(found, is_there);
        }
    }
}
