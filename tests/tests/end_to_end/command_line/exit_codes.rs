//! Exit codes of all commands (K-2), and the command-line cases.

use saihai_tests::Project;

use super::support::{ASK, ONE, PROGRAM, project, run, seen};

/// Runs `it` on replies, then further commands. Returns the visible output of the last command, with the run.
fn after(definition: &str, replies: &str, further: &[&[&str]]) -> String {
    let project = project(definition, replies);
    let mut last = run(&project, &[]);
    for arguments in further {
        last = project.saihai(*arguments).run();
    }
    seen(&project, &last)
}

/// Returns the exit code of `it` on replies.
#[track_caller]
fn check(replies: &str, code: i32) {
    run(&project(ONE, replies), &[]).exits(code);
}

// K-2, P-45, P-50, P-55
#[test]
fn a_run_ends_with_the_code_of_its_reason() {
    check("  - {for: plan, text: '[STEP:0]'}", 0);
    check("  - {for: plan, text: '[STEP:2]'}", 1);
    check("  - {for: plan, text: nothing}\n  - {for: 'plan#judge', text: '[STEP:NONE]'}", 1);
    check("  - {for: plan, fail: {class: auth, message: not logged in}}", 4);
    check("  - {for: plan, fail: {class: quota, message: used up, until: '2099-01-01T14:00:00Z'}}", 4);
    check("  - {for: plan, times: '*', text: '[STEP:1]'}", 5);
    check("  - {for: nobody, text: x}", 2);
    let asking = project(ASK, "  - {for: plan, text: '[STEP:1]'}");
    run(&asking, &[]).exits(6);
}

// K-case 1
#[test]
fn what_is_misspelt_is_refused_and_nothing_is_made() {
    let project = Project::new(PROGRAM);
    let before = project.snapshot();
    let arguments: [&[&str]; 4] =
        [&["rnu"], &["run", "p", "x", "--max-iteration", "3"], &["review"], &["work", "--server"]];
    let all: Vec<String> = arguments.iter().map(|one| seen(&project, &project.saihai(*one).run())).collect();
    insta::assert_snapshot!(all.join("\n"), @"
    -- stderr
    error: there is no command `rnu`
      = help: did you mean `saihai run`?
    ? 2
    -- stderr
    error: there is no flag `--max-iteration` of `saihai run`
      = help: did you mean `--max-iterations`?
    ? 2
    -- stderr
    error: `PROJECT` is not in a git repository
      = help: name files to review them whole
    ? 2
    -- stderr
    error: `--server` is not part of this version yet
    ? 2
    ");
    assert_eq!(project.snapshot(), before);
}

// K-case 1, K-1
#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let project = project(ONE, "  - {for: plan, times: '*', text: '[STEP:1]'}");
    for _ in 0..3 {
        run(&project, &[]).exits(5);
    }
    for arguments in [vec!["runs", "--json"], vec!["log", "last"], vec!["explain", "last"], vec!["--help"]] {
        let outcome = project.saihai(&arguments).piped_into("head -n 1").run().exits(0);
        assert_eq!((outcome.stdout.lines().count(), outcome.stderr.as_str()), (1, ""), "{arguments:?}");
    }
}

// K-1: a run whose output has no reader stops, so that it spends no more money
#[test]
fn a_run_that_nobody_reads_any_more_is_parked() {
    let project = project(ONE, "  - {for: plan, delay: 1, times: '*', text: '[STEP:1]'}");
    let arguments = ["run", "it", "The task.", "--script", "script.yaml", "--json"];
    let outcome = project.saihai(arguments).piped_into("head -n 3").run().exits(0);
    assert_eq!(outcome.stderr, "");
    let listed = project.saihai(["runs", "--json"]).run().exits(0).json();
    assert_eq!(
        (listed[0]["state"].as_str(), listed[0]["reason"].as_str()),
        (Some("parked"), Some("interrupt"))
    );
}

