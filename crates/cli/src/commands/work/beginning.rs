//! The start of work on an issue: its base, existing work, and possible obstacles.

use std::sync::Arc;

use saihai::Driver;
use saihai::delivery::{Assignment, Delivered, Past};
use saihai::repository::{Base, CleaningUp, Following, ItemLock, Ours, Refusal, Room};
use saihai_config::ForgeKind;
use saihai_config::issues::clean_title;
use saihai_connect::forge::PullRequestState;
use saihai_model::{WorkOutcome, WorkReason};
use tokio::sync::mpsc::UnboundedSender;

use super::ground::refused_by_forge;
use super::handed_over;
use super::item::{Job, Told, as_item, not_begun};
use super::over::Over;
use super::seen::Seen;
use crate::error::Error;

/// Prefix of the reason for a nested git repository among the files.
const EMBEDDED: &str = "embedded-repository";

impl Job {
    pub(super) async fn begin(
        &self,
        lock: &Arc<ItemLock>,
        known: bool,
        last: Option<&Past>,
        tell: &UnboundedSender<Told>,
    ) -> Result<Result<Driver, Over>, Error> {
        let ground = &self.ground;
        let Ok(title) = clean_title(&self.issue.title) else {
            return Ok(Err(Over::told(WorkOutcome::Failed, WorkReason::BlankTitle.word())));
        };
        let prefix = &self.ready.work.branch_prefix;
        if let Some(over) = self.undeliverable(known, last).await? {
            return Ok(Err(over));
        }
        let mut delivered = None;
        if !known && !self.retry {
            let found = handed_over::pull_request(ground, &self.issue, prefix, &self.base).await;
            match found.map_err(|error| refused_by_forge(&error))? {
                Some(found)
                    if found.state == PullRequestState::Open
                        && found.base == self.base
                        && self.ready.merges(ground) =>
                {
                    delivered = Some(Delivered::default());
                }
                Some(found) => {
                    let branch = self.issue.number.branch(prefix);
                    return Ok(Err(handed_over::told(&found, branch, &self.base)));
                }
                None => {}
            }
        }
        if !known && !self.reworks && self.has_landed()? {
            return Ok(Err(Over { acted: false, ..Over::told(WorkOutcome::Merged, "before") }));
        }
        let base = self.base()?;
        if let Some(why) = self.lacking(&base)? {
            return Ok(Err(Over::told(WorkOutcome::Waiting, why)));
        }
        if let Some(refusal) = self.follow(&base, known)? {
            return Ok(Err(Over::told(WorkOutcome::Blocked, format!("not-ours: {refusal}"))));
        }
        if delivered.is_none() && self.is_left_to_hand_over(known, &base)? {
            delivered = Some(Delivered { only_pushed: true, ..Delivered::default() });
        }
        if let Some(last) = last.filter(|last| self.conflicted_here(last))
            && let Some(over) = self.make_room(last, lock, tell)?
        {
            return Ok(Err(over));
        }
        // An existing branch keeps its starting point, even if its base has new commits.
        let branch = self.issue.number.branch(prefix);
        let base = ground.repository.forked(base, &branch).map_err(not_begun)?;
        let assignment = Assignment { delivered, ..self.assignment(title, base)? };
        self.start(assignment, lock, known, tell).await.map(Ok)
    }

    /// Returns true if another clone has pushed finished work without a pull request. Only finished work is pushed,
    /// so no agent runs again (I-72).
    fn is_left_to_hand_over(&self, known: bool, base: &Base) -> Result<bool, Error> {
        let ground = &self.ground;
        if ground.forge == ForgeKind::Local || known || self.retry || self.reworks || self.adopt {
            return Ok(false);
        }
        let item = as_item(&self.issue, &self.ready.work.branch_prefix);
        let (url, token) = (ground.url()?, ground.push_token());
        ground.repository.is_pushed_by_us(&item, base, &url, token.as_ref()).map_err(not_begun)
    }

    /// Returns true if `--retry` repeats a local conflict. The old starting point would only conflict again.
    fn conflicted_here(&self, last: &Past) -> bool {
        let is_conflict = last.came().is_some_and(|came| came.outcome == WorkOutcome::Conflict);
        self.retry && is_conflict && last.assignment.forge.is_none() && self.ground.forge == ForgeKind::Local
    }

