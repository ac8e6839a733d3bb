//! Bad input gives a clear error: never a panic, a hang or a silent default. T-91, T-98, K-37, P-9, P-53.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::{Outcome, Project};

use crate::support::{PROGRAM, project, run};

/// Checks that `check` and `run` both refuse a definition with this code and create nothing.
fn refused(definition: impl AsRef<[u8]>, code: &str) -> Outcome {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", definition);
    let outcome = project.saihai(["run", "it", "T", "--provider", "script"]).run().exits(2);
    assert!(outcome.stderr.contains(code), "{code}: {outcome}");
    assert!(!outcome.stderr.contains("bug in Saihai"), "{outcome}");
    assert_eq!(project.runs(), [""; 0]);
    project.saihai(["check", ".takt/pieces/it.yaml"]).run().exits(2);
    outcome
}

#[test]
fn t91_a_bomb_of_aliases_is_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..=9 {
        let before = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", ")));
    }
    refused(bomb + "name: it\nmovements: *a9\n", "piece/");
    let aliases = format!("a: &a x\nname: it\nmovements: [{}]\n", ["*a"; 100_000].join(", "));
    refused(aliases, "piece/");
}

#[test]
fn t91_depth_and_size_are_bounded() {
    refused("[".repeat(100_000), "piece/");
    refused(format!("name: {}x{}\n", "[".repeat(101), "]".repeat(101)), "piece/");
    let huge = format!("name: it\n# {}\n", "x".repeat(50 * 1024 * 1024));
    refused(huge, "piece/too-large");
}

#[test]
fn t91_what_is_no_text_or_no_piece_is_refused_with_its_place() {
    refused(b"name: \xff\xfe\n", "piece/");
    refused("name: it\nname: it\nmovements: []\n", "piece/duplicate-key");
    refused("name: it\nmovements:\n\t- name: a\n", "piece/syntax");
    refused("", "piece/");
    refused("name: it\u{0}\n", "piece/");
    refused("- just\n- a list\n", "piece/");
    let outcome = refused(
        "name: it\nmovements:\n  - name: a\n    edit: yes\n    rules: [{condition: x, next: COMPLETE}]\n",
        "piece/bad-type",
    );
    assert!(outcome.stderr.contains(":4:"), "it names the line: {outcome}");
}

#[test]
fn t91_a_mark_at_the_start_and_foreign_line_ends_are_read() {
    let good =
        "\u{feff}name: it\r\nmovements:\r\n  - name: a\r\n    rules: [{condition: x, next: COMPLETE}]\r\n";
    run(&project(good, "  - {text: '[STEP:0]'}\n")).exits(0);
}

// P-3
#[test]
fn a_directory_in_place_of_a_definition_is_refused() {
    let project = Project::new(PROGRAM);
    fs::create_dir_all(project.root().join(".takt/pieces/it.yaml")).expect("a directory");
    project.saihai(["run", "it", "T", "--provider", "script"]).run().exits(2);
    for path in ["./.takt/pieces/it.yaml", "./nowhere.yaml"] {
        let outcome = project.saihai(["run", path, "T", "--provider", "script"]).run().exits(2);
        assert!(outcome.stderr.contains(path.trim_start_matches("./")), "{outcome}");
    }
}

// C-75, K-37
#[test]
fn a_bad_script_is_refused_before_any_turn() {
    let good = "name: it\nmovements:\n  - {name: a, rules: [{condition: x, next: COMPLETE}]}\n";
    for (script, part) in [
        ("script: 1\nreplies:\n  - {for: nowhere, text: x}\n", "nowhere"),
        ("script: 1\nreplies:\n  - {text: x, fail: {class: transient, message: x}}\n", "fail"),
        ("script: 1\nreplies:\n  - {visit: 0, text: x}\n", "visit"),
        ("script: 1\nreplies:\n  - {prompt: '(', text: x}\n", "prompt"),
        ("script: 2\nreplies: []\n", "script"),
        ("not a script", "script"),
    ] {
        let project = project(good, "");
        project.write("script.yaml", script);
        let outcome = run(&project).exits(2);
        assert!(outcome.stderr.contains(part), "{outcome}");
        assert_eq!(project.runs(), [""; 0]);
    }
}

/// The id of an unprivileged user.
const NOBODY: u32 = 65_534;

// K-2, T-4: root can write anywhere, so as root the test switches to another user.
#[test]
fn a_project_that_may_not_be_written_is_refused_without_a_panic() {
    let project = project(
        "name: it\nmovements:\n  - {name: a, rules: [{condition: x, next: COMPLETE}]}\n",
        "  - {text: '[STEP:0]'}\n",
    );
    let program = project.home().join("saihai");
    fs::copy(PROGRAM, &program).expect("a copy that others may run");
    let open = |path: &std::path::Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    };
    open(project.home().parent().expect("the temporary directory"), 0o755);
    open(&program, 0o755);
    open(&project.root(), 0o555);
    let mut call = project.saihai(["run", "it", "T", "--script", "script.yaml"]);
    if rustix::process::geteuid().is_root() {
        call = call.program(&program).as_user(NOBODY);
    }
    let outcome = call.run();
    open(&project.root(), 0o755);
    assert!(matches!(outcome.code, Some(2 | 4)), "{outcome}");
    assert!(outcome.stderr.contains("Permission denied"), "{outcome}");
}

#[test]
fn a_working_directory_that_is_gone_is_an_error_and_no_panic() {
    let project = Project::new(PROGRAM);
    let gone = project.home().join("gone");
    fs::create_dir(&gone).expect("a directory");
    for arguments in [&["runs"][..], &["check"], &["run", "it", "T"], &["list"]] {
        let outcome =
            project.saihai(arguments).under_shell(&format!("cd '{0}' && rmdir '{0}'", gone.display())).run();
        fs::create_dir(&gone).expect("a directory again");
        assert!(matches!(outcome.code, Some(2 | 4)), "{outcome}");
        assert!(!outcome.stderr.contains("bug in Saihai"), "{outcome}");
    }
}

#[test]
fn t98_junk_on_the_command_line_is_one_sentence_and_code_2() {
    let project = Project::new(PROGRAM);
    for (arguments, part) in [
        (&["rnu"][..], "run"),
        (&["run", "it", "x", "--max-iteration", "3"], "--max-iterations"),
        (&["run", "it", "x", "--max-iterations", "0"], "max-iterations"),
        (&["run", "it", "x", "--max-iterations", "-1"], "-1"),
        (&["run", "it", "x", "--budget", "5"], "usd"),
        (&["run"], "DEFINITION"),
        (&["resume", "nowhere"], "no run"),
        (&["resume"], "no runs yet"),
        (&["answer", "last", "x", "--no-resume"], "run"),
        (&["show", "../.."], ""),
        (&["log", ""], ""),
        (&["run", "../../../etc/passwd", "x"], ""),
    ] {
        let outcome = project.saihai(arguments).run().exits(2);
        assert!(outcome.stderr.contains(part), "{part}: {outcome}");
        assert_eq!(outcome.stdout, "", "{outcome}");
    }
}

#[test]
fn t98_no_home_is_no_reason_to_fail() {
    let project = project(
        "name: it\nmovements:\n  - {name: a, rules: [{condition: x, next: COMPLETE}]}\n",
        "  - {text: '[STEP:0]'}\n",
    );
    let call = project.saihai(["run", "it", "T", "--script", "script.yaml"]).without_env("HOME");
    call.run().exits(0);
    project.saihai(["run", "nowhere", "T"]).without_env("HOME").run().exits(2);
}
