use std::collections::BTreeSet;

use proptest::prelude::*;
use saihai_model::{Moment, ProviderName, WorkOutcome};

use super::*;
use crate::{IssueProgress, ScheduleInput, ScheduleStep, schedule};

/// Issues 1 to 8, each depending on some of a higher number, so that there are no cycles.
fn issues() -> impl Strategy<Value = BTreeMap<IssueNumber, KnownIssue>> {
    let item = |from: u32| {
        let needed = proptest::collection::vec(from + 1..=9, 0..3);
        (needed, proptest::bool::weighted(0.1), proptest::bool::weighted(0.3)).prop_map(
            move |(needed, done, resolves)| {
                let depends_on = needed.into_iter().map(number).collect();
                (
                    number(from),
                    KnownIssue::Found(IssueDependencies {
                        depends_on,
                        done,
                        resolves,
                        ..IssueDependencies::default()
                    }),
                )
            },
        )
    };
    let all: Vec<_> = (1..=8).map(item).collect();
    all.prop_map(|issues| issues.into_iter().chain([(number(9), KnownIssue::Missing)]).collect())
}

fn ways() -> impl Strategy<Value = DependencyPolicy> {
    prop_oneof![
        Just(DependencyPolicy::Strict),
        Just(DependencyPolicy::Resolve),
        Just(DependencyPolicy::Ignore)
    ]
}

/// A world in which runs end, park and continue at random.
struct World {
    plan: WorkPlan,
    unpaid: BTreeSet<IssueNumber>,
    standings: BTreeMap<IssueNumber, IssueProgress>,
    now: u64,
    jobs: usize,
    chance: Vec<u8>,
    events: Vec<String>,
}

impl World {
    fn next_chance(&mut self) -> u8 {
        // Without random numbers left, every run succeeds, so that the world comes to rest.
        self.chance.pop().unwrap_or(0)
    }

    /// Follows the schedule, and then lets one run change. Returns true when all is over.
    fn turn(&mut self) -> bool {
        let (providers, paused) = (BTreeMap::new(), BTreeMap::<ProviderName, Moment>::new());
        let scene = ScheduleInput {
            plan: &self.plan,
            standings: &self.standings,
            providers: &providers,
            paused: &paused,
            unpaid: &self.unpaid,
            jobs: self.jobs,
            now: Moment(self.now),
        };
        let next = schedule(&scene);
        assert_eq!(schedule(&scene), next, "the same scene, the same answer");
        for step in next.steps {
            self.events.push(format!("{step:?}"));
            match step {
                ScheduleStep::Start(number) => {
                    self.dependencies_are_done(number);
                    self.standings.insert(number, IssueProgress::Running);
                }
                ScheduleStep::Continue(number) => {
                    self.standings.insert(number, IssueProgress::Running);
                }
                ScheduleStep::Obstructed(number, _) => {
                    self.standings.insert(number, IssueProgress::Ended(WorkOutcome::Blocked));
                }
                ScheduleStep::Without { number, outcome, .. } => {
                    self.standings.insert(number, IssueProgress::Ended(outcome));
                }
            }
        }
        let running: Vec<IssueNumber> = self.running().collect();
        assert!(running.len() <= self.jobs, "{} runs at once", running.len());
        let chance = self.next_chance();
        if let Some(number) = running.get(usize::from(chance) % running.len().max(1)) {
            let standing = self.after(chance);
            self.standings.insert(*number, standing);
        } else if let Some(wake) = next.wake {
            self.now = wake.0;
        }
        next.over
    }

    fn after(&mut self, chance: u8) -> IssueProgress {
        match chance % 7 {
            0 | 1 => IssueProgress::Ended(WorkOutcome::Merged),
            2 => IssueProgress::Ended(WorkOutcome::PrCreated),
            3 => IssueProgress::Ended(WorkOutcome::Failed),
            4 => IssueProgress::Ended(WorkOutcome::NoChanges),
            _ => IssueProgress::Parked { until: Some(Moment(self.now + u64::from(chance))) },
        }
    }

    fn running(&self) -> impl Iterator<Item = IssueNumber> {
        let running =
            self.standings.iter().filter(|(_, standing)| matches!(standing, IssueProgress::Running));
        running.map(|(number, _)| *number)
    }

    fn dependencies_are_done(&self, number: IssueNumber) {
        for needed in &self.plan.item(number).expect("a planned item").after {
            let standing = self.standings.get(needed);
            let done = matches!(
                standing,
                Some(IssueProgress::Ended(
                    WorkOutcome::Merged | WorkOutcome::NoChanges | WorkOutcome::Closed
                ))
            );
            assert!(done, "{number} began while {needed} was {standing:?}");
        }
    }
}

proptest! {
    #[test]
    fn never_more_than_jobs_run_nothing_begins_before_its_dependency_is_done_and_all_comes_to_an_end(
        known in issues(),
        dependencies in ways(),
        jobs in 1..4_usize,
        unpaid in proptest::collection::vec(1..6_u32, 0..4),
        chance in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let selected: Vec<IssueNumber> = known.keys().copied().filter(|one| one.get() < 6).collect();
        let plan = WorkPlan::resolve(&selected, &known, dependencies).expect("no circles");
        let count = plan.items.len();
        // Each turn uses a random number, ends a run, or moves the clock to a run's wake-up.
        let most = 3 * (chance.len() + count) + 3;
        let begin = |chance: &[u8]| World {
            plan: plan.clone(),
            unpaid: unpaid.iter().copied().map(number).collect(),
            standings: BTreeMap::new(),
            now: 0,
            jobs,
            chance: chance.to_vec(),
            events: Vec::new(),
        };
        let run = |mut world: World| {
            let turns = (0..most).find(|_| world.turn());
            (turns.is_some(), world)
        };
        let (over, world) = run(begin(&chance));
        prop_assert!(over, "not over after {} turns: {:?}", most, world.standings);
        prop_assert_eq!(world.standings.len(), count);
        let (_, again) = run(begin(&chance));
        prop_assert_eq!(again.events, world.events);
    }

    #[test]
    fn a_plan_has_every_open_selected_issue_once_and_dependencies_before_those_who_need_them(
        known in issues(),
        dependencies in ways(),
        selected in proptest::collection::vec(1..=8_u32, 0..8),
    ) {
        let selected: Vec<IssueNumber> = selected.into_iter().map(number).collect();
        let plan = WorkPlan::resolve(&selected, &known, dependencies).expect("no circles");
        let mut before = BTreeSet::new();
        for item in &plan.items {
            prop_assert!(item.after.iter().all(|needed| before.contains(needed)), "{:?}", item);
            prop_assert!(before.insert(item.number), "{} stands twice", item.number);
            prop_assert_eq!(item.added, !selected.contains(&item.number));
        }
        let is_open = |number: &&IssueNumber| matches!(&known[*number], KnownIssue::Found(item) if !item.done);
        prop_assert!(selected.iter().filter(is_open).all(|number| before.contains(number)));
    }
}
