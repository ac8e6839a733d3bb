//! Movements that run a program (U-9), and the checks of the settings.

use saihai_model::{CarriedWords, Method, Permission, ProgramCommand, ProgramExitRange, SessionPolicy};

use super::{Project, movement, turn};
use crate::check::most_calls;
use crate::{CheckCommands, Language, Settings};

const RULES: &str = "rules: [{condition: exit(0), next: COMPLETE}, {condition: exit(1..), next: ABORT}]";

fn program(lines: &str) -> Project {
    Project::new(&movement(&format!("{lines}\n{RULES}")))
}

fn check(lines: &str, expected: &str) {
    assert_eq!(program(lines).said(), expected, "{lines}");
}

fn check_rules(rules: &str, expected: &str) {
    let piece = movement(&format!("run: [cargo, test]\nrules: [{rules}]"));
    assert_eq!(Project::new(&piece).said(), expected, "{rules}");
}

// U-9
#[test]
fn a_program_is_a_turn_without_prompt_words_session_and_provider() {
    let project = program(
        "run: [cargo, test, --, --nocapture]\ntimeout: 90s\nenv: {RUST_LOG: debug}\ncwd: crates/core\nreport: tests.log",
    );
    let workflow = project.workflow();
    let turn = turn(&workflow, "m");
    let expected = ProgramCommand {
        argv: ["cargo", "test", "--", "--nocapture"].map(str::to_owned).into(),
        env: [("RUST_LOG".to_owned(), "debug".to_owned())].into(),
        directory: Some("crates/core".to_owned()),
        written: Some("/p/.takt/pieces/t.yaml".to_owned()),
    };
    assert_eq!(turn.program.as_deref(), Some(&expected));
    assert_eq!(super::render(&turn.prompt, &[]), "cargo test -- --nocapture\n");
    assert_eq!((turn.provider.as_str(), turn.session.clone()), ("program", SessionPolicy::Fresh));
    assert_eq!(turn.timeout.map(|timeout| timeout.0), Some(90_000));
    assert_eq!((turn.permission, &turn.reads.carry), (Permission::Full, &CarriedWords::ProgramResult));
    assert_eq!(turn.reads.reports[0].file, "tests.log");
    assert_eq!(workflow.commands()[0].typed(), "cargo test -- --nocapture");
    assert_eq!(most_calls(&workflow), Some(0), "no agent is asked");
    assert!(!project.load().rehearsal, "a piece of programs alone runs");
}

// U-9
#[test]
fn a_shell_line_runs_in_sh_and_has_an_hour() {
    let workflow = program("shell: cargo test && cargo clippy").workflow();
    let turn = turn(&workflow, "m");
    let program = turn.program.as_ref().unwrap();
    assert_eq!(program.argv, ["sh", "-c", "cargo test && cargo clippy"]);
    assert_eq!(program.typed(), "cargo test && cargo clippy");
    assert_eq!(turn.timeout.map(|timeout| timeout.0), Some(3_600_000));
}

// U-9
#[test]
fn keys_of_agents_and_of_programs_do_not_mix() {
    check(
        "run: [cargo, test]\npersona: coder\ninstruction: Test it.\nprovider: claude",
        "error piece/no-effect 5:5 `persona` has no effect on a movement with `run`: a program does the work (remove it)\n\
         error piece/no-effect 6:5 `instruction` has no effect on a movement with `run`: a program does the work (remove it)\n\
         error piece/no-effect 7:5 `provider` has no effect on a movement with `run`: a program does the work (remove it)",
    );
    check(
        "run: [cargo, test]\nshell: cargo test",
        "error piece/program-conflict 5:5 `run` and `shell` both name the program of this movement (keep one of them)",
    );
    let agent =
        movement("instruction: Do it.\ntimeout: 5s\ncwd: a\nrules: [{condition: done, next: COMPLETE}]");
    assert_eq!(
        Project::new(&agent).said(),
        "error piece/no-effect 5:5 `timeout` has no effect on a movement that asks an agent (it belongs to movements with `run` or `shell`)\n\
         error piece/no-effect 6:5 `cwd` has no effect on a movement that asks an agent (it belongs to movements with `run` or `shell`)",
    );
}

// U-9
#[test]
fn a_program_that_cannot_be_run_is_refused() {
    check(
        "run: cargo test",
        "error piece/bad-type 4:10 `run` must be a list: the program and its arguments (write `shell: \"cargo test\"` for a line of the shell)",
    );
    check("run: []", "error piece/bad-value 4:10 `run` must be a list with at least one item, not `[]`");
    check("run: [' ', x]", "error piece/bad-value 4:11 the first of `run` must name a program");
    check("shell: ' '", "error piece/bad-value 4:12 `shell` must be a line for the shell");
    check(
        "shell: make {checks}",
        "error piece/bad-value 4:12 `{checks}` must be the only content of `shell` (the setting `checks` lists several commands; add yours there, or write a movement of its own)",
    );
    check(
        "shell: echo {task}",
        "warning piece/unknown-variable 4:12 `{task}` stays in the line: a shell line has no template variables",
    );
    check(
        "run: [make]\ncwd: ../x",
        "error piece/unsafe-path 5:10 `../x` is not a directory below the working directory (write a relative path without `..`, such as `crates/core`)",
    );
    check(
        "run: [make]\nenv: {'A=B': x}",
        "error piece/bad-value 5:11 `A=B` cannot be the name of a variable",
    );
    check(
        "run: [make]\nreport: [{name: a.md, format: '# A'}, {name: b.md}]",
        "error piece/no-effect 5:21 `format` has no effect on the report of a program: the report is its output (remove it)\n\
         error piece/bad-value 5:50 a program has one output, so its movement can name one report",
    );
}

