//! Movements that run a program. U-9.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use rustix::process::Signal;
use saihai_tests::{Outcome, Project, story};
use serde_json::json;

use crate::agents::one_request::is_alive;
use crate::support::PROGRAM;

/// `work` and `fix` are agents; `tests` runs `test.sh`.
const PIECE: &str = "
name: it
movements:
  - {name: work, edit: true, instruction: Do it., rules: [{condition: done, next: tests}]}
  - name: tests
    run: [sh, test.sh]
    timeout: 20s
    report: tests.log
    rules:
      - {condition: exit(0), next: COMPLETE}
      - {condition: timeout, next: ABORT}
      - {condition: exit(1..), next: fix}
  - name: fix
    edit: true
    instruction: 'Fix this: {previous_response}'
    rules: [{condition: done, next: tests}]
";

/// Succeeds if the file `state` says so.
const TEST: &str =
    "echo 2 of 14 tests >&2; grep -q good state || { echo 'failed: the state is bad'; exit 101; }";

const REPLIES: &str = "script: 1
replies:
  - {for: work, text: 'all tests pass [STEP:0]', writes: [{path: state, content: bad}]}
  - {for: fix, text: 'fixed [STEP:0]', prompt: 'exit code 101', writes: [{path: state, content: good}]}
";

fn project(test: &str) -> Project {
    let project = Project::new(PROGRAM);
    project.write(".saihai/pieces/it.yaml", PIECE);
    project.write("test.sh", test);
    project.write("script.yaml", REPLIES);
    project
}

fn run(project: &Project, more: &[&str]) -> Outcome {
    let arguments = ["run", "it", "T", "--provider", "script", "--script", "script.yaml"];
    project.saihai(arguments.iter().chain(more)).run()
}

/// Waits until a file has a line, and returns it as a number.
fn number_in(path: &Path) -> u32 {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Some(number) = text.strip_suffix('\n').and_then(|line| line.trim().parse().ok()) {
            return number;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", path.display());
        thread::sleep(Duration::from_millis(5));
    }
}

