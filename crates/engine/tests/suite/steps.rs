//! A flow of checked steps: limits, sessions, outputs and failures, on the model alone.

use saihai_model::*;
use serde_json::json;

use crate::dialects::{outputs, step, tailor};
use crate::support::sim::text_of;
use crate::support::{Sim, flow};

fn turn_of<'w>(workflow: &'w mut Workflow, stage: &str) -> &'w mut Turn {
    let Activity::Turns { turns, .. } = &mut workflow.stages[stage].does else { unreachable!() };
    &mut turns[0]
}

fn pass(sim: &mut Sim, step: &str, output: Json) {
    sim.reply(step, outputs(output));
    sim.reply(&format!("{step}#judge"), outputs(json!({"result": "ok"})));
}

/// A loop that never completes by itself.
fn endless(rounds: Option<u32>) -> Workflow {
    let mut workflow = flow("work: always -> work");
    workflow.limits = Limits { rounds, hard_rounds: Some(100), ..Limits::default() };
    workflow
}

fn work(sim: &mut Sim) -> u32 {
    let mut turns = 0;
    while !sim.asks.is_empty() {
        let request = sim.asks.remove(0);
        sim.reply_to(&request, Reading::default());
        turns += 1;
    }
    turns
}

#[test]
fn a_run_that_never_completes_stops_at_the_hard_limit_whatever_the_definition_says() {
    // S-28, S-29, case 8
    let mut sim = Sim::started(endless(Some(500)));
    assert_eq!((work(&mut sim), sim.outcome().as_str()), (100, "parked: emergency_stop"));
    assert_eq!((sim.run.iteration(), exit_code(None, sim.run.hold())), (100, 5));
    sim.resume(Some(120));
    assert_eq!(
        (work(&mut sim), sim.outcome().as_str()),
        (20, "parked: max_iterations"),
        "only a person raises it"
    );
}

#[test]
fn completing_at_exactly_the_limit_is_success() {
    // Case 8
    let mut workflow = endless(Some(100));
    workflow.completion = Completion::Rounds(100);
    let mut sim = Sim::started(workflow);
    assert_eq!((work(&mut sim), sim.outcome().as_str()), (100, "completed: rounds 100"));
}

#[test]
fn the_guards_come_in_their_order() {
    // S-31: the definition's limit comes before the time
    let mut sim = Sim::started(endless(Some(4)));
    assert_eq!((work(&mut sim), sim.outcome().as_str()), (4, "parked: max_iterations"));
    let mut workflow = endless(Some(100));
    workflow.limits.runtime = Some(Millis(10));
    let mut sim = Sim::started(workflow);
    assert_eq!((work(&mut sim), sim.outcome().as_str()), (1, "parked: timeout"));
    let mut workflow = endless(Some(1));
    workflow.limits.runtime = Some(Millis(10));
    let mut sim = Sim::started(workflow);
    assert_eq!((work(&mut sim), sim.outcome().as_str()), (1, "parked: max_iterations"), "before the time");
}

#[test]
fn of_all_guards_that_hold_after_an_iteration_the_first_says_how_it_ends() {
    // S-30: completion, maxIterations, hard limit, timeout; the test removes each in turn
    let mut workflow = endless(Some(1));
    workflow.limits.hard_rounds = Some(1);
    workflow.limits.runtime = Some(Millis(10));
    workflow.completion = Completion::Rounds(1);
    let ends = |workflow: &Workflow| {
        let mut sim = Sim::started(workflow.clone());
        assert_eq!(work(&mut sim), 1);
        sim.prove_replay();
        sim.outcome()
    };
    assert_eq!(ends(&workflow), "completed: rounds 1");
    workflow.completion = Completion::Flow;
    assert_eq!(ends(&workflow), "parked: max_iterations");
    workflow.limits.rounds = None;
    assert_eq!(ends(&workflow), "parked: emergency_stop");
    workflow.limits.hard_rounds = Some(100);
    assert_eq!(ends(&workflow), "parked: timeout");
}

