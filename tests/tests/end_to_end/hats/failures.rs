//! Hats on agents that fail, hang or die, and on damaged journals.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use saihai_tests::{Invocation, Live, Outcome, Project, in_parallel, story};

use super::{RING, project, run};
use crate::agents::one_request::is_alive;
use crate::support::PROGRAM;

/// The protocol of a test's agent.
#[derive(Clone, Copy)]
pub(super) enum Speaks {
    Text,
    Json,
}

/// Creates a project with the ring on a custom program. The shell script gets the number of earlier calls in `$n`.
pub(super) fn with_agent(top: &str, script: &str) -> Project {
    with_agent_that(Speaks::Text, top, script)
}

/// Like [`with_agent`], with a chosen protocol.
pub(super) fn with_agent_that(speaks: Speaks, top: &str, script: &str) -> Project {
    let protocol = match speaks {
        Speaks::Text => "text",
        Speaks::Json => "json",
    };
    let project = Project::new(PROGRAM);
    project.write("orch.yml", format!("backend: mine\n{top}{RING}"));
    let count = "n=$(wc -l < calls 2>/dev/null || echo 0)\necho >> calls\ncat > /dev/null\n";
    project.write("../home/bin/mine", format!("#!/bin/sh\n{count}{script}"));
    let program = project.home().join("bin/mine");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an executable");
    let settings = format!(
        "[providers.mine]\nkind = \"command\"\nprogram = {program:?}\nprotocol = {protocol:?}\nhonours = [\"edit\"]\nprice = {{ turn = 0.05 }}\n"
    );
    project.write("../home/.config/saihai/config.toml", settings);
    project
}

pub(super) fn ask(project: &Project) -> Invocation {
    project.saihai(["run", "orch", "The task."]).env("PATH", "/usr/bin:/bin")
}

/// Returns the number of calls of the agent.
pub(super) fn calls(project: &Project) -> usize {
    project.read("calls").lines().count()
}

// HC-32: a reply resets the count, so the later failures do not add up to five.
#[test]
fn an_agent_may_fail_four_times_in_a_row_and_at_the_fifth_the_run_parks() {
    let both = [
        (
            "[ $n = 4 ] && echo 'EVENT: tests.failing' && exit 0\n[ $n = 9 ] && echo LOOP_COMPLETE && exit 0\n",
            0,
            10,
        ),
        ("", 4, 5),
    ];
    in_parallel(&both, |(sometimes, code, expected)| {
        let failing = "echo 'the disk of the model is full' >&2\nexit 1\n";
        let project = with_agent("", &format!("{sometimes}{failing}"));
        let outcome = ask(&project).run();
        let said = outcome.stderr.contains("the disk of the model is full") || *code == 0;
        if outcome.code == Some(*code) && calls(&project) == *expected && said {
            return Ok(());
        }
        Err(format!("{} calls\n{outcome}", calls(&project)))
    });
}

// Only `work` sets labels, and its tests cover them.
#[test]
fn a_program_that_is_not_there_is_found_before_anything_is_made() {
    let project = Project::new(PROGRAM);
    project.write("orch.yml", format!("backend: claude\n{RING}"));
    git(&project);
    let before = (project.snapshot(), refs(&project));
    let outcome = ask(&project).run().exits(4);
    let about_it = outcome.stderr.lines().filter(|line| line.contains("claude"));
    assert_eq!(about_it.count(), 1, "{outcome}");
    assert_eq!((project.snapshot(), refs(&project)), before, "{outcome}");
}

fn git(project: &Project) {
    for arguments in [&["init", "-q"][..], &["add", "orch.yml"]] {
        let done = std::process::Command::new("git").args(arguments).current_dir(project.root()).status();
        assert!(done.expect("git").success());
    }
}

fn refs(project: &Project) -> String {
    let arguments = ["for-each-ref"];
    let told = std::process::Command::new("git").args(arguments).current_dir(project.root()).output();
    String::from_utf8(told.expect("git").stdout).expect("names")
}

// H-55, HC-34
#[test]
fn a_silent_agent_and_what_it_started_are_ended_and_it_is_asked_again() {
    let silent = "[ $n = 0 ] || { echo LOOP_COMPLETE; exit 0; }\nsleep 600 &\necho $$ $! > family\nwait\n";
    let project = with_agent("idle_timeout_secs: 1\n", silent);
    ask(&project).run().exits(0);
    let family = project.read("family");
    for process in family.split_whitespace() {
        assert!(!is_alive(process.parse().expect("a number")), "{family}");
    }
    let journal = project.journal();
    let failed: Vec<_> = journal.facts("failed").map(|fact| &fact["failure"]["class"]).collect();
    assert_eq!(failed, ["transient"]);
    assert_eq!(calls(&project), 2);
}

