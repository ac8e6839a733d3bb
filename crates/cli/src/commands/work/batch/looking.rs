//! Polling for issues.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use saihai::delivery::Assignment;
use saihai_engine::work::Standing;
use saihai_model::{Issue, IssueNumber, WorkOutcome};

use super::Batch;
use super::look::Look;
use crate::commands::work::item::Told;
use crate::commands::work::over::Over;
use crate::commands::work::selection::{Listing, Unlisted};
use crate::error::Error;
use crate::report::count;
use crate::{diagnostics, driving, time};

impl Batch<'_> {
    /// Lists issues again on a separate thread.
    pub(super) fn look_again(&mut self) {
        if let Some(look) = &mut self.look {
            look.under_way = true;
        }
        let (ground, selection, tell) = (Arc::clone(&self.ground), self.selection.clone(), self.tell.clone());
        std::thread::spawn(move || {
            let look = AssertUnwindSafe(|| driving::block_on(async { Ok(selection.list(&ground).await) }));
            // A panic is reported like any other failed poll.
            let listed = catch_unwind(look).unwrap_or_else(|_| Err(Error::unavailable("a bug")));
            let listed = listed.unwrap_or_else(|error| Err(Unlisted::Error(error)));
            tell.send(Told::Listed(Box::new(listed))).unwrap_or(());
        });
    }

    pub(super) fn listed(&mut self, listed: Result<Listing, Unlisted>) {
        let Some(look) = &mut self.look else { return };
        match listed {
            Err(unlisted) => {
                if look.unanswered(time::now()) {
                    self.take_frame_away();
                    let why = match unlisted {
                        Unlisted::Wrong(found) => {
                            let text = diagnostics::human(&found, &self.streams.err);
                            self.streams.err.send(&text);
                            format!("{} in files of issues", count(found.len() as u64, "error"))
                        }
                        Unlisted::Error(Error::Refused(refusal)) => refusal.message,
                        Unlisted::Error(Error::ClosedPipe | Error::Said(_)) => {
                            "it cannot be said why".to_owned()
                        }
                    };
                    self.streams.warning(&format!("issues cannot be listed: {why}; it is tried again"));
                }
            }
            Ok(listing) => {
                if look.answered(time::now()) {
                    self.take_frame_away();
                    self.streams.note("issues can be listed again");
                }
                self.reconsider(&listing);
                self.take_in(listing);
            }
        }
    }

    /// Restarts issues that waited, and failed issues whose text has changed (I-76).
    pub(super) fn reconsider(&mut self, listing: &Listing) {
        for item in &listing.plan.items {
            let Some(issue) = listing.issues.get(&item.number) else { continue };
            let text = Assignment::text_of(issue);
            let changed = self.begun_with.get(&item.number).is_some_and(|known| *known != text);
            let standing = self.standings.get(&item.number).copied();
            if self.planned.ready(item.number).is_none() {
                let is_known = matches!(standing, Some(Standing::Ended(_))) && !changed;
                if is_known || !self.plan_later(issue) {
                    continue;
                }
            }
            // The next poll also lists its dependencies.
            let resolves = self.planned.ready(item.number).is_some_and(|(_, ready)| ready.resolve);
            self.selection.resolving.extend(resolves.then_some(item.number));
            let is_overtaken = listing.overtaken.contains(&item.number);
            match standing {
                // Each attempt is journaled, so an issue that waits for a person or the forge is retried with
                // backoff. An issue that was merged in the meantime continues at once.
                Some(Standing::Ended(WorkOutcome::Waiting | WorkOutcome::Unknown))
                    if !is_overtaken && self.waits_outside(item.number) =>
                {
                    if self.is_due(item.number) {
                        self.standings.remove(&item.number);
                    }
                }
                // These continue when selected again. A conflict without a moved branch is only reported (I-64).
                Some(Standing::Ended(
                    WorkOutcome::Waiting
                    | WorkOutcome::Blocked
                    | WorkOutcome::Elsewhere
                    | WorkOutcome::Conflict
                    | WorkOutcome::Unknown,
                )) => {
                    self.refusals.forget(item.number);
                    self.standings.remove(&item.number);
                }
                // A provider that keeps failing is not asked at every poll.
                Some(Standing::Ended(WorkOutcome::Provider)) if !changed => {
                    if self.is_due(item.number) {
                        self.standings.remove(&item.number);
                    }
                }
                Some(Standing::Ended(_)) if changed => {
                    self.standings.remove(&item.number);
                    self.begun_with.remove(&item.number);
                    self.before.remove(&item.number);
                    self.again.insert(item.number);
                }
                Some(Standing::Ended(_) | Standing::Running | Standing::Parked { .. }) | None => {}
            }
        }
    }

    /// Returns true if the issue's backoff has elapsed.
    fn is_due(&mut self, number: IssueNumber) -> bool {
        let every = self.look.as_ref().map_or(self.ground.work.every, Look::pace);
        self.refusals.is_due(number, every, time::now())
    }

    /// Returns true if something external blocks the issue's run, such as a missing review.
    fn waits_outside(&self, number: IssueNumber) -> bool {
        self.results.iter().any(|result| result.issue == number && result.outside)
    }

    /// Plans an issue that appeared after the start. An error is reported once and stays its result until the issue
    /// changes. Other issues are not affected.
    fn plan_later(&mut self, issue: &Issue) -> bool {
        let Err(error) = self.planned.plan(issue, &self.ground, self.flags, self.streams) else {
            return true;
        };
        self.take_frame_away();
        let why = match &error {
            Error::Refused(refusal) => refusal.message.clone(),
            Error::Said(_) | Error::ClosedPipe => "its definition cannot be used".to_owned(),
        };
        error.say(self.streams);
        self.begun_with.insert(issue.number, Assignment::text_of(issue));
        self.issues.insert(issue.number, issue.clone());
        self.end(issue.number, &Over::told(WorkOutcome::Failed, why));
        false
    }
}
