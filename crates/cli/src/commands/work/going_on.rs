//! Continuing an earlier run.

use std::sync::Arc;

use saihai::delivery::{Assignment, Past};
use saihai::repository::{ItemLock, Refusal};
use saihai::{Clock, Driver};
use saihai_config::delivery::stage;
use saihai_model::{Budget, Raise};

use super::again::goes_on;
use super::item::{Job, deliverer, not_begun};
use crate::error::Error;

impl Job {
    /// Returns true if the run may continue. Only agents cost money, so finished work is delivered even with a spent
    /// budget.
    pub(super) fn may_go_on(&self, past: &Past) -> bool {
        !self.spent || past.finished
    }

    /// Returns the reason why the run cannot continue in this checkout, if any.
    pub(super) fn begun_elsewhere(&self, past: &Past) -> Result<Option<Refusal>, Error> {
        if !goes_on(past, &self.ground) {
            return Ok(None);
        }
        let (assignment, now) = (&past.assignment, &self.ready.work.worktree_root);
        let found =
            self.ground.repository.begun_elsewhere(&assignment.item(), &assignment.worktree_root, now);
        found.map_err(not_begun)
    }

    /// Returns a driver that continues the run.
    pub(super) fn resume(&self, past: Past, lock: &Arc<ItemLock>) -> Result<Driver, Error> {
        let placed = past.deeds.has(stage::WORKTREE);
        let workflow = past.directory.workflow()?;
        let own = past.assignment.own_budget.clone().unwrap_or_else(|| workflow.limits.budget.clone());
        let budget = allowed(&own, &self.budget.more(past.cost, past.time));
        // This is the only frozen setting that a person can fix by changing the settings.
        let assignment = Assignment { verify: self.ready.work.verify.clone(), ..past.assignment };
        let deliverer = deliverer(&self.ground, &workflow, assignment, lock, true)?;
        if placed && !past.deeds.has(stage::CLEAN_UP) {
            deliverer.restore(&past.deeds).map_err(Error::usage)?;
        }
        let raise = Raise {
            rounds: None,
            budget,
            runtime: None,
            patience: self.ground.settings.short_wait,
            now: false,
        };
        let driver = Driver::resume(past.directory, raise, self.ground.connections(), Clock::system())?;
        Ok(driver.reaching(Arc::new(deliverer)))
    }
}

/// Returns the total budget of a run for the keys that this invocation bounds. Its part replaces the budget of an
/// earlier invocation. The run's own budget still applies. Keys without a bound in this invocation keep their earlier
/// value.
fn allowed(own: &Budget, part: &Budget) -> Budget {
    let both = own.and(part);
    Budget {
        usd: part.usd.and(both.usd),
        tokens: part.tokens.and(both.tokens),
        turns: part.turns.and(both.turns),
        time: part.time.and(both.time),
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::Usd;

    use super::*;

    #[test]
    fn a_later_budget_takes_the_place_of_an_earlier_one_within_what_holds_for_the_run_itself() {
        let turns = |turns| Budget { turns: Some(turns), ..Budget::default() };
        assert_eq!(allowed(&Budget::default(), &turns(9)), turns(9));
        assert_eq!(allowed(&turns(5), &turns(9)), turns(5));
        assert_eq!(allowed(&turns(5), &Budget::default()), Budget::default());
        let money = Budget { usd: Some(Usd(3)), ..Budget::default() };
        assert_eq!(allowed(&money, &turns(9)), turns(9), "of money nothing is said now");
    }
}
