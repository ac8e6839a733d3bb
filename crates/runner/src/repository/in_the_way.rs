//! What keeps git from making or changing a ref, though the ref is where it was.

use std::path::PathBuf;

use super::base::above;
use super::{Error, Item, Repository};
use crate::git::command::output;

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
