//! Commits of other people on a pushed branch.

use std::sync::Arc;

use saihai_config::delivery::stage;
use saihai_model::{FailureClass, Outcome};

use super::Past;
use super::deliverer::{Broken, Delivering, done, failed};
use crate::Deed;
use crate::repository::TakingIn;

impl Delivering {
    /// Fetches commits that the server has beyond our push, so that they are shown, approved and merged with
    /// the rest. Returns the obstacle, if any.
    pub(super) fn take_in(&self, deed: &Deed) -> Result<Option<String>, Broken> {
        let (Some(forge), Some(destination)) = (&self.means.forge, &self.assignment.forge) else {
            return Ok(None);
        };
        if !self.was_pushed(deed)? {
            return Ok(None);
        }
        let (repository, assignment) = (&self.means.repository, &self.assignment);
        let item = assignment.item();
        let worktree = repository.worktree(&item, &assignment.worktree_root)?;
        let taking = TakingIn {
            item: &item,
            base: &assignment.base,
            url: &destination.url,
            token: Some(&forge.token),
            worktree: worktree.as_ref().filter(|worktree| worktree.path().is_dir()),
            copied: &assignment.copy_files,
        };
        Ok(repository.take_in(taking, &self.means.lock)?.map(|refusal| refusal.to_string()))
    }

    fn was_pushed(&self, deed: &Deed) -> Result<bool, Broken> {
        if self.assignment.delivered.is_some() {
            return Ok(true);
        }
        let past = Past::read(&self.means.runs.find(&deed.run)?)?;
        Ok(past.is_some_and(|past| past.deeds.text(stage::PUSH, "pushed").is_some()))
    }

    /// Handles a forge that names another commit than the approved one. The forge's API may only be behind,
    /// so this asks its git.
    pub(super) async fn head_moved(self: Arc<Self>, commit: &str) -> Result<Outcome, Broken> {
        let commit = commit.to_owned();
        let looked = tokio::task::spawn_blocking(move || {
            let (forge, destination) = self.forge()?;
            let branch = &self.assignment.branch;
            let tip = self.means.repository.tip_there(&destination.url, branch, Some(&forge.token))?;
            Ok(if tip.as_ref() == Some(&commit) { Outcome::NotYet } else { done("moved", []) })
        });
        looked.await.unwrap_or_else(|panicked| Ok(failed(FailureClass::Crashed, &panicked.to_string())))
    }
}
