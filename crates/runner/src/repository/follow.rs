//! Taking in what a server holds of a branch, before work begins on it.

use super::private::Private;
use super::push::{Remote, Token};
use super::refs::Seen;
use super::{Base, Error, Item, Ours, Refusal, Repository};

/// A branch of a server.
#[derive(Debug, Clone, Copy)]
pub struct Following<'a> {
    /// What it is for.
    pub item: &'a Item,
    /// What it began with.
    pub base: &'a Base,
    /// The address of the server.
    pub url: &'a str,
    /// What the server is shown.
    pub token: Option<&'a Token>,
    /// How it is known to be ours.
    pub ours: Ours,
}

impl Repository {
    /// Takes in what a server holds of a branch: another clone may have worked on it, as each job of a CI does (I-34). Nothing
    /// is paid for work that could not be pushed.
    pub fn follow(&self, following: Following<'_>) -> Result<Option<Refusal>, Error> {
        let Following { item, base, url, token, ours } = following;
        let (branch, reference) = (item.branch(), item.reference());
        let private = Private::make(self, None)?;
        let unreachable = |said: String| Error::Unreachable { said };
        let remote = Remote { url, token };
        let theirs = remote.tip(&private, &reference)?.map_err(unreachable)?;
        let (Some(theirs), mine) = (theirs, self.tip(&reference)?) else { return Ok(None) };
        let theirs =
            if mine.as_ref() == Some(&theirs) { theirs } else { self.fetch(url, &branch, token)?.commit };
        self.deepen(remote, base, &branch, &theirs)?;
        if mine.as_ref() == Some(&theirs) {
            return Ok(None);
        }
        // What has come by now may have more history behind it.
        let private = Private::make(self, None)?;
        let Some(mine) = mine else {
            // What was merged from it is part of the base: there is nothing to go on with.
            if ours != Ours::ByTrailers && self.contains(&private, &base.commit, &theirs)? {
                return Ok(None);
            }
            let foreign = self.foreign_branch(item, base, ours, &theirs)?;
            if foreign.is_none() {
                self.move_ref(&reference, &theirs, Seen::Absent)?;
            }
            return Ok(foreign);
        };
        if self.contains(&private, &mine, &theirs)? {
            return Ok(None);
        }
        let (path, url) = (self.checked_out(&branch)?, url.to_owned());
        if !self.contains(&private, &theirs, &mine)? {
            return Ok(Some(Refusal::Parted { branch, url, path }));
        }
        // Files that somebody works on are not moved under their feet.
        if let Some(path) = path {
            return Ok(Some(Refusal::Ahead { branch, url, path }));
        }
        self.move_ref(&reference, &theirs, Seen::At(&mine))?;
        Ok(None)
    }

    /// Whether a branch ends with a commit of ours that its base does not hold, here and on a server.
    pub fn is_pushed_by_us(
        &self,
        item: &Item,
        base: &Base,
        url: &str,
        token: Option<&Token>,
    ) -> Result<bool, Error> {
        let Some(tip) = self.tip(&item.reference())? else { return Ok(false) };
        let private = Private::make(self, None)?;
        let said = private.run("log", ["-1", "--format=%B", &tip])?;
        let is_ours = item.made_for(&String::from_utf8_lossy(&said)) == item.source();
        if !is_ours || self.contains(&private, &base.commit, &tip)? {
            return Ok(false);
        }
        Ok(self.tip_there(url, &item.branch(), token)? == Some(tip))
    }
}
