//! Refs of the repository: reads them, moves them only from a known value, and explains obstacles.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::base::above;
use super::{Error, Item, Repository};
use crate::git;
use crate::git::command::{SILENT, output};

/// The expected value of a ref before a move.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seen<'a> {
    Absent,
    At(&'a str),
}

impl Seen<'_> {
    fn is(self, tip: Option<&str>) -> bool {
        match self {
            Self::Absent => tip.is_none(),
            Self::At(commit) => tip == Some(commit),
        }
    }
}

/// Upper limit for waiting on another git process that locks a ref.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);

impl Repository {
    /// Returns the commit of a full ref name (`refs/heads/main`).
    pub fn tip(&self, reference: &str) -> Result<Option<String>, Error> {
        // Git would evaluate the expression: `refs/heads/main~1` is a commit and no ref.
        if !is_plain(reference) {
            return Ok(None);
        }
        match output(self.registry("rev-parse").args(["--verify", "--quiet", reference]), "rev-parse") {
            Ok(said) => Ok(Some(String::from_utf8_lossy(&said).trim_end().to_owned())),
            // Git prints nothing for a missing ref, but reports an unreadable repository. For a HEAD whose
            // branch is gone it only warns.
            Err(git::Error::Refused { said, .. })
                if said == SILENT || said.starts_with("warning: ignoring dangling symref") =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Moves a ref if it still has the expected value.
    pub(super) fn move_ref(&self, reference: &str, to: &str, seen: Seen<'_>) -> Result<(), Error> {
        let absent = "0".repeat(to.len());
        let old = match seen {
            Seen::Absent => absent.as_str(),
            Seen::At(commit) => commit,
        };
        let arguments = ["--no-deref", "--create-reflog", "-m", "saihai", reference, to, old];
        self.change(reference, seen, &arguments)
    }

    /// Removes a ref if it still has the expected value.
    pub(super) fn remove_ref(&self, reference: &str, seen: &str) -> Result<(), Error> {
        self.change(reference, Seen::At(seen), &["--no-deref", "-m", "saihai", "-d", reference, seen])
    }

    /// Changes a ref and retries while another git process locks it. It distinguishes an obstacle from a ref
    /// that has moved, because the latter is worth another look.
    fn change(&self, reference: &str, seen: Seen<'_>, arguments: &[&str]) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            let mut git = self.registry("update-ref");
            git.envs(self.frozen.identity.iter().map(|(name, value)| (name, value)));
            let refused = match output(git.args(arguments), "update-ref") {
                Ok(_) => return Ok(()),
                Err(refused @ git::Error::Refused { .. }) => refused,
                Err(error) => return Err(error.into()),
            };
            let tip = self.tip(reference)?;
            if !seen.is(tip.as_deref()) {
                return Err(Error::Moved { reference: reference.to_owned(), said: refused.to_string() });
            }
            match self.obstacle(reference)? {
                Some(Error::RefLocked { .. }) | None if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(PAUSE);
                }
                obstacle => return Err(obstacle.unwrap_or_else(|| refused.into())),
            }
        }
    }

    /// Returns names and commits of the refs below a prefix.
    pub(super) fn refs_below(&self, prefix: &str) -> Result<Vec<(String, String)>, Error> {
        let said = output(
            self.registry("for-each-ref").args(["--format=%(refname) %(objectname)", prefix]),
            "for-each-ref",
        )?;
        let said = String::from_utf8_lossy(&said);
        let pairs = said.lines().filter_map(|line| line.rsplit_once(' '));
        Ok(pairs.map(|(name, commit)| (name.to_owned(), commit.to_owned())).collect())
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
    pub(super) fn check_room(&self, item: &Item) -> Result<(), Error> {
        self.refuse_refs_around(&item.reference())?;
        self.refuse_refs_above(&format!("refs/saihai/rescue/{}/1", item.name()))
    }

    /// Checks that a merge can go to the merge branch if the base is checked out.
    pub fn check_merging(&self, base: &str) -> Result<(), Error> {
        match self.checked_out(base)? {
            Some(_) => self.refuse_refs_around(&format!("{BRANCHES}saihai/merge/{base}")),
            None => Ok(()),
        }
    }

    /// Returns the reason why git refuses to change a ref with the expected value, or `None` if it is
    /// unknown.
    pub(super) fn obstacle(&self, reference: &str) -> Result<Option<Error>, Error> {
        match self.refuse_refs_around(reference) {
            Ok(()) => {}
            Err(error @ (Error::InTheWay { .. } | Error::RefInTheWay { .. })) => return Ok(Some(error)),
            Err(error) => return Err(error),
        }
        let path = self.lock_file(reference);
        Ok(path.map(|path| Error::RefLocked { reference: reference.to_owned(), path }))
    }

    /// Returns the lock file of a git process that works on refs. A killed process leaves it behind.
    fn lock_file(&self, reference: &str) -> Option<PathBuf> {
        let own = format!("{reference}.lock");
        let names = [own.as_str(), "packed-refs.lock", "reftable/tables.list.lock", "HEAD.lock"];
        names.map(|name| self.common.join(name)).into_iter().find(|path| path.symlink_metadata().is_ok())
    }

    /// Refuses a ref above or below an existing one. Git stores refs like files: one cannot be inside
    /// another.
    fn refuse_refs_around(&self, reference: &str) -> Result<(), Error> {
        self.refuse_refs_above(reference)?;
        let inside = self.refs_below(&format!("{reference}/"))?;
        match inside.into_iter().next() {
            Some((present, _)) => Err(in_the_way(reference, &present)),
            None => Ok(()),
        }
    }

    fn refuse_refs_above(&self, reference: &str) -> Result<(), Error> {
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

fn in_the_way(reference: &str, present: &str) -> Error {
    match (reference.strip_prefix(BRANCHES), present.strip_prefix(BRANCHES)) {
        (Some(branch), Some(present)) => {
            Error::InTheWay { branch: branch.to_owned(), present: present.to_owned() }
        }
        _ => Error::RefInTheWay { reference: reference.to_owned(), present: present.to_owned() },
    }
}
