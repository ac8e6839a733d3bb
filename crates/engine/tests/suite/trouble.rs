//! Sessions, fallbacks and money when attempts fail.

use saihai_model::*;

use crate::support::{Sim, flow};

/// Returns the only turn of a workflow's first stage.
fn first_turn(workflow: &mut Workflow) -> &mut Turn {
    let Activity::Turns { turns, .. } = &mut workflow.stages[0].does else { unreachable!("it asks agents") };
    &mut turns[0]
}

fn raise(budget: Budget) -> Fact {
    Fact::Resumed(Raise { budget, ..go_on() })
}

//
#[test]
fn a_final_failure_is_a_label_if_a_rule_names_it() {
    let mut workflow = flow("review[a b]: any(error) -> mend, all(ok) -> COMPLETE; mend: done -> COMPLETE");
    let mut parked = Sim::started(workflow.clone());
    parked.fail("a", FailureClass::Refused);
    parked.tag("b", Some(1));
    assert!(parked.run.hold().is_some(), "without the label the run waits");
    let Activity::Turns { turns, .. } = &mut workflow.stages[0].does else { unreachable!() };
    turns.iter_mut().for_each(|turn| turn.reads.failed = Some("error".into()));
    let mut sim = Sim::started(workflow);
    sim.fail("a", FailureClass::Refused);
    assert!(sim.run.hold().is_none());
    sim.tag("b", Some(1));
    assert_eq!(sim.log.last().map(String::as_str), Some("mend/mend"));
    sim.prove_replay();
}

#[test]
fn a_retry_continues_the_stages_session_and_never_that_of_the_failed_attempt() {
    // C-38
    let mut workflow = flow("plan: again -> plan, ok -> COMPLETE");
    first_turn(&mut workflow).session = SessionPolicy::Continue("agent".into());
    let mut sim = Sim::started(workflow);
    sim.tag("plan", Some(0));
    let request = sim.take_ask("plan");
    let prompt = request.draft.clone();
    sim.at += 10;
    sim.fact(Fact::Failed(Box::new(CallFailed {
        session: Some("begun and lost".to_owned()),
        ..CallFailed::new(request.call.clone(), Failure::new(FailureClass::Crashed, "x"))
    })));
    sim.sleep();
    assert_eq!(sim.asks[0].session.as_deref(), Some("session of plan.1.1.1"));
    assert!(prompt.is_some() && sim.asks[0].draft.is_none(), "the same prompt is sent again");
    sim.prove_replay();
}

#[test]
fn a_fallback_begins_without_a_session_and_the_next_turn_goes_back_to_its_own_provider() {
    // C-35, Connections case 24
    let mut workflow = flow("plan: again -> plan, ok -> COMPLETE");
    first_turn(&mut workflow).session = SessionPolicy::Continue("agent".into());
    workflow.retry.fallback = vec![("script".into(), "other".into())];
    let mut sim = Sim::started(workflow);
    sim.tag("plan", Some(0));
    sim.fail("plan", FailureClass::Transient);
    for _ in 0..3 {
        sim.sleep();
        assert_eq!(sim.asks[0].provider, "script".into());
        assert_eq!(sim.asks[0].session.as_deref(), Some("session of plan.1.1.1"));
        sim.fail("plan", FailureClass::Transient);
    }
    assert_eq!((sim.asks[0].provider.clone(), sim.asks[0].session.clone()), ("other".into(), None));
    let handed_over = Decision::Retry {
        call: sim.asks[0].call.clone(),
        attempt: 5,
        not_before: Moment(sim.at),
        provider: Some("other".into()),
        new_session: true,
    };
    assert!(sim.decisions().contains(&&handed_over), "it is recorded");
    sim.tag("plan", Some(0));
    assert_eq!((sim.asks[0].provider.clone(), sim.asks[0].session.clone()), ("script".into(), None));
    sim.prove_replay();
}

#[test]
fn a_rate_limit_without_a_time_comes_to_its_sixth_attempt_and_the_fallback_without_parking() {
    // C-33, C-35
    for seed in 0..500 {
        let mut workflow = flow("plan: ok -> COMPLETE");
        workflow.retry.fallback = vec![("script".into(), "other".into())];
        let mut sim = Sim::seeded(workflow, seed, Retry::SHORT_WAIT);
        for attempt in 1..=6 {
            assert_eq!(sim.asks[0].provider, "script".into(), "attempt {attempt}");
            sim.fail("plan", FailureClass::RateLimited);
            if attempt < 6 {
                sim.sleep();
            }
        }
        assert_eq!(sim.asks[0].provider, "other".into(), "seed {seed}");
        sim.prove_replay();
    }
}

