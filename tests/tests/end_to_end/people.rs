//! Gates, and what reaches a run from another process. P-46, P-47, K-4, K-21, K-22.

use insta::assert_snapshot;
use saihai_tests::{Project, story};

use crate::support::{project, run};

const GATE: &str = "
name: it
movements:
  - name: ask
    rules: [{condition: need words, next: use, requires_user_input: true}]
  - name: use
    rules: [{condition: done, next: COMPLETE}]
";

const REPLIES: &str = "  - {for: ask, text: 'What colour? [STEP:0]'}\n  - {for: use, text: '[STEP:0]'}\n";

fn at_the_gate() -> Project {
    let project = project(GATE, REPLIES);
    run(&project).exits(6);
    project
}

// P-46, K-2, K-4
#[test]
fn an_unattended_gate_parks_and_the_answer_reaches_the_next_prompt() {
    let project = at_the_gate();
    project.saihai(["resume", "last"]).run().exits(6);
    project.saihai(["answer", "last", "Blue.\nNot green."]).run().exits(0);
    project.saihai(["resume", "last"]).run().exits(0);
    let prompt = project.journal().prompt("use");
    assert!(prompt.contains("## Additional User Inputs\n- Blue.\n  Not green."), "{prompt}");
    assert_snapshot!(story(&project.journal()), @r"
    enter ask
    leave ask by tag rule 0 [need words] -> stage ask/input[0]
    enter ask/input[0]
    parked: person
    leave ask/input[0] by answer rule 0 [answered] -> stage use
    enter use
    leave use by tag rule 0 [done] -> complete
    finished: completed complete
    ");
}

// P-46, K-12
#[test]
fn an_answer_can_come_from_stdin_and_is_never_cut() {
    let project = at_the_gate();
    let refused = project.saihai(["answer", "last", "-"]).input("x".repeat(10_001)).run().exits(2);
    assert!(refused.stderr.contains("10,000") || refused.stderr.contains("10000"), "{refused}");
    project.saihai(["answer", "last", ""]).run().exits(2);
    project.saihai(["answer", "last", "-"]).input("x".repeat(10_000)).run().exits(0);
    project.saihai(["resume", "last"]).run().exits(0);
}

// K-22
#[test]
fn a_gate_is_answered_once() {
    let project = at_the_gate();
    project.saihai(["answer", "last", "Blue."]).run().exits(0);
    let before = project.snapshot();
    project.saihai(["answer", "last", "Red."]).run().exits(2);
    assert_eq!(project.snapshot(), before);
}

// K-21, K-22
#[test]
fn a_cancelled_run_stays_cancelled() {
    let project = at_the_gate();
    project.saihai(["cancel", "last"]).run().exits(0);
    let before = project.snapshot();
    project.saihai(["resume", "last"]).run().exits(3);
    project.saihai(["cancel", "last"]).run().exits(2);
    assert_eq!(project.snapshot(), before);
    let listed = project.saihai(["runs", "--json"]).run().exits(0);
    assert_eq!(listed.json()[0]["state"], "cancelled", "{listed}");
}

// P-47
#[test]
fn rules_for_people_are_not_offered_without_one_and_numbers_do_not_shift() {
    let definition = "
name: it
movements:
  - name: work
    rules:
      - {condition: ask, next: work, requires_user_input: true, interactive_only: true}
      - {condition: done, next: COMPLETE}
";
    let replies = "  - {for: work, text: \"[STEP:1]\\n[STEP:0]\"}\n";
    let project = project(definition, replies);
    run(&project).exits(0);
    let prompt = &project.journal().prompts()[0].1;
    assert!(prompt.contains("[STEP:1] = done") && !prompt.contains("[STEP:0]"), "{prompt}");
}
