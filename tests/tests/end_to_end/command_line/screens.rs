//! Whole screens at 80 and 120 columns: what a person sees of a run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use saihai_tests::{Project, Terminal, screen};

use super::support::{ASK, normal, project};

const FIX: &str = "\
name: fix
max_iterations: 12
movements:
  - name: implement
    report: {name: 01-work.md, format: '# Work'}
    rules: [{condition: The work is done and the tests pass, next: review}]
  - name: review
    parallel:
      - {name: tests, rules: [{condition: Nothing to fix}, {condition: Something to fix}]}
      - {name: security, rules: [{condition: Nothing to fix}, {condition: Something to fix}]}
    rules: [{condition: 'all(\"Nothing to fix\")', next: COMPLETE}, {condition: 'any(\"Something to fix\")', next: implement}]
";
/// Every turn takes one second, so that columns have the same width each time.
const REPLIES: &str = r#"  - for: implement
    visit: 1
    delay: 1
    text: "```markdown\n# Work\n- greet.sh: a default for the name\n```\nAll tests pass, I think.\n[STEP:0]"
  - {for: review/tests, visit: 1, delay: 1, text: "I ran them. The empty name still fails (test.sh:14).\n[STEP:1]"}
  - {for: review/security, visit: 1, delay: 1, text: "The name is never executed.\n[STEP:0]"}
  - for: implement
    visit: 2
    delay: 1
    text: "```markdown\n# Work\n- greet.sh: an empty name counts as missing\n```\n[STEP:0]"
  - {for: review/tests, visit: 2, delay: 1, text: "All 3 tests pass.\n[STEP:0]"}
  - {for: review/security, visit: 2, delay: 1, text: "Still nothing.\n[STEP:0]"}
"#;

/// Returns the final screen of a command.
fn shown(project: &Project, arguments: &[&str], columns: u16) -> String {
    let invocation = project.saihai(arguments).without_env("NO_COLOR").env("TERM", "xterm");
    let (code, text) = Terminal::start_with_columns(invocation, columns).finish();
    assert_eq!(code, Some(0), "{text}");
    let lines = screen(&text);
    let wide = lines.iter().filter(|line| line.chars().count() > usize::from(columns)).collect::<Vec<_>>();
    assert!(wide.is_empty(), "{wide:?}");
    let lines: Vec<String> = lines.iter().map(|line| line.trim_end().to_owned()).collect();
    let text = normal(project, lines.join("\n").trim_end());
    // Shortened ids are dates and times.
    project.runs().iter().fold(text, |text, run| text.replace(&run[..15], "SHORT_ID"))
}

const RUN: [&str; 5] = ["run", "it", "Greet the world.", "--script", "script.yaml"];

