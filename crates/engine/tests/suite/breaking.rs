//! Regression tests for broken runs.

use std::collections::BTreeMap;

use saihai_model::*;

use crate::support::build::{action, gate};
use crate::support::{Sim, flow};

fn reporting() -> Reading {
    let found =
        ReportLocation { file: "a.md".to_owned(), how: ReportClue::Only, start: 0, end: 1, unclosed: false };
    Reading { reports: vec![found], tag: Some(Tag { number: Some(0), line: 1 }), ..Reading::default() }
}

fn first_turn(workflow: &mut Workflow) -> &mut Turn {
    match &mut workflow.stages[0].does {
        Activity::Turns { turns, .. } => &mut turns[0],
        Activity::Gate(_) | Activity::Action(_) => unreachable!("these flows begin with a turn"),
    }
}

fn disk_full(sim: &mut Sim) {
    let performance = sim.performs.pop().expect("a report is to be saved");
    let (path, message) = ("/x".to_owned(), "full".to_owned());
    sim.fact(Fact::StorageFailed { call: Some(performance.call), path, message });
}

#[test]
fn a_report_that_cannot_be_saved_is_not_tried_for_ever_under_a_hold() {
    // P-55, T-14, T-72
    let mut sim = Sim::started(flow("plan: ok -> COMPLETE"));
    sim.fact(Fact::Interrupted { by: "ctrl-c".to_owned() });
    sim.reply("plan", reporting());
    disk_full(&mut sim);
    assert_eq!((sim.performs.len(), sim.outcome().as_str()), (0, "parked: interrupt"));

    let mut sim = Sim::started(flow("plan: ok -> COMPLETE"));
    sim.fact(Fact::Cancelled { by: "person".to_owned() });
    sim.reply("plan", reporting());
    disk_full(&mut sim);
    assert_eq!(sim.outcome(), "cancelled: cancelled");

    let mut sim = Sim::started(flow("plan: ok -> COMPLETE"));
    sim.reply("plan", reporting());
    let call = sim.performs.remove(0).call;
    let failure = Failure::new(FailureClass::BadRequest, "no");
    sim.fact(Fact::Performed { call, outcome: Outcome::Failed(failure) });
    assert_eq!((sim.performs.len(), sim.outcome().as_str()), (0, "parked: provider"));
}

#[test]
fn a_reply_that_completes_after_the_time_was_up_still_completes() {
    let mut workflow = flow("plan: ok -> COMPLETE, more -> plan");
    workflow.limits.runtime = Some(Millis(1_000));
    let mut sim = Sim::started(workflow.clone());
    sim.at += 5_000;
    sim.tag("plan", Some(0));
    assert_eq!(sim.outcome(), "completed: complete");
    let mut sim = Sim::started(workflow);
    sim.at += 5_000;
    sim.tag("plan", Some(1));
    assert_eq!(sim.outcome(), "parked: timeout");
    assert_eq!(sim.log, ["plan/plan"], "nothing more is asked");
}

#[test]
fn the_time_of_a_dead_process_is_not_driven_time() {
    // K-35
    let mut workflow = flow("plan: ok -> COMPLETE");
    workflow.limits.runtime = Some(Millis::seconds(3_600));
    let mut sim = Sim::started(workflow);
    sim.fail("plan", FailureClass::Transient);
    sim.at += 24 * 3_600_000;
    sim.crash_and_resume();
    assert!(sim.run.driven() < Millis(1_000), "{:?} {}", sim.run.driven(), sim.outcome());
}

#[test]
fn no_limit_and_no_time_is_too_large_to_be_added() {
    let mut workflow = flow("plan: ok -> COMPLETE");
    workflow.limits.runtime = Some(Millis(u64::MAX));
    let mut sim = Sim::started(workflow);
    sim.at = u64::MAX - 100;
    sim.fail("plan", FailureClass::Transient);
    sim.prove_replay();
}

#[test]
fn a_rate_limit_that_is_always_over_at_once_does_not_spin() {
    // C-33
    let mut sim = Sim::started(flow("plan: ok -> COMPLETE"));
    for _ in 0..500 {
        if sim.asks.is_empty() {
            break;
        }
        let request = sim.take_ask("plan");
        let mut failure = Failure::new(FailureClass::RateLimited, "x");
        failure.until = Some(Moment(sim.at + 10));
        sim.fail_to(&request, failure);
    }
    assert_eq!(sim.log.len(), 1, "the second attempt waits");
}

#[test]
fn a_provider_that_says_soon_for_ever_is_waited_for_only_so_long() {
    // C-33: within `max_wait`
    let mut workflow = flow("plan: ok -> COMPLETE");
    workflow.retry.max_wait = Millis::seconds(60);
    let mut sim = Sim::started(workflow);
    for _ in 0..10 {
        let request = sim.take_ask("plan");
        let mut failure = Failure::new(FailureClass::RateLimited, "x");
        failure.until = Some(Moment(sim.at + 20_000));
        sim.fail_to(&request, failure);
        if sim.decisions().iter().any(|decision| matches!(decision, Decision::Parked { .. })) {
            break;
        }
        sim.sleep();
    }
    assert_eq!(sim.outcome(), "parked: provider");
    assert!(sim.log.len() < 6, "{:?}", sim.log);
}

