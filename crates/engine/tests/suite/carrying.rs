//! Prompts without their session, and outputs whose names are already taken.

use saihai_model::*;
use serde_json::json;

use crate::dialects::{outputs, tailor};
use crate::support::Sim;
use crate::support::sim::text_of;

fn section(body: Vec<PromptPart>, when: SectionCondition) -> PromptSection {
    PromptSection { body, when }
}

fn carried() -> PromptSection {
    let said = PromptPart::Value(Variable::Combined, ValueForm::Plain);
    let known = PromptPart::Value(Variable::Context, ValueForm::Plain);
    section(
        vec![PromptPart::Fixed("carried: ".into()), said, PromptPart::Fixed(" ".into()), known],
        SectionCondition::NewSession,
    )
}

fn measure(workflow: &mut Workflow) -> &mut Turn {
    let Activity::Turns { turns, .. } = &mut workflow.stages["measure"].does else { unreachable!() };
    &mut turns[0]
}

/// The tailor, whose checks and corrections repeat their subject in a new session.
fn carrying() -> Workflow {
    let mut workflow = tailor();
    let reads = &mut measure(&mut workflow).reads;
    let Some(Method::Ask(question)) = reads.choice.as_mut().and_then(|choice| choice.found_by.last_mut())
    else {
        panic!("a check asks")
    };
    question.prompt.sections.insert(0, carried());
    question.correction.sections.insert(0, carried());
    reads.output.as_mut().expect("it has one").correction.sections.insert(0, carried());
    workflow
}

fn prompt(sim: &Sim) -> String {
    text_of(sim.asks[0].draft.as_ref().expect("it was drafted"))
}

const KNOWN: &str = r#"{"lastActions":[],"lastToolsUsed":[]}"#;

// C-29: the test above covers a step's own work; this one covers all other calls in its session.
#[test]
fn a_session_that_is_lost_at_a_check_or_a_correction_is_told_what_was_said() {
    let mut sim = Sim::started(carrying());
    sim.reply("measure", Reading { violations: vec!["no height".to_owned()], ..outputs(json!({})) });
    assert_eq!(prompt(&sim), "wrong: \n- no height", "the session knows the rest");
    sim.fail("measure", FailureClass::SessionLost);
    assert_eq!(prompt(&sim), format!("carried: reply to measure.1.1.1 {KNOWN}\nwrong: \n- no height"));
    assert_eq!((sim.asks[0].session.as_deref(), sim.asks[0].attempt), (None, 2));
    sim.reply("measure", outputs(json!({"height": 1})));
    assert_eq!(prompt(&sim), "check");
    sim.fail("measure#judge", FailureClass::SessionLost);
    assert_eq!(prompt(&sim), format!("carried: reply to measure.1.1.1 {KNOWN}\ncheck"));
    assert_eq!(sim.asks[0].session, None);
    sim.reply("measure#judge", outputs(json!({"result": "hm"})));
    assert_eq!(prompt(&sim), "unreadable");
    sim.fail("measure", FailureClass::SessionLost);
    assert_eq!(prompt(&sim), format!("carried: reply to measure.1.1.1 {KNOWN}\nunreadable"));
    sim.fail("measure", FailureClass::SessionLost);
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("parked: provider", 1), "lost again");
    sim.prove_replay();
}

// A provider without sessions gets the repeated context every time.
#[test]
fn a_provider_without_sessions_is_told_with_every_prompt_that_goes_on() {
    let mut sim = Sim::started(carrying());
    let unremembered = |sim: &mut Sim, name: &str, reading: Reading| {
        let request = sim.take_ask(name);
        sim.reply_with(&request, reading, |reply| reply.session = None);
    };
    assert!(!prompt(&sim).contains("carried"), "there is nothing yet");
    unremembered(&mut sim, "measure", outputs(json!({"height": 1})));
    assert_eq!(prompt(&sim), format!("carried: reply to measure.1.1.1 {KNOWN}\ncheck"));
    unremembered(&mut sim, "measure#judge", outputs(json!({"result": "ng"})));
    assert!(prompt(&sim).ends_with("carried: reply to measure.1.1.1"), "a rerun: {}", prompt(&sim));
    unremembered(&mut sim, "measure", outputs(json!({"height": 2})));
    unremembered(&mut sim, "measure#judge", outputs(json!({"result": "ok"})));
    assert!(prompt(&sim).ends_with("carried: reply to measure.1.2.1"), "the next step: {}", prompt(&sim));
    assert_eq!(sim.asks[0].session, None);
}

