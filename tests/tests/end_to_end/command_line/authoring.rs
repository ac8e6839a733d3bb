//! Authoring: whole outputs of `check`, `rehearse` and `work --list` on terminals of 80 and 120 columns. U-16, U-17, U-19.

use saihai_tests::{Project, Terminal, screen};

use super::support::{PROGRAM, normal, project};

/// Movements in a loop, with two ends.
const FLAKY: &str = "\
name: Fix a flaky test
max_iterations: 8
movements:
  - name: reproduce
    instruction_template: 'Reproduce: {task}'
    rules: [{condition: reproduced, next: fix}, {condition: not reproducible, next: ABORT}]
  - name: fix
    edit: true
    instruction_template: Fix it.
    rules: [{condition: fixed, next: verify}]
  - name: verify
    instruction_template: Run the test 20 times.
    rules: [{condition: green, next: COMPLETE}, {condition: still flaky, next: fix}]
";

/// Mistakes that people make with the words of other tools.
const MISTAKEN: &str = "\
name: mistaken
movements:
  - name: fix
    prompt: Fix it.
    rules:
      - {if: fixed, then: DONE}
      - {condition: stuck, next: FAIL}
";

/// Runs a command on a terminal of this width and returns the screen.
fn shown(project: &Project, columns: u16, arguments: &[&str]) -> String {
    let invocation = project.saihai(arguments).env("TERM", "xterm");
    let (code, text) = Terminal::start_with_columns(invocation, columns).finish();
    let text = screen(&text).iter().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n");
    format!("{}? {}", normal(project, &text), code.unwrap_or_default())
}

fn with_pieces() -> Project {
    let project = Project::new(PROGRAM);
    project.write(".saihai/pieces/flaky.yaml", FLAKY);
    project
}

