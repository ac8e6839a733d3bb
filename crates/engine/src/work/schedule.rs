//! What is begun now.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{IssueNumber, Moment, ProviderName, WorkOutcome};

use super::{Obstacle, Plan, Planned};

/// How an item stands. One that nothing is said of has not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its run is driven; only this one holds a job.
    Running,
    /// It waits for a person, for a merge, or for a rate limit to pass, and nobody is kept from working meanwhile.
    Parked {
        /// When it can go on by itself, if it can.
        until: Option<Moment>,
    },
    /// It is over, for now.
    Ended(WorkOutcome),
}

/// Everything that decides what is begun now.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    pub plan: &'a Plan,
    /// How the items stand that have begun.
    pub standings: &'a BTreeMap<IssueNumber, Standing>,
    /// Who is asked first for each item whose run is yet to be made, where that is known.
    pub providers: &'a BTreeMap<IssueNumber, ProviderName>,
    /// The providers of which nothing can be asked before some time.
    pub paused: &'a BTreeMap<ProviderName, Moment>,
    /// Items that there is no money for, unless those that run leave some of theirs.
    pub unpaid: &'a BTreeSet<IssueNumber>,
    /// How many runs are driven at the same time.
    pub jobs: usize,
    pub now: Moment,
}

/// What is to be done with an item now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Start(IssueNumber),
    /// Its parked run goes on by itself.
    Continue(IssueNumber),
    /// It can never begin, for it depends on what is not there or was not selected.
    Obstructed(IssueNumber, Obstacle),
    /// It is over without having begun, because of another item that is over.
    Without {
        number: IssueNumber,
        because_of: IssueNumber,
        outcome: WorkOutcome,
    },
}

/// What is to be done now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Next {
    pub steps: Vec<Step>,
    /// When something may be to be done that is not now, if nothing else happens.
    pub wake: Option<Moment>,
    pub over: bool,
}

/// What is to be done now. The same scene always gives the same answer.
pub fn schedule(scene: &Scene<'_>) -> Next {
    let running = scene.standings.values().filter(|standing| matches!(standing, Standing::Running)).count();
    let mut scheduling = Scheduling {
        scene,
        free: scene.jobs.saturating_sub(running),
        ended: BTreeMap::new(),
        next: Next::default(),
    };
    // What has begun goes on before anything else begins: it is nearer to its end.
    for item in &scene.plan.items {
        scheduling.go_on(item);
    }
    for item in &scene.plan.items {
        scheduling.begin(item);
    }
    let is_over = |item: &Planned| scheduling.outcome(item.number).is_some();
    scheduling.next.over = scene.plan.items.iter().all(is_over);
    scheduling.next
}

struct Scheduling<'a> {
    scene: &'a Scene<'a>,
    /// How many more runs can be driven.
    free: usize,
    /// Items that are over by what was decided just now.
    ended: BTreeMap<IssueNumber, WorkOutcome>,
    next: Next,
}

impl Scheduling<'_> {
    fn go_on(&mut self, item: &Planned) {
        let Some(Standing::Parked { until: Some(until) }) = self.scene.standings.get(&item.number) else {
            return;
        };
        // A provider that pauses keeps nobody from going on: what is left may be for another, or for none. Who asks it all the
        // same is told how long it pauses, and waits.
        if *until > self.scene.now {
            self.wake_at(*until);
        } else if self.is_paid(item.number) && self.takes_a_job() {
            self.next.steps.push(Step::Continue(item.number));
        }
    }

    fn begin(&mut self, item: &Planned) {
        if self.scene.standings.contains_key(&item.number) {
            return;
        }
        if let Some(obstacle) = item.obstacle {
            self.next.steps.push(Step::Obstructed(item.number, obstacle));
            self.ended.insert(item.number, obstacle.outcome());
            return;
        }
        let mut ready = true;
        for needed in &item.after {
            match self.outcome(*needed).map(consequence) {
                Some(None) => {}
                Some(Some(outcome)) => {
                    self.next.steps.push(Step::Without { number: item.number, because_of: *needed, outcome });
                    self.ended.insert(item.number, outcome);
                    return;
                }
                None => ready = false,
            }
        }
        if ready && self.may_ask(item.number) && self.is_paid(item.number) && self.takes_a_job() {
            self.next.steps.push(Step::Start(item.number));
        }
    }

    /// Whether the provider of an item can be asked; where it cannot, it can be later.
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

    /// Whether there is money for an item. As long as somebody runs, some of theirs may be left.
    fn is_paid(&self, number: IssueNumber) -> bool {
        let mut standings = self.scene.standings.values();
        let runs = standings.any(|standing| matches!(standing, Standing::Running));
        let begins = || self.next.steps.iter().any(|step| matches!(step, Step::Start(_) | Step::Continue(_)));
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
            Some(Standing::Ended(outcome)) => Some(*outcome),
            Some(Standing::Running | Standing::Parked { .. }) => None,
            None => self.ended.get(&number).copied(),
        }
    }
}

/// What an outcome means for those who depend on the item: nothing is in their way, or this comes of them too.
fn consequence(outcome: WorkOutcome) -> Option<WorkOutcome> {
    match outcome {
        WorkOutcome::Merged | WorkOutcome::NoChanges | WorkOutcome::Closed => None,
        // It may still be merged by somebody; the next time shows.
        WorkOutcome::PrCreated | WorkOutcome::BranchReady | WorkOutcome::Waiting | WorkOutcome::Elsewhere => {
            Some(WorkOutcome::Waiting)
        }
        WorkOutcome::Declined
        | WorkOutcome::Cancelled
        | WorkOutcome::Limited
        | WorkOutcome::Provider
        | WorkOutcome::Failed
        | WorkOutcome::Blocked
        | WorkOutcome::Conflict
        | WorkOutcome::Unknown => Some(WorkOutcome::Blocked),
    }
}
