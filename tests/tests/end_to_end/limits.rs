//! Limits, counters and loop monitors. P-48–P-52.

use insta::assert_snapshot;
use saihai_tests::story;

use crate::support::{project, run, told};

/// Returns a chain of three movements with at most `max` iterations.
fn chain(max: u32, last: &str) -> String {
    format!(
        "
name: it
max_iterations: {max}
movements:
  - {{name: one, rules: [{{condition: on, next: two}}]}}
  - {{name: two, rules: [{{condition: on, next: three}}]}}
  - {{name: three, rules: [{{condition: on, next: {last}}}]}}
"
    )
}

const GO: &str = "  - {text: '[STEP:0]', times: \"*\"}\n";

// P-50, T-63
#[test]
fn the_limit_th_movement_may_complete() {
    assert_snapshot!(told(&chain(3, "COMPLETE"), GO), @r"
    enter one
    leave one by tag rule 0 [on] -> stage two
    enter two
    leave two by tag rule 0 [on] -> stage three
    enter three
    leave three by tag rule 0 [on] -> complete
    finished: completed complete
    exit 0
    ");
}

// P-50, K-22, K-24, T-63
#[test]
fn one_movement_more_parks_the_run_until_the_limit_is_raised() {
    let project = project(&chain(3, "one"), GO);
    let outcome = run(&project).exits(5);
    assert!(outcome.stderr.contains("--max-iterations"), "it says how to go on: {outcome}");
    assert_eq!(project.journal().asked().len(), 3);
    project.saihai(["resume", "last"]).run().exits(5);
    assert_eq!(project.journal().asked().len(), 3);
    project.saihai(["resume", "last", "--max-iterations", "5"]).run().exits(5);
    assert_eq!(project.journal().asked().len(), 5);
}

// P-49
#[test]
fn the_third_execution_in_a_row_is_warned_about_and_others_in_between_are_not() {
    let again = "
name: it
movements:
  - name: fix
    rules: [{condition: done, next: COMPLETE}, {condition: again, next: fix}, {condition: other, next: between}]
  - {name: between, rules: [{condition: back, next: fix}]}
";
    let warned = |replies: &str| {
        let outcome = run(&project(again, replies)).exits(0);
        outcome.stderr.matches("has run 3 times in a row").count()
    };
    let fix = |tag: u8| format!("  - {{for: fix, text: '[STEP:{tag}]'}}\n");
    let between = "  - {for: between, text: '[STEP:0]'}\n";
    assert_eq!(warned(&[fix(1), fix(1), fix(0)].concat()), 1);
    assert_eq!(warned(&[fix(1), fix(2), fix(1), fix(0), between.to_owned()].concat()), 0);
}

/// Returns a cycle of two movements with a judge after three rounds, and a way out of it.
fn cycle(max: u32) -> String {
    format!(
        "
name: it
max_iterations: {max}
movements:
  - {{name: a, rules: [{{condition: on, next: b}}]}}
  - {{name: b, rules: [{{condition: back, next: a}}, {{condition: away, next: c}}]}}
  - {{name: c, rules: [{{condition: back, next: a}}]}}
loop_monitors:
  - cycle: [a, b]
    threshold: 3
    judge: {{rules: [{{condition: progress, next: a}}, {{condition: circles, next: ABORT}}]}}
"
    )
}

/// Returns a reply for the judge, whose prompt has its name in the context block.
fn judge(tag: u8) -> String {
    format!("  - {{prompt: 'judge\\(a, b\\)', text: '[STEP:{tag}]'}}\n")
}

const ROUND: &str = "  - {for: a, text: '[STEP:0]'}\n  - {for: b, text: '[STEP:0]'}\n";

// P-51
#[test]
fn a_judge_is_asked_after_three_rounds_and_overrides_the_rules() {
    assert_snapshot!(told(&cycle(20), &[judge(1), ROUND.repeat(3)].concat()), @r"
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
    leave b by tag rule 0 [back] -> stage a
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
    leave b by tag rule 0 [back] -> stage a
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
      alarm after 3 cycles
    leave b by monitor [] -> stage judge(a, b)
    enter judge(a, b)
    leave judge(a, b) by tag rule 1 [circles] -> end
    finished: failed abort
    exit 1
    ");
}

// P-51
#[test]
fn another_movement_between_the_rounds_starts_them_again() {
    let away =
        "  - {for: a, text: '[STEP:0]'}\n  - {for: b, text: '[STEP:1]'}\n  - {for: c, text: '[STEP:0]'}\n";
    let replies = [ROUND.to_owned(), away.to_owned(), ROUND.repeat(2)].concat();
    let project = project(&cycle(9), &replies);
    run(&project).exits(5);
    assert!(!story(&project.journal()).contains("alarm"), "{}", story(&project.journal()));
}

// P-52, P-48
#[test]
fn after_a_judge_three_more_rounds_are_needed() {
    let replies = [judge(0), ROUND.repeat(6), judge(1)].concat();
    assert_snapshot!(told(&cycle(20), &replies), @r"
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
    leave b by tag rule 0 [back] -> stage a
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
    leave b by tag rule 0 [back] -> stage a
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
      alarm after 3 cycles
    leave b by monitor [] -> stage judge(a, b)
    enter judge(a, b)
    leave judge(a, b) by tag rule 0 [progress] -> stage a
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
    leave b by tag rule 0 [back] -> stage a
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
    leave b by tag rule 0 [back] -> stage a
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
      alarm after 3 cycles
    leave b by monitor [] -> stage judge(a, b)
    enter judge(a, b)
    leave judge(a, b) by tag rule 1 [circles] -> end
    finished: failed abort
    exit 1
    ");
}

// P-52
#[test]
fn a_judge_costs_an_iteration_and_is_not_asked_without_one() {
    let project = project(&cycle(6), &ROUND.repeat(3));
    run(&project).exits(5);
    assert_eq!(project.journal().asked().len(), 6);
    assert_snapshot!(story(&project.journal()), @r"
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
    leave b by tag rule 0 [back] -> stage a
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
    leave b by tag rule 0 [back] -> stage a
    enter a
    leave a by tag rule 0 [on] -> stage b
    enter b
      alarm after 3 cycles
    leave b by monitor [] -> stage judge(a, b)
    enter judge(a, b)
    parked: limit max_iterations
    ");
}