// U-1, U-5, U-10
#[test]
fn a_run_is_understood_without_knowing_its_mechanism() {
    let project = project(FIX, REPLIES);
    insta::assert_snapshot!(shown(&project, &RUN, 80), @r#"
    run RUN
    started it (piece): Greet the world.
    iteration 1 of 12: implement
      implement replied in SOME TIME
      saved report `01-work.md`
      implement → review: "The work is done and the tests pass" — All tests pass, I
        think.
    iteration 2 of 12: review
      review/tests replied in SOME TIME
      review/security replied in SOME TIME
      review → implement: tests: "Something to fix" — The empty name still fails
        (test.sh:14).
    iteration 3 of 12: implement
      implement replied in SOME TIME
      saved report `01-work.md`
      implement → review: "The work is done and the tests pass" — greet.sh: an
        empty name counts as missing
    iteration 4 of 12: review
      review/tests replied in SOME TIME
      review/security replied in SOME TIME
      review → completed:
        tests: "Nothing to fix" — All 3 tests pass.
        security: "Nothing to fix" — Still nothing.
    completed at review:
      tests: "Nothing to fix" — All 3 tests pass.
      security: "Nothing to fix" — Still nothing.
    run RUN: SOME TIME, 4 iterations, 6 turns
    report .takt/reports/RUN/01-work.md

    ## tests
    All 3 tests pass.

    ---

    ## security
    Still nothing.
    note: next: `saihai explain` gives the reasons, `saihai show` the figures
    "#);
    let other = super::support::project(FIX, REPLIES);
    insta::assert_snapshot!(shown(&other, &RUN, 120), @r#"
    run RUN
    started it (piece): Greet the world.
    iteration 1 of 12: implement
      implement replied in SOME TIME
      saved report `01-work.md`
      implement → review: "The work is done and the tests pass" — All tests pass, I think.
    iteration 2 of 12: review
      review/tests replied in SOME TIME
      review/security replied in SOME TIME
      review → implement: tests: "Something to fix" — The empty name still fails (test.sh:14).
    iteration 3 of 12: implement
      implement replied in SOME TIME
      saved report `01-work.md`
      implement → review: "The work is done and the tests pass" — greet.sh: an empty name counts as missing
    iteration 4 of 12: review
      review/tests replied in SOME TIME
      review/security replied in SOME TIME
      review → completed:
        tests: "Nothing to fix" — All 3 tests pass.
        security: "Nothing to fix" — Still nothing.
    completed at review:
      tests: "Nothing to fix" — All 3 tests pass.
      security: "Nothing to fix" — Still nothing.
    run RUN: SOME TIME, 4 iterations, 6 turns
    report .takt/reports/RUN/01-work.md

    ## tests
    All 3 tests pass.

    ---

    ## security
    Still nothing.
    note: next: `saihai explain` gives the reasons, `saihai show` the figures
    "#);
}

// U-1, U-11
#[test]
fn the_screens_about_a_run_fit_80_columns() {
    let project = project(FIX, REPLIES);
    project.saihai(RUN).run().exits(0);
    insta::assert_snapshot!(shown(&project, &["show", "last"], 80), @r#"
    STAGE      VISIT  TURNS  TOKENS  TOOK  NEXT
    implement  1      1      0       1 s   review: "The work is done and the tests
                                           pass" — All tests pass, I think.
    review     1      2      0       1 s   implement: tests: "Something to fix" —
                                           The empty name still fails (test.sh:14).
    implement  2      1      0       1 s   review: "The work is done and the tests
                                           pass" — greet.sh: an empty name counts as
                                           missing
    review     2      2      0       1 s   completed: tests, security: "Nothing to
                                           fix" — All 3 tests pass.

    REPORT      SAVED     EVENT  STAGE      BYTES  FOUND
    01-work.md  TIME  9      implement  42     by a clue
    01-work.md  TIME  27     implement  51     by a clue

    completed at review:
      tests: "Nothing to fix" — All 3 tests pass.
      security: "Nothing to fix" — Still nothing.
    run RUN: SOME TIME, 4 iterations, 6 turns
    report .takt/reports/RUN/01-work.md

    ## tests
    All 3 tests pass.

    ---

    ## security
    Still nothing.
    "#);
    insta::assert_snapshot!(shown(&project, &["explain", "last"], 80), @r#"
    TIME  implement → review: "The work is done and the tests pass" — All tests
                pass, I think.
    TIME  review → implement: tests: "Something to fix" — The empty name still
                fails (test.sh:14).
    TIME  implement → review: "The work is done and the tests pass" — greet.sh:
                an empty name counts as missing
    TIME  review → completed:
                tests: "Nothing to fix" — All 3 tests pass.
                security: "Nothing to fix" — Still nothing.
    "#);
    insta::assert_snapshot!(shown(&project, &["runs"], 80), @"
    RUN              DEFINITION  STARTED              TURNS  COST  STATE
    SHORT_ID  it          TIME  6      -     completed
    ");
    insta::assert_snapshot!(shown(&project, &["explain", "last", "-v"], 80), @r#"
    TIME  implement → review: "The work is done and the tests pass" — All tests
                pass, I think.
              `implement`: tag 0 on line 6 of the reply
              rule 0 “The work is done and the tests pass”, by tag
              event 10, iteration 1, visit 1, round 1, 1 in a row
    TIME  review → implement: tests: "Something to fix" — The empty name still
                fails (test.sh:14).
              `tests`: tag 1 on line 2 of the reply
              `security`: tag 0 on line 2 of the reply
              rule 1 “any("Something to fix")”, by aggregate (tests: Something to
                fix, security: Nothing to fix)
              event 19, iteration 2, visit 1, round 1, 1 in a row
    TIME  implement → review: "The work is done and the tests pass" — greet.sh:
                an empty name counts as missing
              `implement`: tag 0 on line 5 of the reply
              rule 0 “The work is done and the tests pass”, by tag
              event 28, iteration 3, visit 2, round 1, 1 in a row
    TIME  review → completed:
                tests: "Nothing to fix" — All 3 tests pass.
                security: "Nothing to fix" — Still nothing.
              `tests`: tag 0 on line 2 of the reply
              `security`: tag 0 on line 2 of the reply
              rule 0 “all("Nothing to fix")”, by aggregate (tests: Nothing to fix,
                security: Nothing to fix)
              event 37, iteration 4, visit 2, round 1, 1 in a row
    "#);
}

// U-1, U-11
#[test]
fn the_screens_about_a_run_use_120_columns() {
    let project = project(FIX, REPLIES);
    project.saihai(RUN).run().exits(0);
    insta::assert_snapshot!(shown(&project, &["show", "last"], 120), @r#"
    STAGE      VISIT  ROUNDS  TURNS  TOKENS  ENTERED   TOOK  NEXT
    implement  1      1       1      0       TIME  1 s   review: "The work is done and the tests pass" — All tests pass,
                                                             I think.
    review     1      1       2      0       TIME  1 s   implement: tests: "Something to fix" — The empty name still
                                                             fails (test.sh:14).
    implement  2      1       1      0       TIME  1 s   review: "The work is done and the tests pass" — greet.sh: an
                                                             empty name counts as missing
    review     2      1       2      0       TIME  1 s   completed: tests, security: "Nothing to fix" — All 3 tests
                                                             pass.

    REPORT      SAVED     EVENT  STAGE      BYTES  FOUND
    01-work.md  TIME  9      implement  42     by a clue
    01-work.md  TIME  27     implement  51     by a clue

    completed at review:
      tests: "Nothing to fix" — All 3 tests pass.
      security: "Nothing to fix" — Still nothing.
    run RUN: SOME TIME, 4 iterations, 6 turns
    report .takt/reports/RUN/01-work.md

    ## tests
    All 3 tests pass.

    ---

    ## security
    Still nothing.
    "#);
    insta::assert_snapshot!(shown(&project, &["explain", "last"], 120), @r#"
    TIME  implement → review: "The work is done and the tests pass" — All tests pass, I think.
    TIME  review → implement: tests: "Something to fix" — The empty name still fails (test.sh:14).
    TIME  implement → review: "The work is done and the tests pass" — greet.sh: an empty name counts as missing
    TIME  review → completed:
                tests: "Nothing to fix" — All 3 tests pass.
                security: "Nothing to fix" — Still nothing.
    "#);
    insta::assert_snapshot!(shown(&project, &["runs"], 120), @"
    RUN                              DEFINITION  STARTED              TURNS  COST  STATE
    RUN  it          TIME  6      -     completed
    ");
    shown(&project, &["list"], 80);
    shown(&project, &["config", "--explain"], 80);
}

// U-1: the false claim and the reviewers who find it
#[test]
fn the_demo_shows_how_a_false_claim_is_found() {
    for columns in [80, 120] {
        let project = super::support::project(FIX, REPLIES);
        let invocation = project.saihai(["demo"]).env("TMPDIR", project.home());
        let invocation = invocation.without_env("NO_COLOR").env("TERM", "xterm");
        let (code, text) = Terminal::start_with_columns(invocation, columns).finish();
        assert_eq!(code, Some(0), "{text}");
        let lines = screen(&text).join("\n");
        let (_, live) = lines.split_once("iteration 1 of 30").expect("the run");
        let (live, _) = live.split_once("\ncompleted at").expect("its end");
        // The line about the end of a program has its duration, which decides where it wraps.
        let mut is_program = false;
        let mut live: Vec<&str> = live.lines().map(str::trim_end).collect();
        live.retain(|line| {
            is_program = line.starts_with("  checks: ") || is_program && line.starts_with("    ");
            !is_program
        });
        match columns {
            80 => insta::assert_snapshot!(normal(&project, &live.join("\n")), @r#"
            : plan
              plan replied in SOME TIME
              saved report `01-plan.md`
              plan → implement: "The plan is complete" — `greet.sh`: a default for the
                name.
            iteration 2 of 30: implement
              implement replied in SOME TIME
              saved report `02-work.md`
              implement → checks: "The plan is carried out and the checks pass" — All
                checks pass, I think.
            iteration 3 of 30: checks
              checks → repair: sh test.sh failed with exit code 1 — FAILED: an empty name:
                expected 'Hello, world!', got 'Hello, !'
            iteration 4 of 30: repair
              repair replied in SOME TIME
              repair → checks: "The cause is removed" — `${1:-world}` also stands in for an
                empty one.
            iteration 5 of 30: checks
              checks → review: sh test.sh succeeded — ok: an empty name
            iteration 6 of 30: review
              review/security replied in SOME TIME
              saved report `03-review-security.md`
              review/correctness replied in SOME TIME
              saved report `03-review-correctness.md`
              review/tests replied in SOME TIME
              saved report `03-review-tests.md`
              review → supervise:
                correctness: "Nothing to fix" — Nothing: `greet.sh` line 3 greets the world
                  without a name and with an empty one.
                tests: "Nothing to fix" — Nothing: `test.sh` line 15 would fail without the
                  change. The report of the work calls the checks fine before they were;
                  the process ran them, and they pass now.
                security: "Nothing to fix" — Nothing: the name is printed and never
                  executed.
            iteration 7 of 30: supervise
              supervise replied in SOME TIME
              saved report `04-result.md`
              supervise → completed: "Everything asked for is fulfilled" — Without a name
                the world is greeted: `greet.sh` line 3, checked by `test.sh` lines 14 and
                15.
            "#),
            _ => insta::assert_snapshot!(normal(&project, &live.join("\n")), @r#"
            : plan
              plan replied in SOME TIME
              saved report `01-plan.md`
              plan → implement: "The plan is complete" — `greet.sh`: a default for the name.
            iteration 2 of 30: implement
              implement replied in SOME TIME
              saved report `02-work.md`
              implement → checks: "The plan is carried out and the checks pass" — All checks pass, I think.
            iteration 3 of 30: checks
              checks → repair: sh test.sh failed with exit code 1 — FAILED: an empty name: expected 'Hello, world!', got 'Hello, !'
            iteration 4 of 30: repair
              repair replied in SOME TIME
              repair → checks: "The cause is removed" — `${1:-world}` also stands in for an empty one.
            iteration 5 of 30: checks
              checks → review: sh test.sh succeeded — ok: an empty name
            iteration 6 of 30: review
              review/security replied in SOME TIME
              saved report `03-review-security.md`
              review/correctness replied in SOME TIME
              saved report `03-review-correctness.md`
              review/tests replied in SOME TIME
              saved report `03-review-tests.md`
              review → supervise:
                correctness: "Nothing to fix" — Nothing: `greet.sh` line 3 greets the world without a name and with an empty one.
                tests: "Nothing to fix" — Nothing: `test.sh` line 15 would fail without the change. The report of the work calls
                  the checks fine before they were; the process ran them, and they pass now.
                security: "Nothing to fix" — Nothing: the name is printed and never executed.
            iteration 7 of 30: supervise
              supervise replied in SOME TIME
              saved report `04-result.md`
              supervise → completed: "Everything asked for is fulfilled" — Without a name the world is greeted: `greet.sh` line 3,
                checked by `test.sh` lines 14 and 15.
            "#),
        }
    }
}

// U-11
#[test]
fn colour_can_be_forced_and_forbidden() {
    let project = project(FIX, REPLIES);
    project.saihai(RUN).run().exits(0);
    let plain = project.saihai(["runs"]).run().exits(0);
    assert!(!plain.stdout.contains('\u{1b}'), "{plain}");
    let forced = project.saihai(["runs", "--color", "always"]).run().exits(0);
    assert!(forced.stdout.contains("\u{1b}[1m\u{1b}[32mcompleted"), "{forced}");
    let invocation =
        project.saihai(["runs", "--color", "never"]).without_env("NO_COLOR").env("TERM", "xterm");
    let (_, text) = Terminal::start(invocation).finish();
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

/// Sets a `notify` program, and returns the file to which it writes what it gets.
fn notified(project: &Project) -> PathBuf {
    let heard = project.home().join("heard.json");
    project.write("notify.sh", format!("#!/bin/sh\ncat >> '{}'\n", heard.display()));
    let program = project.root().join("notify.sh");
    project.write(".saihai/config.toml", format!("notify = [\"sh\", \"{}\"]\n", program.display()));
    heard
}

/// Waits for one event.
fn notification(heard: &Path) -> serde_json::Value {
    let waited = Instant::now();
    loop {
        let written = std::fs::read_to_string(heard).unwrap_or_default();
        if written.ends_with('\n') || waited.elapsed().as_secs() > 20 {
            return serde_json::from_str(&written).expect("one event");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

// U-12
#[test]
fn the_end_of_a_run_rings_once_and_reaches_the_notify_program() {
    let project = project(FIX, REPLIES);
    let heard = notified(&project);
    // A project's own file may not start programs before it is trusted.
    let refused = project.saihai(RUN).run().exits(2);
    assert!(refused.stderr.contains("`notify` can run programs"), "{refused}");
    let trusted: Vec<&str> = RUN.into_iter().chain(["--trust-project"]).collect();
    let invocation = project.saihai(&trusted).without_env("NO_COLOR").env("TERM", "xterm");
    let (code, text) = Terminal::start(invocation).finish();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("\u{1b}]9;").count(), 1, "{text:?}");
    assert_eq!(text.matches("\u{1b}]777;notify;").count(), 1, "{text:?}");
    let event = notification(&heard);
    assert_eq!(
        (&event["type"], &event["event"], &event["state"]),
        (&"notification".into(), &"end".into(), &"completed".into())
    );
}

#[test]
fn a_fork_has_its_own_start_and_cost_and_says_that_files_stay() {
    let project = project(FIX, &REPLIES.replace("delay: 1", "usage: {input: 100, output: 10}"));
    project.saihai(RUN).run().exits(0);
    let forked = project.saihai(["fork", "last"]).run().exits(0);
    assert!(forked.stderr.contains("files are not restored"), "{forked}");
    let listed = project.saihai(["runs", "--json"]).run().exits(0).json();
    let (fork, original) = (&listed[0], &listed[1]);
    assert_eq!((&fork["turns"], &original["turns"]), (&0.into(), &6.into()));
    assert!(fork["started"].as_str() > original["started"].as_str(), "{listed:?}");
    let shown = project.saihai(["show", "last"]).run().exits(0);
    assert!(shown.stdout.starts_with("forked from "), "{shown}");
    assert!(!shown.stdout.contains(" tokens, "), "{shown}");
}

#[test]
fn a_resumed_run_shows_its_iteration_and_asks_for_the_first_time() {
    let replies = "  - {for: plan, visit: 1, text: \"Left or right?\\n[STEP:1]\"}
  - {for: plan, visit: 2, text: \"left\\n[STEP:0]\"}";
    let project = project(super::support::ASK, replies);
    project.saihai(RUN).run().exits(6);
    project.saihai(["answer", "last", "left", "--no-resume"]).run().exits(0);
    let resumed = project.saihai(["resume", "last"]).run().exits(0);
    assert!(resumed.stderr.contains("  resumed\niteration 2 of 10: plan\n  plan replied in "), "{resumed}");
    let log = project.saihai(["log", "last", "-v"]).run().exits(0);
    assert!(!log.stdout.contains("attempt 2"), "{log}");
}

#[test]
fn a_run_in_a_worktree_shows_its_action_in_words() {
    let project = project(FIX, &REPLIES.replace("delay: 1", "usage: {input: 100, output: 10}"));
    project.git(["init", "--quiet"]).run().exits(0);
    project.git(["add", "--all"]).run().exits(0);
    project.git(["-c", "user.name=x", "-c", "user.email=x@x", "commit", "--quiet", "-m", "x"]).run().exits(0);
    let arguments: Vec<&str> = RUN.into_iter().chain(["--worktree"]).collect();
    let outcome = project.saihai(&arguments).run().exits(0);
    assert!(!outcome.stderr.contains('{'), "{outcome}");
}

// U-16
#[test]
fn the_screens_about_a_definition_fit_both_widths() {
    let project = project(FIX, REPLIES);
    insta::assert_snapshot!(shown(&project, &["check"], 80), @"
    note[workflow/unmonitored-cycle]: `implement` → `review` can repeat until the
        iteration limit
    --> .takt/pieces/it.yaml:4:11
      |
    4 |   - name: implement
      |           ^^^^^^^^^

    it: ok (at most 48 agent calls)
    no errors in 1 file
    note: no default provider is set: to run, pass `--provider NAME` or set
        `provider` in `.saihai/config.toml`
    ");
    insta::assert_snapshot!(shown(&project, &["check"], 120), @"
    note[workflow/unmonitored-cycle]: `implement` → `review` can repeat until the iteration limit
    --> .takt/pieces/it.yaml:4:11
      |
    4 |   - name: implement
      |           ^^^^^^^^^

    it: ok (at most 48 agent calls)
    no errors in 1 file
    note: no default provider is set: to run, pass `--provider NAME` or set `provider` in `.saihai/config.toml`
    ");
    insta::assert_snapshot!(shown(&project, &["rehearse", "it"], 80), @"
    2 runs, every exit taken
        1  completed: complete
           implement → review → implement → review
        1  failed: no_match
           implement → review
    ");
    insta::assert_snapshot!(shown(&project, &["rehearse", "it"], 120), @"
    2 runs, every exit taken
        1  completed: complete
           implement → review → implement → review
        1  failed: no_match
           implement → review
    ");
    shown(&project, &["doctor"], 80);
    shown(&project, &["doctor"], 120);
}

// U-12
#[test]
fn a_gate_rings_once_and_reaches_the_notify_program() {
    let project = project(ASK, "  - {for: plan, visit: 1, text: \"Left or right?\\n[STEP:1]\"}");
    let heard = notified(&project);
    let arguments: Vec<&str> = RUN.into_iter().chain(["--trust-project"]).collect();
    let invocation = project.saihai(&arguments).without_env("NO_COLOR").env("TERM", "xterm");
    let mut terminal = Terminal::start(invocation);
    terminal.wait_for("your answer in one line");
    let event = notification(&heard);
    assert_eq!(
        (&event["event"], &event["state"], &event["message"]),
        (&"gate".into(), &"parked".into(), &"waiting for you at plan/input[1]".into())
    );
    assert_eq!(terminal.text().matches("\u{1b}]9;").count(), 1, "{}", terminal.text());
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().0, Some(6));
}
