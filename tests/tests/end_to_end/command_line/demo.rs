//! `saihai demo`, the guided tour. K-1.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use saihai_tests::{Outcome, Project};

use super::support::PROGRAM;

/// Runs the tour, with temporary directories below the project's home.
fn tour(project: &Project) -> Outcome {
    project.saihai(["demo"]).env("TMPDIR", project.home()).run()
}

/// Returns the only directory that the tour leaves behind.
fn left(project: &Project) -> PathBuf {
    let entries = fs::read_dir(project.home()).expect("a home");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(paths.len(), 1, "{paths:?}");
    paths.remove(0)
}

fn said(program: &str, arguments: &[&str], directory: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(directory).output().expect("it starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_tour_really_mends_a_program_and_touches_nothing_else() {
    let project = Project::new(PROGRAM);
    let before = project.snapshot();
    let outcome = tour(&project).exits(0);
    assert_eq!(project.snapshot(), before);
    let directory = left(&project);
    assert_eq!(said("sh", &["test.sh"], &directory), "ok: a name\nok: no name\nok: an empty name\n");
    assert_eq!(said("git", &["status", "--short"], &directory), " M greet.sh\n M test.sh\n");
    for part in [
        "FAILED: no name: expected 'Hello, world!', got 'Hello, !'",
        "plan → implement → checks → repair → checks → review → supervise → done",
        "+echo \"Hello, ${1:-world}!\"",
        "ok: an empty name",
        "the process ran them, and they pass now",
        &format!("cd {}", directory.display()),
    ] {
        assert!(outcome.stdout.contains(part), "{part}\n{outcome}");
    }
    // U-9: the agent says that the checks are fine, and the exit code says otherwise.
    let failed = "checks: sh test.sh failed with exit code 1 after ";
    assert!(outcome.stderr.contains(failed), "{outcome}");
    assert!(
        outcome.stderr.contains("FAILED: an empty name: expected 'Hello, world!', got 'Hello, !'"),
        "{outcome}"
    );
    assert!(!outcome.stderr.contains("error") && !outcome.stderr.contains("warning"), "{outcome}");
}

#[test]
fn what_the_tour_says_to_try_next_works() {
    let project = Project::new(PROGRAM);
    let outcome = tour(&project).exits(0);
    let directory = left(&project);
    // The program is not on the path here, so the hint uses its full path. A newcomer can paste it and it works.
    let program = format!("  {} ", Path::new(PROGRAM).canonicalize().expect("it is there").display());
    let next: Vec<&str> = outcome.stdout.lines().filter_map(|line| line.strip_prefix(&program)).collect();
    assert_eq!(next.len(), 3, "{outcome}");
    for arguments in next {
        project.saihai(arguments.split(' ')).directory(&directory).run().exits(0);
    }
    let again = ["rehearse", "default", "--script", "test.yaml"];
    project.saihai(again).directory(&directory).run().exits(0);
}

#[test]
fn settings_and_definitions_of_the_person_play_no_part_in_the_tour() {
    let project = Project::new(PROGRAM);
    project.write(".saihai/config.toml", "this is no setting\n");
    project.write(".takt/pieces/default.yaml", "this: is no piece\n");
    tour(&project).exits(0);
}
