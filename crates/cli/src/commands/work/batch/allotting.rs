//! What is left of the budget of an invocation, and whose it is.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{Budget, Cost, IssueNumber, Millis, ProviderName};

use super::Batch;
use crate::commands::work::again::Before;
use crate::commands::work::over::Over;

impl Batch<'_> {
    /// What an issue may cost that is begun or gone on with now, and what is set aside for it. Those that work at the same time
    /// have equal parts; from who asks no agent any more nothing is kept.
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

    /// The issues that nothing is left for, as long as nobody gives back what was set aside for them.
    pub(super) fn unpaid(&self) -> BTreeSet<IssueNumber> {
        if !self.left().is_spent() {
            return BTreeSet::new();
        }
        let numbers = self.plan.items.iter().map(|item| item.number);
        // Who is driven and only waits has its part.
        numbers.filter(|number| !self.asks_nobody(*number) && !self.controls.contains_key(number)).collect()
    }

    /// What is neither spent nor set aside.
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

    /// Keeps what an issue has cost, and how it stands, now that it is not driven any more. `begun`: it was driven.
    pub(super) fn settle(&mut self, number: IssueNumber, over: &mut Over, begun: bool) {
        let part = self.allotted.remove(&number).unwrap_or_default();
        let driven = over.finish.is_some();
        let Some(past) = over.past.as_mut().filter(|_| driven) else {
            if begun {
                // Of one that broke off it is not known what its last turns cost: all that was set aside counts.
                let unheard = if driven { Cost::default() } else { most(&part) };
                self.settle_unread(number, over, unheard);
            }
            return;
        };
        let before = Before::GoesOn { finished: past.finished };
        // What was handed over may have been merged by a run of its own.
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

    /// Keeps what was heard of an issue whose run cannot be read: a budget that is not known to hold does not.
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

    /// Who is asked first for those that have no run yet.
    pub(super) fn providers(&self) -> BTreeMap<IssueNumber, ProviderName> {
        let has_begun = |number: &IssueNumber| matches!(self.before.get(number), Some(Before::GoesOn { .. }));
        let of = |number: IssueNumber| Some((number, self.planned.ready(number)?.1.provider()?));
        let numbers = self.plan.items.iter().map(|item| item.number);
        numbers.filter(|number| !has_begun(number)).filter_map(of).collect()
    }

    /// Agents have done their part in an issue.
    fn asks_nobody(&self, number: IssueNumber) -> bool {
        matches!(self.before.get(&number), Some(Before::GoesOn { finished: true } | Before::Told))
    }
}

/// The most that can be spent of what is bounded.
fn most(budget: &Budget) -> Cost {
    Cost {
        usd: budget.usd.unwrap_or_default(),
        tokens: budget.tokens.unwrap_or(0),
        turns: budget.turns.unwrap_or(0),
    }
}