// K-case 2, K-22, T-24
#[test]
fn resuming_does_what_the_state_allows() {
    let resumed = |replies: &str, more: &[&str]| {
        let project = project(ONE, replies);
        run(&project, &[]);
        let before = project.journal();
        let outcome = project.saihai(["resume", "last"].iter().chain(more)).run();
        (outcome.code, project.journal() == before)
    };
    let unchanged = true;
    assert_eq!(resumed("  - {for: plan, text: '[STEP:0]'}", &[]), (Some(0), unchanged));
    assert_eq!(resumed("  - {for: plan, text: '[STEP:2]'}", &[]), (Some(1), unchanged));
    let endless = "  - {for: plan, times: '*', text: '[STEP:1]'}";
    assert_eq!(resumed(endless, &[]), (Some(5), unchanged));
    let twenty =
        "  - {for: plan, visit: [1, 2, 3], times: 3, text: '[STEP:1]'}\n  - {for: plan, text: '[STEP:0]'}";
    assert_eq!(resumed(twenty, &["--max-iterations", "20"]), (Some(0), !unchanged));
    // A strict script with unused replies fails only the command that ran it.
    let left = "  - {for: plan, text: '[STEP:0]'}\n  - {for: plan, text: more}";
    run(&project(ONE, left), &[]).exits(1);
    assert_eq!(resumed(left, &[]), (Some(0), unchanged));
}

