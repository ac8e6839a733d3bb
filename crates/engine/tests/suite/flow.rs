//! Rules, questions, limits, failures and holds on small flows.

use crate::support::build::{action, gate};
use crate::support::sim::text_of;
use crate::support::{Sim, flow};
use saihai_model::*;

/// Drives a flow by replies `name` (no tag), `name=N` (tag N), in order. Compares the requests and the outcome.
fn check(definition: &str, replies: &[&str], outcome: &str) -> Sim {
    let mut sim = Sim::started(flow(definition));
    for reply in replies {
        let (name, tag) = match reply.split_once('=') {
            Some((name, tag)) => (name, Some(tag.parse().expect("a number"))),
            None => (*reply, None),
        };
        sim.tag(name, tag);
    }
    assert_eq!(sim.outcome(), outcome, "asked: {:?}", sim.log);
    sim.prove_replay();
    sim
}

#[test]
fn a_tag_chooses_the_rule_without_a_question() {
    // P-40, P-45
    let sim = check("plan: done -> COMPLETE, stuck -> ABORT", &["plan=0"], "completed: complete");
    assert_eq!(sim.path(), ["plan -(tag)-> complete"]);
    check("plan: done -> COMPLETE, stuck -> ABORT", &["plan=1"], "failed: abort");
}

#[test]
fn without_a_tag_exactly_one_question_is_asked_and_costs_no_iteration() {
    // P-41, case 6
    let sim =
        check("plan: done -> COMPLETE, stuck -> ABORT", &["plan", "plan#judge=0"], "completed: complete");
    assert_eq!(sim.log, ["plan/plan", "plan#judge"]);
    assert_eq!(sim.path(), ["plan -(judge)-> complete"]);
    assert_eq!(sim.run.iteration(), 1);
}

#[test]
fn a_question_answered_with_none_is_no_match_and_is_not_repeated() {
    // P-44, case 7
    let sim = check("plan: done -> COMPLETE, stuck -> ABORT", &["plan", "plan#judge"], "failed: no_match");
    assert_eq!(sim.log, ["plan/plan", "plan#judge"]);
}

