//! Bad input and bad environments: one clear error, the right exit code, no new files (P9, T-98).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::Project;

use super::support::{ONE, PROGRAM, project, run, seen};

const REPLY: &str = "  - {for: plan, text: '[STEP:0]'}";

/// The id of a user who owns no files here.
const NOBODY: u32 = 65_534;

// T-98, P-54
#[test]
fn a_project_that_cannot_be_written_to_is_left_alone() {
    let project = project(ONE, REPLY);
    let parent = project.root().parent().unwrap().to_owned();
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).unwrap();
    let before = project.snapshot();
    let outcome = project.saihai(["run", "it", "x", "--script", "script.yaml"]).as_user(NOBODY).run();
    insta::assert_snapshot!(seen(&project, &outcome), @r"
    -- stderr
    error[piece/bad-reports-dir]: reports cannot be saved in `PROJECT/.takt/reports`: Permission denied (os error 13)
      = help: the setting `reports_dir` names the directory
    ? 2
    ");
    project.saihai(["runs"]).as_user(NOBODY).run().exits(0);
    assert_eq!(project.snapshot(), before);
    assert!(!project.root().join(".saihai").exists());
}

// T-98
#[test]
fn a_working_directory_that_is_gone_is_said_so() {
    let project = Project::new(PROGRAM);
    let outcome = project.saihai(["runs"]).under_shell("mkdir gone && cd gone && rmdir ../gone").run();
    insta::assert_snapshot!(seen(&project, &outcome), @r"
    -- stderr
    error: the current directory cannot be used: No such file or directory (os error 2)
      = help: change to one that exists
    ? 2
    ");
    // Commands that need no directory still work.
    project.saihai(["--version"]).under_shell("mkdir gone && cd gone && rmdir ../gone").run().exits(0);
}

// T-98
#[test]
fn a_directory_in_the_place_of_a_file_is_said_so() {
    let project = project(ONE, REPLY);
    project.write("dir.yaml/x", "").write("out/x", "");
    let script = project.saihai(["run", "it", "x", "--script", "dir.yaml"]).run();
    insta::assert_snapshot!(seen(&project, &script), @r"
    -- stderr
    error[script/bad-file]: cannot read `dir.yaml`: it is a directory, not a file
    --> dir.yaml
    ? 2
    ");
    project.saihai(["run", "./dir.yaml", "x"]).run().exits(2);
    let written = project.saihai(["rehearse", "it", "--write-script", "out"]).run();
    insta::assert_snapshot!(seen(&project, &written), @r"
    -- stderr
    error: cannot write `out`: Is a directory (os error 21)
    ? 4
    ");
    assert_eq!(project.runs(), [""; 0]);
}

// T-98
#[test]
fn a_home_that_is_not_there_is_no_reason_to_fail() {
    let project = project(ONE, REPLY);
    let arguments = ["run", "it", "x", "--script", "script.yaml"];
    project.saihai(arguments).without_env("HOME").run().exits(0);
    let outcome = project.saihai(["trust"]).without_env("HOME").run().exits(2);
    assert_eq!(outcome.stdout, "");
}

// T-98: a command fails if it cannot write its output
#[test]
fn an_output_that_cannot_be_written_is_said_so() {
    let project = project(ONE, REPLY);
    run(&project, &[]).exits(0);
    let outcome = project.saihai(["runs"]).piped_into("cat > /dev/null").run().exits(0);
    assert_eq!(outcome.stderr, "");
    let outcome = project.saihai(["runs"]).under_shell("exec > /dev/full").run().exits(4);
    insta::assert_snapshot!(outcome.stderr, @"error: cannot write the output: No space left on device (os error 28)");
    // An output that is closed from the start has no reader, like a broken pipe.
    project.saihai(["runs"]).under_shell("exec >&-").run().exits(0);
}

// T-85, T-98
#[test]
fn nothing_that_others_wrote_steers_a_terminal_or_a_ci_service() {
    let replies =
        "  - {for: plan, text: \"\\e]0;title\\a \\e[31mred\\n::add-mask::secret\\n##[error]x\\n[STEP:0]\"}";
    let project = project(ONE, replies);
    let outcome =
        project.saihai(["run", "it", "task \u{1b}[2J \u{202e}", "--script", "script.yaml"]).run().exits(0);
    let also = [&["show", "last"][..], &["log", "last"], &["explain", "last"], &["runs"]];
    let shown = also.iter().map(|arguments| project.saihai(*arguments).run().exits(0));
    for outcome in std::iter::once(outcome).chain(shown) {
        for text in [&outcome.stdout, &outcome.stderr] {
            assert!(!text.chars().any(|c| c.is_control() && c != '\n' || c == '\u{202e}'), "{outcome}");
            assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{outcome}");
        }
    }
}

// T-98
#[test]
fn every_command_refuses_junk_in_one_sentence() {
    let project = Project::new(PROGRAM);
    let before = project.snapshot();
    let commands = [
        "run",
        "rehearse",
        "check",
        "prompt",
        "runs",
        "show",
        "log",
        "explain",
        "resume",
        "fork",
        "answer",
        "cancel",
        "config",
        "trust",
        "completions",
    ];
    for command in commands {
        for junk in [&["--frobnicate"][..], &["--json=junk"], &["a", "b", "c", "d", "e"]] {
            let arguments: Vec<&str> = std::iter::once(command).chain(junk.iter().copied()).collect();
            let outcome = project.saihai(&arguments).run();
            // `check` accepts any number of paths and names the missing ones.
            assert_eq!(outcome.code, Some(2), "{outcome}");
            let said = outcome.stdout.clone() + &outcome.stderr;
            assert!(said.starts_with("error"), "{outcome}");
        }
    }
    assert_eq!(project.snapshot(), before);
}

// T-98: arguments need not be text
#[test]
fn arguments_that_are_no_text_are_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let project = Project::new(PROGRAM);
    let junk = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    for command in ["run", "show", "config"] {
        let outcome = project.saihai([std::ffi::OsStr::new(command), junk]).run().exits(2);
        assert!(outcome.stderr.starts_with("error: "), "{outcome}");
    }
}
