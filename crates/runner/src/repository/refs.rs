//! Refs of the repository: read, and moved only from where they were seen.

use std::time::{Duration, Instant};

use super::{Error, Repository};
use crate::git;
use crate::git::command::{SILENT, output};

/// Where a ref must be for it to be moved.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seen<'a> {
    /// Nowhere: it is made.
    Absent,
    /// At this commit.
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