#[test]
fn a_fallback_that_cannot_hold_the_agent_to_its_permission_is_passed_over() {
    // C-35, Connections case 24
    let mut workflow = flow("plan: ok -> COMPLETE");
    workflow.retry.fallback = vec![("script".into(), "loose".into()), ("loose".into(), "firm".into())];
    workflow.retry.unfit = vec![("loose".into(), Permission::ReadOnly)];
    let mut sim = Sim::started(workflow.clone());
    sim.fail("plan", FailureClass::Auth);
    assert_eq!(sim.asks[0].provider, "firm".into());
    let unfit = Decision::Unfit { call: sim.asks[0].call.clone(), provider: "loose".into() };
    assert!(sim.decisions().contains(&&unfit));
    sim.prove_replay();
    // It may enforce other permissions than this one.
    first_turn(&mut workflow).permission = Permission::Full;
    let mut sim = Sim::started(workflow.clone());
    sim.fail("plan", FailureClass::Auth);
    assert_eq!(sim.asks[0].provider, "loose".into());
    // Without a fallback left, the run waits.
    workflow.retry.fallback.pop();
    first_turn(&mut workflow).permission = Permission::ReadOnly;
    let mut sim = Sim::started(workflow);
    sim.fail("plan", FailureClass::Auth);
    assert_eq!(sim.outcome(), "parked: provider");
    sim.prove_replay();
}

#[test]
fn only_the_troubles_of_one_provider_are_handed_to_another() {
    // C-35
    for class in FailureClass::ALL {
        let mut workflow = flow("plan: ok -> COMPLETE");
        workflow.retry.fallback = vec![("script".into(), "other".into())];
        workflow.retry.transient = 1;
        workflow.retry.rate_limited = 1;
        workflow.retry.crashed = 1;
        let mut sim = Sim::started(workflow);
        sim.fail("plan", class);
        let handed_over = sim.asks.first().is_some_and(|ask| ask.provider == "other".into());
        let expected = match class {
            FailureClass::Transient
            | FailureClass::RateLimited
            | FailureClass::Quota
            | FailureClass::Auth
            | FailureClass::Missing
            | FailureClass::Crashed => true,
            FailureClass::BadRequest
            | FailureClass::SessionLost
            | FailureClass::Refused
            | FailureClass::Cancelled => false,
        };
        assert_eq!(handed_over, expected, "{class:?}");
    }
}

#[test]
fn an_ask_knows_the_money_left_next_to_running_calls() {
    // C-60, K-35
    let mut workflow = flow("plan: ok -> review; review[a b]: all(ok) -> COMPLETE");
    workflow.limits.budget.usd = Some(Usd(1_000));
    let mut sim = Sim::started(workflow.clone());
    assert_eq!(sim.asks[0].money, Some(Usd(1_000)));
    sim.tag("plan", Some(0));
    // A turn has cost 100, so this much is reserved for the first of the two.
    let left: Vec<_> = sim.asks.iter().map(|ask| ask.money).collect();
    assert_eq!(left, [Some(Usd(900)), Some(Usd(800))]);
    workflow.limits.budget = Budget::default();
    assert_eq!(Sim::started(workflow).asks[0].money, None);
}

