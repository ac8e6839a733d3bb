//! `saihai review`, through the program.

mod choosing;
mod subjects;

use std::process::Command;

use saihai_tests::{Outcome, Project};

use crate::support::PROGRAM;

/// An agent that is right, with this name and these further lines.
fn agent(name: &str, further: &str) -> String {
    format!(
        "name = \"{name}\"\ndescription = \"d\"\nmodel = \"default\"\noutput_schema = \"scored_issues\"\n\
         system_prompt = \"p\"\n{further}"
    )
}

/// A git repository with one commit on `main`.
fn repository() -> Project {
    let project = Project::new(PROGRAM);
    git(&project, &["init", "--quiet", "--initial-branch=main"]);
    project.write("kept.py", "print(1)\n");
    commit(&project);
    project
}

fn commit(project: &Project) {
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "--message", "a commit"]);
}

/// Runs git, untouched by whatever the machine has configured.
fn git(project: &Project, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"])
        .args(arguments)
        .current_dir(project.root())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .status()
        .expect("git");
    assert!(status.success(), "git {arguments:?}");
}

fn explain(project: &Project, arguments: &[&str]) -> Outcome {
    project.saihai([&["review", "--explain-selection"], arguments].concat()).run()
}

/// What a person sees, with the exit code.
fn seen(outcome: &Outcome) -> String {
    format!("{}{}? {}", outcome.stdout, outcome.stderr, outcome.code.expect("an exit code"))
}