// K-case 3, K-22
#[test]
fn a_cancelled_run_stays_cancelled_and_can_be_forked() {
    let replies = "  - {for: plan, times: '*', text: '[STEP:1]'}";
    insta::assert_snapshot!(after(ONE, replies, &[&["cancel", "last"]]), @"
    -- stderr
    note: run `RUN` is cancelled; no process was driving it
    ? 0
    ");
    insta::assert_snapshot!(after(ONE, replies, &[&["cancel", "last"], &["resume", "last"]]), @r#"
    cancelled
    last: plan → plan: "again"
    run RUN: SOME TIME, 3 iterations, 3 turns
    -- stderr
    run RUN
    ? 3
    "#);
    insta::assert_snapshot!(after(ONE, replies, &[&["cancel", "last"], &["cancel", "last"]]), @"
    -- stderr
    error: run `RUN` is already cancelled
      = help: `saihai fork last` creates a new run from it
    ? 2
    ");
    insta::assert_snapshot!(after(ONE, replies, &[&["cancel", "last"], &["fork", "last"]]), @"
    RUN
    -- stderr
    note: forked from `RUN` at event 20; files are not restored; continue with `saihai resume last`
    ? 0
    ");
}

// K-case 4, C-34
#[test]
fn a_quota_names_the_time_and_is_asked_before_it_only_on_demand() {
    let quota = "  - {for: plan, fail: {class: quota, message: used up, until: '2099-01-01T14:00:00Z'}}\n  \
                 - {for: plan, text: '[STEP:0]'}";
    insta::assert_snapshot!(after(ONE, quota, &[]), @"
    parked: waiting until TIME (quota, script)
    run RUN: SOME TIME, 1 iteration, 0 turns
    -- stderr
    run RUN
    started it (piece): The task.
    iteration 1 of 3: plan
    warning: `plan` failed (quota): used up; can serve again at TIME
      plan is retried, attempt 2, not before TIME
    error: quota: used up
    note: the provider is not available before TIME; `--wait` waits for it, `--now` tries anyway
    note: continue with `saihai resume last`
    ? 4
    ");
    insta::assert_snapshot!(after(ONE, quota, &[&["resume", "last"]]), @"
    parked: waiting until TIME (quota, script)
    run RUN: SOME TIME, 1 iteration, 0 turns
    -- stderr
    run RUN
    error: quota: used up
    note: the provider is not available before TIME; `--wait` waits for it, `--now` tries anyway
    note: continue with `saihai resume last`
    ? 4
    ");
    insta::assert_snapshot!(after(ONE, quota, &[&["resume", "last", "--now"]]), @r#"
    completed at plan: "done"
    run RUN: SOME TIME, 1 iteration, 1 turn
    -- stderr
    run RUN
      resumed
    iteration 1 of 3: plan
      plan replied in SOME TIME
      plan → completed: "done"
    ? 0
    "#);
}

// K-case 5, P-46
#[test]
fn a_gate_takes_its_kind_of_answer_once() {
    let replies = "  - {for: plan, visit: 1, text: \"Left?\\n[STEP:1]\"}\n  \
                   - {for: plan, visit: 2, prompt: to the left, text: '[STEP:0]'}";
    insta::assert_snapshot!(after(ASK, replies, &[]), @r#"
    waiting for you at `plan/input[1]`
    last: plan → plan/input[1]: "needs a decision" — Left?
    run RUN: SOME TIME, 1 iteration, 1 turn

    Left?
    -- stderr
    run RUN
    started it (piece): The task.
    iteration 1 of 10: plan
      plan replied in SOME TIME
      plan → plan/input[1]: "needs a decision" — Left?
    note: answer with `saihai answer last TEXT`
    ? 6
    "#);
    let answer: &[&str] = &["answer", "last", "to the left", "--no-resume"];
    insta::assert_snapshot!(after(ASK, replies, &[answer]), @"
    `plan/input[1]` of run `RUN` is answered: to the left
    -- stderr
    note: continue with `saihai resume last`
    ? 0
    ");
    insta::assert_snapshot!(after(ASK, replies, &[answer, answer]), @"
    -- stderr
    error: run `RUN` is already answered
      = help: continue with `saihai resume last`
    ? 2
    ");
    insta::assert_snapshot!(after(ASK, replies, &[answer, &["resume", "last"]]), @r#"
    completed at plan: "done"
    run RUN: SOME TIME, 2 iterations, 2 turns
    -- stderr
    run RUN
      resumed
    iteration 2 of 10: plan
      plan replied in SOME TIME
      plan → completed: "done"
    ? 0
    "#);
    let long = "x".repeat(10_001);
    for (arguments, why) in [
        (vec!["answer", "last", "", "--no-resume"], "no characters"),
        (vec!["answer", "last", "yes", "or no", "--no-resume"], "two texts"),
        (vec!["answer", "last", &long, "--no-resume"], "too long"),
    ] {
        let project = project(ASK, replies);
        run(&project, &[]).exits(6);
        let outcome = project.saihai(&arguments).run().exits(2);
        assert_eq!(outcome.stdout, "", "{why}");
        project.saihai(["resume", "last"]).run().exits(6);
    }
}

// K-12, P-46
#[test]
fn a_task_and_an_answer_can_come_from_stdin() {
    let replies = "  - {for: plan, visit: 1, prompt: 'two\\s+lines', text: '[STEP:1]'}\n  \
                   - {for: plan, visit: 2, prompt: 'and\\s+two more', text: '[STEP:0]'}";
    let project = project(ASK, replies);
    project.saihai(["run", "it", "-", "--script", "script.yaml"]).input("two\nlines\n").run().exits(6);
    project.saihai(["answer", "last", "-", "--no-resume"]).input("and\ntwo more\n").run().exits(0);
    project.saihai(["resume", "last"]).run().exits(0);
}

// K-case 6, K-25
#[test]
fn a_rehearsed_run_says_so() {
    let project = Project::new(PROGRAM);
    let outcome = project.saihai(["run", "minimal", "Add a flag", "--json", "--rehearse"]).run().exits(0);
    let notes: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(notes, ["note: rehearsing with generated replies: no agent does any work"]);
    assert_eq!(outcome.result()["rehearsal"], true);
    let people = project.saihai(["run", "minimal", "Add a flag", "--rehearse"]).run().exits(0);
    assert!(people.stdout.contains("\nrehearsal: no agent was asked, and no work was done\n"), "{people}");
    project.saihai(["review"]).run().exits(2);
}

// K-case 8, K-35
#[test]
fn money_that_cannot_be_counted_is_refused_before_any_turn() {
    let project = project(ONE, "");
    let outcome =
        project.saihai(["run", "it", "x", "--provider", "codex", "--budget", "usd=1"]).run().exits(2);
    assert!(outcome.stderr.contains("error[provider/no-price]"), "{outcome}");
    let outcome = project.saihai(["run", "it", "x", "--budget", "5"]).run().exits(2);
    assert!(
        ["usd", "tokens", "turns", "minutes"].iter().all(|key| outcome.stderr.contains(key)),
        "{outcome}"
    );
    assert_eq!(project.runs(), [""; 0]);
}

// K-case 9, K-30, P-18
#[test]
fn a_flag_wins_over_the_definition_and_that_over_a_setting() {
    let claude = ONE.replace("- name: plan", "- name: plan\n    provider: claude");
    let project = project(&claude, "  - {for: plan, text: '[STEP:0]'}");
    let with_variable = |arguments: &[&str]| project.saihai(arguments).env("SAIHAI_PROVIDER", "script").run();
    let outcome = with_variable(&["run", "it", "x"]).exits(4);
    assert!(outcome.stderr.contains("provider `claude`: there is no program `claude`"), "{outcome}");
    run(&project, &[]).exits(0);
    let outcome = with_variable(&["config", "--explain", "provider"]).exits(0);
    insta::assert_snapshot!(outcome.stdout, @r#"
    KEY       VALUE     ORIGIN
    provider  "script"  SAIHAI_PROVIDER
    "#);
}

// K-12, P-3, P-1
#[test]
fn what_cannot_be_found_is_said_with_where_it_was_looked_for() {
    let project = project(ONE, "");
    let arguments: [&[&str]; 5] = [
        &["run", "it"],
        &["run", "ti", "x"],
        &["run", "./it.yaml", "x"],
        &["run", "it", "x", "--script", "nope.yaml"],
        &["show", "last"],
    ];
    let all: Vec<String> = arguments.iter().map(|one| seen(&project, &project.saihai(*one).run())).collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    -- stderr
    error: `it` needs a task
      = help: pass a task: `saihai run it "fix the login"`
    ? 2
    -- stderr
    error[piece/unknown-piece]: no definition is named `ti`; looked in `.saihai/pieces`, `.takt/pieces`, `.takt/workflows`, `~/.config/saihai/pieces`, `~/.takt/pieces` and `~/.takt/workflows` and among the built-in ones; the step agents are `iterator` and `reviewer`
      = help: there is `it`, `default`, `minimal`, `test-first`, `debug`, `review`, `review-fix`, `specialists`, `docs` and `research`
    ? 2
    -- stderr
    error[piece/missing-file]: the file `./it.yaml` does not exist
      = help: a path is never looked up as a name
    ? 2
    -- stderr
    error[script/missing-file]: cannot read `nope.yaml`: it does not exist
    --> nope.yaml
    ? 2
    -- stderr
    error: there are no runs yet in `PROJECT/.saihai/runs`
    ? 2
    "#);
    assert_eq!(project.runs(), [""; 0]);
}

// D-2: the program for servers is another one, and its absence is named
#[test]
fn commands_about_a_server_name_the_missing_program() {
    let project = Project::new(PROGRAM);
    project.write(".saihai/pieces/p.yaml", "name: p\ninitial_movement: a\nmovements:\n  - {name: a, instruction_template: A, rules: [{condition: ok, next: COMPLETE}]}\n");
    let before = project.snapshot();
    let place = ["--server", "127.0.0.1:1", "--blobs", "."];
    for command in [&["worker"][..], &["pull", "last"], &["run", "p", "x", "--rehearse"]] {
        let flags = if command[0] == "pull" { &[][..] } else { &place };
        let arguments: Vec<&str> = command.iter().chain(flags).copied().collect();
        let refused = project.saihai(arguments).run().exits(4);
        let said = refused.stderr.lines().filter(|line| line.starts_with("error")).collect::<Vec<_>>();
        assert_eq!(said, ["error: runs on a server need the program `saihai-temporal`"], "{refused}");
    }
    assert_eq!(project.snapshot(), before);
}
