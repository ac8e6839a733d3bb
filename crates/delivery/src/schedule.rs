//! Chooses the items to start now. Pure.
//!
//! Deliberately absent: a stored queue. The next item follows from the plan and from the progress of the items. A process
//! that replaces a dead one therefore needs only their journals.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{IssueNumber, Moment, ProviderName, WorkOutcome};

use crate::{DependencyObstacle, PlannedIssue, WorkPlan};

/// State of an item. An item without a state has not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueProgress {
    /// Its run is active; only this state occupies a job.
    Running,
    /// It waits for a person, a merge or a rate limit, and other items can run meanwhile.
    Parked {
        /// Time at which it can continue by itself, if any.
        until: Option<Moment>,
    },
    /// It is over, for now.
    Ended(WorkOutcome),
}

/// All inputs of the schedule.
#[derive(Debug, Clone, Copy)]
pub struct ScheduleInput<'a> {
    pub plan: &'a WorkPlan,
    /// States of the items that have started.
    pub standings: &'a BTreeMap<IssueNumber, IssueProgress>,
    /// First provider of each item whose run does not exist yet, if known.
    pub providers: &'a BTreeMap<IssueNumber, ProviderName>,
    /// Providers that accept no calls before some time.
    pub paused: &'a BTreeMap<ProviderName, Moment>,
    /// Items that the budget does not cover, unless running items leave some of theirs.
    pub unpaid: &'a BTreeSet<IssueNumber>,
    /// Maximum number of runs at the same time.
    pub jobs: usize,
    pub now: Moment,
}

/// An action on an item now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleStep {
    Start(IssueNumber),
    Continue(IssueNumber),
    /// Never start it: it depends on an issue that is missing or was not selected.
    Obstructed(IssueNumber, DependencyObstacle),
    /// End it without a start, because another item has ended.
    Without {
        number: IssueNumber,
        because_of: IssueNumber,
        outcome: WorkOutcome,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    pub steps: Vec<ScheduleStep>,
    /// Time at which more may become possible, if nothing else happens.
    pub wake: Option<Moment>,
    pub over: bool,
}

/// Chooses the actions to take now. The same scene always gives the same answer.
pub fn schedule(scene: &ScheduleInput<'_>) -> Schedule {
    let running =
        scene.standings.values().filter(|standing| matches!(standing, IssueProgress::Running)).count();
    let mut scheduling = Scheduler {
        scene,
        free: scene.jobs.saturating_sub(running),
        ended: BTreeMap::new(),
        next: Schedule::default(),
    };
    // Continue started items before new ones: they are closer to the end.
    for item in &scene.plan.items {
        scheduling.go_on(item);
    }
    for item in &scene.plan.items {
        scheduling.begin(item);
    }
    let is_over = |item: &PlannedIssue| scheduling.outcome(item.number).is_some();
    scheduling.next.over = scene.plan.items.iter().all(is_over);
    scheduling.next
}

struct Scheduler<'a> {
    scene: &'a ScheduleInput<'a>,
    free: usize,
    /// Items that ended because of the decisions of this pass.
    ended: BTreeMap<IssueNumber, WorkOutcome>,
    next: Schedule,
}

impl Scheduler<'_> {
    fn go_on(&mut self, item: &PlannedIssue) {
        let Some(IssueProgress::Parked { until: Some(until) }) = self.scene.standings.get(&item.number)
        else {
            return;
        };
        // A paused provider stops no parked run: its next call may go to another provider or to none. A call to the
        // paused provider learns the length of the pause and waits.
        if *until > self.scene.now {
            self.wake_at(*until);
        } else if self.is_paid(item.number) && self.takes_a_job() {
            self.next.steps.push(ScheduleStep::Continue(item.number));
        }
    }

    fn begin(&mut self, item: &PlannedIssue) {
        if self.scene.standings.contains_key(&item.number) {
            return;
        }
        if let Some(obstacle) = item.obstacle {
            self.next.steps.push(ScheduleStep::Obstructed(item.number, obstacle));
            self.ended.insert(item.number, obstacle.outcome());
            return;
        }
        let mut ready = true;
        for needed in &item.after {
            match self.outcome(*needed).map(consequence) {
                Some(None) => {}
                Some(Some(outcome)) => {
                    self.next.steps.push(ScheduleStep::Without {
                        number: item.number,
                        because_of: *needed,
                        outcome,
                    });
                    self.ended.insert(item.number, outcome);
                    return;
                }
                None => ready = false,
            }
        }
        if ready && self.may_ask(item.number) && self.is_paid(item.number) && self.takes_a_job() {
            self.next.steps.push(ScheduleStep::Start(item.number));
        }
    }

    /// Returns true if the provider of an item accepts calls. If not, requests a wake-up for later.
    fn may_ask(&mut self, number: IssueNumber) -> bool {
        let paused = self.scene.providers.get(&number).and_then(|provider| self.scene.paused.get(provider));
        match paused {
            Some(until) if *until > self.scene.now => {
                self.wake_at(*until);
                false
            }
            Some(_) | None => true,
        }
    }

    /// Returns true if the budget lets an item run. An unpaid item waits while another runs, because money may be left
    /// over. Once no other runs, it starts and reports the missing budget.
    fn is_paid(&self, number: IssueNumber) -> bool {
        let mut standings = self.scene.standings.values();
        let runs = standings.any(|standing| matches!(standing, IssueProgress::Running));
        let begins = || {
            self.next
                .steps
                .iter()
                .any(|step| matches!(step, ScheduleStep::Start(_) | ScheduleStep::Continue(_)))
        };
        !self.scene.unpaid.contains(&number) || !(runs || begins())
    }

    fn takes_a_job(&mut self) -> bool {
        let free = self.free > 0;
        self.free = self.free.saturating_sub(1);
        free
    }

    fn wake_at(&mut self, moment: Moment) {
        self.next.wake = Some(self.next.wake.map_or(moment, |wake| wake.min(moment)));
    }

    fn outcome(&self, number: IssueNumber) -> Option<WorkOutcome> {
        match self.scene.standings.get(&number) {
            Some(IssueProgress::Ended(outcome)) => Some(*outcome),
            Some(IssueProgress::Running | IssueProgress::Parked { .. }) => None,
            None => self.ended.get(&number).copied(),
        }
    }
}

/// Returns the outcome that an item's outcome forces on its dependents. None if it does not block them.
fn consequence(outcome: WorkOutcome) -> Option<WorkOutcome> {
    match outcome {
        WorkOutcome::Merged | WorkOutcome::NoChanges | WorkOutcome::Closed => None,
        // A person may still merge it; the next run finds out.
        WorkOutcome::PrCreated | WorkOutcome::BranchReady | WorkOutcome::Waiting | WorkOutcome::Elsewhere => {
            Some(WorkOutcome::Waiting)
        }
        WorkOutcome::Declined
        | WorkOutcome::Cancelled
        | WorkOutcome::Paused
        | WorkOutcome::Limited
        | WorkOutcome::Provider
        | WorkOutcome::Failed
        | WorkOutcome::Blocked
        | WorkOutcome::Conflict
        | WorkOutcome::Unknown => Some(WorkOutcome::Blocked),
    }
}
