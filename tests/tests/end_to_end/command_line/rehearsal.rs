//! Scripts from every source, and the limits of a rehearsal's effects.

use super::support::{ONE, project, run};

const WRITES: &str = "  - {for: plan, writes: [{path: made.txt, content: x}], text: '[STEP:0]'}";

// K-20, C-75: a rehearsal checks and logs the files that a script writes, but does not write them
#[test]
fn a_rehearsal_changes_nothing() {
    let editing = ONE.replace("- name: plan", "- name: plan\n    edit: true");
    let rehearsed = project(&editing, WRITES);
    let outcome = rehearsed.saihai(["rehearse", "it", "--script", "script.yaml", "--json"]).run().exits(0);
    assert_eq!(outcome.result()["rehearsal"], true);
    assert!(!rehearsed.root().join("made.txt").exists());
    // U-18: it leaves no run either.
    assert_eq!(rehearsed.runs(), [""; 0]);
    // A real run writes them.
    let driven = project(&editing, WRITES);
    assert_eq!(run(&driven, &["--json"]).exits(0).result()["rehearsal"], false);
    assert_eq!(driven.read("made.txt"), "x");
}

// C-77
#[test]
fn generated_replies_can_be_saved_and_played() {
    let project = project(ONE, "");
    project.saihai(["rehearse", "it", "--write-script", "walk.json"]).run().exits(0);
    assert_eq!(project.runs(), [""; 0]);
    let codes: Vec<Option<i32>> = ["walk.json", "walk-2.json", "walk-3.json"]
        .iter()
        .map(|file| project.saihai(["run", "it", "x", "--script", file]).run().code)
        .collect();
    let mut sorted = codes.clone();
    sorted.sort();
    assert_eq!(sorted, [Some(0), Some(1), Some(1)], "{codes:?}");
}

// C-75, C-76, K-30
#[test]
fn a_script_can_come_from_a_variable_too() {
    let project = project(ONE, "  - {for: plan, text: '[STEP:2]'}");
    project.write("scenario.json", r#"[{"content": "stop\n[STEP:2]"}]"#);
    for (variable, file) in [("SAIHAI_SCRIPT", "script.yaml"), ("TAKT_MOCK_SCENARIO", "scenario.json")] {
        let invocation = project.saihai(["run", "it", "x", "--provider", "script"]).env(variable, file);
        let outcome = invocation.run().exits(1);
        assert!(outcome.stdout.starts_with("failed (abort) at plan: \"stop\""), "{outcome}");
    }
    // The command line overrides the variable.
    project.write("typed.yaml", "script: 1\nreplies: [{for: plan, text: '[STEP:0]'}]\n");
    let typed =
        project.saihai(["run", "it", "x", "--script", "typed.yaml"]).env("SAIHAI_SCRIPT", "script.yaml");
    typed.run().exits(0);
    let contradiction =
        project.saihai(["run", "it", "x", "--script", "typed.yaml", "--provider", "claude"]).run().exits(2);
    insta::assert_snapshot!(contradiction.stderr, @r"
    error: `--script` answers for the provider `script`, not for `claude`
      = help: remove one of them
    ");
}

// P-60, K-12
#[test]
fn prompt_prints_the_very_bytes_that_are_sent_first() {
    let project = project(ONE, "  - {for: plan, text: '[STEP:0]'}");
    run(&project, &[]).exits(0);
    let printed = project.saihai(["prompt", "it", "--task", "The task."]).run().exits(0);
    assert_eq!(printed.stdout, project.journal().prompt("plan"));
    insta::assert_snapshot!(printed.stderr, @"note: 87 tokens of it added by Saihai");
    let unknown = project.saihai(["prompt", "it", "plam"]).run().exits(2);
    insta::assert_snapshot!(unknown.stderr, @r"
    error: no stage `plam` asks an agent
      = help: did you mean `plan`?
    ");
    project.saihai(["prompt", "it", "plan/plan"]).run().exits(0);
    project.saihai(["prompt", "it", "plan/other"]).run().exits(2);
}
