//! The stages around a definition that works on an issue, built by hand.

use saihai_model::*;

use crate::support::build::{action, gate};
use crate::support::{Sim, flow};

#[test]
fn delivery_wraps_a_definition_in_gates_and_outside_effects() {
    // I-42, I-60: gates, polls and waiting for the forge
    let mut workflow = flow("work: ok -> COMPLETE");
    let poll = Poll { every: Millis(1_000), at_most: Millis(5_000), hold: None };
    let mut checks = action(Action::Checks, Once::ReadOnly, &[("green", "merge"), ("timeout", "ABORT")]);
    if let Activity::Action(spec) = &mut checks.does {
        spec.poll = Some(poll);
    }
    for (id, stage) in [
        ("worktree", action(Action::Worktree, Once::LookUpFirst, &[("ready", "work")])),
        ("finalize", action(Action::Finalize, Once::SetToValue, &[("committed", "approve")])),
        ("approve", gate("push", Wants::YesNo)),
        ("push", action(Action::Push, Once::LookUpFirst, &[("pushed", "checks"), ("moved", "finalize")])),
        ("checks", checks),
        ("merge", action(Action::Merge, Once::LookUpFirst, &[("merged", "COMPLETE")])),
    ] {
        workflow.stages.insert(id.into(), stage);
    }
    workflow.entry = "worktree".into();
    workflow.afterwards = Some("finalize".into());
    let mut sim = Sim::started(workflow);
    sim.perform("ready");
    sim.tag("work", Some(0));
    sim.perform("committed");
    sim.answer("yes", None);
    sim.perform("moved");
    sim.perform("committed");
    sim.answer("yes", None);
    sim.perform("pushed");
    let call = sim.performs.remove(0).call;
    sim.fact(Fact::Performed { call, outcome: Outcome::NotYet });
    sim.sleep();
    sim.perform("green");
    let call = sim.performs.remove(0).call;
    sim.fact(Fact::Performed { call, outcome: Outcome::Waiting { reason: "review required".into() } });
    assert_eq!(sim.outcome(), "parked: forge");
    sim.crash_and_resume();
    assert!(sim.performs[0].look_up);
    sim.perform("merged");
    assert_eq!(sim.outcome(), "completed: complete");
    assert_eq!(sim.run.iteration(), 1, "nothing but the work costs an iteration");
    sim.prove_replay();
}

// I-60: after a resume, the action gets its full waiting time again.
#[test]
fn checks_that_take_too_long_hold_the_run_where_that_is_asked_for() {
    let mut workflow = flow("work: ok -> COMPLETE");
    let mut checks = action(Action::Checks, Once::ReadOnly, &[("green", "COMPLETE")]);
    if let Activity::Action(spec) = &mut checks.does {
        let hold = Some("checks-timeout".to_owned());
        spec.poll = Some(Poll { every: Millis(1_000), at_most: Millis(1_500), hold });
    }
    workflow.stages.insert("checks".into(), checks);
    workflow.afterwards = Some("checks".into());
    let mut sim = Sim::started(workflow);
    let not_yet = |sim: &mut Sim| {
        let call = sim.performs.remove(0).call;
        sim.fact(Fact::Performed { call, outcome: Outcome::NotYet });
    };
    sim.tag("work", Some(0));
    not_yet(&mut sim);
    sim.sleep();
    not_yet(&mut sim);
    sim.sleep();
    not_yet(&mut sim);
    assert_eq!(sim.outcome(), "parked: forge");
    sim.resume(None);
    not_yet(&mut sim);
    sim.sleep();
    sim.perform("green");
    assert_eq!(sim.outcome(), "completed: complete");
    sim.prove_replay();
}
