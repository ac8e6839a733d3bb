//! Refs of the repository: read, moved only from where they were seen, and what keeps git from changing one.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::base::above;
use super::{Error, Item, Repository};
use crate::git;
use crate::git::command::{SILENT, output};

/// Where a ref must be for it to be moved.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seen<'a> {
    Absent,
    At(&'a str),
}

impl Seen<'_> {
    /// Whether a ref is there.
    fn is(self, tip: Option<&str>) -> bool {
        match self {
            Self::Absent => tip.is_none(),
            Self::At(commit) => tip == Some(commit),
        }
    }
}

/// Longer than any git keeps others away from a ref.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);

impl Repository {
    /// What a full name of a ref (`refs/heads/main`) points to.
    pub fn tip(&self, reference: &str) -> Result<Option<String>, Error> {
        // Git would compute with it: `refs/heads/main~1` is a commit, and no ref.
        if !is_plain(reference) {
            return Ok(None);
        }
        match output(self.registry("rev-parse").args(["--verify", "--quiet", reference]), "rev-parse") {
            Ok(said) => Ok(Some(String::from_utf8_lossy(&said).trim_end().to_owned())),
            // It has nothing to say of a ref that is not there; of a repository that it cannot read it has. A HEAD whose branch is gone
            // it only warns of.
            Err(git::Error::Refused { said, .. })
                if said == SILENT || said.starts_with("warning: ignoring dangling symref") =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Moves a ref, if it still is where it was seen.
    pub(super) fn move_ref(&self, reference: &str, to: &str, seen: Seen<'_>) -> Result<(), Error> {
        let absent = "0".repeat(to.len());
        let old = match seen {
            Seen::Absent => absent.as_str(),
            Seen::At(commit) => commit,
        };
        let arguments = ["--no-deref", "--create-reflog", "-m", "saihai", reference, to, old];
        self.change(reference, seen, &arguments)
    }

    /// Removes a ref, if it still is where it was seen.
    pub(super) fn remove_ref(&self, reference: &str, seen: &str) -> Result<(), Error> {
        self.change(reference, Seen::At(seen), &["--no-deref", "-m", "saihai", "-d", reference, seen])
    }

    /// Changes a ref. Another git may be at it for a moment; what stays in the way is told from a ref that has moved, which is worth
    /// looking at again.
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

    /// Names and commits of the refs below a prefix.
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

/// Whether a name has nothing in it that git never takes for a part of a ref.
fn is_plain(reference: &str) -> bool {
    let is_odd = |one: char| one.is_control() || " ~^:?*[\\".contains(one);
    !reference.contains(is_odd) && !reference.contains("..") && !reference.contains("@{")
}

const BRANCHES: &str = "refs/heads/";

impl Repository {
    /// Whether everything that work on an item makes could be made: its branch, and the refs that keep what would be lost.
    pub(super) fn check_room(&self, item: &Item) -> Result<(), Error> {
        self.refuse_refs_around(&item.reference())?;
        self.refuse_refs_above(&format!("refs/saihai/rescue/{}/1", item.name()))
    }

    /// Whether what is merged into a base could go to the branch beside it, where the base is checked out.
    pub fn check_merging(&self, base: &str) -> Result<(), Error> {
        match self.checked_out(base)? {
            Some(_) => self.refuse_refs_around(&format!("{BRANCHES}saihai/merge/{base}")),
            None => Ok(()),
        }
    }

    /// Why git refuses to change a ref that is where it was seen; nothing where that cannot be told.
    pub(super) fn obstacle(&self, reference: &str) -> Result<Option<Error>, Error> {
        match self.refuse_refs_around(reference) {
            Ok(()) => {}
            Err(error @ (Error::InTheWay { .. } | Error::RefInTheWay { .. })) => return Ok(Some(error)),
            Err(error) => return Err(error),
        }
        let path = self.lock_file(reference);
        Ok(path.map(|path| Error::RefLocked { reference: reference.to_owned(), path }))
    }

    /// A file by which a git that works on refs keeps others away. One that was killed leaves it behind.
    fn lock_file(&self, reference: &str) -> Option<PathBuf> {
        let own = format!("{reference}.lock");
        let names = [own.as_str(), "packed-refs.lock", "reftable/tables.list.lock", "HEAD.lock"];
        names.map(|name| self.common.join(name)).into_iter().find(|path| path.symlink_metadata().is_ok())
    }

    /// Git keeps refs like files: one cannot be inside another.
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
        // Whatever lies beside it, below the same name, is in nobody's way.
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
