//! Taking what came of an item out of the way, so that it begins anew.

use super::{CleanedUp, CleaningUp, Error, Item, ItemLock, Kept, Repository};

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Room {
    /// Branch and worktree are gone, and this ref holds what they held.
    Done {
        /// `refs/saihai/rescue/issue-7/1`
        reference: String,
    },
    /// There was no branch.
    Nothing,
    /// The worktree stays, and its branch with it.
    Kept(Kept),
}

impl Repository {
    /// Puts the branch of an item and the files of its worktree into refs of their own, and removes both.
    pub fn make_room(
        &self,
        item: &Item,
        worktree: Option<CleaningUp<'_>>,
        lock: &ItemLock,
    ) -> Result<Room, Error> {
        let Some(tip) = self.tip(&item.reference())? else { return Ok(Room::Nothing) };
        let reference = self.name_rescue(&item.name(), &tip)?;
        let holders = [reference.clone()];
        let Some(cleaning) = worktree else {
            self.remove_branch(item, &holders, lock)?;
            return Ok(Room::Done { reference });
        };
        Ok(match self.clean_up(CleaningUp { merged_into: &holders, ..cleaning }, lock)? {
            // What was not committed lies over the tip of the branch.
            CleanedUp::Removed { rescued, .. } => Room::Done { reference: rescued.unwrap_or(reference) },
            CleanedUp::Kept(kept) => Room::Kept(kept),
        })
    }
}
