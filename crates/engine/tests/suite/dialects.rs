//! Workflows of every shape that the dialects lower into, built by hand.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use saihai_model::*;
use serde_json::json;

use crate::support::build::{action, says, target};
use crate::support::sim::text_of;
use crate::support::{Sim, flow};

/// A step with an output schema and a check in the same session, retried at most twice.
pub(crate) fn step(id: &str, next: &str) -> Stage {
    let mut stage = flow(&format!("{id}: ok -> {next}, ng -> {next}")).stages[0].clone();
    let Activity::Turns { turns, .. } = &mut stage.does else { unreachable!() };
    let turn = &mut turns[0];
    turn.session = SessionPolicy::Continue("agent".into());
    turn.prompt.sections.push(PromptSection {
        body: vec![
            PromptPart::Fixed("carried: ".into()),
            PromptPart::Value(Variable::Previous, ValueForm::Tail(4000)),
        ],
        when: SectionCondition::NewSession,
    });
    turn.reads.output = Some(Output {
        schema: OutputSchema { schema: json!({"type": "object"}), required: true },
        corrections: 1,
        correction: says(&[
            PromptPart::Fixed("wrong: ".into()),
            PromptPart::Value(Variable::Violations, ValueForm::Bullets),
        ]),
        still_wrong: InvalidOutputPolicy::Go(Target::failed("step_failed")),
        checked: OutputCheck::BySchema,
        shaping: Default::default(),
        kept_as: None,
        names: None,
    });
    let form = AnswerForm::Form {
        schema: OutputSchema { schema: json!({}), required: true },
        field: "result".to_owned(),
        means: BTreeMap::from([("ok".to_owned(), "ok".into()), ("ng".to_owned(), "ng".into())]),
        message: "message".to_owned(),
    };
    let question = Question {
        prompt: says(&[PromptPart::Fixed("check".into())]),
        provider: None,
        model: None,
        session: QuestionSession::Same,
        answer: form,
        correction: says(&[PromptPart::Fixed("unreadable".into())]),
        corrections: 1,
        unreadable: Some("ng".into()),
    };
    if let Some(choice) = &mut turn.reads.choice {
        choice.found_by = vec![Method::Ask(Box::new(question))];
    }
    let again = Again { note: None, at_most: Some(2), exhausted: Target::failed("exhausted_retries") };
    stage.exit = Exit::Rules {
        rules: vec![
            ExitRule { when: RuleCondition::Is("ok".into()), then: target(next) },
            ExitRule { when: RuleCondition::Is("ng".into()), then: Target::Again(Box::new(again)) },
        ],
        question: None,
        otherwise: Target::failed("no_match"),
    };
    stage
}

pub(crate) fn tailor() -> Workflow {
    let mut workflow = flow("x: always -> COMPLETE; max 12");
    workflow.stages = IndexMap::from([
        ("measure".into(), step("measure", "quote")),
        ("quote".into(), step("quote", "COMPLETE")),
    ]);
    workflow.entry = "measure".into();
    workflow.limits.hard_rounds = Some(100);
    workflow
}

pub(crate) fn outputs(value: Json) -> Reading {
    Reading { output: Some(value), ..Reading::default() }
}

#[test]
fn a_step_is_checked_in_its_own_session_and_its_output_is_kept() {
    let mut sim = Sim::started(tailor());
    sim.reply("measure", outputs(json!({"height": 175})));
    assert_eq!(sim.asks[0].session.as_deref(), Some("session of measure.1.1.1"));
    sim.reply("measure#judge", outputs(json!({"result": "ok", "message": "fine"})));
    assert_eq!(sim.run.carry().outputs[&StageId::from("measure")]["height"], 175);
    assert_eq!(sim.run.carry().check_message.as_deref(), Some("fine"));
    assert_eq!(sim.asks[0].session.as_deref(), Some("session of measure.1.1.2"), "the last one received");
    sim.reply("quote", outputs(json!({})));
    sim.reply("quote#judge", outputs(json!({"result": "OK"})));
    assert_eq!(sim.outcome(), "completed: complete");
    assert_eq!(sim.run.counts().checks, 2);
    sim.prove_replay();
}

