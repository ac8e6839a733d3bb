//! Proofs that must hold before the engine follows a label.

use saihai_model::*;
use serde_json::json;

use crate::support::sim::text_of;
use crate::support::{Sim, flow};

/// `close` says `closing` or `repeat`; closing needs both proofs.
fn closing(refuted: &RefutedProofPolicy) -> Workflow {
    let mut workflow = flow("close: closing -> COMPLETE, repeat -> close");
    let Activity::Turns { turns, .. } = &mut workflow.stages[0].does else { unreachable!() };
    let proof = |name: &str| Proof {
        of: "closing".into(),
        rules: Vec::new(),
        name: name.to_owned(),
        by: ActionSpec { does: Action::Log, inputs: Vec::new(), once: Once::ReadOnly, poll: None },
        refuted: refuted.clone(),
    };
    turns[0].reads.proofs = vec![proof("clean"), proof("tests")];
    let section = |text: &str, when| PromptSection { body: vec![PromptPart::Fixed(text.into())], when };
    let found = PromptPart::Value(Variable::Refutation, ValueForm::Plain);
    turns[0].prompt.sections = vec![
        section("Close.", SectionCondition::Unrefuted),
        section("Clean up.", SectionCondition::Refuted(0)),
        PromptSection {
            body: vec![PromptPart::Fixed("Mend: ".into()), found],
            when: SectionCondition::Refuted(1),
        },
    ];
    workflow
}

fn again(at_most: u32) -> RefutedProofPolicy {
    RefutedProofPolicy::Again { at_most, exhausted: Target::failed("retries_exhausted close 2") }
}

fn prompt(sim: &Sim) -> String {
    text_of(sim.asks[0].draft.as_ref().expect("a first attempt"))
}

fn fails(sim: &mut Sim, found: &str) {
    let call = sim.performs.remove(0).call;
    let output = [("output".to_owned(), json!(found))].into();
    sim.fact(Fact::Performed { call, outcome: Outcome::Done { label: Some("failed".into()), output } });
}

#[test]
fn a_label_is_gone_by_once_all_its_proofs_hold_and_other_labels_need_none() {
    let mut sim = Sim::started(closing(&again(2)));
    sim.tag("close", Some(1));
    assert_eq!((sim.performs.len(), prompt(&sim).trim()), (0, "Close."));
    sim.tag("close", Some(0));
    sim.perform("ok");
    assert_eq!((sim.performs.len(), sim.asks.len()), (1, 0), "one after the other");
    sim.perform("ok");
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}

#[test]
fn what_is_refuted_is_made_again_with_what_was_found_and_only_so_often() {
    let mut sim = Sim::started(closing(&again(2)));
    sim.tag("close", Some(0));
    sim.perform("ok");
    fails(&mut sim, "2 tests failed");
    assert_eq!(prompt(&sim).trim(), "Mend: 2 tests failed");
    sim.tag("close", Some(0));
    sim.perform("failed");
    assert_eq!((sim.performs.len(), prompt(&sim).trim()), (0, "Clean up."), "the first that fails is enough");
    sim.tag("close", Some(0));
    sim.perform("failed");
    assert_eq!(sim.outcome(), "failed: retries_exhausted close 2");
    sim.prove_replay();
}

//
#[test]
fn a_proof_can_belong_to_rules_instead_of_a_label() {
    let mut workflow = closing(&again(2));
    let Activity::Turns { turns, .. } = &mut workflow.stages[0].does else { unreachable!() };
    turns[0].reads.proofs.truncate(1);
    turns[0].reads.proofs[0].rules = vec![1];
    let mut sim = Sim::started(workflow.clone());
    sim.tag("close", Some(1));
    let call = sim.performs.remove(0).call;
    let output = [("output".to_owned(), json!("")), ("end".to_owned(), json!("exited with 3"))].into();
    sim.fact(Fact::Performed { call, outcome: Outcome::Done { label: Some("failed".into()), output } });
    assert_eq!(sim.run.carry_after_round(&workflow).refuted, Some((0, "exited with 3".to_owned())));
    sim.tag("close", Some(0));
    assert_eq!((sim.performs.len(), sim.outcome().as_str()), (0, "completed: complete"));
    sim.prove_replay();
}

#[test]
fn an_agent_that_repeats_itself_uses_up_no_attempts() {
    let mut workflow = closing(&again(1));
    let Exit::Rules { rules, .. } = &mut workflow.stages[0].exit else { unreachable!() };
    let exhausted = Target::failed("never");
    rules[1].then = Target::Again(Box::new(Again { note: None, at_most: None, exhausted }));
    let mut sim = Sim::started(workflow);
    for _ in 0..3 {
        sim.tag("close", Some(1));
    }
    sim.tag("close", Some(0));
    sim.perform("failed");
    assert_eq!(prompt(&sim).trim(), "Clean up.");
    sim.tag("close", Some(1));
    assert_eq!(prompt(&sim).trim(), "Close.", "the next round was refuted by nothing");
}

#[test]
fn a_refutation_can_end_the_run_or_be_remarked_only() {
    let mut sim =
        Sim::started(closing(&RefutedProofPolicy::Go(Target::failed("validation_failed close clean"))));
    sim.tag("close", Some(0));
    sim.perform("failed");
    assert_eq!(sim.outcome(), "failed: validation_failed close clean");
    let mut sim = Sim::started(closing(&RefutedProofPolicy::Remarked));
    sim.tag("close", Some(0));
    sim.perform("failed");
    sim.perform("failed");
    assert_eq!(sim.outcome(), "completed: complete");
}

#[test]
fn a_proof_under_way_when_the_process_dies_is_looked_at_again() {
    let mut sim = Sim::started(closing(&again(2)));
    sim.tag("close", Some(0));
    sim.performs.clear();
    sim.crash_and_resume();
    assert_eq!((sim.performs.len(), sim.asks.len()), (1, 0), "the reply is kept");
    sim.perform("ok");
    sim.perform("ok");
    assert_eq!(sim.outcome(), "completed: complete");
}