fn wait_until_gone(process: u32) {
    let begun = Instant::now();
    while is_alive(process) {
        assert!(begun.elapsed() < Duration::from_secs(60), "process {process} is left");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_exit_code_decides_and_not_the_agent() {
    let project = project(TEST);
    let outcome = run(&project, &["--trust-project"]).exits(0);
    assert!(
        outcome.stderr.contains("tests: sh test.sh failed with exit code 101 after "),
        "the log says what happened: {outcome}"
    );
    assert!(outcome.stderr.contains("failed: the state is bad"), "{outcome}");
    assert_snapshot!(story(&project.journal()), @"
    enter work
    leave work by tag rule 0 [done] -> stage tests
    enter tests
      report tests.log (whole)
    leave tests by exit_code rule 2 [exit(1..)] -> stage fix
    enter fix
    leave fix by tag rule 0 [done] -> stage tests
    enter tests
      report tests.log (whole)
    leave tests by exit_code rule 0 [exit(0)] -> complete
    finished: completed complete
    ");
    let fix = project.journal().prompt("fix");
    assert!(fix.contains("$ sh test.sh\n"), "{fix}");
    assert!(fix.contains("failed: the state is bad\n[exit code 101]"), "{fix}");
    assert_eq!(project.reports().len(), 1);
    assert_eq!(project.reports()[0].1, "2 of 14 tests\n");
    let result = project.saihai(["show", "last", "--json"]).run().exits(0).json().remove(0);
    assert_eq!((&result["result"]["turns"], &result["result"]["iterations"]), (&json!(2), &json!(4)));
    let told = project.saihai(["explain", "last", "--json"]).run().exits(0).json();
    assert_eq!(told[1]["method"], "exit_code");
    assert_eq!(
        told[1]["evidence"],
        json!([{"kind": "program", "turn": "tests", "command": "sh test.sh", "exit": {"code": 101},
                "last_line": "failed: the state is bad"}])
    );
}

#[test]
fn a_projects_piece_with_programs_needs_trust_and_a_changed_one_again() {
    let project = project(TEST);
    let refused = run(&project, &[]).exits(2);
    assert!(
        refused.stderr.contains("settings/untrusted") && refused.stderr.contains("`sh test.sh`"),
        "{refused}"
    );
    let trusted = project.saihai(["trust", ".saihai/pieces/it.yaml"]).run().exits(0);
    assert!(trusted.stdout.contains("runs = sh test.sh"), "{trusted}");
    run(&project, &[]).exits(0);
    project.write(".saihai/pieces/it.yaml", PIECE.replace("test.sh", "other.sh"));
    run(&project, &[]).exits(2);
    // Inspection needs no trust.
    project.saihai(["check", "it"]).run().exits(0);
    project.saihai(["rehearse", "it"]).run().exits(0);
    // A person's own piece needs none either.
    let own = Project::new(PROGRAM);
    own.write("../home/.config/saihai/pieces/it.yaml", PIECE);
    own.write("test.sh", TEST).write("script.yaml", REPLIES);
    run(&own, &[]).exits(0);
}

#[test]
fn a_program_ends_with_its_children_at_its_time_limit() {
    let project = project("sleep 600 & echo $! > child; echo waiting; wait");
    project.write(".saihai/pieces/it.yaml", PIECE.replace("timeout: 20s", "timeout: 1s"));
    let outcome = run(&project, &["--trust-project", "--json"]).exits(1);
    assert_eq!(outcome.result()["reason"], "abort", "{outcome}");
    assert_eq!(outcome.result()["decided"]["condition"], "timeout", "{outcome}");
    wait_until_gone(number_in(&project.root().join("child")));
}

#[test]
fn a_program_dies_with_saihai_and_resume_runs_it_again_and_asks_nothing_twice() {
    for signal in [Signal::INT, Signal::KILL] {
        let project = project("sh -c 'echo $$ > child; test -e go || exec sleep 600'");
        project.write("script.yaml", REPLIES.replace("script: 1", "script: 1\nstrict: false"));
        let arguments =
            ["run", "it", "T", "--provider", "script", "--script", "script.yaml", "--trust-project"];
        let live = project.saihai(arguments).start();
        let child = number_in(&project.root().join("child"));
        live.signal(signal);
        live.finish();
        wait_until_gone(child);
        project.write("go", "");
        let resumed = project.saihai(["resume", "last"]).env("SAIHAI_TRUST_PROJECT", "1").run().exits(0);
        assert!(resumed.stderr.contains("tests runs again"), "{resumed}");
        assert_eq!(project.journal().decisions("repeated").count(), 1, "{signal:?}");
        let asked: Vec<usize> = project.journal().asked().into_values().collect();
        assert_eq!(asked, [2, 1], "only the program was started again: {signal:?}");
    }
}

#[test]
fn a_missing_program_parks_the_run_and_says_so() {
    let project = project(TEST);
    project.write(".saihai/pieces/it.yaml", PIECE.replace("run: [sh, test.sh]", "run: [no-such-program]"));
    let outcome = run(&project, &["--trust-project"]).exits(4);
    assert!(outcome.stderr.contains("`no-such-program` could not be started"), "{outcome}");
    let shown = project.saihai(["show", "last"]).run();
    assert!(shown.stdout.contains("the program of `tests` could not be run (missing)"), "{shown}");
}

#[test]
fn a_program_runs_next_to_an_agent() {
    let piece = "
name: it
movements:
  - name: look
    parallel:
      - {name: tests, shell: 'test -e state || { echo no state; exit 3; }', rules: [{condition: exit(0)}, {condition: exit(1..)}]}
      - {name: review, provider: script, instruction: Review it., rules: [{condition: approved}, {condition: bad}]}
    rules:
      - {condition: 'all(\"exit(0)\", \"approved\")', next: COMPLETE}
      - {condition: 'any(\"exit(1..)\", \"bad\")', next: fix}
  - name: fix
    provider: script
    edit: true
    instruction: 'Fix this: {previous_response}'
    rules: [{condition: done, next: look}]
";
    let project = Project::new(PROGRAM);
    project.write(".saihai/pieces/it.yaml", piece);
    project.write(
        "script.yaml",
        "script: 1\nreplies:\n  - {for: look, times: '*', text: 'good [STEP:0]'}\n  - {for: fix, text: '[STEP:0]', writes: [{path: state, content: x}]}\n",
    );
    project.saihai(["run", "it", "T", "--script", "script.yaml", "--trust-project"]).run().exits(0);
    assert_snapshot!(story(&project.journal()), @"
    enter look
    leave look by aggregate rule 1 [exit(1..), approved] -> stage fix
    enter fix
    leave fix by tag rule 0 [done] -> stage look
    enter look
    leave look by aggregate rule 0 [exit(0), approved] -> complete
    finished: completed complete
    ");
    let fix = project.journal().prompt("fix");
    assert!(fix.contains("## tests\n$ test -e state"), "{fix}");
    assert!(fix.contains("no state\n[exit code 3]\n\n---\n\n## review\ngood [STEP:0]"), "{fix}");
}

#[test]
fn a_run_is_recorded_with_the_exit_codes_and_rehearsed_without_the_program() {
    let project = project(TEST);
    run(&project, &["--trust-project"]).exits(0);
    project.saihai(["record", "last", "--out", "kept.yaml"]).run().exits(0);
    let kept = project.read("kept.yaml");
    assert!(kept.contains("exit: 101") && kept.contains("exit: 0"), "{kept}");
    // The program would fail now, if it ran.
    project.write("state", "bad").write("test.sh", "touch ran; exit 9");
    project.saihai(["rehearse", "it", "--script", "kept.yaml"]).run().exits(0);
    assert!(!project.root().join("ran").exists());
}

#[test]
fn a_rehearsal_takes_both_outcomes_and_every_drawing_has_its_own_shape() {
    let project = project("touch ran");
    let rehearsed = project.saihai(["rehearse", "it"]).run().exits(0);
    assert!(rehearsed.stdout.contains("every exit taken"), "{rehearsed}");
    assert!(!project.root().join("ran").exists());
    let mermaid = project.saihai(["graph", "it"]).run().exits(0).stdout;
    assert!(mermaid.contains("n1[/\"tests<br/>$ sh test.sh\"/]"), "{mermaid}");
    let dot = project.saihai(["graph", "it", "--format", "dot"]).run().exits(0).stdout;
    assert!(dot.contains("shape=parallelogram"), "{dot}");
    let svg = project.saihai(["graph", "it", "--format", "svg"]).run().exits(0).stdout;
    assert!(svg.contains("<g class=\"program\">") && svg.contains("$ sh test.sh"), "{svg}");
    let prompt = project.saihai(["prompt", "it", "tests"]).run().exits(2);
    assert!(prompt.stderr.contains("`tests` has no prompt: it runs the program `sh test.sh`"), "{prompt}");
}

// U-9: with `checks`, "the tests pass" is a fact in the built-in pieces.
#[test]
fn built_in_pieces_run_the_checks_of_the_settings() {
    let project = Project::new(PROGRAM);
    project.write("test.sh", TEST);
    project.write(".saihai/config.toml", "checks = [\"sh test.sh\"]\n");
    project.write(
        "script.yaml",
        "script: 1
replies:
  - {for: plan, text: '[STEP:0]'}
  - {for: implement, text: 'all checks pass [STEP:0]', writes: [{path: state, content: bad}]}
  - {for: repair, text: '[STEP:0]', prompt: 'the state is bad', writes: [{path: state, content: good}]}
  - {for: review, text: '[STEP:0]'}
",
    );
    let arguments = ["run", "minimal", "T", "--provider", "script", "--script", "script.yaml"];
    let refused = project.saihai(arguments).run().exits(2);
    assert!(
        refused.stderr.contains("`.saihai/config.toml` is not trusted, and it runs `sh test.sh`"),
        "{refused}"
    );
    let trusted = project.saihai(["trust"]).run().exits(0);
    assert!(trusted.stdout.contains("checks = [\"sh test.sh\"]"), "{trusted}");
    project.saihai(arguments).run().exits(0);
    let path = project.journal();
    assert_eq!(path.path_taken(), ["plan", "implement", "checks", "repair", "checks", "review"]);
}

//
#[test]
fn a_step_is_repeated_with_the_output_of_its_gate_until_the_command_succeeds() {
    let project = Project::new(PROGRAM);
    project.write(
        ".takt/workflows/gated.yaml",
        "name: gated\nsteps:\n  - name: work\n    edit: true\n    instruction: Do it.\n    quality_gates: [{type: command, name: tests, command: sh test.sh}]\n    rules: [{condition: Done, next: COMPLETE}, {condition: Stuck, next: ABORT}]\n",
    );
    project.write("test.sh", TEST);
    project.write(
        "script.yaml",
        "script: 1\nreplies:\n  - {for: work, text: 'done [STEP:0]', writes: [{path: state, content: bad}]}\n  - {for: work, text: 'done [STEP:0]', prompt: 'failed: the state is bad', writes: [{path: state, content: good}]}\n",
    );
    let arguments = ["run", "gated", "T", "--provider", "script", "--script", "script.yaml"];
    let refused = project.saihai(arguments).run().exits(2);
    assert!(refused.stderr.contains("`sh test.sh`"), "{refused}");
    project.saihai(arguments.into_iter().chain(["--trust-project"])).run().exits(0);
    assert_snapshot!(story(&project.journal()), @"
    enter work
    leave work by result [Done] -> again
    leave work by tag rule 0 [Done] -> complete
    finished: completed complete
    ");
    let told = project.saihai(["explain", "last"]).run().exits(0).stdout;
    assert!(told.contains("failed: the state is bad"), "{told}");
}