/// Starts a run up to its third turn. Returns the agent's process of that turn and its child.
fn in_turn_three(project: &Project) -> (Live, [u32; 2]) {
    let mut live =
        project.saihai(["run", "orch", "The task.", "--json"]).env("PATH", "/usr/bin:/bin").start();
    for _ in 0..3 {
        live.wait_for("\"asked\"");
    }
    let begun = Instant::now();
    while !project.root().join("third").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "its third turn does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let third = project.read("third");
    let mut family = third.split_whitespace().map(|process| process.parse().expect("a number"));
    (live, [(); 2].map(|()| family.next().expect("two of them")))
}

/// A script that hangs in its third call until it is ended. The following calls finish the run.
const STAYS: &str = "case $n in
0) echo 'EVENT: tests.failing two red';;
1) echo 'EVENT: code.written all done';;
2) sleep 600 & echo $$ $! > now; mv now third; wait;;
3) echo 'EVENT: tests.passing';;
*) echo LOOP_COMPLETE;;
esac
";

/// Resumes the run. Every finished turn ran once, and the third ran twice with the same prompt.
fn goes_on(project: &Project) -> Outcome {
    let outcome = project.saihai(["resume", "last", "--json"]).env("PATH", "/usr/bin:/bin").run().exits(0);
    let journal = project.journal();
    assert_eq!(journal.asked().into_values().collect::<Vec<_>>(), [1, 1, 1, 2], "{outcome}");
    assert_eq!(journal.path_taken(), ["tester", "coder", "tester", "closer"], "{outcome}");
    let third = journal.prompts().into_iter().filter(|(call, _)| call.starts_with("tester.2."));
    let third: Vec<String> = third.map(|(_, prompt)| prompt).collect();
    let told = "# Event\ncode.written\nFrom: coder\n\n> all done\n";
    assert!(!third.is_empty() && third.iter().all(|prompt| prompt.contains(told)), "{third:?}");
    outcome
}

/// Like [`STAYS`], without the call that hangs.
const UNDISTURBED: &str = "case $n in
0) echo 'EVENT: tests.failing two red';;
1) echo 'EVENT: code.written all done';;
2) echo 'EVENT: tests.passing';;
*) echo LOOP_COMPLETE;;
esac
";

// H-56, HC-35: hat, event, counters and cost are the same as without an interruption. The driver's tests, which
// control time, show that three seconds are enough.
#[test]
fn after_ctrl_c_no_child_is_left_and_resume_begins_at_the_same_turn() {
    let calm = with_agent("", UNDISTURBED);
    let calm =
        calm.saihai(["run", "orch", "The task.", "--json"]).env("PATH", "/usr/bin:/bin").run().exits(0);
    let project = with_agent("", STAYS);
    let (live, family) = in_turn_three(&project);
    live.signal(Signal::INT);
    let parked = live.finish().exits(3);
    assert!(!family.into_iter().any(is_alive), "they are ended before the run is parked");
    let spent = &parked.result()["cost_usd"];
    assert_eq!(*spent, 0.1, "two turns were finished: {parked}");
    let outcome = goes_on(&project);
    for counted in ["iterations", "turns", "cost_usd", "outcome", "reason"] {
        assert_eq!(outcome.result()[counted], calm.result()[counted], "{counted}: {outcome}");
    }
    assert_eq!(outcome.result()["cost_usd"], 0.2, "{outcome}");
    assert_eq!(calls(&project), 5, "only the third was called twice");
}

// HC-39
#[test]
fn a_killed_run_is_shown_as_interrupted_and_goes_on() {
    let project = with_agent("", STAYS);
    let (live, _) = in_turn_three(&project);
    live.signal(Signal::KILL);
    assert_eq!(live.finish().signal, Some(9));
    let listed = project.saihai(["runs", "--json"]).run().exits(0).json();
    assert_eq!(listed[0]["state"], "interrupted", "{listed:?}");
    goes_on(&project);
}

// H-62: a run has one owner, whose id others see. It is free after a kill. A torn journal is repaired, a
// damaged one refused.
#[test]
fn a_run_of_hats_has_one_owner_and_one_whole_journal() {
    let project = with_agent("", STAYS);
    let (live, _) = in_turn_three(&project);
    let refused = project.saihai(["resume", "last"]).run().exits(2);
    let owner = format!("owned by process {}", live.pid());
    assert!(refused.stderr.contains(&owner), "{owner}: {refused}");
    live.signal(Signal::KILL);
    assert_eq!(live.finish().signal, Some(9));
    let listed = project.saihai(["runs", "--json"]).run().exits(0).json();
    assert_eq!(listed[0]["state"], "interrupted", "{listed:?}");
    let path = project.run_directory().join("journal.ndjson");
    let whole = fs::read(&path).expect("a journal");
    fs::write(&path, &whole[..whole.len() - 9]).expect("a journal");
    let mended = project.saihai(["resume", "last"]).env("PATH", "/usr/bin:/bin").run().exits(0);
    assert!(mended.stderr.contains("the last append is incomplete; dropped "), "{mended}");
    let mut bytes = fs::read(&path).expect("a journal");
    let third = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).expect("a line").0 + 10;
    bytes[third] ^= 1;
    fs::write(&path, &bytes).expect("a journal");
    let refused = project.saihai(["show", "last"]).run().exits(2);
    assert!(refused.stderr.contains("journal.ndjson`:3: "), "{refused}");
}

