//! A command reads the journal of a run at most once. `Start` is a look at the first record of a run: of the newest one
//! to find `last`, and of a newer one to know whether `last` names the run in a hint.

use std::fs;

use saihai_tests::{Fault, Invocation, Project};

use crate::support::{GATE, GATE_REPLIES, at_the_gate, project};

/// Counts how often a command opens a journal to look at its start, and to read all of it.
fn reads(project: &Project, call: Invocation, code: i32) -> (usize, usize) {
    let log = project.home().join("reads.log");
    call.fault(&Fault::note_reads(&log)).run().exits(code);
    let text = fs::read_to_string(&log).unwrap_or_default();
    let count = |kind: &str| text.lines().filter(|line| line.starts_with(kind)).count();
    let counted = (count("Start "), count("All "));
    assert_eq!(counted.0 + counted.1, text.lines().count(), "{text}");
    drop(fs::remove_file(log));
    counted
}

fn check(project: &Project, arguments: &[&str], code: i32) {
    let (start, all) = reads(project, project.saihai(arguments), code);
    assert!(start <= 2 && all == 1, "saihai {}: {start} starts, {all} journals", arguments.join(" "));
}

#[test]
fn commands_that_show_a_run_read_its_journal_once() {
    let project = at_the_gate();
    for arguments in [
        &["runs"][..],
        &["show", "last"],
        &["show", "last", "--json"],
        &["explain", "last"],
        &["graph", "last"],
        &["log", "last"],
        &["log", "last", "--json"],
        &["log", "last", "-f"],
        &["export", "otel"],
    ] {
        check(&project, arguments, 0);
    }
}

#[test]
fn commands_that_change_a_run_read_its_journal_once() {
    let project = at_the_gate();
    check(&project, &["resume", "last"], 6);
    check(&project, &["fork", "last"], 0);
    check(&project, &["cancel", "last"], 0);
    let answered = project.runs().remove(0);
    check(&project, &["answer", &answered, "Blue.", "--no-resume"], 0);
    check(&project, &["resume", &answered], 0);
    // A finished run is only reported.
    check(&project, &["resume", &answered], 0);
    check(&project, &["record", &answered, "--out", "recorded.yaml"], 0);
}

#[test]
fn a_followed_journal_is_opened_once() {
    let replies = "  - {for: ask, delay: 1, text: '[STEP:0]'}\n";
    let project = project(GATE, replies);
    let mut live = project.saihai(["run", "it", "x", "--script", "script.yaml", "--json"]).start();
    live.wait_for("\"asked\"");
    check(&project, &["log", "last", "-f"], 0);
    live.finish().exits(6);
}

// A new run knows its records.
#[test]
fn a_new_run_does_not_read_its_journal() {
    let project = project(GATE, GATE_REPLIES);
    let call = project.saihai(["run", "it", "The task.", "--script", "script.yaml"]);
    assert_eq!(reads(&project, call, 6), (0, 0));
}