#[test]
fn a_failing_check_retries_the_step_and_then_the_run_fails() {
    // S-39, case 12
    let mut sim = Sim::started(tailor());
    for _ in 0..3 {
        sim.reply("measure", outputs(json!({})));
        sim.reply("measure#judge", outputs(json!({"result": "ng"})));
    }
    assert_eq!(sim.outcome(), "failed: exhausted_retries");
    assert_eq!((sim.run.iteration(), sim.run.counts().visits_of(&"measure".into())), (3, 1));
    sim.prove_replay();
}

#[test]
fn a_wrong_output_is_corrected_once_and_then_fails_the_step() {
    // S-46
    let wrong = || Reading { violations: vec!["height: missing".to_owned()], ..outputs(json!({})) };
    let mut sim = Sim::started(tailor());
    sim.reply("measure", wrong());
    assert_eq!(text_of(sim.asks[0].draft.as_ref().unwrap()), "wrong: \n- height: missing");
    assert_eq!(sim.run.iteration(), 1, "a correction is no iteration");
    sim.reply("measure", outputs(json!({"height": 1})));
    sim.reply("measure#judge", outputs(json!({"result": "ok"})));
    assert_eq!(sim.run.carry().outputs[&StageId::from("measure")]["height"], 1);
    let mut sim = Sim::started(tailor());
    sim.reply("measure", wrong());
    sim.reply("measure", wrong());
    assert_eq!(sim.outcome(), "failed: step_failed");
    sim.prove_replay();
}

#[test]
fn an_unreadable_check_is_asked_again_once_and_then_not_passed() {
    // Case 13
    let mut sim = Sim::started(tailor());
    sim.reply("measure", outputs(json!({})));
    sim.reply("measure#judge", outputs(json!({"result": null})));
    sim.reply("measure", outputs(json!({"result": null})));
    assert_eq!(sim.path(), ["measure -(judge)-> again"]);
}

#[test]
fn what_was_carried_is_said_where_a_session_was_lost() {
    let mut sim = Sim::started(tailor());
    sim.reply("measure", outputs(json!({})));
    sim.reply("measure#judge", outputs(json!({"result": "ok"})));
    sim.fail("quote", FailureClass::SessionLost);
    let prompt = text_of(sim.asks[0].draft.as_ref().unwrap());
    assert!(prompt.ends_with("carried: reply to measure.1.1.1"), "{prompt}");
    assert_eq!(sim.run.iteration(), 2);
}

#[test]
fn completions_by_rounds_keyword_signal_and_the_outside() {
    // S-60, S-33, S-61
    let looping = || flow("work: always -> work; max 50");
    let mut workflow = looping();
    workflow.completion = Completion::Any(vec![Completion::Flow, Completion::Rounds(3)]);
    let mut sim = Sim::started(workflow);
    for _ in 0..3 {
        sim.reply("work", Reading::default());
    }
    assert_eq!(sim.outcome(), "completed: rounds 3");
    sim.prove_replay();

    let mut workflow = looping();
    let keyword = Keyword { word: "DONE".to_owned(), whole_line: false };
    let signal = Completion::Signal {
        kind: "review".to_owned(),
        fields: [("ok".to_owned(), Some(json!(true)))].into(),
        times: 1,
        reason: None,
    };
    workflow.completion = Completion::All(vec![Completion::Keyword(keyword), signal]);
    let mut sim = Sim::started(workflow);
    sim.reply("work", Reading { keywords: vec!["DONE".to_owned()], ..Reading::default() });
    let block =
        |ok: bool| ReplyBlock { kind: "review".to_owned(), value: json!({"type": "review", "ok": ok}) };
    sim.reply("work", Reading { blocks: vec![block(false)], ..Reading::default() });
    sim.reply("work", Reading { blocks: vec![block(true)], ..Reading::default() });
    assert_eq!(sim.outcome(), "completed: keyword DONE; signal review");
    sim.prove_replay();

    let mut workflow = looping();
    let issue = ActionSpec { does: Action::IssueState, inputs: Vec::new(), once: Once::ReadOnly, poll: None };
    workflow.completion = Completion::Outside(issue);
    let mut sim = Sim::started(workflow);
    sim.perform("open");
    sim.reply("work", Reading::default());
    sim.perform("open");
    sim.reply("work", Reading::default());
    sim.perform("reached");
    assert_eq!(sim.outcome(), "completed: reached");
    sim.prove_replay();
}