#[test]
fn fallbacks_that_point_at_each_other_end() {
    // C-35
    let mut workflow = flow("plan: ok -> COMPLETE");
    workflow.retry.fallback = vec![("script".into(), "other".into()), ("other".into(), "script".into())];
    let mut sim = Sim::started(workflow);
    while !sim.asks.is_empty() {
        sim.fail("plan", FailureClass::Auth);
    }
    assert_eq!((sim.log.len(), sim.outcome().as_str()), (3, "parked: provider"));
}

#[test]
fn rounds_that_must_be_made_are_no_retries() {
    // S-36, S-39
    let mut workflow = flow("plan: ok -> COMPLETE, ng -> ABORT");
    workflow.stages[0].rounds.min = 2;
    let again = Again { note: None, at_most: Some(2), exhausted: Target::failed("exhausted") };
    if let Exit::Rules { rules, .. } = &mut workflow.stages[0].exit {
        rules[1].then = Target::Again(Box::new(again));
    }
    let mut sim = Sim::started(workflow);
    while !sim.asks.is_empty() {
        sim.tag("plan", Some(1));
    }
    assert_eq!((sim.run.iteration(), sim.outcome().as_str()), (4, "failed: exhausted"));
}

#[test]
fn a_question_in_the_turns_session_goes_to_the_provider_of_the_turn() {
    // C-35
    let mut workflow = flow("plan: ok -> COMPLETE, ng -> ABORT");
    workflow.retry.fallback = vec![("script".into(), "other".into())];
    let choice = first_turn(&mut workflow).reads.choice.as_mut().expect("it has rules");
    if let Some(Method::Ask(question)) = choice.found_by.last_mut() {
        question.session = QuestionSession::Same;
    }
    let mut sim = Sim::started(workflow);
    sim.fail("plan", FailureClass::Auth);
    sim.tag("plan", None);
    assert_eq!(sim.asks[0].provider, "other".into());
    assert_eq!(sim.asks[0].session.as_deref(), Some("session of plan.1.1.1"));
}

#[test]
fn a_failed_action_of_a_block_does_not_stop_the_run() {
    // S-65
    let mut workflow = flow("plan: ok -> COMPLETE");
    let log = ActionSpec { does: Action::Log, inputs: Vec::new(), once: Once::SetToValue, poll: None };
    let uses = [("log".to_owned(), BlockUse::Do(log))].into_iter().collect();
    first_turn(&mut workflow).reads.blocks = Some(Blocks { fence: "action".to_owned(), uses });
    let mut sim = Sim::started(workflow);
    let block = ReplyBlock { kind: "log".to_owned(), value: serde_json::json!({"type": "log"}) };
    let tag = Some(Tag { number: Some(0), line: 1 });
    sim.reply("plan", Reading { blocks: vec![block], tag, ..Reading::default() });
    let call = sim.performs.remove(0).call;
    let failure = Failure::new(FailureClass::BadRequest, "no");
    sim.fact(Fact::Performed { call, outcome: Outcome::Failed(failure) });
    assert_eq!(sim.outcome(), "completed: complete");
}

#[test]
fn a_gate_takes_no_text_beyond_its_length_and_not_none() {
    // P-46
    let mut workflow = flow("build: ok -> COMPLETE");
    workflow.stages.insert("ask".into(), gate("build", Wants::Text { max_chars: 5 }));
    workflow.entry = "ask".into();
    for text in [Some("far too long"), Some(""), None] {
        let mut sim = Sim::started(workflow.clone());
        sim.answer("answered", text);
        assert_eq!(sim.outcome(), "parked: person", "{text:?}");
    }
}

#[test]
fn news_of_the_wrong_kind_about_a_call_changes_nothing() {
    let mut workflow = flow("build: ok -> COMPLETE");
    workflow.stages.insert("act".into(), action(Action::Push, Once::LookUpFirst, &[("ok", "build")]));
    let mut sim = Sim::started(workflow.clone());
    let call = sim.asks[0].call.clone();
    let done = Outcome::Done { label: Some("x".into()), output: BTreeMap::new() };
    sim.fact(Fact::Performed { call, outcome: done });
    assert_eq!(sim.outcome(), "running: build.1.1.1 Work");
    workflow.entry = "act".into();
    let mut sim = Sim::started(workflow);
    let request = Request { call: sim.performs[0].call.clone(), ..request() };
    sim.reply_to(&request, Reading::default());
    assert_eq!(sim.run.busy().count(), 1);
}

fn request() -> Request {
    Sim::started(flow("x: ok -> COMPLETE")).take_ask("x")
}