#[test]
fn a_review_loop_is_stopped_by_its_iteration_limit_and_goes_on_when_it_is_raised() {
    // P-50, case 34
    let mut sim = check(
        "plan: ok -> review; review: needs_fix -> plan, ok -> COMPLETE; max 4",
        &["plan=0", "review=0", "plan=0", "review=0"],
        "parked: max_iterations",
    );
    sim.resume(None);
    assert_eq!(sim.outcome(), "parked: max_iterations", "nothing was raised");
    sim.resume(Some(6));
    sim.tag("plan", Some(0));
    sim.tag("review", Some(1));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn completion_in_the_last_allowed_iteration_is_completion() {
    // P-50, case 34
    check("plan: ok -> do; do: ok -> COMPLETE; max 2", &["plan=0", "do=0"], "completed: complete");
}

#[test]
fn parallel_turns_are_asked_at_once_and_judged_each_by_its_own_question() {
    // P-32, P-33, cases 10 and 15
    let definition = "review[a b]: all(ok) -> COMPLETE, any(ng) -> ABORT";
    let sim = check(definition, &["b=1", "a=0"], "failed: abort");
    assert_eq!(sim.log, ["review/a", "review/b"]);
    assert_eq!(sim.run.iteration(), 1);
    let sim = check(definition, &["a", "b=0", "review#judge=0"], "completed: complete");
    assert_eq!(sim.path(), ["review -(aggregate)-> complete"]);
}

#[test]
fn a_plain_rule_of_a_parallel_stage_asks_once_and_only_when_reached() {
    // P-43, case 16
    let definition = "review[a b]: all(ok) -> COMPLETE, any(hm) -> review, ?other -> ABORT";
    let sim = check(definition, &["a=0", "b=0"], "completed: complete");
    assert_eq!(sim.log, ["review/a", "review/b"]);
    let sim = check(
        "review[a b]: all(ok ng) -> COMPLETE, ?other -> ABORT",
        &["a=1", "b=0", "review#judge=0"],
        "failed: abort",
    );
    assert_eq!(sim.log, ["review/a", "review/b", "review#judge"]);
}

#[test]
fn a_failed_sibling_is_tried_again_alone() {
    // P-34, case 17
    let mut sim = Sim::started(flow("review[a b c]: all(ok) -> COMPLETE"));
    sim.tag("a", Some(0));
    sim.fail("b", FailureClass::Transient);
    sim.tag("c", Some(0));
    sim.sleep();
    sim.fail("b", FailureClass::Transient);
    sim.sleep();
    sim.tag("b", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    assert_eq!(sim.log, ["review/a", "review/b", "review/c", "review/b", "review/b"]);
    sim.prove_replay();
}

#[test]
fn a_sibling_that_finally_fails_parks_the_run_and_resume_asks_only_it() {
    // P-34, case 18
    let mut sim = Sim::started(flow("review[a b c]: all(ok) -> COMPLETE"));
    sim.fail("b", FailureClass::Auth);
    assert_eq!(sim.outcome(), "holding: provider", "the siblings still finish");
    sim.tag("a", Some(0));
    sim.tag("c", Some(0));
    assert_eq!(sim.outcome(), "parked: provider");
    sim.resume(None);
    assert_eq!(sim.open(), ["review.1.1.2 Work"]);
    sim.tag("b", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn reports_are_saved_before_the_exit_and_also_while_a_sibling_holds_the_run() {
    // P-31, P-34, case 18
    let mut sim = Sim::started(flow("review[a b]: all(ok) -> COMPLETE"));
    sim.fail("b", FailureClass::Auth);
    let found =
        ReportLocation { file: "a.md".to_owned(), how: ReportClue::Only, start: 0, end: 5, unclosed: false };
    let tag = Some(Tag { number: Some(0), line: 1 });
    sim.reply("a", Reading { reports: vec![found], tag, ..Reading::default() });
    assert_eq!(sim.performs.len(), 1, "the report of the one that replied");
    sim.perform("saved");
    assert_eq!(sim.outcome(), "parked: provider");
    sim.resume(None);
    sim.tag("b", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn a_report_that_cannot_be_written_parks_the_run_and_is_saved_again_without_asking() {
    // P-55
    let mut sim = Sim::started(flow("plan: ok -> COMPLETE"));
    let found = ReportLocation {
        file: "plan.md".to_owned(),
        how: ReportClue::Only,
        start: 0,
        end: 5,
        unclosed: false,
    };
    let tag = Some(Tag { number: Some(0), line: 1 });
    sim.reply("plan", Reading { reports: vec![found], tag, ..Reading::default() });
    let call = Some(sim.performs.remove(0).call);
    sim.fact(Fact::StorageFailed { call, path: "/reports".to_owned(), message: "full".to_owned() });
    assert_eq!(sim.outcome(), "parked: storage");
    sim.resume(None);
    assert!(sim.asks.is_empty());
    sim.perform("saved");
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn a_finished_turn_is_never_asked_again_after_a_crash() {
    // P-58, T-20, T-21
    let mut sim = Sim::started(flow("review[a b c]: all(ok) -> COMPLETE, any(ng) -> ABORT"));
    sim.tag("b", Some(0));
    sim.crash_and_resume();
    assert_eq!(sim.log, ["review/a", "review/b", "review/c", "review/a", "review/c"]);
    sim.tag("a", None);
    sim.tag("c", Some(0));
    sim.crash_and_resume();
    assert_eq!(sim.log[5..], ["review#judge", "review#judge"], "only the question is repeated");
    sim.tag("review#judge", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    let repeated = sim.decisions().iter().filter(|d| matches!(d, Decision::Repeated { .. })).count();
    assert_eq!(repeated, 3);
    sim.prove_replay();
}

#[test]
fn a_gate_parks_the_run_and_its_text_reaches_the_next_prompt() {
    // P-46, case 39
    let mut workflow = flow("plan: unclear -> ask, ok -> COMPLETE; build: ok -> COMPLETE");
    workflow.stages.insert("ask".into(), gate("build", Wants::Text { max_chars: 100 }));
    let mut sim = Sim::started(workflow);
    sim.tag("plan", Some(0));
    assert_eq!(sim.outcome(), "parked: person");
    assert_eq!(sim.run.iteration(), 1, "waiting costs no iteration");
    sim.answer("answered", Some("use tabs"));
    let prompt = sim.asks[0].draft.as_ref().map(crate::support::sim::text_of).unwrap_or_default();
    assert_eq!(prompt, "build\nthe task\nreply to plan.1.1.1\n- use tabs");
    sim.tag("build", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn a_turn_that_was_decided_on_but_never_sent_is_not_a_repeat() {
    // K-22: `answer` without a living owner only records; `resume` then sends.
    let mut workflow = flow("build: ok -> COMPLETE");
    workflow.stages.insert("ask".into(), gate("build", Wants::YesNo));
    workflow.entry = "ask".into();
    let mut sim = Sim::started(workflow);
    let gate = sim.gates.remove(0);
    let answer = Answer { call: gate.call, by: AnsweredBy::Person, label: "yes".into(), text: None };
    sim.record_only(Fact::Answered(answer));
    sim.crash_and_resume();
    sim.tag("build", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    assert!(!sim.decisions().iter().any(|decision| matches!(decision, Decision::Repeated { .. })));
}

#[test]
fn a_gate_is_shown_again_on_resume_and_a_no_declines() {
    // K-22, S-73
    let mut workflow = flow("build: ok -> COMPLETE");
    workflow.stages.insert("ask".into(), gate("build", Wants::YesNo));
    workflow.entry = "ask".into();
    let mut sim = Sim::started(workflow);
    sim.crash_and_resume();
    assert_eq!(sim.outcome(), "parked: person");
    sim.answer("maybe", None);
    assert_eq!(sim.outcome(), "parked: person", "not an answer this gate takes");
    sim.crash_and_resume();
    sim.answer("no", None);
    assert_eq!(sim.outcome(), "declined: declined");
    sim.prove_replay();
}

#[test]
fn a_gate_whose_time_ran_out_while_nobody_drove_the_run_is_not_asked_again() {
    let ask = |timeout: Millis| {
        let mut workflow = flow("build: ok -> COMPLETE");
        let mut ask = gate("build", Wants::YesNo);
        if let Activity::Gate(gate) = &mut ask.does {
            gate.timeout = Some(timeout);
        }
        workflow.stages.insert("ask".into(), ask);
        workflow.entry = "ask".into();
        let mut sim = Sim::started(workflow);
        assert_eq!(sim.outcome(), "parked: person");
        // 100 seconds pass.
        sim.crash_and_resume();
        sim.prove_replay();
        sim.outcome()
    };
    assert_eq!(ask(Millis::seconds(50)), "declined: declined");
    assert_eq!(ask(Millis::seconds(500)), "parked: person");
}

#[test]
fn interrupting_stops_what_is_under_way_and_resume_repeats_it() {
    // K-22, T-72
    let mut sim = Sim::started(flow("review[a b]: all(ok) -> COMPLETE"));
    sim.fact(Fact::Interrupted { by: "ctrl-c".to_owned() });
    assert_eq!(sim.stops.len(), 2);
    sim.fail("a", FailureClass::Cancelled);
    assert_eq!(sim.outcome(), "holding: interrupt");
    sim.tag("b", Some(0));
    assert_eq!(sim.outcome(), "parked: interrupt", "a reply already read counts");
    sim.resume(None);
    assert_eq!(sim.open(), ["review.1.1.1 Work"]);
    sim.tag("a", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn cancelling_ends_the_run_once_nothing_is_under_way_and_nothing_revives_it() {
    // K-22
    let mut sim = Sim::started(flow("plan: ok -> COMPLETE"));
    sim.fact(Fact::Cancelled { by: "person".to_owned() });
    assert_eq!(sim.outcome(), "holding: cancelled");
    sim.resume(None);
    sim.fail("plan", FailureClass::Cancelled);
    assert_eq!(sim.outcome(), "cancelled: cancelled");
    let before = sim.run.clone();
    sim.resume(None);
    assert_eq!(sim.run, before);
}

#[test]
fn a_parked_run_is_cancelled_at_once() {
    let mut sim = Sim::started(flow("plan: ok -> COMPLETE"));
    sim.fail("plan", FailureClass::Auth);
    assert_eq!(sim.outcome(), "parked: provider");
    sim.fact(Fact::Cancelled { by: "person".to_owned() });
    assert_eq!(sim.outcome(), "cancelled: cancelled");
}

#[test]
fn a_long_wait_parks_and_a_short_one_is_sat_out() {
    // C-34
    let mut sim = Sim::started(flow("plan: ok -> COMPLETE"));
    let request = sim.take_ask("plan");
    let mut failure = Failure::new(FailureClass::RateLimited, "slow down");
    failure.until = Some(Moment(sim.at + 30_000));
    sim.fail_to(&request, failure.clone());
    assert_eq!(sim.outcome(), "running: ", "it waits");
    sim.sleep();
    let request = sim.take_ask("plan");
    failure.until = Some(Moment(sim.at + 3_600_000));
    sim.fail_to(&request, failure);
    assert_eq!(sim.outcome(), "parked: provider");
    assert!(matches!(sim.run.hold(), Some(Hold::Until(_, FailureClass::RateLimited))));
    sim.at += 4_000_000;
    sim.resume(None);
    sim.tag("plan", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn a_lost_session_is_asked_again_once() {
    // C-29
    let mut workflow = flow("plan: again -> plan, ok -> COMPLETE");
    let Activity::Turns { turns, .. } = &mut workflow.stages[0].does else { unreachable!() };
    turns[0].session = SessionPolicy::Continue("agent".into());
    let mut sim = Sim::started(workflow);
    sim.tag("plan", Some(0));
    assert_eq!(sim.asks[0].session.as_deref(), Some("session of plan.1.1.1"));
    sim.fail("plan", FailureClass::SessionLost);
    assert_eq!(sim.asks[0].session, None);
    assert!(sim.asks[0].draft.is_some(), "a new session is drafted anew");
    sim.fail("plan", FailureClass::SessionLost);
    assert_eq!(sim.outcome(), "parked: provider");
    sim.prove_replay();
}

#[test]
fn all_attempts_spent_go_to_the_fallback_provider() {
    // C-35
    let mut workflow = flow("plan: ok -> COMPLETE");
    workflow.retry.fallback = vec![("script".into(), "other".into())];
    let mut sim = Sim::started(workflow);
    sim.fail("plan", FailureClass::Auth);
    assert_eq!(sim.asks[0].provider, "other".into());
    sim.fail("plan", FailureClass::Auth);
    assert_eq!(sim.outcome(), "parked: provider");
    sim.prove_replay();
}

#[test]
fn a_budget_of_turns_is_never_exceeded_and_can_be_raised() {
    // K-35, P6
    let mut workflow = flow("plan: ok -> review; review[a b]: all(ok) -> COMPLETE");
    workflow.limits.budget.turns = Some(2);
    let mut sim = Sim::started(workflow);
    sim.tag("plan", Some(0));
    assert_eq!(sim.open(), ["review.1.1.1 Work"], "only one more fits");
    sim.tag("a", Some(0));
    assert_eq!(sim.outcome(), "parked: budget");
    sim.fact(Fact::Resumed(Raise {
        rounds: None,
        budget: Budget { turns: Some(3), ..Budget::default() },
        runtime: None,
        patience: Millis(0),
        now: false,
    }));
    sim.tag("b", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

// N-20
#[test]
fn the_budget_of_a_run_that_an_agent_starts_counts_as_spent() {
    let mut workflow = flow("plan: ok -> review; review: ok -> COMPLETE");
    workflow.limits.budget.turns = Some(3);
    let mut sim = Sim::started(workflow);
    let loan = BudgetLoan { run: "child".to_owned(), cost: Cost { turns: 2, ..Cost::default() } };
    sim.fact(Fact::Lent(loan));
    assert_eq!(sim.open(), ["plan.1.1.1 Work"], "the turn that starts it goes on");
    sim.tag("plan", Some(0));
    assert_eq!((sim.run.spent().turns, sim.outcome().as_str()), (3, "parked: budget"));
    sim.prove_replay();
}

#[test]
fn the_dearest_turn_so_far_is_set_aside_before_the_next() {
    // K-35
    let mut workflow = flow("a: ok -> b; b: ok -> c; c: ok -> COMPLETE");
    workflow.limits.budget.usd = Some(Usd(250));
    let mut sim = Sim::started(workflow);
    sim.tag("a", Some(0));
    sim.tag("b", Some(0));
    assert_eq!(sim.outcome(), "parked: budget", "200 spent, and a turn has cost 100");
    assert_eq!(sim.run.spent(), Cost { usd: Usd(200), tokens: 30, turns: 2 });
}

#[test]
fn the_run_time_ends_what_is_under_way() {
    // S-32, K-35
    let mut workflow = flow("plan: ok -> COMPLETE");
    workflow.limits.runtime = Some(Millis(5_000));
    let mut sim = Sim::started(workflow);
    sim.at += 5_000;
    sim.fact(Fact::Woke);
    assert_eq!(sim.stops.len(), 1);
    sim.fail("plan", FailureClass::Cancelled);
    assert_eq!(sim.outcome(), "parked: timeout");
    sim.prove_replay();
}

#[test]
fn a_third_execution_in_a_row_is_recorded_as_such_and_one_elsewhere_resets_it() {
    // P-48, P-49, case 35
    let sim = check(
        "fix: again -> fix, other -> look; look: back -> fix, ok -> COMPLETE",
        &["fix=0", "fix=0", "fix=1", "look=0", "fix=1", "look=1"],
        "completed: complete",
    );
    let mut consecutive = Vec::new();
    for decision in sim.decisions() {
        if let Decision::Entered { consecutive: count, .. } = decision {
            consecutive.push(*count);
        }
    }
    assert_eq!(consecutive, [1, 2, 3, 1, 1, 1]);
}

/// Returns a cycle of `a` and `b` with a loop monitor.
fn watched(times: u32, max: u32) -> Workflow {
    let mut workflow = flow(&format!(
        "a: ok -> b, other -> c; b: again -> a, done -> COMPLETE; c: ok -> a; judge: fine -> a, stuck -> ABORT; max {max}"
    ));
    workflow.stages[3].aside = true;
    workflow.monitors = vec![Monitor {
        watches: Watch::Cycle {
            stages: vec!["a".into(), "b".into()],
            times,
            returning: false,
            passed: PassedStages::default(),
        },
        then: Alarm::Go(Target::Stage("judge".into())),
    }];
    workflow
}

#[test]
fn a_monitor_overrides_the_exit_and_needs_a_full_threshold_again() {
    // P-51, P-52, cases 36 and 37
    let mut sim = Sim::started(watched(2, 20));
    for name in ["a", "b", "a", "b"] {
        sim.tag(name, Some(0));
    }
    assert_eq!(sim.log.last().map(String::as_str), Some("judge/judge"));
    sim.tag("judge", Some(0));
    for name in ["a", "b", "a"] {
        sim.tag(name, Some(0));
    }
    sim.tag("b", Some(1));
    let alarms: Vec<_> =
        sim.decisions().into_iter().filter(|d| matches!(d, Decision::Alarm { .. })).collect();
    let again = Some("again".into());
    assert_eq!(alarms[0], &Decision::Alarm { monitor: 0, count: 2, overrode: again });
    assert_eq!(alarms[1], &Decision::Alarm { monitor: 0, count: 2, overrode: Some("done".into()) });
    sim.tag("judge", Some(1));
    assert_eq!(sim.outcome(), "failed: abort");
    sim.prove_replay();
}

#[test]
fn a_monitor_of_returning_exits_lets_the_run_complete() {
    //
    let mut workflow = watched(2, 20);
    workflow.monitors[0].watches = Watch::Cycle {
        stages: vec!["a".into(), "b".into()],
        times: 2,
        returning: true,
        passed: PassedStages::default(),
    };
    let mut sim = Sim::started(workflow.clone());
    for name in ["a", "b", "a", "b"] {
        sim.tag(name, Some(0));
    }
    assert_eq!(sim.log.last().map(String::as_str), Some("judge/judge"));
    let alarms: Vec<_> =
        sim.decisions().into_iter().filter(|d| matches!(d, Decision::Alarm { .. })).collect();
    assert_eq!(alarms, [&Decision::Alarm { monitor: 0, count: 2, overrode: Some("again".into()) }]);
    sim.tag("judge", Some(1));
    assert_eq!(sim.outcome(), "failed: abort");
    sim.prove_replay();

    let mut sim = Sim::started(workflow);
    for name in ["a", "b", "a"] {
        sim.tag(name, Some(0));
    }
    sim.tag("b", Some(1));
    assert_eq!(sim.outcome(), "completed: complete");
    assert!(!sim.log.iter().any(|asked| asked.starts_with("judge")));
    sim.prove_replay();
}

/// Watches `plan`, `x`, which `y` may follow, with these stages passed.
fn passing(passed: PassedStages) -> Workflow {
    let mut workflow = flow(
        "max 40; plan: planned -> x; x: on -> y, out -> plan; y: back -> x, done -> COMPLETE, out -> plan; judge: no -> ABORT",
    );
    workflow.stages[3].aside = true;
    let watches = Watch::Cycle { stages: vec!["plan".into(), "x".into()], times: 2, returning: true, passed };
    workflow.monitors = vec![Monitor { watches, then: Alarm::Go(Target::Stage("judge".into())) }];
    workflow
}

//
#[test]
fn a_cycle_passes_stages_that_its_monitor_ignores() {
    let mut sim = Sim::started(passing(PassedStages { ignored: vec!["y".into()], groups: Vec::new() }));
    for (name, tag) in [("plan", 0), ("x", 0), ("y", 2), ("plan", 0), ("x", 0), ("y", 2)] {
        sim.tag(name, Some(tag));
    }
    assert_eq!(sim.log.last().map(String::as_str), Some("judge/judge"));
    sim.prove_replay();
    let mut sim = Sim::started(passing(PassedStages::default()));
    for (name, tag) in [("plan", 0), ("x", 0), ("y", 2), ("plan", 0), ("x", 0), ("y", 2)] {
        sim.tag(name, Some(tag));
    }
    assert!(!sim.log.iter().any(|asked| asked.starts_with("judge")));
}

//
#[test]
fn stages_of_a_group_count_as_one_and_only_leaving_the_group_can_alarm() {
    let groups = vec![vec!["x".into(), "y".into()]];
    let mut sim = Sim::started(passing(PassedStages { ignored: Vec::new(), groups }));
    let path = [("plan", 0), ("x", 0), ("y", 0), ("x", 1), ("plan", 0), ("x", 0), ("y", 0), ("x", 0)];
    for (name, tag) in path {
        sim.tag(name, Some(tag));
    }
    assert!(!sim.log.iter().any(|asked| asked.starts_with("judge")), "still inside the group");
    sim.tag("y", Some(2));
    assert_eq!(sim.log.last().map(String::as_str), Some("judge/judge"));
    let alarm = sim.decisions().into_iter().find(|decision| matches!(decision, Decision::Alarm { .. }));
    assert_eq!(alarm, Some(&Decision::Alarm { monitor: 0, count: 2, overrode: Some("out".into()) }));
    sim.prove_replay();
}

//
#[test]
fn the_visits_that_a_prompt_shows_start_with_the_group() {
    let mut workflow = flow("plan: planned -> x; x: again -> y, out -> plan; y: on -> x");
    workflow.groups = vec![vec!["x".into(), "y".into()]];
    let Activity::Turns { turns, .. } = &mut workflow.stages[1].does else { unreachable!() };
    let body = vec![PromptPart::Value(Variable::Visits, ValueForm::Plain)];
    turns[0].prompt.sections = vec![PromptSection { body, when: SectionCondition::Always }];
    let mut sim = Sim::started(workflow);
    let mut shown = Vec::new();
    for (name, tag) in [("plan", 0), ("x", 0), ("y", 0), ("x", 1), ("plan", 0), ("x", 0), ("y", 0), ("x", 0)]
    {
        if name == "x" {
            shown.push(text_of(sim.asks[0].draft.as_ref().expect("a first attempt")).trim().to_owned());
        }
        sim.tag(name, Some(tag));
    }
    assert_eq!(shown, ["1", "2", "1", "2"]);
    sim.prove_replay();
}

#[test]
fn a_broken_cycle_does_not_alarm_and_a_judge_needs_an_iteration() {
    // P-51, P-52, cases 36 and 37
    let mut sim = Sim::started(watched(2, 6));
    for name in ["a", "b"] {
        sim.tag(name, Some(0));
    }
    sim.tag("a", Some(1));
    sim.tag("c", Some(0));
    for name in ["a", "b"] {
        sim.tag(name, Some(0));
    }
    assert!(!sim.log.iter().any(|asked| asked.starts_with("judge")));
    let mut sim = Sim::started(watched(2, 4));
    for name in ["a", "b", "a", "b"] {
        sim.tag(name, Some(0));
    }
    assert_eq!(sim.outcome(), "parked: max_iterations");
    assert!(!sim.log.iter().any(|asked| asked.starts_with("judge")));
}

#[test]
fn a_loop_of_actions_that_asks_nobody_ends() {
    let mut workflow = flow("plan: ok -> COMPLETE");
    workflow.stages.insert("x".into(), action(Action::Log, Once::ReadOnly, &[("ok", "x")]));
    workflow.entry = "x".into();
    let mut sim = Sim::started(workflow);
    for _ in 0..2_000 {
        if sim.performs.is_empty() {
            break;
        }
        sim.perform("ok");
    }
    assert_eq!(sim.outcome(), "failed: endless_chain");
}

#[test]
fn an_action_with_an_unknown_end_is_looked_up_before_it_is_repeated() {
    // P4
    let mut workflow = flow("plan: ok -> COMPLETE");
    workflow.stages.insert("push".into(), action(Action::Push, Once::LookUpFirst, &[("pushed", "COMPLETE")]));
    workflow.entry = "push".into();
    let mut sim = Sim::started(workflow);
    assert!(!sim.performs[0].look_up);
    sim.crash_and_resume();
    assert!(sim.performs[0].look_up);
    sim.perform("pushed");
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}
