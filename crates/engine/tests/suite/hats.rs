//! Stages that switch by published topics, as hats lower into them.

use indexmap::IndexMap;
use saihai_model::*;

use crate::support::build::says;
use crate::support::sim::text_of;
use crate::support::{Sim, flow};

fn publishes(topic: &str, message: Option<&str>) -> Reading {
    let event = PublishedEvent { topic: topic.into(), message: message.map(str::to_owned), line: 1 };
    Reading { digest: format!("{topic}{message:?}"), events: vec![event], ..Reading::default() }
}

fn ends(word: &str) -> Reading {
    Reading { end_word: Some(word.to_owned()), ..Reading::default() }
}

fn hat(id: &str, declared: &[&str], requires: &[&str]) -> Stage {
    let mut stage = flow(&format!("{id}: always -> COMPLETE")).stages[0].clone();
    let note = says(&[
        PromptPart::Fixed("nothing was reported".into()),
        PromptPart::Value(Variable::Reasons, ValueForm::Bullets),
        PromptPart::Value(Variable::ReplyTail, ValueForm::Quote),
    ]);
    stage.exit = Exit::Topics {
        silent: Again { note: Some(note), at_most: None, exhausted: Target::failed("never") },
        default: None,
    };
    let Activity::Turns { turns, .. } = &mut stage.does else { unreachable!() };
    turns[0].prompt = says(&[
        PromptPart::Fixed(id.into()),
        PromptPart::Value(Variable::EventTopic, ValueForm::Plain),
        PromptPart::Value(Variable::EventMessage, ValueForm::Quote),
        PromptPart::Value(Variable::Note, ValueForm::Plain),
    ]);
    turns[0].reads.directives = Some(Directives {
        words: vec![EndWord {
            word: "LOOP_COMPLETE".to_owned(),
            requires: requires.iter().map(|topic| (*topic).into()).collect(),
            then: Target::Complete,
            quiet: false,
        }],
        known: Vec::new(),
        declared: Some(declared.iter().map(|topic| (*topic).into()).collect()),
        enforce: false,
        extraction: Default::default(),
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
    workflow.topics = Some(Topics {
        start: "task.start".into(),
        routes: routes.collect(),
        otherwise: "(base)".into(),
        expected: false,
    });
    workflow.monitors = vec![
        Monitor { watches: Watch::Silent { times: 3 }, then: Alarm::Hold("stalled".into()) },
        Monitor { watches: Watch::Same { times: 3 }, then: Alarm::Hold("stale".into()) },
    ];
    workflow
}

#[test]
fn hats_are_switched_by_events_and_ended_by_the_keyword() {
    let mut sim = Sim::started(ring(&[]));
    assert_eq!(text_of(sim.asks[0].draft.as_ref().unwrap()), "tester\ntask.start");
    sim.reply("tester", publishes("tests.failing", Some("two red")));
    assert_eq!(text_of(sim.asks[0].draft.as_ref().unwrap()), "coder\ntests.failing\ntwo red");
    sim.reply("coder", publishes("code.written", None));
    sim.reply("tester", publishes("deploy.now", None));
    assert_eq!(sim.open(), ["(base).1.1.1 Work"], "nobody takes it");
    sim.reply("(base)", ends("LOOP_COMPLETE"));
    assert_eq!(sim.outcome(), "completed: complete");
    assert_eq!(sim.path()[0], "tester -(directive)-> coder");
    sim.prove_replay();
}

#[test]
fn completion_is_refused_until_the_required_events_were_published() {
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

// An event outside its stage's scope does not satisfy a requirement of the completion, even in the same reply.
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
    let mut workflow = ring(&["tests.failing"]);
    workflow.words = IndexMap::from([
        ("in_code_block".to_owned(), " In a block.".to_owned()),
        ("missing_event".to_owned(), " First {}.".to_owned()),
    ]);
    let mut sim = Sim::started(workflow);
    let near_misses = vec!["in_code_block: a".into(), "in_code_block: b".into()];
    sim.reply("tester", Reading { near_misses, ..Reading::default() });
    let prompt = text_of(sim.asks[0].draft.as_ref().unwrap());
    assert!(prompt.ends_with("nothing was reported\n\n-  In a block."), "{prompt}");
    // An event next to the refused word is followed, and its receiver learns the missing events.
    let both = Reading { end_word: Some("LOOP_COMPLETE".to_owned()), ..publishes("code.written", None) };
    sim.reply("tester", both);
    let prompt = text_of(sim.asks[0].draft.as_ref().unwrap());
    assert_eq!(prompt, "tester\ncode.written\nFirst tests.failing.");
    sim.prove_replay();
}

#[test]
fn topics_that_go_astray_are_remarked() {
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

// After a hold for any reason, the counts of every stage restart at zero.
#[test]
fn a_person_who_resumes_gives_every_hat_its_activations_again() {
    let both_twice = || {
        let mut workflow = ring(&[]);
        for stage in [0, 1] {
            let publishes = Some(["tester.exhausted", "coder.exhausted"][stage].into());
            workflow.stages[stage].visits = Some(VisitLimit { max: 2, once_instead: None, publishes });
        }
        workflow
    };
    let to_and_fro = |sim: &mut Sim, from: u32| {
        for round in from..from + 2 {
            sim.reply("tester", publishes("tests.failing", Some(&round.to_string())));
            sim.reply("coder", publishes("code.written", Some(&round.to_string())));
        }
    };
    let mut sim = Sim::started(both_twice());
    to_and_fro(&mut sim, 1);
    assert_eq!(sim.outcome(), "parked: exhausted");
    sim.resume(None);
    // The coder was asked twice as well, so it is asked twice again.
    to_and_fro(&mut sim, 3);
    assert_eq!(sim.outcome(), "parked: exhausted");
    assert_eq!(sim.run.counts().visits_of(&"coder".into()), 4);
    sim.prove_replay();
    let mut sim = Sim::started(both_twice());
    sim.reply("tester", publishes("tests.failing", None));
    for _ in 0..3 {
        sim.reply("coder", Reading::default());
    }
    assert_eq!(sim.outcome(), "parked: stalled");
    sim.resume(None);
    sim.reply("coder", publishes("code.written", None));
    to_and_fro(&mut sim, 1);
    assert_eq!(sim.outcome(), "parked: exhausted");
    assert_eq!(sim.run.counts().visits_of(&"tester".into()), 4);
    sim.prove_replay();
}

// H-54: failed attempts in a row count together, for both kinds of failure.
#[test]
fn failures_of_both_kinds_stand_in_one_row_where_that_is_wanted() {
    for (together, attempts) in [(true, 3), (false, 5)] {
        let mut workflow = ring(&[]);
        workflow.retry = Retry { transient: 3, crashed: 3, together, ..Retry::default() };
        let mut sim = Sim::started(workflow);
        let mut made = 0;
        while !sim.run.is_parked() {
            let request = sim.asks.remove(0);
            let class = [FailureClass::Crashed, FailureClass::Transient][made % 2];
            made += 1;
            sim.fail_to(&request, Failure::new(class, "x"));
            sim.at += 100_000;
            sim.fact(Fact::Woke);
        }
        assert_eq!(made, attempts, "{together}");
        sim.prove_replay();
    }
}

// H-47: an event of the engine counts as published in this run.
#[test]
fn a_required_event_may_be_the_engines() {
    let mut sim = Sim::started(ring(&["task.start"]));
    sim.reply("tester", ends("LOOP_COMPLETE"));
    assert_eq!(sim.outcome(), "completed: complete");
    let mut workflow = ring(&["tester.exhausted"]);
    let stage = workflow.stages.get_mut("tester").unwrap();
    stage.visits = Some(VisitLimit {
        max: 1,
        once_instead: Some("coder".into()),
        publishes: Some("tester.exhausted".into()),
    });
    let mut sim = Sim::started(workflow);
    sim.reply("tester", publishes("code.written", None));
    sim.reply("coder", ends("LOOP_COMPLETE"));
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

// H-29: with hats, an event that no hat takes is an orphan, even if no hat takes any.
#[test]
fn an_event_astray_is_remarked_even_where_no_hat_has_a_trigger() {
    for expected in [true, false] {
        let mut workflow = ring(&[]);
        workflow.topics.as_mut().unwrap().routes.clear();
        workflow.topics.as_mut().unwrap().expected = expected;
        let mut sim = Sim::started(workflow);
        sim.reply("tester", publishes("tests.passing", None));
        let remarked = Decision::Remarked { topic: "tests.passing".into(), remark: Remark::Orphaned };
        assert_eq!(sim.decisions().contains(&&remarked), expected);
        sim.prove_replay();
    }
}
