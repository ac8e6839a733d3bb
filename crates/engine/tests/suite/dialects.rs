//! Workflows of every shape the dialects lower into, built by hand.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use saihai_model::*;
use serde_json::json;

use crate::support::build::{action, says, target};
use crate::support::sim::text_of;
use crate::support::{Sim, flow};

fn publishes(topic: &str, message: Option<&str>) -> Reading {
    let event = Published { topic: topic.into(), message: message.map(str::to_owned), line: 1 };
    Reading { digest: format!("{topic}{message:?}"), events: vec![event], ..Reading::default() }
}

fn ends(word: &str) -> Reading {
    Reading { end_word: Some(word.to_owned()), ..Reading::default() }
}

fn hat(id: &str, declared: &[&str], requires: &[&str]) -> Stage {
    let mut stage = flow(&format!("{id}: always -> COMPLETE")).stages[0].clone();
    let note = says(&[
        Part::Fixed("nothing was reported".into()),
        Part::Value(Variable::Reasons, Form::Bullets),
        Part::Value(Variable::ReplyTail, Form::Quote),
    ]);
    stage.exit = Exit::Topics {
        silent: Again { note: Some(note), at_most: None, exhausted: Target::failed("never") },
        default: None,
    };
    let Activity::Turns { turns, .. } = &mut stage.does else { unreachable!() };
    turns[0].prompt = says(&[
        Part::Fixed(id.into()),
        Part::Value(Variable::EventTopic, Form::Plain),
        Part::Value(Variable::EventMessage, Form::Quote),
        Part::Value(Variable::Note, Form::Plain),
    ]);
    turns[0].reads.directives = Some(Directives {
        words: vec![EndWord {
            word: "LOOP_COMPLETE".to_owned(),
            requires: requires.iter().map(|topic| (*topic).into()).collect(),
            then: Target::Complete,
        }],
        known: Vec::new(),
        declared: Some(declared.iter().map(|topic| (*topic).into()).collect()),
        enforce: false,
    });
    stage
}

fn ring(requires: &[&str]) -> Workflow {
    let mut workflow = flow("x: always -> COMPLETE; max 20");
    workflow.stages = IndexMap::from([
        ("tester".into(), hat("tester", &["tests.failing", "tests.passing"], requires)),
        ("coder".into(), hat("coder", &["code.written"], requires)),
        ("(base)".into(), hat("(base)", &[], requires)),
    ]);
    workflow.entry = "tester".into();
    let routes = [("task.start", "tester"), ("code.written", "tester"), ("tests.failing", "coder")];
    let routes = routes.iter().map(|(pattern, to)| Route {
        pattern: (*pattern).to_owned(),
        to: (*to).into(),
        orphans: false,
    });
    workflow.topics =
        Some(Topics { start: "task.start".into(), routes: routes.collect(), otherwise: "(base)".into() });
    workflow.monitors = vec![
        Monitor { watches: Watch::Silent { times: 3 }, then: Alarm::Hold("stalled".to_owned()) },
        Monitor { watches: Watch::Same { times: 3 }, then: Alarm::Hold("stale".to_owned()) },
    ];
    workflow
}

#[test]
fn hats_are_switched_by_events_and_ended_by_the_keyword() {
    // H-24, H-25, H-40, H-43
    let mut sim = Sim::started(ring(&[]));
    assert_eq!(text_of(sim.asks[0].draft.as_ref().unwrap()), "tester\ntask.start");
    sim.reply("tester", publishes("tests.failing", Some("two red")));
    assert_eq!(text_of(sim.asks[0].draft.as_ref().unwrap()), "coder\ntests.failing\ntwo red");
    sim.reply("coder", publishes("code.written", None));
    sim.reply("tester", publishes("deploy.now", None));
    assert_eq!(sim.open(), ["(base).1.1.1 Work"], "nobody takes it: H-29");
    sim.reply("(base)", ends("LOOP_COMPLETE"));
    assert_eq!(sim.outcome(), "completed: complete");
    assert_eq!(sim.path()[0], "tester -(directive)-> coder");
    sim.prove_replay();
}

