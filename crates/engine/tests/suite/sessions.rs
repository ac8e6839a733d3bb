//! The session of a step agent, and the effect of a correction on an iteration.

use saihai_model::*;
use serde_json::json;

use crate::dialects::{outputs, tailor};
use crate::support::Sim;
use crate::support::sim::text_of;

fn session(sim: &Sim) -> Option<&str> {
    sim.asks[0].session.as_deref()
}

fn prompt(sim: &Sim) -> String {
    text_of(sim.asks[0].draft.as_ref().expect("it was drafted"))
}

fn unremembered(sim: &mut Sim, name: &str, reading: Reading) {
    let request = sim.take_ask(name);
    sim.reply_with(&request, reading, |reply| reply.session = None);
}

fn wrong() -> Reading {
    Reading { violations: vec!["no height".to_owned()], ..outputs(json!({})) }
}

// S-57
#[test]
fn a_session_is_the_last_one_received_by_any_turn() {
    let mut sim = Sim::started(tailor());
    assert_eq!(session(&sim), None);
    sim.reply("measure", wrong());
    assert_eq!(session(&sim), Some("session of measure.1.1.1"), "the correction");
    sim.reply("measure", outputs(json!({"height": 1})));
    assert_eq!(session(&sim), Some("session of measure.1.1.2"), "the check");
    sim.reply("measure#judge", outputs(json!({"result": "hm"})));
    assert_eq!(session(&sim), Some("session of measure.1.1.3"), "its correction");
    sim.reply("measure", outputs(json!({"result": "ng"})));
    assert_eq!(session(&sim), Some("session of measure.1.1.4"), "the step again");
    unremembered(&mut sim, "measure", outputs(json!({"height": 2})));
    assert_eq!(session(&sim), Some("session of measure.1.1.4"), "a reply without one keeps it");
    unremembered(&mut sim, "measure#judge", outputs(json!({"result": "ok"})));
    assert_eq!(session(&sim), Some("session of measure.1.1.4"), "and so does a check");
    sim.prove_replay();
}

// A session lost at a step, its correction or its check is dropped, and one new session starts.
#[test]
fn a_lost_session_is_forgotten_whatever_was_asked_in_it() {
    let lose = |sim: &mut Sim, name: &str| {
        assert!(session(sim).is_some(), "{name}");
        sim.fail(name, FailureClass::SessionLost);
        assert_eq!((session(sim), sim.asks[0].attempt), (None, 2), "{name}");
    };
    let mut sim = Sim::started(tailor());
    sim.reply("measure", wrong());
    lose(&mut sim, "measure");
    unremembered(&mut sim, "measure", outputs(json!({"height": 1})));
    assert_eq!(session(&sim), None, "the check after a correction");
    sim.reply("measure#judge", outputs(json!({"result": "ng"})));
    sim.reply("measure", outputs(json!({"height": 1})));
    lose(&mut sim, "measure#judge");
    unremembered(&mut sim, "measure#judge", outputs(json!({"result": "ok"})));
    assert_eq!(session(&sim), None, "the step after a check");
    assert!(prompt(&sim).contains("carried: reply to measure.1.2.1"), "{}", prompt(&sim));
    sim.reply("quote", outputs(json!({})));
    sim.reply("quote#judge", outputs(json!({"result": "ng"})));
    lose(&mut sim, "quote");
    assert!(prompt(&sim).contains("carried: reply to quote.1.1.1"), "{}", prompt(&sim));
    assert_eq!(sim.run.iteration(), 4, "the same iteration");
    sim.fail("quote", FailureClass::SessionLost);
    assert_eq!(sim.outcome(), "parked: provider", "lost again, after two calls");
    sim.prove_replay();
}

// The question that judges a piece's reply has its own session.
#[test]
fn a_question_in_a_fresh_session_changes_nothing_about_that_of_the_work() {
    let mut workflow = tailor();
    let Activity::Turns { turns, .. } = &mut workflow.stages["measure"].does else { unreachable!() };
    let choice = turns[0].reads.choice.as_mut().expect("a step is checked");
    let Some(Method::Ask(question)) = choice.found_by.last_mut() else { panic!("a check asks") };
    question.session = QuestionSession::Fresh;
    let mut sim = Sim::started(workflow);
    sim.reply("measure", outputs(json!({})));
    assert_eq!(session(&sim), None);
    sim.fail("measure#judge", FailureClass::SessionLost);
    sim.reply("measure#judge", outputs(json!({"result": "ok"})));
    assert_eq!(session(&sim), Some("session of measure.1.1.1"));
}

#[test]
fn only_a_form_that_is_demanded_reaches_the_provider() {
    let schema_of = |required: bool| {
        let mut workflow = tailor();
        let Activity::Turns { turns, .. } = &mut workflow.stages["measure"].does else { unreachable!() };
        turns[0].reads.output.as_mut().expect("it has one").schema.required = required;
        Sim::started(workflow).asks[0].schema.clone()
    };
    assert_eq!(schema_of(true), Some(json!({"type": "object"})));
    assert_eq!(schema_of(false), None);
}

#[test]
fn all_that_was_said_and_done_until_a_correction_counts() {
    let block = |kind: &str| ReplyBlock { kind: kind.to_owned(), value: json!({"type": kind}) };
    let read = ToolUsed { name: "Read".to_owned(), ..ToolUsed::default() };
    let bash = ToolUsed { name: "Bash".to_owned(), ..ToolUsed::default() };
    let mut workflow = tailor();
    let Activity::Turns { turns, .. } = &mut workflow.stages["measure"].does else { unreachable!() };
    turns[0].reads.carry = CarriedWords::AllMessages;
    workflow.completion = Completion::Keyword(Keyword { word: "DONE".to_owned(), whole_line: false });
    let mut sim = Sim::started(workflow);
    let request = sim.take_ask("measure");
    let first = Reading { blocks: vec![block("note")], ..wrong() };
    sim.reply_with(&request, first, |reply| reply.tools_used = vec![read]);
    let request = sim.take_ask("measure");
    let right = outputs(json!({"height": 1}));
    let second = Reading { blocks: vec![block("plan")], keywords: vec!["DONE".to_owned()], ..right };
    sim.reply_with(&request, second, |reply| {
        reply.tools_used = vec![bash];
        reply.so_far = Some("both".into());
    });
    let carry = sim.run.carry_after_round(&sim.workflow);
    assert_eq!(carry.previous, [(String::new(), Text::from("both"))]);
    assert_eq!(carry.context["lastToolsUsed"], json!(["Read", "Bash"]));
    assert_eq!(carry.context["lastActions"], json!(["note", "plan"]));
    sim.reply("measure#judge", outputs(json!({"result": "ng"})));
    assert_eq!(sim.outcome(), "completed: keyword DONE", "it stood in the correction");
    sim.prove_replay();
}
