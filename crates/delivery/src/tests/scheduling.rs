use std::collections::BTreeSet;

use saihai_model::{Moment, ProviderName, WorkOutcome};

use super::*;
use crate::{IssueProgress, Schedule, ScheduleInput, ScheduleStep, schedule};

/// A scene at 100 on the clock.
struct Stage {
    plan: WorkPlan,
    standings: BTreeMap<IssueNumber, IssueProgress>,
    providers: BTreeMap<IssueNumber, ProviderName>,
    paused: BTreeMap<ProviderName, Moment>,
    unpaid: BTreeSet<IssueNumber>,
    jobs: usize,
}

impl Stage {
    fn new(selected: &str, issues: &str, jobs: usize) -> Self {
        let (providers, paused, unpaid) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { plan: plan(selected, issues), standings: BTreeMap::new(), providers, paused, unpaid, jobs }
    }

    fn with(mut self, item: u32, standing: IssueProgress) -> Self {
        self.standings.insert(number(item), standing);
        self
    }

    fn ended(self, item: u32, outcome: WorkOutcome) -> Self {
        self.with(item, IssueProgress::Ended(outcome))
    }

    fn next(&self) -> Schedule {
        let Self { plan, standings, providers, paused, unpaid, jobs } = self;
        schedule(&ScheduleInput { plan, standings, providers, paused, unpaid, jobs: *jobs, now: Moment(100) })
    }

    #[track_caller]
    fn check(&self, expected: &str) {
        let next = self.next();
        let mut words: Vec<String> = next.steps.iter().map(said).collect();
        words.extend(next.wake.map(|wake| format!("wake {}", wake.0)));
        words.extend(next.over.then(|| "over".to_owned()));
        assert_eq!(words.join(", "), expected);
    }
}

fn said(step: &ScheduleStep) -> String {
    match step {
        ScheduleStep::Start(number) => format!("start {number}"),
        ScheduleStep::Continue(number) => format!("continue {number}"),
        ScheduleStep::Obstructed(number, _) => format!("obstructed {number}"),
        ScheduleStep::Without { number, because_of, outcome } => {
            format!("{number} {} because of {because_of}", outcome.word())
        }
    }
}

const FREE: &str = "1:; 2:; 3:";

#[test]
fn no_more_runs_begin_than_there_are_jobs_and_the_first_come_first() {
    Stage::new("3 1 2", FREE, 2).check("start #3, start #1");
    Stage::new("1 2 3", FREE, 2).with(1, IssueProgress::Running).check("start #2");
    Stage::new("1 2 3", FREE, 1).with(1, IssueProgress::Running).check("");
    Stage::new("", "", 4).check("over");
}

#[test]
fn a_parked_run_holds_no_job_and_goes_on_before_another_begins() {
    Stage::new("1 2", FREE, 1).with(1, IssueProgress::Parked { until: None }).check("start #2");
    let parked =
        |until| Stage::new("1 2", FREE, 1).with(2, IssueProgress::Parked { until: Some(Moment(until)) });
    parked(500).check("start #1, wake 500");
    parked(100).check("continue #2");
}

#[test]
fn a_provider_that_cannot_serve_pauses_only_its_own_items() {
    let mut stage = Stage::new("1 2", FREE, 2);
    stage.providers = [(number(1), "claude".into()), (number(2), "codex".into())].into();
    stage.paused = [("claude".into(), Moment(900))].into();
    stage.check("start #2, wake 900");
    stage.paused = [("claude".into(), Moment(100))].into();
    stage.check("start #1, start #2");
}

// I-45: a pause holds back only items not yet started; the rest of a run may need another provider, or none.
#[test]
fn a_run_that_has_begun_goes_on_though_the_provider_it_began_with_pauses() {
    let mut stage = Stage::new("1 2", FREE, 2).with(1, IssueProgress::Parked { until: Some(Moment(100)) });
    stage.providers = [(number(1), "claude".into()), (number(2), "claude".into())].into();
    stage.paused = [("claude".into(), Moment(900))].into();
    stage.check("continue #1, wake 900");
}

#[test]
fn who_cannot_be_paid_waits_for_what_the_others_leave_and_for_nothing_else() {
    let unpaid = |mut stage: Stage| {
        stage.unpaid = [number(2), number(3)].into();
        stage
    };
    unpaid(Stage::new("1 2 3", FREE, 3).with(1, IssueProgress::Running)).check("");
    let parked = IssueProgress::Parked { until: Some(Moment(50)) };
    unpaid(Stage::new("1 2 3", FREE, 3).with(1, IssueProgress::Running).with(3, parked)).check("");
    unpaid(Stage::new("1 2 3", FREE, 3)).check("start #1");
    // No run is active, so no money comes back. The items start one at a time and report it.
    let over = IssueProgress::Ended(WorkOutcome::Merged);
    unpaid(Stage::new("1 2 3", FREE, 3).with(1, over)).check("start #2");
}

#[test]
fn a_dependant_begins_when_all_is_done_waits_for_a_merge_and_is_blocked_by_a_failure() {
    let stage = || Stage::new("1 2 3", "1: 2; 2:; 3:", 3);
    stage().check("start #2, start #3");
    stage().with(2, IssueProgress::Running).check("start #3");
    for done in [WorkOutcome::Merged, WorkOutcome::NoChanges, WorkOutcome::Closed] {
        stage().ended(2, done).check("start #1, start #3");
    }
    for merge in [WorkOutcome::PrCreated, WorkOutcome::BranchReady, WorkOutcome::Waiting] {
        stage().ended(2, merge).check("#1 waiting because of #2, start #3");
    }
    for bad in [WorkOutcome::Failed, WorkOutcome::Conflict, WorkOutcome::Declined] {
        stage().ended(2, bad).check("#1 blocked because of #2, start #3");
    }
}

#[test]
fn what_blocks_an_item_blocks_all_behind_it_at_once() {
    let stage = Stage::new("1 2 3", "1: 2; 2: 3; 3: 9; 9:", 1);
    stage.check("obstructed #3, #2 blocked because of #3, #1 blocked because of #2, over");
}