// U-9
#[test]
fn exit_codes_are_checked_and_must_all_be_covered() {
    check_rules("{condition: exit(0), next: COMPLETE}, {condition: 'exit(1..)', next: ABORT}", "");
    check_rules(
        "{condition: exit(0), next: COMPLETE}, {condition: exit(1), next: ABORT}",
        "warning workflow/not-exhaustive 3:11 no rule of movement `m` covers exit code 2 (the run would fail there: add a rule such as `exit(2..)`)",
    );
    let wrong = |condition: &str, reason: &str| {
        check_rules(
            &format!("{{condition: '{condition}', next: COMPLETE}}, {{condition: 'exit(0..)', next: ABORT}}"),
            &format!("error piece/bad-condition 5:25 {reason}"),
        );
    };
    let hint = "(write `exit(0)`, `exit(1..)` or `exit(2..4)`; exit codes are 0 to 255)";
    wrong(
        "exit(256)",
        &format!(
            "the condition `exit(…)` cannot be read: `256` is neither an exit code nor a range of them {hint}"
        ),
    );
    wrong(
        "exit(4..2)",
        &format!(
            "the condition `exit(…)` cannot be read: `4..2` is neither an exit code nor a range of them {hint}"
        ),
    );
    wrong(
        "exit(ok)",
        &format!(
            "the condition `exit(…)` cannot be read: `ok` is neither an exit code nor a range of them {hint}"
        ),
    );
    check_rules(
        "{condition: 'exit(0..)', next: COMPLETE}, {condition: exit(2), next: ABORT}",
        "error workflow/dead-rule 5:67 this rule can never match: rules before it cover `exit(2)` (move it up)",
    );
    let agent = movement("instruction: Do it.\nrules: [{condition: exit(0), next: COMPLETE}]");
    assert_eq!(
        Project::new(&agent).said(),
        "error piece/bad-condition 5:25 `exit(0)` is about a program, but this movement runs none (such conditions are for movements with `run` or `shell`)",
    );
}

// U-9
#[test]
fn a_timeout_goes_before_exit_codes_and_tags_and_values_before_both() {
    let rules = "{condition: 'exit(1..)', next: ABORT}, {condition: timeout, next: m}, \
                 {condition: Only flaky tests fail, next: m}, {condition: 'json(\"/status\", \"Skipped\")', next: m}, \
                 {condition: exit(0), next: COMPLETE}";
    let project = Project::new(&movement(&format!("run: [t]\nrules: [{rules}]")));
    let workflow = project.workflow();
    let choice = turn(&workflow, "m").reads.choice.clone().unwrap();
    let labels: Vec<_> = choice.options.iter().map(|offer| (offer.number, offer.label.to_string())).collect();
    let expected =
        ["exit(1..)", "timeout", "Only flaky tests fail", "json(\"/status\", \"Skipped\")", "exit(0)"];
    assert_eq!(labels, expected.iter().map(|label| (*label).to_owned()).enumerate().collect::<Vec<_>>());
    let [Method::Tag, Method::Field(field), Method::ExitCode(codes)] = choice.found_by.as_slice() else {
        panic!("{:?}", choice.found_by)
    };
    assert_eq!(field.pointer, "/status");
    assert_eq!(field.means.iter().next().unwrap().0, "skipped");
    assert_eq!(codes[0].exits, ProgramExitRange::Timeout);
    assert_eq!(
        codes.iter().map(|code| code.label.as_str()).collect::<Vec<_>>(),
        ["timeout", "exit(1..)", "exit(0)"]
    );
}

// U-9
#[test]
fn a_program_runs_next_to_agents() {
    let piece = "
name: t
movements:
  - name: look
    parallel:
      - name: review
        instruction: Review it.
        rules: [{condition: approved}, {condition: needs_fix}]
      - name: tests
        run: [make, test]
        report: a.log
        rules: [{condition: exit(0)}, {condition: 'exit(1..)'}]
    rules:
      - {condition: 'all(\"approved\", \"exit(0)\")', next: COMPLETE}
      - {condition: 'any(\"needs_fix\", \"exit(1..)\")', next: ABORT}
";
    let project = Project::new(piece);
    assert_eq!(project.said(), "");
    let workflow = project.workflow();
    let turns = workflow.stages["look"].turns();
    assert_eq!(turns.iter().map(|turn| turn.program.is_some()).collect::<Vec<_>>(), [false, true]);
    assert_eq!(turns[1].heading, "## tests\n");
    assert_eq!(most_calls(&workflow), Some(20), "ten rounds of one agent and its judge");
    let checks = piece.replace("run: [make, test]", "shell: '{checks}'");
    assert_eq!(
        Project::new(&checks).said(),
        "error piece/bad-value 9:15 `{checks}` is not allowed in a sub-movement (make it a movement of its own, or name the program)",
    );
}

