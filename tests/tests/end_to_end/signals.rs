//! Signals to the process. K-2, K-21, K-22.

use insta::assert_snapshot;
use rustix::process::Signal;
use saihai_tests::{Live, Project, story};

use crate::support::project;

const DEFINITION: &str = "
name: it
movements:
  - {name: first, rules: [{condition: on, next: second}]}
  - {name: second, rules: [{condition: done, next: COMPLETE}]}
";

/// The second turn hangs in its first attempt and replies in the next.
const REPLIES: &str = "  - {for: first, text: '[STEP:0]'}
  - {for: second, hang: true}
  - {for: second, text: '[STEP:0]'}
";

/// Starts a run and waits until its second turn runs.
fn under_way(project: &Project) -> Live {
    let mut live = project.saihai(["run", "it", "T", "--script", "script.yaml", "--json"]).start();
    for _ in 0..2 {
        live.wait_for("\"asked\"");
    }
    live
}

// P-55, K-21. The driver's tests, which control time, show that it takes less than three seconds.
#[test]
fn t72_every_polite_signal_parks_the_run_and_resume_goes_on() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let project = project(DEFINITION, REPLIES);
        let live = under_way(&project);
        live.signal(signal);
        let outcome = live.finish().exits(3);
        assert_eq!(outcome.result()["outcome"], "parked", "{outcome}");
        assert_eq!(outcome.result()["reason"], "interrupt", "{outcome}");
        let listed = project.saihai(["runs", "--json"]).run().exits(0).json();
        assert_eq!((&listed[0]["state"], &listed[0]["reason"]), (&"parked".into(), &"interrupt".into()));
        project.saihai(["resume", "last"]).run().exits(0);
        let asked: Vec<usize> = project.journal().asked().into_values().collect();
        assert_eq!(asked, [1, 2], "the first turn is not asked again");
    }
}

#[test]
fn t72_an_interrupted_run_says_how_to_go_on() {
    let project = project(DEFINITION, REPLIES);
    let live = under_way(&project);
    live.signal(Signal::INT);
    let outcome = live.finish().exits(3);
    assert!(outcome.stderr.contains("saihai resume"), "{outcome}");
    project.saihai(["resume", "last"]).run().exits(0);
    assert_snapshot!(story(&project.journal()), @r"
    enter first
    leave first by tag rule 0 [on] -> stage second
    enter second
    parked: interrupted
      again second
    leave second by tag rule 0 [done] -> complete
    finished: completed complete
    ");
}

#[test]
fn t72_two_ends_at_once_leave_a_run_that_goes_on() {
    for (one, two) in [(Signal::INT, Signal::INT), (Signal::INT, Signal::TERM), (Signal::TERM, Signal::HUP)] {
        let project = project(DEFINITION, REPLIES);
        let live = under_way(&project);
        live.signal(one);
        live.signal(two);
        let outcome = live.finish();
        assert!(outcome.code == Some(3) || outcome.signal.is_some(), "{outcome}");
        project.saihai(["resume", "last"]).run().exits(0);
    }
}

// K-22: `cancel` reaches the living owner through the run directory.
#[test]
fn a_cancel_from_another_process_ends_the_living_run() {
    let project = project(DEFINITION, REPLIES);
    let live = under_way(&project);
    project.saihai(["cancel", "last"]).run().exits(0);
    let outcome = live.finish().exits(3);
    assert_eq!(outcome.result()["outcome"], "cancelled", "{outcome}");
    project.saihai(["resume", "last"]).run().exits(3);
}

// K-1
#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let project = project(DEFINITION, "  - {text: '[STEP:0]', times: \"*\"}\n");
    for _ in 0..3 {
        project.saihai(["run", "it", "T", "--script", "script.yaml"]).run().exits(0);
    }
    let piped = project.saihai(["runs", "--json"]).piped_into("head -n 1 | cut -c 1").run();
    assert_eq!((piped.stdout.as_str(), piped.stderr.as_str()), ("{\n", ""), "{piped}");
    let gone = project.saihai(["--help"]).piped_into("true").run();
    assert_eq!(gone.stderr, "", "{gone}");
}