// HC-37
#[test]
fn four_runs_at_once_of_a_thousand_events_are_four_whole_journals() {
    let ring = "max_iterations: 1001\nhats:\n  a: {name: A, triggers: [task.start, b.done], publishes: [a.done, LOOP_COMPLETE], instructions: x}\n  b: {name: B, triggers: [a.done], publishes: [b.done], instructions: x}\n";
    let project = Project::new(PROGRAM);
    project.write("orch.yml", ring);
    project.write(
        "script.yaml",
        "script: 1\nstrict: false\nreplies:\n  - {for: a, times: 500, text: 'EVENT: a.done'}\n  - {for: b, times: '*', text: 'EVENT: b.done'}\n  - {for: a, text: LOOP_COMPLETE}\n",
    );
    in_parallel(&[(); 4], |()| {
        let outcome = run(&project);
        if outcome.code == Some(0) { Ok(()) } else { Err(outcome.to_string()) }
    });
    let runs = project.runs();
    assert_eq!(runs.len(), 4);
    let directory = project.root().join(".saihai/runs");
    let mut routed = 0;
    for name in runs {
        // The tests' journal reader checks the number, the append and the checksum of every line.
        let journal = saihai_tests::Journal::read(&directory.join(&name).join("journal.ndjson"));
        routed += journal.decisions("exited").count();
        project.saihai(["show", &name]).run().exits(0);
    }
    assert_eq!(routed, 4 * 1_001);
    project.write("hanging.yaml", "script: 1\nreplies:\n  - {hang: true}\n");
    let mut owner = project.saihai(["run", "orch", "T", "--script", "hanging.yaml", "--json"]).start();
    owner.wait_for("\"asked\"");
    let second = project.saihai(["resume", "last"]).run().exits(2);
    assert!(second.stderr.contains(&format!("owned by process {}", owner.pid())), "{second}");
    owner.signal(Signal::INT);
    owner.finish().exits(3);
}

// HC-38
#[test]
fn a_torn_journal_is_repaired_and_a_damaged_one_is_refused_by_line() {
    let parked = || {
        let project =
            project(&format!("gates: [tests.passing]\n{RING}"), &["EVENT: tests.passing", "LOOP_COMPLETE"]);
        run(&project).exits(6);
        let path = project.run_directory().join("journal.ndjson");
        let bytes = fs::read(&path).expect("a journal");
        (project, path, bytes)
    };
    let (torn, path, bytes) = parked();
    fs::write(&path, &bytes[..bytes.len() - 9]).expect("a journal");
    let outcome = torn.saihai(["resume", "last"]).run().exits(6);
    assert_eq!(outcome.stderr.lines().filter(|line| line.starts_with("warning")).count(), 1, "{outcome}");
    torn.saihai(["answer", "last", "yes", "--no-resume"]).run().exits(0);
    torn.saihai(["resume", "last"]).run().exits(0);
    let (damaged, path, mut bytes) = parked();
    let second = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 10;
    bytes[second] ^= 1;
    fs::write(&path, &bytes).expect("a journal");
    let outcome = damaged.saihai(["resume", "last"]).run().exits(2);
    assert!(outcome.stderr.contains("journal.ndjson`:2: "), "{outcome}");
}

// H-4: the journal is the event bus, the topic table holds the hats, and the engine is the loop.
#[test]
fn a_run_of_hats_is_kept_like_every_other() {
    let project = project(RING, &["EVENT: tests.passing", "LOOP_COMPLETE"]);
    run(&project).exits(0);
    let kept = fs::read_dir(project.run_directory()).expect("a directory");
    let mut kept: Vec<_> = kept.map(|entry| entry.expect("an entry").file_name()).collect();
    kept.sort();
    assert!(kept.iter().any(|name| name == "journal.ndjson"), "{kept:?}");
    assert!(kept.iter().all(|name| !name.to_string_lossy().contains("event")), "{kept:?}");
    assert!(story(&project.journal()).contains("leave tester by directive"), "{}", story(&project.journal()));
    let directory = saihai::Runs::of_project(&project.root()).find("last").expect("a run");
    let workflow = directory.workflow().expect("it is frozen");
    let topics = workflow.topics.as_ref().expect("a table");
    let routes: Vec<String> =
        topics.routes.iter().map(|route| format!("{} {}", route.pattern.as_str(), route.to)).collect();
    let hats = ["task.start tester", "code.written tester", "tests.failing coder", "tests.passing closer"];
    assert_eq!(routes, hats);
    let mut records = Vec::new();
    directory.read(&mut |record| records.push(record)).expect("it is whole");
    let replayed = saihai_engine::replay(&workflow, &records).expect("the engine would do the same again");
    assert!(matches!(replayed.ending(), Some(saihai_model::Ending::Completed(_))), "{:?}", replayed.ending());
}
