//! Beginning anew with an issue whose work is merged.

use super::private::Private;
use super::push::Remote;
use super::{Base, Error, Following, Item, Refusal, Repository};

impl Repository {
    /// Takes away a branch of which everything is part of its base, so that it begins there anew. One that is checked out stays.
    pub fn begin_anew(&self, item: &Item, base: &Base) -> Result<(), Error> {
        let reference = item.reference();
        let Some(tip) = self.tip(&reference)? else { return Ok(()) };
        let private = Private::make(self, None)?;
        let is_merged = self.contains(&private, &base.commit, &tip)?;
        if is_merged && self.checked_out(&item.branch())?.is_none() {
            self.remove_ref(&reference, &tip)?;
        }
        Ok(())
    }

    /// The same for a branch that a forge has merged, which may have made other commits of it: then the branch is not part of its
    /// base, and is kept under another name. Why it cannot begin anew, if so: what begins at the base is pushed only onto what the base
    /// holds, and nobody is paid for work that could not be pushed.
    pub fn set_aside(&self, following: Following<'_>) -> Result<Option<Refusal>, Error> {
        let Following { item, base, url, token, .. } = following;
        let (branch, reference) = (item.branch(), item.reference());
        let remote = Remote { url, token };
        let private = Private::make(self, None)?;
        let unreachable = |said: String| Error::Unreachable { said };
        if remote.tip(&private, &reference)?.map_err(unreachable)?.is_some() {
            let theirs = self.fetch(url, &branch, token)?.commit;
            self.deepen(remote, base, &branch, &theirs)?;
            if !self.contains(&Private::make(self, None)?, &base.commit, &theirs)? {
                let (base, url) = (base.branch.clone(), url.to_owned());
                return Ok(Some(Refusal::NotInBase { branch, base, url }));
            }
        }
        let Some(mine) = self.tip(&reference)? else { return Ok(None) };
        let private = Private::make(self, None)?;
        let is_merged = self.contains(&private, &base.commit, &mine)?;
        match self.checked_out(&branch)? {
            Some(_) if is_merged => return Ok(None),
            Some(path) => return Ok(Some(Refusal::CheckedOut { branch, path })),
            None if is_merged => {}
            None => self.rescue_tip(item, &mine)?,
        }
        self.remove_ref(&reference, &mine)?;
        Ok(None)
    }
}
