//! Notes of a person (V-20): the next prompt of their stage shows them, and replay is exact.

use saihai_model::*;

use crate::support::build::gate;
use crate::support::sim::text_of;
use crate::support::{Sim, flow};

fn note(text: &str, to: Option<&str>, now: bool) -> Fact {
    let (heading, text) = ("## Note".to_owned(), text.to_owned());
    Fact::Told(PersonNote { heading, text, to: to.map(Into::into), now })
}

/// Returns the prompt of an open request, if it was drafted for this attempt.
fn prompt(sim: &Sim, turn: &str) -> Option<String> {
    let request = sim.asks.iter().find(|request| request.turn.as_ref().is_some_and(|id| id.as_str() == turn));
    request.expect("it was asked").draft.as_ref().map(text_of)
}

fn shows(sim: &Sim, turn: &str, text: &str) -> bool {
    prompt(sim, turn).is_some_and(|prompt| prompt.contains(&format!("## Note\n\n{text}")))
}

fn noted(sim: &Sim) -> Vec<String> {
    let decisions = sim.decisions();
    let noted = decisions.iter().filter_map(|decision| match decision {
        Decision::Noted { call, notes } => Some(format!("{call}: {notes:?}")),
        _ => None,
    });
    noted.collect()
}

#[test]
fn a_note_is_in_the_next_prompt_of_its_stage_and_only_there() {
    let mut sim = Sim::started(flow("plan: again -> plan, ok -> review; review: ng -> plan, ok -> COMPLETE"));
    sim.fact(note("use tabs", Some("plan"), false));
    assert!(sim.stops.is_empty(), "the running turn goes on");
    sim.tag("plan", Some(1));
    assert!(!shows(&sim, "review", "use tabs"));
    sim.tag("review", Some(0));
    assert!(shows(&sim, "plan", "use tabs"));
    sim.tag("plan", Some(0));
    assert!(!shows(&sim, "plan", "use tabs"), "once");
    assert_eq!(noted(&sim), ["plan.2.1.1: [1]"]);
    sim.prove_replay();
}

#[test]
fn every_turn_of_a_round_shows_a_note_to_its_stage() {
    let mut sim = Sim::started(flow("plan: ok -> review; review[a b]: any(ng) -> plan, all(ok) -> COMPLETE"));
    sim.fact(note("mind the names", Some("review"), false));
    sim.fact(note("and the tests", None, false));
    sim.tag("plan", Some(0));
    assert!(shows(&sim, "a", "mind the names") && shows(&sim, "b", "mind the names"));
    assert!(shows(&sim, "a", "and the tests"), "a note without a stage is for the next prompt");
    assert_eq!(noted(&sim), ["review.1.1.1: [1, 2]", "review.1.1.2: [1, 2]"]);
    sim.prove_replay();
}

#[test]
fn now_stops_the_running_turns_and_asks_them_again() {
    let mut sim = Sim::started(flow("review[a b]: any(ng) -> ABORT, all(ok) -> COMPLETE; max 1"));
    sim.tag("a", Some(1));
    sim.fact(note("look again", Some("review"), true));
    assert_eq!(sim.stops.len(), 1, "only b is running");
    sim.fail("b", FailureClass::Cancelled);
    assert!(shows(&sim, "b", "look again"));
    assert_eq!(sim.run.iteration(), 1, "the same round");
    sim.prove_replay();
    sim.tag("b", Some(1));
    assert_eq!(sim.outcome(), "completed: complete");
}

/// A reply that was under way when the turn was stopped counts. The note stays for the next turn.
#[test]
fn a_reply_that_comes_before_the_stop_is_kept() {
    let mut sim = Sim::started(flow("plan: again -> plan, ok -> COMPLETE"));
    sim.fact(note("shorter", Some("plan"), true));
    sim.tag("plan", Some(0));
    assert!(shows(&sim, "plan", "shorter"));
    sim.prove_replay();
}

/// A call that waits for another attempt has not been asked yet, so its prompt is the next one.
#[test]
fn a_turn_that_waits_or_whose_process_died_shows_the_note() {
    let mut sim = Sim::started(flow("plan: again -> plan, ok -> COMPLETE"));
    sim.fail("plan", FailureClass::Transient);
    sim.fact(note("first", Some("plan"), false));
    sim.sleep();
    assert!(shows(&sim, "plan", "first"));
    sim.fact(note("second", Some("plan"), true));
    // The process dies before the turn has stopped.
    sim.crash_and_resume();
    assert!(shows(&sim, "plan", "first") && shows(&sim, "plan", "second"));
    sim.fact(Fact::Interrupted { by: "ctrl-c".to_owned() });
    sim.fact(note("third", Some("plan"), false));
    sim.fail("plan", FailureClass::Cancelled);
    assert_eq!(sim.outcome(), "parked: interrupt");
    sim.fact(note("fourth", Some("plan"), false));
    sim.resume(None);
    assert!(shows(&sim, "plan", "fourth"));
    sim.prove_replay();
}

#[test]
fn a_withdrawn_note_is_never_shown_and_a_shown_one_cannot_be_withdrawn() {
    let mut sim = Sim::started(flow("plan: again -> plan, ok -> COMPLETE"));
    sim.fact(note("one", Some("plan"), false));
    sim.fact(note("two", Some("plan"), false));
    sim.fact(Fact::Withdrawn { note: 1 });
    sim.fact(Fact::Withdrawn { note: 9 });
    sim.tag("plan", Some(0));
    assert!(!shows(&sim, "plan", "one") && shows(&sim, "plan", "two"));
    sim.fact(Fact::Withdrawn { note: 2 });
    assert_eq!(noted(&sim), ["plan.2.1.1: [2]"]);
    assert!(sim.run.waiting_notes().is_empty());
    sim.prove_replay();
}

/// A note decides nothing: a run at a gate stays there.
#[test]
fn a_note_at_a_gate_waits_for_the_answer_and_the_next_prompt() {
    let mut workflow = flow("plan: ok -> gate; fix: ok -> COMPLETE");
    workflow.stages.insert("gate".into(), gate("fix", Wants::YesNo));
    let mut sim = Sim::started(workflow);
    sim.tag("plan", Some(0));
    sim.fact(note("go slowly", None, true));
    assert_eq!(sim.outcome(), "parked: person");
    sim.answer("yes", None);
    assert!(shows(&sim, "fix", "go slowly"));
    sim.prove_replay();
}