const CHECKED: &str = "
name: t
movements:
  - name: work
    instruction: Work.
    rules: [{condition: done, next: checks}]
  - name: checks
    shell: '{checks}'
    rules: [{condition: exit(0), next: review}, {condition: 'exit(1..)', next: repair}]
  - name: repair
    instruction: Repair.
    rules: [{condition: done, next: checks}]
  - name: review
    instruction: Review.
    rules: [{condition: good, next: COMPLETE}, {condition: bad, next: work}]
loop_monitors:
  - cycle: [checks, review, work]
    judge: {rules: [{condition: better, next: checks}, {condition: worse, next: ABORT}]}
  - cycle: [checks, repair]
    judge: {rules: [{condition: better, next: checks}, {condition: worse, next: ABORT}]}
";

/// The same piece by someone who knows of no checks.
const UNCHECKED: &str = "
name: t
movements:
  - name: work
    instruction: Work.
    rules: [{condition: done, next: review}]
  - name: review
    instruction: Review.
    rules: [{condition: good, next: COMPLETE}, {condition: bad, next: work}]
loop_monitors:
  - cycle: [review, work]
    judge: {rules: [{condition: better, next: review}, {condition: worse, next: ABORT}]}
";

fn with_checks(commands: &[&str], written: Option<&str>) -> impl FnOnce(&mut Settings) {
    let commands = commands.iter().map(|line| (*line).to_owned()).collect();
    let checks = CheckCommands { commands, written: written.map(str::to_owned) };
    move |settings| settings.checks = checks
}

// U-9
#[test]
fn without_checks_their_movement_leaves_no_trace() {
    let project = Project::new(CHECKED);
    assert_eq!((project.said(), Project::new(UNCHECKED).said()), (String::new(), String::new()));
    assert_eq!(project.workflow(), Project::new(UNCHECKED).workflow());
}

// U-9
#[test]
fn checks_of_the_settings_are_one_shell_line_that_stops_at_the_first_failure() {
    let project = Project::new(CHECKED)
        .settings(with_checks(&["cargo test # all", "cargo fmt --check"], Some("/p/c.toml")));
    assert_eq!(project.said(), "");
    let workflow = project.workflow();
    let program = turn(&workflow, "checks").program.clone().unwrap();
    assert_eq!(program.typed(), "(cargo test # all\n) && (cargo fmt --check)");
    assert_eq!(program.written.as_deref(), Some("/p/c.toml"), "trust is asked for the settings file");
    assert_eq!(workflow.monitors.len(), 2);
    let own = Project::new(CHECKED).settings(with_checks(&["make"], None)).workflow();
    assert!(own.commands().is_empty(), "a person's own checks need no trust");
}

// U-9
#[test]
fn checks_need_a_way_on() {
    let piece = movement("shell: '{checks}'\nrules: [{condition: 'exit(1..)', next: ABORT}]");
    assert_eq!(
        Project::new(&piece).said().lines().next(),
        Some(
            "error piece/missing-rules 3:11 movement `m` needs a rule `exit(0)` (without `checks` in the settings, the run skips the movement and follows this rule)"
        ),
    );
    let alone = movement(&format!("shell: '{{checks}}'\n{RULES}"));
    assert_eq!(
        Project::new(&alone).said(),
        "error piece/bad-value 3:11 without `checks` in the settings, no movement is left to start with",
    );
}

// U-9
#[test]
fn built_in_pieces_that_change_code_run_the_checks_before_they_complete() {
    let mut settings = Settings::default();
    with_checks(&["make test"], None)(&mut settings);
    for name in ["default", "minimal", "test-first", "debug", "review-fix", "specialists"] {
        for language in [Language::English, Language::Japanese] {
            settings.language = language;
            let definition = crate::find(&crate::MemorySource::default(), &super::places(), name).unwrap();
            let source = crate::MemorySource::default();
            let loaded =
                crate::load(&source, &super::places(), &definition, &crate::Options::default(), &settings);
            let workflow =
                loaded.workflow.unwrap_or_else(|| panic!("{}", super::listed(&loaded.diagnostics)));
            let notes: Vec<_> = loaded.diagnostics.iter().map(|one| one.code.to_string()).collect();
            assert_eq!(notes, Vec::<String>::new(), "{name}");
            assert_eq!(turn(&workflow, "checks").program.as_ref().unwrap().typed(), "make test", "{name}");
        }
    }
}