#[test]
fn a_turn_that_is_under_way_when_the_time_is_up_is_ended() {
    // S-32
    let mut workflow = endless(None);
    workflow.limits.runtime = Some(Millis(5_000));
    let mut sim = Sim::started(workflow);
    sim.sleep();
    assert_eq!(sim.stops.len(), 1);
    sim.fail("work", FailureClass::Cancelled);
    assert_eq!(sim.outcome(), "parked: timeout");
    assert_eq!(exit_code(None, sim.run.hold()), 5);
}

#[test]
fn two_steps_that_send_each_other_the_work_for_ever_stop_at_the_hard_limit() {
    // S-29, case 11: every step of every cycle counts
    let mut workflow = flow("a: always -> b; b: always -> a");
    workflow.limits = Limits { rounds: None, hard_rounds: Some(100), ..Limits::default() };
    let mut sim = Sim::started(workflow);
    assert_eq!((work(&mut sim), sim.outcome().as_str()), (100, "parked: emergency_stop"));
}

#[test]
fn a_step_that_leads_to_itself_too_often_fails() {
    let mut workflow = endless(None);
    workflow.monitors = vec![Monitor {
        watches: Watch::SelfEntries { times: 10 },
        then: Alarm::Go(Target::failed("step_failed")),
    }];
    let mut sim = Sim::started(workflow);
    assert_eq!((work(&mut sim), sim.outcome().as_str()), (11, "failed: step_failed"));
}

#[test]
fn an_entry_step_that_may_complete_is_worked_and_checked_first() {
    // Case 10
    let mut workflow = tailor();
    workflow.stages = [("quote".into(), step("quote", "COMPLETE"))].into();
    workflow.entry = "quote".into();
    let mut sim = Sim::started(workflow.clone());
    pass(&mut sim, "quote", json!({}));
    assert_eq!(
        (sim.outcome().as_str(), sim.log.as_slice()),
        ("completed: complete", &["quote/quote", "quote#judge"].map(str::to_owned)[..])
    );
    let mut sim = Sim::started(workflow);
    sim.reply("quote", outputs(json!({})));
    sim.reply("quote#judge", outputs(json!({"result": "ng"})));
    assert_eq!(sim.open(), ["quote.1.2.1 Work"], "not passed: its own way out");
}

#[test]
fn retries_are_counted_by_visit_and_their_end_is_the_steps_own() {
    // S-39, case 12: three reruns are four work turns and four checks
    let mut workflow = tailor();
    let Exit::Rules { rules, .. } = &mut workflow.stages["measure"].exit else { unreachable!() };
    let exhausted = Target::failed("retries_exhausted measure 3");
    rules[1].then = Target::Again(Box::new(Again { note: None, at_most: Some(3), exhausted }));
    let mut sim = Sim::started(workflow);
    let mut turns = 0;
    while !sim.asks.is_empty() {
        sim.reply("measure", outputs(json!({})));
        sim.reply("measure#judge", outputs(json!({"result": "ng"})));
        turns += 1;
    }
    assert_eq!((turns, sim.run.counts().checks), (4, 4));
    assert_eq!(sim.outcome(), "failed: retries_exhausted measure 3");
    assert_eq!(exit_code(sim.run.ending(), None), 1);
    sim.prove_replay();
}

#[test]
fn retries_start_again_when_a_step_is_entered_again() {
    // S-39
    let mut workflow = tailor();
    let Exit::Rules { rules, .. } = &mut workflow.stages["quote"].exit else { unreachable!() };
    let exhausted = Target::Stage("measure".into());
    rules[1].then = Target::Again(Box::new(Again { note: None, at_most: Some(1), exhausted }));
    let mut sim = Sim::started(workflow);
    for _ in 0..2 {
        pass(&mut sim, "measure", json!({}));
        for _ in 0..2 {
            sim.reply("quote", outputs(json!({})));
            sim.reply("quote#judge", outputs(json!({"result": "ng"})));
        }
    }
    assert_eq!(sim.open(), ["measure.3.1.1 Work"]);
    assert_eq!(sim.path()[1..3], ["quote -(judge)-> again", "quote -(limit)-> measure"]);
}

