//! Refs of the repository: reads them, moves them only from a known value, and explains obstacles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::Repository;
use crate::error::RepositoryError;
use crate::git_program::{GitError, GitRefusalKind, output};
use crate::private_git::PrivateGit;
use crate::work_item::{WorkItem, above};

/// The expected value of a ref before a move.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExpectedRef<'a> {
    Absent,
    At(&'a str),
}

impl ExpectedRef<'_> {
    fn is(self, tip: Option<&str>) -> bool {
        match self {
            Self::Absent => tip.is_none(),
            Self::At(commit) => tip == Some(commit),
        }
    }
}

/// Upper limit for waiting on another git process that locks a ref.
const REF_LOCK_PATIENCE: Duration = Duration::from_secs(2);
const REF_LOCK_PAUSE: Duration = Duration::from_millis(100);

impl Repository {
    /// Returns the commit of a full ref name (`refs/heads/main`).
    pub fn tip(&self, reference: &str) -> Result<Option<String>, RepositoryError> {
        // Git would evaluate the expression: `refs/heads/main~1` is a commit and no ref.
        if !is_plain(reference) {
            return Ok(None);
        }
        match output(self.registry("rev-parse").args(["--verify", "--quiet", reference]), "rev-parse") {
            Ok(said) => Ok(Some(String::from_utf8_lossy(&said).trim_end().to_owned())),
            // Git prints nothing for a missing ref, but reports an unreadable repository. For a HEAD whose
            // branch is gone it only warns.
            Err(GitError::Refused {
                kind: GitRefusalKind::Silent | GitRefusalKind::DanglingHead, ..
            }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves a ref if it still has the expected value.
    pub(crate) fn move_ref(
        &self,
        reference: &str,
        to: &str,
        seen: ExpectedRef<'_>,
    ) -> Result<(), RepositoryError> {
        let absent = "0".repeat(to.len());
        let old = match seen {
            ExpectedRef::Absent => absent.as_str(),
            ExpectedRef::At(commit) => commit,
        };
        let arguments = ["--no-deref", "--create-reflog", "-m", "saihai", reference, to, old];
        self.change(reference, seen, &arguments)
    }

    /// Removes a ref if it still has the expected value.
    pub(crate) fn remove_ref(&self, reference: &str, seen: &str) -> Result<(), RepositoryError> {
        self.change(reference, ExpectedRef::At(seen), &["--no-deref", "-m", "saihai", "-d", reference, seen])
    }

    /// Changes a ref and retries while another git process locks it. It distinguishes an obstacle from a ref
    /// that has moved, because the latter is worth another look.
    fn change(
        &self,
        reference: &str,
        seen: ExpectedRef<'_>,
        arguments: &[&str],
    ) -> Result<(), RepositoryError> {
        let begun = Instant::now();
        loop {
            let mut git = self.registry("update-ref");
            git.envs(self.frozen.identity.iter().map(|(name, value)| (name, value)));
            let refused = match output(git.args(arguments), "update-ref") {
                Ok(_) => return Ok(()),
                Err(refused @ GitError::Refused { .. }) => refused,
                Err(error) => return Err(error.into()),
            };
            let tip = self.tip(reference)?;
            if !seen.is(tip.as_deref()) {
                return Err(RepositoryError::Moved {
                    reference: reference.to_owned(),
                    said: refused.to_string(),
                });
            }
            match self.obstacle(reference)? {
                Some(RepositoryError::RefLocked { .. }) | None if begun.elapsed() < REF_LOCK_PATIENCE => {
                    std::thread::sleep(REF_LOCK_PAUSE);
                }
                obstacle => return Err(obstacle.unwrap_or_else(|| refused.into())),
            }
        }
    }

    /// Returns names and commits of the refs below a prefix.
    pub(crate) fn refs_below(&self, prefix: &str) -> Result<Vec<(String, String)>, RepositoryError> {
        let said = output(
            self.registry("for-each-ref").args(["--format=%(refname) %(objectname)", prefix]),
            "for-each-ref",
        )?;
        let said = String::from_utf8_lossy(&said);
        let pairs = said.lines().filter_map(|line| line.rsplit_once(' '));
        Ok(pairs.map(|(name, commit)| (name.to_owned(), commit.to_owned())).collect())
    }
}

/// All refs and their commits at one time, read by one git. For callers that look at many refs.
#[derive(Debug, Clone, Default)]
pub struct RefSnapshot(BTreeMap<String, String>);

impl RefSnapshot {
    /// Returns the commit of a branch.
    pub fn branch(&self, branch: &str) -> Option<&str> {
        self.0.get(&format!("{BRANCHES}{branch}")).map(String::as_str)
    }

    /// Returns the commits of a branch and of its merge branch.
    fn holders(&self, branch: &str) -> impl Iterator<Item = &str> {
        [self.branch(branch), self.branch(&Repository::beside(branch))].into_iter().flatten()
    }

    /// Checks that all refs for an item can be created, as `check_branch` does for a valid name.
    pub fn check_room(&self, item: &WorkItem) -> Result<(), RepositoryError> {
        let (reference, rescue) = (item.reference(), format!("refs/saihai/rescue/{}/1", item.name()));
        let below = format!("{reference}/");
        let inside =
            self.0.range(below.clone()..).map(|(name, _)| name).find(|name| name.starts_with(&below));
        let above = |of: &str| above(of).find(|one| self.0.contains_key(*one)).map(str::to_owned);
        match (above(&reference).or_else(|| inside.cloned()), above(&rescue)) {
            (Some(present), _) => Err(in_the_way(&reference, &present)),
            (None, Some(present)) => Err(in_the_way(&rescue, &present)),
            (None, None) => Ok(()),
        }
    }
}

impl Repository {
    pub fn ref_snapshot(&self) -> Result<RefSnapshot, RepositoryError> {
        Ok(RefSnapshot(self.refs_below("refs/")?.into_iter().collect()))
    }

    /// Returns those of the commits that a branch or its merge branch contains. Starts the same number of gits for any
    /// number of commits. A commit that is not here is not contained.
    pub fn merged_among(
        &self,
        refs: &RefSnapshot,
        branch: &str,
        commits: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, RepositoryError> {
        let holders: Vec<&str> = refs.holders(branch).collect();
        if holders.is_empty() || commits.is_empty() {
            return Ok(BTreeSet::new());
        }
        let private = PrivateGit::make(self, None)?;
        let asked: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        let said =
            private.feed("cat-file", ["--batch-check=%(objectname) %(objecttype)"], asked.as_bytes())?;
        let said = String::from_utf8_lossy(&said);
        let here: BTreeSet<&str> = said.lines().filter_map(|line| line.strip_suffix(" commit")).collect();
        let input: String = here.iter().map(|commit| format!("{commit}\n")).collect();
        let not: String = holders.iter().map(|holder| format!("^{holder}\n")).collect();
        let outside = private.feed("rev-list", ["--stdin"], format!("{input}{not}").as_bytes())?;
        let outside = String::from_utf8_lossy(&outside);
        let outside: BTreeSet<&str> = outside.lines().collect();
        Ok(here.difference(&outside).map(|commit| (*commit).to_owned()).collect())
    }
}

/// Returns true if a name has no character that is illegal in a ref.
fn is_plain(reference: &str) -> bool {
    let is_odd = |one: char| one.is_control() || " ~^:?*[\\".contains(one);
    !reference.contains(is_odd) && !reference.contains("..") && !reference.contains("@{")
}

const BRANCHES: &str = "refs/heads/";

impl Repository {
    /// Checks that all refs for an item can be created: its branch and its rescue refs.
    pub(crate) fn check_room(&self, item: &WorkItem) -> Result<(), RepositoryError> {
        self.refuse_refs_around(&item.reference())?;
        self.refuse_refs_above(&format!("refs/saihai/rescue/{}/1", item.name()))
    }

    /// Checks that a merge can go to the merge branch if the base is checked out.
    pub fn check_merging(&self, base: &str) -> Result<(), RepositoryError> {
        match self.checked_out(base)? {
            Some(_) => self.refuse_refs_around(&format!("{BRANCHES}saihai/merge/{base}")),
            None => Ok(()),
        }
    }

    /// Returns why git refuses to change a ref with the expected value, or `None` if it is unknown.
    pub(crate) fn obstacle(&self, reference: &str) -> Result<Option<RepositoryError>, RepositoryError> {
        match self.refuse_refs_around(reference) {
            Ok(()) => {}
            Err(error @ (RepositoryError::InTheWay { .. } | RepositoryError::RefInTheWay { .. })) => {
                return Ok(Some(error));
            }
            Err(error) => return Err(error),
        }
        let path = self.lock_file(reference);
        Ok(path.map(|path| RepositoryError::RefLocked { reference: reference.to_owned(), path }))
    }

    /// Returns the lock file of a git process that works on refs. A killed process leaves it behind.
    fn lock_file(&self, reference: &str) -> Option<PathBuf> {
        let own = format!("{reference}.lock");
        let names = [own.as_str(), "packed-refs.lock", "reftable/tables.list.lock", "HEAD.lock"];
        names.map(|name| self.common.join(name)).into_iter().find(|path| path.symlink_metadata().is_ok())
    }

    /// Refuses a ref above or below an existing one. Git stores refs like files: none contains another.
    fn refuse_refs_around(&self, reference: &str) -> Result<(), RepositoryError> {
        self.refuse_refs_above(reference)?;
        let inside = self.refs_below(&format!("{reference}/"))?;
        match inside.into_iter().next() {
            Some((present, _)) => Err(in_the_way(reference, &present)),
            None => Ok(()),
        }
    }

    fn refuse_refs_above(&self, reference: &str) -> Result<(), RepositoryError> {
        let wanted: Vec<&str> = above(reference).filter(|one| one.contains('/')).collect();
        let mut git = self.registry("for-each-ref");
        let said = output(git.arg("--format=%(refname)").args(&wanted), "for-each-ref")?;
        let said = String::from_utf8_lossy(&said);
        // A sibling below the same name is not an obstacle.
        match said.lines().find(|name| wanted.contains(name)) {
            Some(present) => Err(in_the_way(reference, present)),
            None => Ok(()),
        }
    }
}

fn in_the_way(reference: &str, present: &str) -> RepositoryError {
    match (reference.strip_prefix(BRANCHES), present.strip_prefix(BRANCHES)) {
        (Some(branch), Some(present)) => {
            RepositoryError::InTheWay { branch: branch.to_owned(), present: present.to_owned() }
        }
        _ => RepositoryError::RefInTheWay { reference: reference.to_owned(), present: present.to_owned() },
    }
}
