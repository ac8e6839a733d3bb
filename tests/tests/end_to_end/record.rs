//! `saihai record` turns a finished run into a test without a model. C-75.

use insta::assert_snapshot;
use rustix::process::Signal;
use saihai_tests::{Outcome, Project, story};

use crate::support::{project, run};

const PIECE: &str = "
name: it
max_iterations: 8
movements:
  - name: plan
    report: plan.md
    instruction_template: 'Plan in {report_dir}: {task}'
    rules: [{condition: planned, next: build}]
  - name: build
    edit: true
    rules: [{condition: built, next: review}, {condition: impossible, next: ABORT}]
  - name: review
    parallel:
      - {name: tests, rules: [{condition: ok}, {condition: not ok}]}
      - {name: reading, rules: [{condition: ok}, {condition: not ok}]}
    rules:
      - {condition: 'all(\"ok\")', next: COMPLETE}
      - {condition: 'any(\"not ok\")', next: build}
";

/// Replies with a failure, a second round, two questions to the judge and a text that looks like YAML.
const REPLIES: &str = r#"
  - {for: plan, fail: {class: transient, message: 'overloaded: try again'}}
  - {for: plan, text: "```markdown\n# Plan\n- one: two\n```\n[STEP:0]", usage: {input: 10, output: 20}, cost: 0.25}
  - {for: build, visit: 1, text: "- key: 'value'\n\n  # no comment\n[STEP:0]\n"}
  - {for: review/tests, visit: 1, text: "Two fail. [STEP:1]"}
  - {for: review/reading, visit: 1, text: "Reads well."}
  - {for: "review/reading#judge", text: "[STEP:0]"}
  - {for: build, visit: 2, text: "[STEP:0]", writes: [{path: built.txt, content: whole}]}
  - {for: review/tests, visit: 2, text: "[STEP:0]"}
  - {for: review/reading, visit: 2, text: "Fine."}
  - {for: "review/reading#judge", visit: 2, text: "[STEP:0]"}
"#;

fn recorded() -> Project {
    let project = project(PIECE, REPLIES);
    run(&project).exits(0);
    let said = project.saihai(["record", "last", "--out", "recorded.yaml"]).run().exits(0);
    assert_eq!(said.stderr, "note: play it with `saihai rehearse it --script recorded.yaml`\n");
    project
}

fn play(project: &Project) -> Outcome {
    project.saihai(["rehearse", "it", "--script", "recorded.yaml"]).run()
}

/// Returns the decisions of the last run.
fn decided(project: &Project) -> String {
    let last = project.runs().pop().expect("a run");
    let journal = project.root().join(".saihai/runs").join(last).join("journal.ndjson");
    story(&saihai_tests::Journal::read(&journal))
}

/// Returns warnings and errors, without those about the scripted failure.
fn complaints(outcome: &Outcome) -> String {
    let lines =
        outcome.stderr.lines().filter(|line| line.starts_with("warning") || line.starts_with("error"));
    lines.filter(|line| !line.contains("overloaded")).map(|line| format!("{line}\n")).collect()
}

// C-75
#[test]
fn a_recorded_run_is_played_again_decision_for_decision() {
    let project = recorded();
    let first = decided(&project);
    let played = play(&project).exits(0);
    assert_eq!(complaints(&played), "");
    // U-16
    assert!(played.stderr.contains("note: as recorded: completed, 5 stages, 9 prompts\n"), "{played}");
    let again = project.saihai(["run", "it", "--script", "recorded.yaml"]).run().exits(0);
    assert_eq!((complaints(&again), decided(&project)), (String::new(), first));
}

