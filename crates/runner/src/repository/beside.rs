//! The branch beside a base that is checked out: `saihai/merge/main` holds what was merged meanwhile, until a person takes it in.
//!
//! Only we put anything there. An agent can move the branch as easily as any other, and what it put there would come into the base with the
//! next merge. So each commit that we let a branch be at is written down before, and nothing else is built on.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use super::private::Private;
use super::{Base, Error, Repository, regular};

impl Repository {
    /// The branch beside a base.
    pub(super) fn beside(base: &str) -> String {
        format!("saihai/merge/{base}")
    }

    /// Where the branch beside a base is, if that is by our doing.
    pub(super) fn own_beside(&self, base: &str) -> Result<Option<String>, Error> {
        let tip = self.tip(&format!("refs/heads/{}", Self::beside(base)))?;
        tip.map(|tip| Ok(self.is_landed(&tip)?.then_some(tip))).transpose().map(Option::flatten)
    }

    /// Makes sure that the branch beside a base is where we left it, or that the base holds it: then it brings nothing.
    pub(super) fn insist_on_beside(
        &self,
        private: &Private<'_>,
        (base, base_tip): (&str, &str),
        tip: &str,
    ) -> Result<(), Error> {
        if self.is_landed(tip)? || self.contains(private, base_tip, tip)? {
            return Ok(());
        }
        Err(Error::Strange { branch: base.to_owned(), beside: Self::beside(base) })
    }

    /// Whether somebody else than we has put commits on a base since work began there, or removed it.
    pub fn has_base_moved(&self, base: &Base) -> Result<bool, Error> {
        let Some(tip) = self.tip(&format!("refs/heads/{}", base.branch))? else { return Ok(true) };
        Ok(!self.is_landed(&tip)? && !self.contains(&Private::make(self, None)?, &base.commit, &tip)?)
    }

    /// Branches beside a base that are elsewhere than we left them, and where.
    pub(super) fn strange_besides(&self) -> Result<Vec<(String, String)>, Error> {
        let mut strange = Vec::new();
        for (name, tip) in self.refs_below("refs/heads/saihai/merge/")? {
            if !self.is_landed(&tip)? {
                strange.push((name, tip));
            }
        }
        Ok(strange)
    }

    /// Writes down that we are about to let a branch be at a commit.
    pub(super) fn note_landing(&self, commit: &str) -> Result<(), Error> {
        let path = self.landings()?;
        let file = regular::open_at(OpenOptions::new().append(true).create(true), &path);
        let written = file.and_then(|mut file| {
            file.write_all(format!("{commit}\n").as_bytes())?;
            file.sync_data()
        });
        written.map_err(Error::file("write", &path))
    }

    fn is_landed(&self, commit: &str) -> Result<bool, Error> {
        let said = regular::read(&self.landings()?).unwrap_or_default();
        Ok(said.split(|byte| *byte == b'\n').any(|line| line == commit.as_bytes()))
    }

    fn landings(&self) -> Result<PathBuf, Error> {
        Ok(self.own_directory()?.join("landings"))
    }
}