#[test]
fn a_flow_that_ends_before_its_completion_holds_is_a_failure() {
    // S-61
    let mut workflow = flow("work: always -> COMPLETE");
    workflow.completion = Completion::Rounds(3);
    let mut sim = Sim::started(workflow);
    sim.reply("work", Reading::default());
    assert_eq!(sim.outcome(), "failed: flow_ended");
}

#[test]
fn a_step_makes_its_least_rounds_before_the_check_and_never_more_than_its_most() {
    // S-36, case 14
    let mut workflow = tailor();
    workflow.stages[0].rounds = Rounds { min: 2, max: Some(2), too_many: Target::failed("step_failed") };
    let mut sim = Sim::started(workflow);
    sim.reply("measure", outputs(json!({})));
    assert_eq!(sim.open(), ["measure.1.2.1 Work"], "no check yet");
    sim.reply("measure", outputs(json!({})));
    sim.reply("measure#judge", outputs(json!({"result": "ng"})));
    assert_eq!(sim.outcome(), "failed: step_failed");
    sim.prove_replay();
}

#[test]
fn blocks_are_acted_on_in_order_one_at_a_time() {
    // S-65
    let mut workflow = flow("work: always -> COMPLETE");
    let Activity::Turns { turns, .. } = &mut workflow.stages[0].does else { unreachable!() };
    let log = ActionSpec { does: Action::Log, inputs: Vec::new(), once: Once::ReadOnly, poll: None };
    turns[0].reads.blocks = Some(Blocks {
        fence: "action".to_owned(),
        uses: IndexMap::from([("note".to_owned(), BlockUse::Do(log))]),
    });
    let mut sim = Sim::started(workflow);
    let block = |n: u32| ReplyBlock { kind: "note".to_owned(), value: json!({ "n": n }) };
    sim.reply("work", Reading { blocks: vec![block(1), block(2)], ..Reading::default() });
    assert_eq!(sim.performs.len(), 1);
    sim.perform("ok");
    assert_eq!(sim.performs[0].given, ActionInput::Block(block(2)));
    sim.perform("ok");
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn review_phases_keep_going_past_a_failed_reviewer_and_end_in_the_report() {
    let mut workflow = flow("main[a b c]: always -> COMPLETE; max 5");
    let Activity::Turns { at_once, on_failure, .. } = &mut workflow.stages[0].does else { unreachable!() };
    *at_once = Some(2);
    *on_failure = OnFailure::KeepGoing;
    workflow.limits.rounds = None;
    workflow.stages.insert(
        "report".into(),
        action(
            Action::ReviewReport { settings: json!({}) },
            Once::SetToValue,
            &[("findings", "ABORT"), ("clean", "COMPLETE")],
        ),
    );
    workflow.afterwards = Some("report".into());
    let mut sim = Sim::started(workflow);
    assert_eq!(sim.asks.len(), 2, "two at once");
    sim.fail("a", FailureClass::Auth);
    assert_eq!(sim.asks.len(), 2, "the next takes its place");
    sim.tag("b", None);
    sim.tag("c", None);
    sim.perform("findings");
    assert_eq!(sim.outcome(), "failed: abort");
    sim.prove_replay();
}

#[test]
fn outputs_of_parallel_turns_are_carried_in_their_order_under_their_headings() {
    // P-33
    let mut workflow = flow("review[a b]: all(ok) -> next; next: ok -> COMPLETE");
    let Activity::Turns { turns, between, .. } = &mut workflow.stages[0].does else { unreachable!() };
    *between = "\n---\n".to_owned();
    for turn in turns.iter_mut() {
        turn.heading = format!("## {}\n", turn.id);
    }
    let mut sim = Sim::started(workflow);
    sim.tag("b", Some(0));
    sim.tag("a", Some(0));
    let prompt = text_of(sim.asks[0].draft.as_ref().unwrap());
    assert!(prompt.ends_with("## a\nreply to review.1.1.1\n---\n## b\nreply to review.1.1.2"), "{prompt}");
}