// U-16, U-17
#[test]
fn check_says_ok_with_a_bound_and_counts_errors_and_files() {
    let project = with_pieces();
    insta::assert_snapshot!(shown(&project, 80, &["check"]), @"
    flaky: ok (at most 16 agent calls)
    no errors in 1 file
    note: no default provider is set: to run, pass `--provider NAME` or set
        `provider` in `.saihai/config.toml`
    ? 0
    ");
    project.write(".saihai/pieces/mistaken.yaml", MISTAKEN);
    insta::assert_snapshot!(shown(&project, 120, &["check"]), @"
    error[piece/unknown-key]: unknown key `prompt`
    --> .saihai/pieces/mistaken.yaml:4:5
      |
    4 |     prompt: Fix it.
      |     ^^^^^^ not a key of a movement
      = help: did you mean `instruction_template`?

    error[piece/unknown-key]: unknown key `if`
    --> .saihai/pieces/mistaken.yaml:6:10
      |
    6 |       - {if: fixed, then: DONE}
      |          ^^ not a key of a rule
      = help: did you mean `condition`?

    error[piece/unknown-key]: unknown key `then`
    --> .saihai/pieces/mistaken.yaml:6:21
      |
    6 |       - {if: fixed, then: DONE}
      |                     ^^^^ not a key of a rule
      = help: did you mean `next`?

    error[piece/unknown-movement]: movement `FAIL` does not exist
    --> .saihai/pieces/mistaken.yaml:7:34
      |
    7 |       - {condition: stuck, next: FAIL}
      |                                  ^^^^ no movement has this name
      = help: did you mean `ABORT`?

    flaky: ok (at most 16 agent calls)
    mistaken: 4 errors
    4 errors in 2 files
    note: no default provider is set: to run, pass `--provider NAME` or set `provider` in `.saihai/config.toml`
    ? 2
    ");
    assert_eq!(
        shown(&project, 80, &["check"]).split_whitespace().collect::<Vec<_>>(),
        shown(&project, 120, &["check"]).split_whitespace().collect::<Vec<_>>()
    );
}

// U-16
#[test]
fn a_piece_asked_for_by_its_name_key_is_explained() {
    let project = with_pieces();
    let unknown = project.saihai(["check", "Fix a flaky test"]).run().exits(2);
    assert!(unknown.stdout.contains("`.saihai/pieces/flaky.yaml` has this `name:`"), "{unknown}");
}

// U-17
#[test]
fn a_definition_that_names_a_provider_for_some_movements_is_valid_but_needs_a_default_to_run() {
    let mixed = FLAKY.replace("  - name: fix\n", "  - name: fix\n    provider: claude\n");
    let project = Project::new(PROGRAM);
    project.write(".saihai/pieces/flaky.yaml", mixed);
    let checked = project.saihai(["check"]).run().exits(0);
    assert_eq!(checked.stdout, "flaky: ok (at most 16 agent calls)\nno errors in 1 file\n", "{checked}");
    assert!(checked.stderr.starts_with("note: no default provider is set: "), "{checked}");
    let refused = project.saihai(["run", "flaky", "the login test"]).run().exits(2);
    assert!(refused.stderr.contains("no provider for this turn"), "{refused}");
    project.write(".saihai/config.toml", "provider = \"codex\"\n");
    assert_eq!(project.saihai(["check"]).run().exits(0).stderr, "");
}

// U-16
#[test]
fn rehearse_prints_each_end_with_its_path() {
    let project = with_pieces();
    insta::assert_snapshot!(shown(&project, 80, &["rehearse", "flaky"]), @"
    4 runs, every exit taken
        2  failed: no_match
           reproduce
        1  completed: complete
           reproduce → fix → verify → fix → verify
        1  failed: abort
           reproduce
    ? 0
    ");
    let mut long = "name: long\nmax_iterations: 30\nmovements:\n".to_owned();
    for number in 1..=9 {
        let next = if number == 9 { "COMPLETE".to_owned() } else { format!("movement-{}", number + 1) };
        long.push_str(&format!(
            "  - {{name: movement-{number}, rules: [{{condition: done, next: {next}}}]}}\n"
        ));
    }
    project.write(".saihai/pieces/long.yaml", long);
    insta::assert_snapshot!(shown(&project, 80, &["rehearse", "long"]), @"
    1 run, every exit taken
        1  completed: complete
           movement-1 → movement-2 → movement-3 → movement-4 → movement-5 →
           movement-6 → movement-7 → movement-8 → movement-9
    ? 0
    ");
    insta::assert_snapshot!(shown(&project, 120, &["rehearse", "long"]), @"
    1 run, every exit taken
        1  completed: complete
           movement-1 → movement-2 → movement-3 → movement-4 → movement-5 → movement-6 → movement-7 → movement-8 →
           movement-9
    ? 0
    ");
}

/// A movement that asks a person, and one that loops.
const ASKED: &str = "\
name: asked
movements:
  - name: plan
    rules:
      - {condition: unclear, next: plan, requires_user_input: true}
      - {condition: planned, next: COMPLETE}
      - {condition: impossible, next: ABORT}
";

// U-16: the file has the format of its name, and says how the run must end
#[test]
fn generated_replies_are_tests_in_the_format_of_their_file() {
    let project = project(ASKED, "");
    let written = project.saihai(["rehearse", "it", "--write-script", "walk.yaml"]).run().exits(0);
    insta::assert_snapshot!(written.stderr, @"
    note: wrote `walk.yaml`: completed: complete
    note: wrote `walk-2.yaml`: failed: abort
    note: wrote `walk-3.yaml`: failed: no_match
    ");
    insta::assert_snapshot!(project.read("walk.yaml"), @r#"
    script: 1
    strict: true
    interactive: true
    replies:
      - for: plan
        visit: 1
        text: |-
          Rehearsed reply 1.

          [STEP:0]
      - for: plan
        visit: 2
        text: |-
          Rehearsed reply 2.

          [STEP:1]
    answers:
      - for: "plan/input[0]"
        visit: 1
        text: "Rehearsed answer."
    expect:
      outcome: completed
      stages: [plan, "plan/input[0]", plan]
    "#);
    project.saihai(["rehearse", "it", "--write-script", "walk.json"]).run().exits(0);
    assert!(project.read("walk.json").starts_with("{\n  \"script\": 1,"));
    for script in ["walk.yaml", "walk-2.yaml", "walk.json", "walk-2.json"] {
        let played = project.saihai(["rehearse", "it", "--script", script]).run();
        assert!(played.stderr.contains("note: as expected: "), "{script}: {played}");
    }
    // Another end is a difference.
    let other = project.read("walk.yaml").replace("STEP:1", "STEP:2");
    project.write("other.yaml", other);
    let differs = project.saihai(["rehearse", "it", "--script", "other.yaml"]).run();
    assert_eq!((differs.code, differs.stderr.contains("note: as expected")), (Some(1), false), "{differs}");
}
