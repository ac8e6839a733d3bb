//! One process owns a run at a time. K-22, H-62.

use rustix::process::Signal;
use saihai_tests::{Live, Project, in_parallel};

use crate::support::project;

const DEFINITION: &str =
    "name: it\nmovements:\n  - {name: work, edit: true, rules: [{condition: done, next: COMPLETE}]}\n";
const REPLIES: &str = "  - {hang: true}\n  - {text: '[STEP:0]'}\n";

/// Starts a run whose turn hangs, and returns its living owner.
fn owner(project: &Project) -> Live {
    let mut live = project.saihai(["run", "it", "T", "--script", "script.yaml", "--json"]).start();
    live.wait_for("\"asked\"");
    live
}

#[test]
fn t30_fifty_processes_on_one_run_have_one_owner() {
    let project = project(DEFINITION, REPLIES);
    let live = owner(&project);
    let journal = project.journal();
    let pid = live.pid().to_string();
    in_parallel(&[(); 49], |()| {
        let refused = project.saihai(["resume", "last"]).run();
        let names_the_owner = refused.code == Some(2) && refused.stderr.contains(&pid);
        if names_the_owner { Ok(()) } else { Err(refused.to_string()) }
    });
    assert_eq!(project.journal(), journal, "the refused ones wrote nothing");
    live.signal(Signal::INT);
    live.finish().exits(3);
}

#[test]
fn t30_of_fifty_that_resume_a_parked_run_at_once_each_turn_is_asked_by_one() {
    let definition = "name: it\nmax_iterations: 1\nmovements:\n  - {name: a, rules: [{condition: on, next: b}]}\n  - {name: b, rules: [{condition: done, next: COMPLETE}]}\n";
    let project = project(definition, "  - {times: \"*\", text: '[STEP:0]'}\n");
    project.saihai(["run", "it", "T", "--script", "script.yaml"]).run().exits(5);
    in_parallel(&[(); 50], |()| {
        let outcome = project.saihai(["resume", "last", "--max-iterations", "9"]).run();
        let refused = outcome.code == Some(2) && outcome.stderr.contains("owned by");
        if outcome.code == Some(0) || refused { Ok(()) } else { Err(outcome.to_string()) }
    });
    let asked = project.journal().asked();
    assert_eq!(asked.values().copied().collect::<Vec<_>>(), [1, 1], "{asked:?}");
}

#[test]
fn t31_the_lock_of_a_killed_owner_is_free_at_once() {
    for _ in 0..5 {
        let project = project(DEFINITION, REPLIES);
        let live = owner(&project);
        live.signal(Signal::KILL);
        assert_eq!(live.finish().signal, Some(9));
        project.saihai(["resume", "last"]).run().exits(0);
    }
}

#[test]
fn t31_a_stopped_owner_is_still_the_owner() {
    let replies = "  - {delay: 1, text: '[STEP:0]'}\n";
    let project = project(DEFINITION, replies);
    let live = owner(&project);
    live.signal(Signal::STOP);
    project.saihai(["resume", "last"]).run().exits(2);
    live.signal(Signal::CONT);
    live.finish().exits(0);
}

#[test]
fn t33_a_grandchild_does_not_keep_the_lock() {
    let replies =
        "  - {runs: [{argv: [sh, -c, 'sleep 5 >/dev/null 2>&1 </dev/null &']}], text: 'x [STEP:0]'}\n";
    let definition = "name: it\nmovements:\n  - {name: work, permission_mode: full, rules: [{condition: on, next: more}]}\n  - {name: more, rules: [{condition: done, next: COMPLETE}]}\n";
    let project = project(definition, &format!("{replies}{REPLIES}"));
    let mut live = project.saihai(["run", "it", "T", "--script", "script.yaml", "--json"]).start();
    for _ in 0..2 {
        live.wait_for("\"asked\"");
    }
    live.signal(Signal::KILL);
    drop(live.finish());
    project.saihai(["resume", "last"]).run().exits(0);
}
