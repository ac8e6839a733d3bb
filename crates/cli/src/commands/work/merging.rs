//! Merging work that was delivered by an earlier invocation without a merge. The definition does not run again.

use std::sync::Arc;

use saihai::Driver;
use saihai::delivery::{Assignment, Delivered, Past};
use saihai::repository::ItemLock;
use saihai_model::WorkOutcome;
use tokio::sync::mpsc::UnboundedSender;

use super::item::{Job, Told, not_begun};
use super::over::Over;
use crate::error::Error;

impl Job {
    /// Returns true if delivered work is to be merged now. The destination stays the same: local work does not move
    /// to a forge, or the reverse.
    pub(super) fn merges(&self, past: &Past) -> bool {
        let came = past.came().map(|came| came.outcome);
        let is_handed_over = matches!(came, Some(WorkOutcome::PrCreated | WorkOutcome::BranchReady));
        let is_there =
            past.assignment.forge.is_some() == (self.ground.forge == saihai_config::ForgeKind::Github);
        is_handed_over && is_there && self.ready.merges(&self.ground)
    }

    /// Merges the work of an earlier invocation after its delivery, if this invocation asks for a merge.
    pub(super) async fn merge_as_well(
        &self,
        over: Over,
        tell: &UnboundedSender<Told>,
    ) -> Result<Over, Error> {
        let both = over.past.as_ref().zip(over.lock.as_ref());
        let Some((past, lock)) = both.filter(|(past, _)| self.merges(past) && !self.is_stopped()) else {
            return Ok(over);
        };
        let driver = self.merge(past.clone(), lock, tell).await?;
        self.drive(driver, Arc::clone(lock), tell).await
    }

    /// Starts a run that only merges. Base and names come from the earlier run, the merge settings from this
    /// invocation.
    pub(super) async fn merge(
        &self,
        past: Past,
        lock: &Arc<ItemLock>,
        tell: &UnboundedSender<Told>,
    ) -> Result<Driver, Error> {
        let run = Some(past.directory.id().to_owned());
        let then = past.assignment;
        let item = then.item();
        let now = self.assignment(then.title, then.base)?;
        let elsewhere =
            self.ground.repository.begun_elsewhere(&item, &then.worktree_root, &now.worktree_root);
        let (worktree, worktree_root) = match elsewhere.map_err(not_begun)? {
            Some(_) => (now.worktree.clone(), now.worktree_root.clone()),
            None => (then.worktree, then.worktree_root),
        };
        let assignment = Assignment {
            text: then.text,
            branch: then.branch,
            branch_prefix: then.branch_prefix,
            worktree,
            worktree_root,
            copy_files: then.copy_files,
            language: then.language,
            delivered: Some(Delivered { run, only_pushed: false }),
            ..now
        };
        self.start(assignment, lock, true, tell).await
    }
}