    /// Moves the old branch aside, so that work restarts at the current base. Returns the obstacle, if any.
    fn make_room(
        &self,
        last: &Past,
        lock: &Arc<ItemLock>,
        tell: &UnboundedSender<Told>,
    ) -> Result<Option<Over>, Error> {
        let (repository, assignment) = (&self.ground.repository, &last.assignment);
        let item = assignment.item();
        let found = repository.worktree(&item, &assignment.worktree_root).map_err(not_begun)?;
        let cleaning = found.as_ref().map(|worktree| CleaningUp {
            worktree,
            base: &assignment.base,
            copied: &assignment.copy_files,
            merged_into: &[],
        });
        match repository.make_room(&item, cleaning, lock).map_err(not_begun)? {
            Room::Nothing => Ok(None),
            Room::Done { reference } => {
                let kept = format!("what conflicted is kept: `git worktree add DIR {reference}`");
                let note = format!("begins anew at `{}`; {kept}", self.base);
                // Without a receiver this note does not matter.
                tell.send(Told::Seen { number: self.issue.number, seen: Seen::Note(note) }).unwrap_or(());
                Ok(None)
            }
            Room::Kept(kept) => {
                let reason = format!("`{}` stays: {kept}", assignment.worktree.display());
                Ok(Some(Over {
                    acted: false,
                    past: Some(last.clone()),
                    ..Over::told(WorkOutcome::Blocked, reason)
                }))
            }
        }
    }

    /// Returns the obstacle to delivery that an earlier run found, if it still exists. This avoids paying for work
    /// that cannot be delivered.
    async fn undeliverable(&self, known: bool, last: Option<&Past>) -> Result<Option<Over>, Error> {
        let (ground, work) = (&self.ground, &self.ready.work);
        if let Some(came) = last.and_then(Past::came)
            && came.reason.as_ref().is_some_and(|reason| reason.starts_with(EMBEDDED))
        {
            let item = as_item(&self.issue, &work.branch_prefix);
            let found = ground.repository.worktree(&item, &work.worktree_root).map_err(not_begun)?;
            let found = found.filter(|worktree| worktree.path().is_dir());
            if let Some(worktree) = found {
                let base = ground.repository.forked(self.base()?, &item.branch()).map_err(not_begun)?;
                if ground.repository.embeds(&worktree, &base, &work.copy_files).map_err(not_begun)? {
                    return Ok(Some(Over { acted: false, past: last.cloned(), ..Over::came(came) }));
                }
            }
        }
        if (known || self.retry) && self.ready.opens_requests(ground) {
            let branch = self.issue.number.branch(&work.branch_prefix);
            let closed = handed_over::closed_by_person(ground, &branch, &self.base).await;
            let closed = closed.map_err(|error| refused_by_forge(&error))?;
            return Ok(closed.map(|found| handed_over::told(&found, branch, &self.base)));
        }
        Ok(None)
    }

    /// Fetches the branch from the server, or restarts it if it is merged. Returns a refusal if it is not usable.
    fn follow(&self, base: &Base, known: bool) -> Result<Option<Refusal>, Error> {
        let ground = &self.ground;
        let item = as_item(&self.issue, &self.ready.work.branch_prefix);
        if ground.forge == ForgeKind::Local {
            if self.reworks {
                ground.repository.begin_anew(&item, base).map_err(not_begun)?;
            }
            return Ok(None);
        }
        let token = ground.push_token();
        let ours = Ours::by(self.adopt, known);
        let url = ground.url()?;
        let following = Following { item: &item, base, url: &url, token: token.as_ref(), ours };
        let followed = match self.reworks {
            true => ground.repository.set_aside(following),
            false => ground.repository.follow(following),
        };
        followed.map_err(not_begun)
    }

    /// Returns the start of the branch: the current base on the server, or the local one (I-13).
    fn base(&self) -> Result<Base, Error> {
        let ground = &self.ground;
        let found = match ground.forge {
            ForgeKind::Local => ground.repository.beginning(&self.base),
            ForgeKind::Github => {
                ground.repository.fetch(&ground.url()?, &self.base, ground.push_token().as_ref())
            }
        };
        found.map_err(not_begun)
    }
}