#[test]
fn a_step_whose_input_is_missing_is_not_asked_and_the_run_fails() {
    // Case 21
    let ends = |measured: Json| {
        let mut workflow = tailor();
        turn_of(&mut workflow, "quote").needs = vec![("measure".into(), "height".to_owned())];
        let mut sim = Sim::started(workflow);
        pass(&mut sim, "measure", measured);
        sim.prove_replay();
        (sim.outcome(), sim.run.iteration())
    };
    assert_eq!(ends(json!({"note": "x"})), ("failed: missing_input measure.height".to_owned(), 1));
    assert_eq!(ends(json!({"height": null})), ("failed: missing_input measure.height".to_owned(), 1));
    assert_eq!(ends(json!({"height": 0})), ("running: quote.1.1.1 Work".to_owned(), 2));
}

#[test]
fn outputs_accumulate_and_a_rerun_replaces_the_whole_entry() {
    // S-42, S-43, case 17
    let mut workflow = tailor();
    let output = |key: &str| {
        PromptPart::Value(
            Variable::Output { stage: "measure".into(), key: key.into(), otherwise: None },
            ValueForm::Plain,
        )
    };
    let shows =
        ["height", "note", "ok", "list"].map(|key| [output(key), PromptPart::Fixed("|".into())]).concat();
    turn_of(&mut workflow, "quote").prompt.sections =
        vec![PromptSection { body: shows, when: SectionCondition::Always }];
    let Exit::Rules { rules, .. } = &mut workflow.stages["quote"].exit else { unreachable!() };
    rules[1].then = Target::Stage("measure".into());
    let mut sim = Sim::started(workflow);
    pass(
        &mut sim,
        "measure",
        json!({"height": 175, "note": "a \"b\"", "ok": true, "list": [1, {"x": null}]}),
    );
    let prompt = text_of(sim.asks[0].draft.as_ref().unwrap());
    assert_eq!(prompt, r#"175|a "b"|true|[1,{"x":null}]|"#, "types are kept, text is raw");
    sim.reply("quote", outputs(json!({"price": 9})));
    sim.reply("quote#judge", outputs(json!({"result": "ng"})));
    pass(&mut sim, "measure", json!({"height": 180}));
    assert_eq!(text_of(sim.asks[0].draft.as_ref().unwrap()), "180||||", "old keys are gone");
    assert_eq!(sim.run.carry().outputs[&StageId::from("quote")]["price"], 9, "other steps' stay");
}

#[test]
fn a_wrong_output_leaves_the_context_as_it_was() {
    // S-46, case 17
    let mut workflow = tailor();
    let failed = InvalidOutputPolicy::Go(Target::Stage("quote".into()));
    turn_of(&mut workflow, "measure").reads.output.as_mut().unwrap().still_wrong = failed;
    let wrong =
        || Reading { violations: vec!["/height: no number".to_owned()], ..outputs(json!({"height": "175"})) };
    let mut sim = Sim::started(workflow);
    sim.reply("measure", wrong());
    sim.reply("measure", wrong());
    assert_eq!(sim.path(), ["measure -(output)-> quote"], "the step's way out, without asking the check");
    assert_eq!(sim.run.carry().outputs.get(&StageId::from("measure")), None);
    assert_eq!(sim.log, ["measure/measure", "measure/measure!", "quote/quote"]);
}

#[test]
fn an_unreadable_check_is_told_to_the_next_round() {
    // Case 13
    let mut workflow = tailor();
    workflow.words.insert("check-unreadable".to_owned(), "unreadable check reply".to_owned());
    let message = vec![PromptPart::Value(Variable::CheckMessage, ValueForm::Plain)];
    turn_of(&mut workflow, "measure").prompt.sections =
        vec![PromptSection { body: message, when: SectionCondition::Always }];
    let mut sim = Sim::started(workflow);
    sim.reply("measure", outputs(json!({})));
    sim.reply("measure#judge", outputs(json!({"result": null, "message": "hm"})));
    sim.reply("measure", outputs(json!({"result": "maybe"})));
    assert_eq!(text_of(sim.asks[0].draft.as_ref().unwrap()), "unreadable check reply");
    sim.reply("measure", outputs(json!({})));
    sim.reply("measure#judge", outputs(json!({"result": "NG", "message": "too short"})));
    assert_eq!(text_of(sim.asks[0].draft.as_ref().unwrap()), "too short");
}

#[test]
fn a_check_is_asked_about_what_the_step_has_just_found_out() {
    let mut workflow = tailor();
    let height = Variable::Output { stage: "measure".into(), key: "height".to_owned(), otherwise: None };
    let choice = turn_of(&mut workflow, "measure").reads.choice.as_mut().unwrap();
    let Some(Method::Ask(question)) = choice.found_by.last_mut() else { panic!("a check asks") };
    question.prompt.sections = vec![PromptSection {
        body: vec![PromptPart::Value(height, ValueForm::Plain)],
        when: SectionCondition::Always,
    }];
    let mut sim = Sim::started(workflow);
    sim.reply("measure", outputs(json!({"height": 175})));
    assert_eq!(text_of(sim.asks[0].draft.as_ref().unwrap()), "175");
    sim.reply("measure#judge", outputs(json!({"result": "ng"})));
    sim.reply("measure", outputs(json!({"height": 176})));
    assert_eq!(text_of(sim.asks[0].draft.as_ref().unwrap()), "176", "not what was carried before");
}

#[test]
fn a_session_is_the_last_one_received_and_lost_twice_it_parks() {
    // Case 30
    let mut sim = Sim::started(tailor());
    pass(&mut sim, "measure", json!({}));
    assert_eq!(sim.asks[0].session.as_deref(), Some("session of measure.1.1.2"));
    sim.fail("quote", FailureClass::SessionLost);
    assert_eq!((sim.asks[0].session.as_deref(), sim.asks[0].attempt, sim.run.iteration()), (None, 2, 2));
    sim.fail("quote", FailureClass::SessionLost);
    assert_eq!(sim.outcome(), "parked: provider", "after two calls");
}

#[test]
fn a_time_out_is_tried_again_in_the_same_iteration_and_at_most_four_times() {
    // Case 28
    let mut sim = Sim::started(tailor());
    sim.fail("measure", FailureClass::Transient);
    sim.sleep();
    sim.fail("measure", FailureClass::Transient);
    sim.sleep();
    sim.reply("measure", outputs(json!({})));
    assert_eq!((sim.run.iteration(), sim.open()), (1, vec!["measure.1.1.2 Question".to_owned()]));
    let mut sim = Sim::started(tailor());
    for _ in 0..3 {
        sim.fail("measure", FailureClass::Transient);
        sim.sleep();
    }
    sim.fail("measure", FailureClass::Transient);
    assert_eq!((sim.outcome().as_str(), sim.log.len()), ("parked: provider", 4));
    assert_eq!(exit_code(None, sim.run.hold()), 4);
    assert!(sim.run.carry().outputs.is_empty() && sim.run.sessions().next().is_none(), "nothing has changed");
}

#[test]
fn each_class_of_failure_is_tried_again_as_often_as_makes_sense() {
    // S-69: number of calls, final state and exit code
    let fails = |class: FailureClass| {
        let mut sim = Sim::started(tailor());
        while sim.run.hold().is_none() {
            sim.fail("measure", class);
            if sim.run.hold().is_none() && sim.open().is_empty() {
                sim.sleep();
            }
        }
        assert_eq!(sim.run.iteration(), 1, "{class:?}");
        (sim.log.len(), sim.outcome(), exit_code(None, sim.run.hold()))
    };
    let parked = |calls: usize| (calls, "parked: provider".to_owned(), 4);
    assert_eq!(fails(FailureClass::Transient), parked(4));
    assert_eq!(fails(FailureClass::Crashed), parked(2));
    for class in [FailureClass::Auth, FailureClass::Missing, FailureClass::BadRequest, FailureClass::Refused]
    {
        assert_eq!(fails(class), parked(1), "{class:?}");
    }
    assert_eq!(fails(FailureClass::SessionLost), parked(2), "S-58: once anew");
    let mut sim = Sim::started(tailor());
    let request = sim.take_ask("measure");
    let until = Moment(sim.at + 3 * 60 * 60 * 1_000);
    let failure = Failure { until: Some(until), ..Failure::new(FailureClass::Quota, "used up") };
    sim.fail_to(&request, failure);
    assert_eq!((sim.outcome().as_str(), exit_code(None, sim.run.hold())), ("parked: quota", 4));
    let mut sim = Sim::started(tailor());
    sim.fact(Fact::Interrupted { by: "ctrl-c".to_owned() });
    sim.fail("measure", FailureClass::Cancelled);
    assert_eq!((sim.outcome().as_str(), exit_code(None, sim.run.hold())), ("parked: interrupt", 3));
}

#[test]
fn a_rate_limit_is_waited_for_as_long_as_it_says() {
    // Case 29
    let mut sim = Sim::started(tailor());
    let request = sim.take_ask("measure");
    let until = Moment(sim.at + 10 + 7_000);
    let failure = Failure { until: Some(until), ..Failure::new(FailureClass::RateLimited, "slow down") };
    sim.fail_to(&request, failure);
    assert!(sim.wakes.last().is_some_and(|at| *at >= until));
    assert_eq!(sim.open(), [""; 0]);
    sim.sleep();
    assert_eq!(sim.open(), ["measure.1.1.1 Work"]);
}

#[test]
fn a_reply_without_words_keeps_what_was_said_before() {
    // S-54, case 31
    let mut sim = Sim::started(tailor());
    pass(&mut sim, "measure", json!({}));
    let said = sim.run.carry().previous.clone();
    let request = sim.take_ask("quote");
    sim.reply_with(&request, outputs(json!({})), |reply| {
        reply.text = "".into();
        reply.tools_used = vec![ToolUsed { name: "Read".to_owned(), ..ToolUsed::default() }];
    });
    sim.reply("quote#judge", outputs(json!({"result": "ng"})));
    assert_eq!(sim.run.carry().previous, said);
    assert_eq!(sim.run.carry().context["lastToolsUsed"], json!(["Read"]));
}

#[test]
fn the_context_is_carried_into_a_new_session() {
    let mut workflow = tailor();
    let context = vec![PromptPart::Value(Variable::Context, ValueForm::Plain)];
    turn_of(&mut workflow, "quote")
        .prompt
        .sections
        .push(PromptSection { body: context, when: SectionCondition::NewSession });
    let mut sim = Sim::started(workflow);
    pass(&mut sim, "measure", json!({}));
    sim.fail("quote", FailureClass::SessionLost);
    let prompt = text_of(sim.asks[0].draft.as_ref().unwrap());
    assert!(prompt.ends_with(r#"{"lastActions":[],"lastToolsUsed":[]}"#), "{prompt}");
}

#[test]
fn a_process_that_dies_in_iteration_five_asks_that_one_again_and_no_other() {
    // S-72, case 42
    let mut sim = Sim::started(endless(Some(9)));
    for _ in 0..4 {
        sim.reply("work", Reading::default());
    }
    sim.crash_and_resume();
    assert_eq!((sim.run.iteration(), sim.open()), (5, vec!["work.5.1.1 Work".to_owned()]));
    assert_eq!(sim.log.len(), 6, "four, the one that was lost, and the same again");
    sim.prove_replay();
}

#[test]
fn a_lost_check_is_asked_again_and_the_work_is_not() {
    // S-72
    let mut sim = Sim::started(tailor());
    sim.reply("measure", outputs(json!({"height": 1})));
    sim.crash_and_resume();
    assert_eq!(sim.open(), ["measure.1.1.2 Question"]);
    sim.reply("measure#judge", outputs(json!({"result": "ok"})));
    assert_eq!(sim.run.carry().outputs[&StageId::from("measure")]["height"], 1);
    sim.prove_replay();
}

#[test]
fn a_stopped_run_stays_as_it_is() {
    // A second start and a second end change nothing
    let mut sim = Sim::started(flow("work: always -> COMPLETE"));
    sim.start();
    assert_eq!(sim.open(), ["work.1.1.1 Work"]);
    sim.reply("work", Reading::default());
    let ended = sim.run.clone();
    sim.start();
    sim.fact(Fact::Cancelled { by: "x".to_owned() });
    sim.resume(None);
    assert_eq!(sim.run, ended);
}
