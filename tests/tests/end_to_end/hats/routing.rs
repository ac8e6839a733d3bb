//! Selection of the next hat.

use saihai_tests::{Journal, in_parallel};

use super::{RING, check, log, project, prompts, published, run};

// H-24, H-25, H-41, HC-16
#[test]
fn hats_are_switched_by_the_last_event_until_the_closing_word() {
    let replies = [
        "EVENT: tests.failing two red\nand now\nEVENT: tests.passing",
        "EVENT: code.written",
        "EVENT: tests.failing",
        "LOOP_COMPLETE",
    ];
    let project = project(RING, &replies);
    run(&project).exits(0);
    assert_eq!(project.journal().path_taken(), ["tester", "closer", "tester", "coder"]);
    insta::assert_snapshot!(published(&project).join("\n"), @r"
    start task.start The task. taken tester task.start
    tester tests.failing two red not_routed - -
    tester tests.passing - taken closer tests.passing
    closer code.written - taken tester code.written
    tester tests.failing - taken coder tests.failing
    ");
    // The first event is the task. The prompt shows its text in the task section only.
    let first = &prompts(&project)[0];
    assert!(first.contains("# Task\nThe task.\n") && first.contains("# Event\ntask.start\n\n#"), "{first}");
}

// H-3, HC-1
#[test]
fn of_two_hats_that_take_a_topic_the_first_in_the_file_is_asked_every_time() {
    let hats = "hats:
  z: {name: Z, triggers: [code.written], publishes: [LOOP_COMPLETE], instructions: x}
  a: {name: A, triggers: [task.start, code.written], publishes: [code.written], instructions: x}
";
    let project = project(hats, &["EVENT: code.written", "LOOP_COMPLETE"]);
    let checked = project.saihai(["check", "orch"]).run().exits(0);
    assert!(checked.stdout.contains("hats/shadowed-trigger"), "{checked}");
    assert!(checked.stdout.contains("`code.written` activates `z` and never `a`"), "{checked}");
    in_parallel(&[(); 100], |()| {
        let outcome = run(&project);
        if outcome.code == Some(0) { Ok(()) } else { Err(outcome.to_string()) }
    });
    let directory = project.root().join(".saihai/runs");
    let runs = project.runs();
    assert_eq!(runs.len(), 100);
    for name in runs {
        let journal = Journal::read(&directory.join(name).join("journal.ndjson"));
        assert_eq!(journal.path_taken(), ["a", "z"]);
    }
}

// H-29, HC-2, HC-3
#[test]
fn a_topic_that_nobody_takes_goes_to_the_default_hat_or_to_no_hat() {
    let replies = ["EVENT: deploy.now", "LOOP_COMPLETE"];
    let told = "no stage takes `deploy.now`; stages take `task.start`, `code.written`, `tests.failing`, `tests.passing`";
    let without = project(RING, &replies);
    run(&without).exits(0);
    assert_eq!(without.journal().path_taken(), ["tester", "(base)"]);
    assert!(!without.journal().prompt("(base)").contains("# Hat:"));
    assert!(log(&without).contains(told), "{}", log(&without));
    assert_eq!(published(&without)[1], "tester deploy.now - orphaned (base) -");
    let default = "  default: {name: D, triggers: [], publishes: [code.written], instructions: x}\n";
    let with = project(&format!("{RING}{default}"), &replies);
    run(&with).exits(0);
    assert_eq!(with.journal().path_taken(), ["tester", "default"]);
    assert!(with.journal().prompt("default").contains("# Hat: D\nx\n"));
    assert!(log(&with).contains(told), "{}", log(&with));
    // Without hats, an event that no hat takes is not reported.
    let simple = project("preset: simple\n", &replies);
    run(&simple).exits(0);
    assert!(!log(&simple).contains("no stage takes"), "{}", log(&simple));
}

// A gate on a topic does not count as a hat that takes it.
#[test]
fn a_gated_topic_that_nobody_takes_is_orphaned_all_the_same() {
    let hats =
        "gates: [gone]\nhats:\n  a: {name: A, triggers: [task.start], publishes: [gone], instructions: x}\n";
    let project = project(hats, &["EVENT: gone", "LOOP_COMPLETE"]);
    run(&project).exits(6);
    project.saihai(["answer", "last", "yes", "--no-resume"]).run().exits(0);
    let outcome = project.saihai(["resume", "last"]).run().exits(0);
    assert!(log(&project).contains("no stage takes `gone`; stages take `task.start`\n"), "{}", log(&project));
    assert_eq!(project.journal().path_taken(), ["a", "gate/gone", "(base)"], "{outcome}");
    assert_eq!(published(&project)[1], "a gone - orphaned (base) - (gate/gone)");
}

// H-26, HC-7
#[test]
fn an_exact_trigger_wins_over_a_pattern_and_a_pattern_over_a_lone_star() {
    let hats = "hats:
  any: {name: A, triggers: [\"*\"], publishes: [LOOP_COMPLETE], instructions: x}
  first: {name: F, triggers: [task.start], publishes: [build.done], instructions: x}
  glob: {name: G, triggers: [\"build.*\"], publishes: [LOOP_COMPLETE], instructions: x}
  exact: {name: E, triggers: [build.done], publishes: [LOOP_COMPLETE], instructions: x}
";
    for (topic, hat) in [
        ("build.done", "exact"),
        ("build.failed", "glob"),
        ("build", "any"),
        ("build.x.y", "any"),
        ("Build.done", "any"),
    ] {
        let replies = [format!("EVENT: {topic}"), "LOOP_COMPLETE".to_owned()];
        let replies: Vec<&str> = replies.iter().map(String::as_str).collect();
        check(hats, &replies, &format!("first {hat}; finished: completed complete; 0"));
    }
    let wrong = project(&hats.replace("build.*", "bu*"), &[]);
    assert!(run(&wrong).exits(2).stderr.contains("error[hats/bad-pattern]"));
}

// HC-12
#[test]
fn an_event_leads_on_wherever_it_stands_and_keeps_its_case() {
    for reply in ["EVENT: tests.passing", "done\nevent:tests.passing", "結果はEVENT: tests.passing"] {
        check(RING, &[reply, "LOOP_COMPLETE"], "tester closer; finished: completed complete; 0");
    }
    let project = project(RING, &["EVENT: Tests.Passing", "LOOP_COMPLETE"]);
    run(&project).exits(0);
    assert_eq!(published(&project)[1], "tester Tests.Passing - orphaned (base) -");
}

// H-42, H-50, HC-11
#[test]
fn an_undeclared_topic_routes_unless_scopes_are_enforced() {
    let free = project(RING, &["EVENT: code.written one", "LOOP_COMPLETE"]);
    run(&free).exits(0);
    assert_eq!(free.journal().path_taken(), ["tester", "tester"]);
    assert!(
        log(&free).contains("`code.written` is published, but its stage does not declare it"),
        "{}",
        log(&free)
    );
    let strict = format!("enforce_hat_scope: true\n{RING}");
    // The completion word is outside the tester's scope too, but it still ends the run.
    let held = project(&strict, &["EVENT: code.written", "LOOP_COMPLETE"]);
    run(&held).exits(0);
    assert_eq!(held.journal().path_taken(), ["tester"]);
    assert_eq!(published(&held)[1], "tester code.written - out_of_scope - -");
    let told = "`code.written` is ignored: its stage may not publish it";
    assert!(log(&held).contains(told), "{}", log(&held));
    let reminded = &prompts(&held)[1];
    let reminder = "# Reminder\nThe previous turn of this role reported no result. The topic code.written does not belong to this role. The topics of this role are: tests.failing, tests.passing.";
    assert!(reminded.contains(reminder), "{reminded}");
    // The base prompt has no scope.
    let lost = "enforce_hat_scope: true\nhats:\n  a: {name: A, triggers: [task.start], publishes: [gone], instructions: x}\n";
    let replies = ["EVENT: gone", "EVENT: any.thing", "LOOP_COMPLETE"];
    check(lost, &replies, "a (base) (base); finished: completed complete; 0");
}

// H-40, HC-19
#[test]
fn the_message_of_an_event_reaches_the_next_prompt() {
    let message = |reply: &str| {
        let project = project(RING, &[reply, "LOOP_COMPLETE"]);
        run(&project).exits(0);
        let prompt = project.journal().prompt("coder");
        let event = prompt.split("# Event\n").nth(1).expect("the section").split("\n\n# ").next();
        event.expect("its end").to_owned()
    };
    assert_eq!(
        message("EVENT: tests.failing {\"file\":\"a.rs\"}"),
        "tests.failing\nFrom: tester\n\n> {\"file\":\"a.rs\"}"
    );
    assert_eq!(message("EVENT: tests.failing: fix a.rs"), "tests.failing\nFrom: tester\n\n> fix a.rs");
    assert_eq!(message("**EVENT: tests.failing**"), "tests.failing\nFrom: tester");
}

// H-60
#[test]
fn the_log_lists_every_event_for_programs() {
    let gated = format!("gates: [pre-loop, tests.failing]\n{RING}");
    let project = project(&gated, &["EVENT: tests.failing two red", "EVENT: code.written", "LOOP_COMPLETE"]);
    run(&project).exits(6);
    assert_eq!(published(&project), ["start task.start The task. taken tester task.start (gate/pre-loop)"]);
    for code in [6, 0] {
        project.saihai(["answer", "last", "yes", "--no-resume"]).run().exits(0);
        project.saihai(["resume", "last"]).run().exits(code);
    }
    // The log names hats and their triggers as source and target, not gates.
    insta::assert_snapshot!(published(&project).join("\n"), @r"
    start task.start The task. taken tester task.start (gate/pre-loop)
    tester tests.failing two red taken coder tests.failing (gate/tests.failing)
    coder code.written - taken tester code.written
    ");
}