// S-27
#[test]
fn what_a_run_knows_changes_when_it_is_committed_and_not_before() {
    let mut sim = Sim::started(tailor());
    let known = |sim: &Sim| {
        let stage = sim.run.visit().map(|visit| visit.stage.to_string()).unwrap_or_default();
        let outputs: Vec<String> = sim.run.carry().outputs.keys().map(ToString::to_string).collect();
        let session = sim.run.sessions().next().map(str::to_owned);
        (sim.run.iteration(), stage, session, outputs, sim.run.counts().checks, sim.run.ending().is_some())
    };
    let nothing = (1, "measure".to_owned(), None, Vec::new(), 0, false);
    assert_eq!(known(&sim), nothing);
    sim.fail("measure", FailureClass::Transient);
    assert_eq!(known(&sim), nothing, "a query that failed changes nothing");
    sim.sleep();
    sim.reply("measure", outputs(json!({"height": 175})));
    let session = |call: &str| Some(format!("session of {call}"));
    assert_eq!(known(&sim), (1, "measure".to_owned(), session("measure.1.1.1"), Vec::new(), 0, false));
    assert!(sim.run.carry().previous.is_empty(), "the carry is that of the iteration before");
    sim.reply("measure#judge", outputs(json!({"result": "ok"})));
    let measured = vec!["measure".to_owned()];
    assert_eq!(known(&sim), (2, "quote".to_owned(), session("measure.1.1.2"), measured, 1, false));
    assert!(!sim.run.carry().previous.is_empty());
    sim.reply("quote", outputs(json!({"price": 9})));
    sim.reply("quote#judge", outputs(json!({"result": "ok"})));
    assert_eq!((sim.run.iteration(), sim.run.counts().checks), (2, 2));
    assert_eq!(sim.outcome(), "completed: complete", "with the commit of its check");
}

fn names(stage: &str, taken: &[(&str, &str)]) -> Option<Box<OutputNames>> {
    Some(Box::new(OutputNames {
        prefix: format!("{}_", stage.replace('.', "_")),
        taken: taken.iter().map(|(key, by)| ((*key).to_owned(), (*by).to_owned())).collect(),
        collided: Target::failed(format!("step_failed {stage}")),
    }))
}

#[test]
fn an_output_whose_name_something_else_has_is_wrong() {
    let mut workflow = tailor();
    let output = |workflow: &mut Workflow, stage: &str, names: Option<Box<OutputNames>>| {
        let Activity::Turns { turns, .. } = &mut workflow.stages[stage].does else { unreachable!() };
        turns[0].reads.output.as_mut().expect("it has one").names = names;
    };
    output(&mut workflow, "measure", names("a", &[]));
    output(&mut workflow, "quote", names("a.b", &[("x", "the parameter `a_b_x`")]));
    let mut sim = Sim::started(workflow);
    sim.reply("measure", outputs(json!({"b_c": 1, "b_d": null})));
    sim.reply("measure#judge", outputs(json!({"result": "ok"})));
    let collisions = |output: Json| sim.run.collisions(&sim.workflow, &"quote".into(), &output);
    assert_eq!(
        collisions(json!({"c": 2})),
        ["`c` would be a second source of `a_b_c`, which is the output `b_c` of `measure`"]
    );
    assert_eq!(
        collisions(json!({"x": 2})),
        ["`x` would be a second source of `a_b_x`, which is the parameter `a_b_x`"]
    );
    assert_eq!(collisions(json!({"c": null, "d": 1, "e": 1})), [""; 0], "null is no value");
    assert_eq!(sim.run.collisions(&sim.workflow, &"measure".into(), &json!({"b_c": 5})), [""; 0], "its own");
}

#[test]
fn a_step_that_cannot_be_wrong_otherwise_fails_by_the_names_of_its_output() {
    let mut workflow = tailor();
    let output = measure(&mut workflow).reads.output.as_mut().expect("it has one");
    (output.still_wrong, output.corrections) = (InvalidOutputPolicy::KeepValidItems, 0);
    output.names = names("measure", &[]);
    let mut sim = Sim::started(workflow);
    let taken = vec!["`x` would be a second source of `measure_x`".to_owned()];
    sim.reply("measure", Reading { violations: taken, ..outputs(json!({"x": 1})) });
    assert_eq!(
        (sim.outcome().as_str(), sim.path()),
        ("failed: step_failed measure", vec!["measure -(output)-> step_failed".to_owned()])
    );
    assert!(sim.run.carry().outputs.is_empty(), "nothing of it is kept");
}