#[test]
fn a_provider_that_stops_where_the_money_ends_parks_the_run_for_its_budget() {
    // C-32, C-60, P6
    let mut workflow = flow("plan: ok -> COMPLETE");
    workflow.limits.budget.usd = Some(Usd(1_000));
    workflow.retry.fallback = vec![("script".into(), "other".into())];
    let mut sim = Sim::started(workflow);
    let request = sim.take_ask("plan");
    let failure = Failure { by_budget: true, ..Failure::new(FailureClass::Refused, "over the budget") };
    sim.fact(Fact::Failed(Box::new(CallFailed {
        cost: Some(Usd(1_000)),
        ..CallFailed::new(request.call.clone(), failure)
    })));
    assert_eq!(sim.outcome(), "parked: budget");
    sim.resume(None);
    assert_eq!(sim.outcome(), "parked: budget", "all is spent, also where no turn was ever settled");
    sim.fact(raise(Budget { usd: Some(Usd(2_000)), ..Budget::default() }));
    assert_eq!((sim.asks[0].call.clone(), sim.asks[0].money), (request.call, Some(Usd(1_000))));
    sim.tag("plan", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn turns_that_are_asked_together_reserve_together() {
    // K-35, T-60
    let mut workflow = flow("review[a b c]: all(ok) -> COMPLETE");
    let Activity::Turns { turns, .. } = &mut workflow.stages[0].does else { unreachable!("it asks agents") };
    turns.iter_mut().for_each(|turn| turn.price = Some(Usd(400)));
    workflow.limits.budget.usd = Some(Usd(1_000));
    let mut sim = Sim::started(workflow);
    assert_eq!(sim.open(), ["review.1.1.1 Work", "review.1.1.2 Work"], "a third does not fit");
    assert_eq!(sim.outcome(), "holding: budget");
    // They cost less than their price, so the rest of the reservation is free again.
    sim.tag("a", Some(0));
    sim.tag("b", Some(0));
    assert_eq!(sim.outcome(), "parked: budget");
    sim.resume(None);
    sim.tag("c", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn a_failed_attempt_costs_what_it_cost_and_is_no_turn() {
    // C-26
    let mut sim = Sim::started(flow("plan: ok -> COMPLETE"));
    let request = sim.take_ask("plan");
    sim.fact(Fact::Failed(Box::new(CallFailed {
        usage: Usage { input: Some(70), output: Some(7), ..Usage::default() },
        cost: Some(Usd(300)),
        ..CallFailed::new(request.call, Failure::new(FailureClass::Crashed, "x"))
    })));
    assert_eq!(sim.run.spent(), Cost { usd: Usd(300), tokens: 77, turns: 0 });
}

#[test]
fn a_wait_that_is_sat_out_ends_at_the_same_instant_after_a_restart() {
    // C-34, Connections case 22
    let mut sim = Sim::started(flow("plan: ok -> COMPLETE"));
    let request = sim.take_ask("plan");
    let until = Moment(sim.at + 3 * 3_600_000);
    let failure = Failure { until: Some(until), ..Failure::new(FailureClass::Quota, "used up") };
    sim.fail_to(&request, failure);
    assert_eq!(sim.run.hold(), Some(&Hold::Until(until, FailureClass::Quota)));
    sim.at += 3_600_000;
    let patient = Raise { patience: Millis(6 * 3_600_000), ..go_on() };
    sim.fact(Fact::Resumed(patient));
    assert_eq!((sim.asks.len(), sim.wakes.last()), (0, Some(&until)));
    sim.at = until.0 - 1;
    sim.fact(Fact::Woke);
    assert_eq!(sim.asks.len(), 0, "not a moment earlier");
    sim.at += 1;
    sim.fact(Fact::Woke);
    assert_eq!(sim.asks.len(), 1);
    sim.prove_replay();
}

fn go_on() -> Raise {
    Raise { rounds: None, budget: Budget::default(), runtime: None, patience: Millis(60_000), now: false }
}

/// Two turns with a deadline of twenty seconds in total, whose failures are results.
fn hurried() -> Workflow {
    let mut workflow = flow("main[a b]: always -> COMPLETE");
    workflow.retry.after_deadline = false;
    workflow.retry.fallback = vec![("script".into(), "other".into())];
    let Activity::Turns { turns, on_failure, .. } = &mut workflow.stages[0].does else { unreachable!() };
    *on_failure = OnFailure::KeepGoing;
    for turn in turns {
        turn.within = Some(Millis::seconds(20));
    }
    workflow
}

#[test]
fn a_turn_with_a_deadline_for_everything_waits_no_longer_than_that() {
    //
    let mut workflow = hurried();
    workflow.retry.fallback.clear();
    let mut sim = Sim::started(workflow);
    assert_eq!(sim.asks[0].timeout, Some(Millis::seconds(20)));
    sim.at += 8_000;
    sim.fail("a", FailureClass::RateLimited);
    sim.sleep();
    let is_a = |ask: &&Request| ask.turn == Some("a".into());
    let left = sim.asks.iter().find(is_a).and_then(|ask| ask.timeout);
    assert!(left.is_some_and(|left| left < Millis::seconds(8)), "{left:?}");
    // The next wait would be ten seconds: too long, and no reason to park.
    sim.fail("a", FailureClass::RateLimited);
    sim.tag("b", None);
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn a_turn_that_timed_out_gets_no_other_provider() {
    //
    let mut sim = Sim::started(hurried());
    let request = sim.take_ask("a");
    sim.at += 20_000;
    let late = Failure { by_deadline: true, ..Failure::new(FailureClass::Transient, "late") };
    sim.fact(Fact::Failed(Box::new(CallFailed::new(request.call, late))));
    assert_eq!(sim.asks.len(), 1, "only `b` is still asked");
    sim.fail("b", FailureClass::Auth);
    assert_eq!(sim.asks[0].provider, "other".into(), "another trouble is handed over");
    sim.prove_replay();
}

#[test]
fn nobodys_time_runs_out_while_a_run_is_parked() {
    //
    let mut sim = Sim::started(hurried());
    let calls: Vec<CallId> = sim.asks.drain(..).map(|ask| ask.call).collect();
    sim.fact(Fact::Interrupted { by: "ctrl-c".to_owned() });
    for call in calls {
        let stopped = Failure::new(FailureClass::Cancelled, "stopped");
        sim.fact(Fact::Failed(Box::new(CallFailed::new(call, stopped))));
    }
    assert_eq!(sim.outcome(), "parked: interrupt");
    sim.at += 3_600_000;
    sim.fact(Fact::Resumed(go_on()));
    assert_eq!(sim.asks[0].timeout, Some(Millis::seconds(20)));
    sim.prove_replay();
}
