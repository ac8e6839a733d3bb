//! The budget of an invocation and its distribution over issues.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{Budget, Cost, IssueNumber, Millis, ProviderName};

use super::Batch;
use crate::commands::work::again::Before;
use crate::commands::work::over::Over;

impl Batch<'_> {
    /// Returns the budget of an issue that starts or continues now, and the reserved amount. Concurrent issues get
    /// equal parts. Nothing is reserved for an issue whose agents have finished.
    pub(super) fn part(&self, number: IssueNumber) -> (Budget, Budget) {
        let left = self.left();
        if self.asks_nobody(number) {
            return (left, Budget::default());
        }
        let free = (self.ground.work.jobs as usize).saturating_sub(self.allotted.len()).max(1);
        let waiting =
            self.plan.items.iter().filter(|item| !self.standings.contains_key(&item.number)).count();
        let part = left.divided(free.min(waiting.max(1)) as u64);
        (part.clone(), part)
    }

    /// Lists the issues without any budget left. Unused reservations of other issues can change that.
    pub(super) fn unpaid(&self) -> BTreeSet<IssueNumber> {
        if !self.left().is_spent() {
            return BTreeSet::new();
        }
        let numbers = self.plan.items.iter().map(|item| item.number);
        // A driven issue that only waits keeps its reservation.
        numbers.filter(|number| !self.asks_nobody(*number) && !self.controls.contains_key(number)).collect()
    }

    /// Returns the budget that is neither spent nor reserved.
    fn left(&self) -> Budget {
        let sum = |(cost, time): (Cost, Millis), (more, longer): &(Cost, Millis)| {
            (cost.plus(*more), Millis(time.0.saturating_add(longer.0)))
        };
        let (cost, driven) = self.spent.values().fold((Cost::default(), Millis(0)), sum);
        let mut left = self.ground.work.budget.less(cost, driven);
        for taken in self.allotted.values() {
            left = left.less(most(taken), taken.time.unwrap_or(Millis(0)));
        }
        left
    }

    /// Records the cost and state of an issue that is no longer driven. `begun`: it was driven.
    pub(super) fn settle(&mut self, number: IssueNumber, over: &mut Over, begun: bool) {
        let part = self.allotted.remove(&number).unwrap_or_default();
        let driven = over.finish.is_some();
        let Some(past) = over.past.as_mut().filter(|_| driven) else {
            if begun {
                // After a crash the cost of the last turns is unknown, so the full reservation counts as spent.
                let unheard = if driven { Cost::default() } else { most(&part) };
                self.settle_unread(number, over, unheard);
            }
            return;
        };
        let before = Before::GoesOn { finished: past.finished };
        // A separate run may have merged the delivered work.
        let runs =
            self.issues.get(&number).and_then(|issue| self.ground.past(issue).ok()).unwrap_or_default();
        let earlier = runs.iter().filter(|run| run.directory.id() != past.directory.id());
        for run in earlier.filter(|run| self.begun.contains(run.directory.id())) {
            past.cost = past.cost.plus(run.cost);
            past.time = Millis(past.time.0.saturating_add(run.time.0));
        }
        self.spent.insert(number, (past.cost, past.time));
        self.before.insert(number, before);
    }

    /// Records the known cost of an issue whose run is unreadable. A budget that cannot be verified counts as
    /// exceeded.
    fn settle_unread(&mut self, number: IssueNumber, over: &mut Over, unheard: Cost) {
        let (known, time) = self.spent.get(&number).copied().unwrap_or((Cost::default(), Millis(0)));
        let (heard, known) = (self.board.cost(number), known.plus(unheard));
        let cost = Cost {
            usd: heard.usd.max(known.usd),
            tokens: heard.tokens.max(known.tokens),
            turns: heard.turns.max(known.turns),
        };
        let time = Millis(self.board.time(number).0.max(time.0));
        over.heard = Some((heard, time));
        self.spent.insert(number, (cost, time));
        self.before.insert(number, Before::Told);
    }

    /// Returns the first provider of each issue without a run.
    pub(super) fn providers(&self) -> BTreeMap<IssueNumber, ProviderName> {
        let has_begun = |number: &IssueNumber| matches!(self.before.get(number), Some(Before::GoesOn { .. }));
        let of = |number: IssueNumber| Some((number, self.planned.ready(number)?.1.provider()?));
        let numbers = self.plan.items.iter().map(|item| item.number);
        numbers.filter(|number| !has_begun(number)).filter_map(of).collect()
    }

    /// Returns true if the agents of an issue have finished.
    fn asks_nobody(&self, number: IssueNumber) -> bool {
        matches!(self.before.get(&number), Some(Before::GoesOn { finished: true } | Before::Told))
    }
}

/// Returns the maximum cost that the budget allows, for its bounded keys.
fn most(budget: &Budget) -> Cost {
    Cost {
        usd: budget.usd.unwrap_or_default(),
        tokens: budget.tokens.unwrap_or(0),
        turns: budget.turns.unwrap_or(0),
    }
}