// C-75
#[test]
fn a_recording_is_a_script_a_person_can_read() {
    let project = recorded();
    let text = project.read("recorded.yaml");
    let run = project.runs().pop().expect("a run");
    let digests = |line: &str| match line.split_once("sha256: ") {
        Some((before, _)) => format!("{before}sha256: …}}\n"),
        None => format!("{line}\n"),
    };
    let text: String = text.replace(&run, "RUN").lines().map(digests).collect();
    assert_snapshot!(text, @r#"
    # Recorded from run RUN.
    script: 1
    strict: true
    recorded: "RUN"
    interactive: false
    task: "The task."
    replies:
      - for: plan
        visit: 1
        fail: {class: transient, message: "overloaded: try again"}
      - for: plan
        visit: 1
        text: |-
          ```markdown
          # Plan
          - one: two
          ```
          [STEP:0]
        usage: {input: 10, output: 20}
        cost: 0.25
      - for: build
        visit: 1
        text: |
          - key: 'value'

            # no comment
          [STEP:0]
      - for: review/tests
        visit: 1
        text: "Two fail. [STEP:1]"
      - for: review/reading
        visit: 1
        text: "Reads well."
      - for: review/reading#judge
        visit: 1
        text: "[STEP:0]"
      - for: build
        visit: 2
        text: "[STEP:0]"
        writes:
          - {content: whole, path: built.txt}
      - for: review/tests
        visit: 2
        text: "[STEP:0]"
      - for: review/reading
        visit: 2
        text: Fine.
      - for: review/reading#judge
        visit: 2
        text: "[STEP:0]"
    expect:
      outcome: completed
      stages: [plan, build, review, build, review]
      prompts:
        - {call: plan.1.1.1, sha256: …}
        - {call: build.1.1.1, sha256: …}
        - {call: review.1.1.1, sha256: …}
        - {call: review.1.1.2, sha256: …}
        - {call: review.1.1.3, sha256: …}
        - {call: build.2.1.1, sha256: …}
        - {call: review.2.1.1, sha256: …}
        - {call: review.2.1.2, sha256: …}
        - {call: review.2.1.3, sha256: …}
    "#);
}

// C-75: a changed prompt is a difference, and the command names it.
#[test]
fn a_changed_prompt_fails_the_command_and_is_named() {
    let project = recorded();
    project.write(".takt/pieces/it.yaml", PIECE.replace("Plan in", "Plan well in"));
    let played = play(&project).exits(1);
    assert_snapshot!(complaints(&played), @"
    error: the prompt of `plan.1.1.1` has changed since it was recorded
    ");
}

// C-75, K-3
#[test]
fn a_program_is_told_of_every_difference() {
    let project = recorded();
    let command = ["rehearse", "it", "--script", "recorded.yaml", "--json"];
    let result = |outcome: &Outcome| -> serde_json::Value {
        serde_json::from_str(outcome.stdout.lines().last().expect("a result")).expect("it is JSON")
    };
    let same = result(&project.saihai(command).run().exits(0));
    assert_eq!((same.get("differences"), &same["exit"]), (None, &serde_json::json!(0)));
    let changed = PIECE.replace("Plan in", "Plan well in").replace("next: COMPLETE", "next: ABORT");
    project.write(".takt/pieces/it.yaml", changed);
    let other = result(&project.saihai(command).run().exits(1));
    assert_eq!(other["exit"], 1);
    assert_eq!(
        other["differences"],
        serde_json::json!([
            {
                "kind": "outcome",
                "message": "the run was expected to be `completed` and is `failed`",
                "expected": "completed",
                "came": "failed",
            },
            {
                "kind": "prompt",
                "message": "the prompt of `plan.1.1.1` has changed since it was recorded",
                "call": "plan.1.1.1",
            },
        ])
    );
}

const ASKING: &str = "
name: it
movements:
  - name: ask
    rules:
      - {condition: clear, next: COMPLETE}
      - {condition: unclear, next: use, requires_user_input: true}
      - {condition: at a terminal only, next: use, interactive_only: true}
  - name: use
    edit: true
    rules: [{condition: done, next: COMPLETE}]
";

// C-75, P-46
#[test]
fn answers_at_gates_are_recorded_and_given_again() {
    let replies = "  - {for: ask, text: 'What colour? [STEP:1]'}\n  - {for: use, text: '[STEP:0]'}\n";
    let project = project(ASKING, replies);
    run(&project).exits(6);
    project.saihai(["answer", "last", "Blue.\nNot green.", "--no-resume"]).run().exits(0);
    project.saihai(["resume", "last"]).run().exits(0);
    let first = decided(&project);
    project.saihai(["record", "last", "--out", "recorded.yaml"]).run().exits(0);
    let text = project.read("recorded.yaml");
    let answers = text.find("answers:").map(|at| &text[at..]).and_then(|rest| rest.split("expect:").next());
    assert_snapshot!(answers.expect("answers"), @r#"
    answers:
      - for: "ask/input[1]"
        visit: 1
        text: |-
          Blue.
          Not green.
    "#);
    assert_eq!(complaints(&play(&project).exits(0)), "");
    project.saihai(["run", "it", "--script", "recorded.yaml"]).run().exits(0);
    assert_eq!(decided(&project), first);
    let told = project.saihai(["explain", "last"]).run().exits(0);
    assert!(told.stdout.contains("the script"), "{told}");
}

// C-75: the record has the file changes, and a rehearsal ignores the current content of the files.
#[test]
fn file_changes_are_recorded_and_made_again_only_by_a_run() {
    let replies = r#"
  - {for: ask, text: '[STEP:1]'}
  - {for: use, text: '[STEP:0]', writes: [{path: a.txt, content: "one\n"}], edits: [{path: b.txt, find: old, replace: new}], runs: [{argv: [sh, -c, 'exit 3'], exit: 3}]}
answers: [{for: 'ask/input[1]', text: Blue.}]
"#;
    let project = project(ASKING, replies.trim_start_matches('\n'));
    project.write("b.txt", "old\n");
    run(&project).exits(0);
    assert_eq!(project.read("b.txt"), "new\n");
    let said = project.saihai(["record", "last", "--out", "recorded.yaml"]).run().exits(0);
    assert!(!said.stderr.contains("not known"), "{said}");
    let text = project.read("recorded.yaml");
    for line in [
        "{content: \"one\\n\", path: a.txt}",
        "{find: old, path: b.txt, replace: new}",
        "{argv: [sh, \"-c\", \"exit 3\"], exit: 3}",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(complaints(&play(&project).exits(0)), "");
    project.write("b.txt", "old again\n");
    let again = project.saihai(["run", "it", "--script", "recorded.yaml"]).run().exits(0);
    assert_eq!(complaints(&again), "");
    assert_eq!(project.read("b.txt"), "new again\n");
}

// C-75
#[test]
fn another_path_and_another_outcome_fail_the_command() {
    let project = recorded();
    let changed = PIECE
        .replace("{condition: 'all(\"ok\")', next: COMPLETE}", "{condition: 'all(\"ok\")', next: ABORT}");
    project.write(".takt/pieces/it.yaml", changed);
    assert_snapshot!(complaints(&play(&project).exits(1)), @"
    error: the run was expected to be `completed` and is `failed`
    ");
    let straight = PIECE.replace("{condition: planned, next: build}", "{condition: planned, next: review}");
    project.write(".takt/pieces/it.yaml", straight);
    assert_snapshot!(complaints(&play(&project).exits(1)), @"
    error: recorded.yaml:37:5: this reply was not used
    error: step 2 was expected to be `build` and is `review`
    error: the prompt of `build.1.1.1` has changed since it was recorded
    error: the prompt of `review.1.1.1` has changed since it was recorded
    error: the prompt of `review.1.1.2` has changed since it was recorded
    error: the prompt of `review.2.1.1` has changed since it was recorded
    error: the prompt of `review.2.1.2` has changed since it was recorded
    ");
}

// C-75
#[test]
fn a_recording_can_be_json_and_goes_to_stdout() {
    let project = recorded();
    project.saihai(["record", "last", "--out", "recorded.json"]).run().exits(0);
    serde_json::from_str::<serde_json::Value>(&project.read("recorded.json")).expect("it is JSON");
    project.saihai(["rehearse", "it", "--script", "recorded.json"]).run().exits(0);
    let shown = project.saihai(["record", &project.runs()[0]]).run().exits(0);
    assert_eq!(shown.stdout, project.read("recorded.yaml"));
}

// C-75
#[test]
fn a_run_that_is_not_over_has_nothing_to_be_expected() {
    let project = project(PIECE, REPLIES);
    project
        .saihai(["run", "it", "The task.", "--script", "script.yaml", "--max-iterations", "2"])
        .run()
        .exits(5);
    let refused = project.saihai(["record", "last", "--out", "recorded.yaml"]).run().exits(2);
    assert!(refused.stderr.contains("has not ended: it is parked"), "{refused}");
    assert!(!project.root().join("recorded.yaml").exists());
}

// Every refusal says what to do, and following it works.
#[test]
fn who_records_too_early_or_too_much_is_told_what_to_do_instead() {
    const ONE: &str =
        "\nname: it\nmovements: [{name: plan, rules: [{condition: planned, next: COMPLETE}]}]\n";
    let project = project(ONE, "  - {hang: true}\n  - {hang: true}\n  - {text: '[STEP:0]'}\n");
    let refused = |code: i32| {
        let outcome = project.saihai(["record", "last"]).run().exits(code);
        outcome.stderr.replace(&project.runs()[0], "<run>")
    };
    let asked = |call: saihai_tests::Invocation| {
        let mut live = call.start();
        live.wait_for("\"asked\"");
        live
    };
    let live = asked(project.saihai(["run", "it", "T", "--script", "script.yaml", "--json"]));
    assert_snapshot!(refused(2), @"
    error: run `<run>` has not ended: it is running
      = help: record it when it has ended
    ");
    live.signal(Signal::INT);
    live.finish().exits(3);
    assert_snapshot!(refused(2), @"
    error: run `<run>` has not ended: it is parked
      = help: continue with `saihai resume last`
    ");
    let live = asked(project.saihai(["resume", "last", "--json"]));
    live.signal(Signal::KILL);
    live.finish();
    assert_snapshot!(refused(2), @"
    error: run `<run>` has not ended: it is interrupted
      = help: continue with `saihai resume last`
    ");
    project.saihai(["resume", &project.runs()[0]]).run().exits(0);
    assert_eq!(refused(0), "");
    let written = project.saihai(["record", "last", "--out", "again.yaml"]).run().exits(0);
    assert_eq!(written.stderr, "note: play it with `saihai rehearse it --script again.yaml`\n");
    project.saihai(["rehearse", "it", "--script", "again.yaml"]).run().exits(0);
}

#[test]
fn what_no_script_can_play_or_hold_is_not_recorded() {
    const ONE: &str =
        "\nname: it\nmovements: [{name: plan, rules: [{condition: planned, next: COMPLETE}]}]\n";
    let refused = |project: &Project| {
        let outcome = project.saihai(["record", "last"]).run().exits(2);
        outcome.stderr.replace(&project.runs()[0], "<run>")
    };
    let cancelled = project(ONE, "  - {fail: {class: auth, message: no}}\n");
    run(&cancelled).exits(4);
    cancelled.saihai(["cancel", "last"]).run().exits(0);
    assert_snapshot!(refused(&cancelled), @"error: run `<run>` was cancelled, and a script cannot replay that");
    // `times: 2` makes a short script, but the record repeats the reply.
    let two = "next: again}]}, {name: again, rules: [{condition: planned, next: COMPLETE}]}]";
    let reply = format!("  - {{times: 2, text: '{} [STEP:0]'}}\n", "a".repeat(600_000));
    let large = project(&ONE.replace("next: COMPLETE}]}]", two), &reply);
    run(&large).exits(0);
    assert_snapshot!(refused(&large), @"
    error: the script is too large: 1200516 bytes of at most 1048576
      = help: record a shorter run
    ");
}