#[test]
fn completion_is_refused_until_the_required_events_were_published() {
    // H-47
    let mut sim = Sim::started(ring(&["tests.failing"]));
    sim.reply("tester", ends("LOOP_COMPLETE"));
    let refused = Decision::Refused { missing: vec!["tests.failing".into()] };
    assert!(sim.decisions().contains(&&refused));
    let prompt = text_of(sim.asks[0].draft.as_ref().unwrap());
    assert_eq!(prompt, "tester\ntask.start\nnothing was reported\n\n- missing_event: tests.failing");
    sim.reply("tester", publishes("tests.failing", None));
    sim.reply("coder", ends("LOOP_COMPLETE"));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

// An event that its stage may not publish does not satisfy what completion requires, also in the same reply.
#[test]
fn an_event_outside_its_scope_completes_nothing() {
    let mut workflow = ring(&["tests.other"]);
    let stage = workflow.stages.get_mut("tester").unwrap();
    let saihai_model::Activity::Turns { turns, .. } = &mut stage.does else { unreachable!("it asks") };
    turns[0].reads.directives.as_mut().unwrap().enforce = true;
    let mut sim = Sim::started(workflow);
    let both = Reading { end_word: Some("LOOP_COMPLETE".to_owned()), ..publishes("tests.other", None) };
    sim.reply("tester", both);
    assert!(sim.outcome().starts_with("running"), "{}", sim.outcome());
    let refused = Decision::Refused { missing: vec!["tests.other".into()] };
    assert!(sim.decisions().contains(&&refused));
    sim.prove_replay();
}

#[test]
fn silence_is_reminded_of_and_then_stalls_until_a_person_resumes() {
    // H-48, H-49
    let mut sim = Sim::started(ring(&[]));
    for _ in 0..3 {
        sim.reply("tester", Reading { tail: "hm".to_owned(), ..Reading::default() });
    }
    assert_eq!(sim.outcome(), "parked: stalled");
    assert_eq!(sim.run.counts().visits_of(&"tester".into()), 1, "reminders are rounds, not visits");
    sim.resume(None);
    sim.reply("tester", Reading::default());
    sim.reply("tester", Reading::default());
    assert_eq!(sim.outcome(), "running: tester.1.6.1 Work", "the counts began anew");
    sim.prove_replay();
}

#[test]
fn reasons_are_told_in_the_workflows_words_each_once() {
    // H-47, H-48
    let mut workflow = ring(&["tests.failing"]);
    workflow.words = IndexMap::from([
        ("in_code_block".to_owned(), " In a block.".to_owned()),
        ("missing_event".to_owned(), " First {}.".to_owned()),
    ]);
    let mut sim = Sim::started(workflow);
    let near_misses = vec!["in_code_block: a".to_owned(), "in_code_block: b".to_owned()];
    sim.reply("tester", Reading { near_misses, ..Reading::default() });
    let prompt = text_of(sim.asks[0].draft.as_ref().unwrap());
    assert!(prompt.ends_with("nothing was reported\n\n-  In a block."), "{prompt}");
    // An event beside the refused word leads on, and its taker is told what is missing.
    let both = Reading { end_word: Some("LOOP_COMPLETE".to_owned()), ..publishes("code.written", None) };
    sim.reply("tester", both);
    let prompt = text_of(sim.asks[0].draft.as_ref().unwrap());
    assert_eq!(prompt, "tester\ncode.written\n First tests.failing.");
    sim.prove_replay();
}

#[test]
fn topics_that_go_astray_are_remarked() {
    // H-29, H-42, H-50, HC-2, HC-11
    let remarks = |workflow: Workflow, topic: &str| {
        let mut sim = Sim::started(workflow);
        sim.reply("tester", publishes(topic, None));
        let remarks = sim.decisions().into_iter().filter_map(|decision| {
            if let Decision::Remarked { remark, .. } = decision { Some(*remark) } else { None }
        });
        (remarks.collect::<Vec<_>>(), sim.open()[0].clone())
    };
    assert_eq!(remarks(ring(&[]), "tests.failing"), (vec![], "coder.1.1.1 Work".to_owned()));
    let astray = vec![Remark::Undeclared, Remark::Orphaned];
    assert_eq!(remarks(ring(&[]), "deploy.now"), (astray, "(base).1.1.1 Work".to_owned()));
    let mut strict = ring(&[]);
    let Activity::Turns { turns, .. } = &mut strict.stages[0].does else { unreachable!() };
    turns[0].reads.directives.as_mut().unwrap().enforce = true;
    let refused = (vec![Remark::OutOfScope], "tester.1.2.1 Work".to_owned());
    assert_eq!(remarks(strict, "code.written"), refused);
}

#[test]
fn saying_the_same_again_is_stale() {
    // H-51
    let mut workflow = ring(&[]);
    workflow
        .topics
        .as_mut()
        .unwrap()
        .routes
        .insert(0, Route { pattern: "me".to_owned(), to: "tester".into(), orphans: false });
    let mut sim = Sim::started(workflow);
    for _ in 0..3 {
        sim.reply("tester", publishes("me", None));
    }
    assert_eq!(sim.outcome(), "parked: stale");
    sim.prove_replay();
}

#[test]
fn a_hat_beyond_its_activations_is_replaced_once_and_then_holds() {
    // H-52
    let mut workflow = ring(&[]);
    workflow.stages[0].visits = Some(VisitLimit {
        max: 1,
        once_instead: Some("(base)".into()),
        publishes: Some("tester.exhausted".into()),
    });
    let mut sim = Sim::started(workflow);
    sim.reply("tester", publishes("code.written", Some("1")));
    let exhausted = Decision::Exhausted {
        stage: "tester".into(),
        topic: "tester.exhausted".into(),
        instead: Some("(base)".into()),
    };
    assert!(sim.decisions().contains(&&exhausted));
    let prompt = text_of(sim.asks[0].draft.as_ref().unwrap());
    assert_eq!(prompt, "(base)\ntester.exhausted\ncode.written", "its message is the topic it replaces");
    sim.reply("(base)", publishes("code.written", Some("2")));
    assert_eq!(sim.outcome(), "parked: exhausted");
    sim.resume(None);
    assert_eq!(sim.open(), ["tester.2.1.1 Work"]);
    sim.prove_replay();
}

/// A step with an output schema and a check in the same session, retried at most twice.
pub(crate) fn step(id: &str, next: &str) -> Stage {
    let mut stage = flow(&format!("{id}: ok -> {next}, ng -> {next}")).stages[0].clone();
    let Activity::Turns { turns, .. } = &mut stage.does else { unreachable!() };
    let turn = &mut turns[0];
    turn.session = SessionPolicy::Continue("agent".into());
    turn.prompt.sections.push(Section {
        body: vec![Part::Fixed("carried: ".into()), Part::Value(Variable::Previous, Form::Tail(4000))],
        when: When::NewSession,
    });
    turn.reads.output = Some(Output {
        schema: OutputSchema { schema: json!({"type": "object"}), required: true },
        corrections: 1,
        correction: says(&[Part::Fixed("wrong: ".into()), Part::Value(Variable::Violations, Form::Bullets)]),
        still_wrong: StillWrong::Go(Target::failed("step_failed")),
        checked: Checked::BySchema,
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
        prompt: says(&[Part::Fixed("check".into())]),
        provider: None,
        model: None,
        session: QuestionSession::Same,
        answer: form,
        correction: says(&[Part::Fixed("unreadable".into())]),
        corrections: 1,
        unreadable: Some("ng".into()),
    };
    if let Some(choice) = &mut turn.reads.choice {
        choice.found_by = vec![Method::Ask(Box::new(question))];
    }
    let again = Again { note: None, at_most: Some(2), exhausted: Target::failed("exhausted_retries") };
    stage.exit = Exit::Rules {
        rules: vec![
            Rule { when: Holds::Is("ok".into()), then: target(next) },
            Rule { when: Holds::Is("ng".into()), then: Target::Again(Box::new(again)) },
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
    // S-37, S-41, S-57
    let mut sim = Sim::started(tailor());
    sim.reply("measure", outputs(json!({"height": 175})));
    assert_eq!(sim.asks[0].session.as_deref(), Some("session of measure.1.1.1"));
    sim.reply("measure#judge", outputs(json!({"result": "ok", "message": "fine"})));
    assert_eq!(sim.run.carry().outputs[&StageId::from("measure")]["height"], 175);
    assert_eq!(sim.run.carry().check_message.as_deref(), Some("fine"));
    assert_eq!(sim.asks[0].session.as_deref(), Some("session of measure.1.1.1"), "the agent's one session");
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
    // S-37, case 13
    let mut sim = Sim::started(tailor());
    sim.reply("measure", outputs(json!({})));
    sim.reply("measure#judge", outputs(json!({"result": null})));
    sim.reply("measure", outputs(json!({"result": null})));
    assert_eq!(sim.path(), ["measure -(judge)-> again"]);
}

#[test]
fn what_was_carried_is_said_where_a_session_was_lost() {
    // S-55, S-58
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
    let block = |ok: bool| Block { kind: "review".to_owned(), value: json!({"type": "review", "ok": ok}) };
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
    let block = |n: u32| Block { kind: "note".to_owned(), value: json!({ "n": n }) };
    sim.reply("work", Reading { blocks: vec![block(1), block(2)], ..Reading::default() });
    assert_eq!(sim.performs.len(), 1);
    sim.perform("ok");
    assert_eq!(sim.performs[0].given, Given::Block(block(2)));
    sim.perform("ok");
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn review_phases_keep_going_past_a_failed_reviewer_and_end_in_the_report() {
    // R-30 and the phases of a review
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
