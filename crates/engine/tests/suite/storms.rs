//! Many things at once: limits across resumes, budgets under parallel turns, duplicate facts, cancelling at any moment.

use proptest::collection::vec;
use proptest::prelude::*;
use saihai_engine::{Run, replay};
use saihai_model::*;

use crate::support::build::{action, gate};
use crate::support::{Sim, flow};

/// Number of work requests so far, including attempts.
fn asked(sim: &Sim) -> usize {
    sim.log.iter().filter(|one| !one.contains('#')).count()
}

// T-63, P-50
#[test]
fn t63_a_limit_of_n_asks_n_times_and_completion_in_the_last_round_is_success() {
    for limit in [1, 2, 100] {
        let definition = format!("a: on -> b, ok -> COMPLETE; b: on -> a, ok -> COMPLETE; max {limit}");
        let mut sim = Sim::started(flow(&definition));
        for round in 0..limit {
            if round % 7 == 3 {
                sim.crash_and_resume();
            }
            sim.tag(if round % 2 == 0 { "a" } else { "b" }, Some(0));
        }
        assert_eq!(sim.outcome(), "parked: max_iterations", "limit {limit}");
        sim.crash_and_resume();
        assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("parked: max_iterations", limit));
        let repeated = sim.decisions().iter().filter(|one| matches!(one, Decision::Repeated { .. })).count();
        assert_eq!(asked(&sim) - repeated, limit as usize);
        sim.resume(Some(limit + 1));
        sim.tag(if limit % 2 == 0 { "a" } else { "b" }, Some(1));
        assert_eq!(sim.outcome(), "completed: complete");
    }
}

/// An event in a storm: a turn replies at a price, a turn fails at a price, the process dies.
#[derive(Debug, Clone, Copy)]
enum Gust {
    Reply { which: usize, cost: u64 },
    Fail { which: usize, cost: u64 },
    Crash,
}

fn gusts() -> impl Strategy<Value = Vec<Gust>> {
    let gust = prop_oneof![
        8 => (0..32_usize, 0..5_000_u64).prop_map(|(which, cost)| Gust::Reply { which, cost }),
        2 => (0..32_usize, 0..5_000_u64).prop_map(|(which, cost)| Gust::Fail { which, cost }),
        1 => Just(Gust::Crash),
    ];
    vec(gust, 1..120)
}

fn replied(request: &Request, cost: u64, tag: usize) -> Fact {
    Fact::Replied(Box::new(Replied {
        call: request.call.clone(),
        provider: None,
        text: "done".into(),
        spoken: None,
        messages: Vec::new(),
        session: None,
        usage: Usage::default(),
        cost: Some(Usd(cost)),
        tools_used: Vec::new(),
        metered: None,
        denied: 0,
        duration: Millis(1),
        revision: None,
        so_far: None,
        cached: false,
        tree: None,
        reading: Reading { tag: Some(Tag { number: Some(tag), line: 1 }), ..Reading::default() },
    }))
}

fn failed(request: &Request, cost: u64) -> Fact {
    let failure = Failure::new(FailureClass::Transient, "503");
    Fact::Failed(Box::new(CallFailed {
        cost: Some(Usd(cost)),
        ..CallFailed::new(request.call.clone(), failure)
    }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    // P6 of the promises
    #[test]
    fn t60_a_hard_budget_is_passed_by_no_more_than_what_was_in_flight(
        gusts in gusts(),
        width in prop::sample::select(vec![1_usize, 4, 32]),
        budget in 1..60_000_u64,
        price in prop::option::of(1..3_000_u64),
    ) {
        // No call here costs more than this.
        let dearest = 5_000;
        let turns: Vec<String> = (0..width).map(|turn| format!("t{turn}")).collect();
        let mut workflow = flow(&format!("a[{}]: any(again) -> a; max 100000", turns.join(" ")));
        workflow.limits.budget.usd = Some(Usd(budget));
        let Some(Activity::Turns { turns, .. }) = workflow.stages.get_mut("a").map(|stage| &mut stage.does) else {
            unreachable!("it asks agents")
        };
        turns.iter_mut().for_each(|turn| turn.price = price.map(Usd));
        let mut sim = Sim::started(workflow);
        let mut allowed = None;
        for gust in gusts {
            let asked_before = sim.log.len();
            let was_over = sim.run.spent().usd > Usd(budget);
            match gust {
                Gust::Reply { which, cost } | Gust::Fail { which, cost } if !sim.asks.is_empty() => {
                    let request = sim.asks.remove(which % sim.asks.len());
                    let in_flight = dearest * (sim.asks.len() as u64 + 1);
                    let before = sim.run.spent().usd.0;
                    sim.at += 40_000;
                    sim.fact(if matches!(gust, Gust::Reply { .. }) { replied(&request, cost, 0) } else { failed(&request, cost) });
                    if sim.run.spent().usd > Usd(budget) && allowed.is_none() {
                        allowed = Some(before + in_flight);
                    }
                }
                Gust::Crash => sim.crash_and_resume(),
                Gust::Reply { .. } | Gust::Fail { .. } => {}
            }
            sim.at += 40_000;
            sim.fact(Fact::Woke);
            prop_assert!(!was_over || sim.log.len() == asked_before, "asked beyond the budget");
        }
        if let Some(allowed) = allowed {
            prop_assert!(sim.run.spent().usd.0 <= allowed, "{:?} > {allowed}", sim.run.spent());
        }
        prop_assert_eq!(replay(&sim.workflow, &sim.records).expect("the same engine decides the same"), sim.run);
    }

    // Invariant 2: facts about finished calls change nothing, even exact duplicates.
    #[test]
    fn the_same_news_twice_changes_nothing(tags in vec(0..3_usize, 1..40), twice in vec(any::<bool>(), 40)) {
        let mut sim = Sim::started(storm());
        for (index, tag) in tags.iter().enumerate() {
            let Some(fact) = next_fact(&mut sim, *tag) else { break };
            sim.at += 10;
            sim.fact(fact.clone());
            if twice[index % twice.len()] {
                let before = sim.run.clone();
                sim.fact(fact);
                prop_assert_eq!(&sim.run, &before);
            }
        }
        sim.prove_replay();
    }

    // Cancelling waits only for running calls.
    #[test]
    fn a_run_can_be_cancelled_at_any_moment(
        tags in vec(0..3_usize, 0..40),
        held in 0..4_u8,
        replies in vec(0..3_u8, 8),
    ) {
        let mut sim = Sim::started(storm());
        for tag in tags {
            let Some(fact) = next_fact(&mut sim, tag) else { break };
            sim.at += 10;
            sim.fact(fact);
        }
        match held {
            1 => sim.fact(Fact::Interrupted { by: "test".to_owned() }),
            2 => sim.fact(Fact::StorageFailed { call: None, path: "/x".to_owned(), message: "full".to_owned() }),
            3 => {
                sim.asks.clear();
                sim.performs.clear();
                sim.fact(Fact::Reopened);
            }
            _ => {}
        }
        let over = sim.run.ending().cloned();
        sim.fact(Fact::Cancelled { by: "test".to_owned() });
        let busy: Vec<CallId> = sim.run.busy().cloned().collect();
        prop_assert!(busy.iter().all(|call| sim.stops.contains(call)), "{busy:?} {:?}", sim.stops);
        for how in replies.into_iter().cycle() {
            if !end_one(&mut sim, how) {
                break;
            }
        }
        prop_assert_eq!(sim.run.ending(), Some(&over.unwrap_or(Ending::Cancelled)));
        let end: Run = sim.run.clone();
        sim.crash_and_resume();
        sim.fact(Fact::Cancelled { by: "again".to_owned() });
        prop_assert_eq!(sim.run, end);
    }
}

/// Parallel turns, a gate and an action in a ring.
fn storm() -> Workflow {
    let mut workflow =
        flow("a[x y z]: all(l0) -> gate, any(l1) -> act, any(l2) -> a; b: l0 -> a, l1 -> COMPLETE; max 50");
    workflow.stages.insert("gate".into(), gate("b", Wants::YesNo));
    workflow
        .stages
        .insert("act".into(), action(Action::Push, Once::LookUpFirst, &[("ok", "b"), ("x", "gate")]));
    workflow
}

/// Returns the next fact that can happen by itself.
fn next_fact(sim: &mut Sim, choice: usize) -> Option<Fact> {
    if !sim.asks.is_empty() {
        let request = sim.asks.remove(choice % sim.asks.len());
        let mut fact = replied(&request, 10, choice);
        if let (Fact::Replied(reply), true) = (&mut fact, choice == 1) {
            let found = ReportLocation {
                file: "r.md".to_owned(),
                how: ReportClue::Only,
                start: 0,
                end: 1,
                unclosed: false,
            };
            reply.reading.reports.push(found);
        }
        return Some(fact);
    }
    if !sim.performs.is_empty() {
        let performance = sim.performs.remove(choice % sim.performs.len());
        let label = Some(["ok", "x", "ok"][choice].into());
        let outcome = Outcome::Done { label, output: Default::default() };
        return Some(Fact::Performed { call: performance.call, outcome });
    }
    let gate = sim.gates.pop()?;
    let answer = Answer { call: gate.call, by: AnsweredBy::Person, label: "yes".into(), text: None };
    Some(Fact::Answered(answer))
}

/// Ends one running call: by its reply, or by a stop.
fn end_one(sim: &mut Sim, how: u8) -> bool {
    sim.at += 10;
    if let Some(request) = sim.asks.pop() {
        let stopped = Failure::new(FailureClass::Cancelled, "stopped");
        match how {
            0 => sim.fail_to(&request, stopped),
            1 => sim.fact(replied(&request, 10, 0)),
            _ => sim.fail_to(&request, Failure::new(FailureClass::Crashed, "killed")),
        }
        return true;
    }
    let Some(performance) = sim.performs.pop() else { return false };
    let done = Outcome::Done { label: Some("ok".into()), output: Default::default() };
    let stopped = Outcome::Failed(Failure::new(FailureClass::Cancelled, "stopped"));
    let is_report = performance.action.does == Action::SaveReports;
    let outcome = if how == 0 && !is_report { stopped } else { done };
    sim.fact(Fact::Performed { call: performance.call, outcome });
    true
}
