//! `saihai review`, tested through the program.

mod baselines;
mod cached_replies;
mod cases;
mod commits;
mod evasive_changes;
mod inside_pieces;
mod inspection;
mod outcomes;
mod phases;
mod prompts;
mod pull_requests;
mod read_only_access;
mod reply_parsing;
mod report_formats;
mod requirements;
mod selection;
mod settings_and_flags;
mod stopped_reviews;
mod subjects;
mod suppressed_findings;

use std::process::Command;

use saihai_tests::{Outcome, Project};

use crate::support::PROGRAM;

/// Returns a valid agent definition with this name and these extra lines.
fn agent(name: &str, further: &str) -> String {
    format!(
        "name = \"{name}\"\ndescription = \"d\"\nmodel = \"default\"\noutput_schema = \"scored_issues\"\n\
         system_prompt = \"p\"\n{further}"
    )
}

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

/// Runs git without the git configuration of the machine.
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

/// Returns stdout, stderr and the exit code, as a person sees them.
fn seen(outcome: &Outcome) -> String {
    format!("{}{}? {}", outcome.stdout, outcome.stderr, outcome.code.expect("an exit code"))
}

/// Creates a repository with a new file and only these agents. The built-in agents are disabled.
fn reviewed_by(agents: &[(&str, &str)]) -> Project {
    let project = repository();
    let mut settings = String::new();
    for name in [
        "architecture-reviewer",
        "breaking-change-reviewer",
        "code-reviewer",
        "code-simplifier",
        "comment-analyzer",
        "dependency-reviewer",
        "performance-reviewer",
        "pr-test-analyzer",
        "security-reviewer",
        "silent-failure-hunter",
        "type-design-analyzer",
    ] {
        settings.push_str(&format!("[review.agents.{name}]\nenabled = false\n"));
    }
    project.write(".saihai/config.toml", settings);
    for (name, further) in agents {
        project.write(&format!(".saihai/agents/{name}.toml"), agent(name, further));
    }
    project.write(".gitignore", "script.yaml\n");
    commit(&project);
    project.write("store.py", "def run(query):\n    return db.execute(query)\n");
    project
}

/// Runs a review with a script of these replies.
fn review(project: &Project, replies: &str, arguments: &[&str]) -> Outcome {
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    project.saihai([&["review", "--script", "script.yaml"], arguments].concat()).run()
}

/// Creates a project with a review that found something.
pub(crate) fn reviewed_with_a_finding() -> Project {
    let project = reviewed_by(&[("a", "")]);
    assert_ne!(review(&project, &one("main/a", "Critical"), &[]).code, Some(2));
    project
}

/// Parses the JSON report on stdout.
fn report(outcome: &Outcome) -> serde_json::Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}\n{outcome}"))
}

/// Returns a reply with one issue of this severity on line 2 of the new file.
fn one(turn: &str, severity: &str) -> String {
    let place = "location: {file_path: store.py, line_number: 2}";
    let issue = format!("{{severity: {severity}, description: \"{turn} found it\", {place}}}");
    format!("  - {{for: {turn}, structured: {{issues: [{issue}], overall_score: 5}}}}\n")
}

/// Returns a reply without findings.
fn none(turn: &str) -> String {
    format!("  - {{for: {turn}, structured: {{issues: [], overall_score: 10}}}}\n")
}

/// Returns each agent with its status, e.g. `a success`.
fn statuses(report: &serde_json::Value) -> Vec<String> {
    let results = report["results"].as_array().expect("results");
    let word = |result: &serde_json::Value, key: &str| result[key].as_str().unwrap_or_default().to_owned();
    results.iter().map(|result| format!("{} {}", word(result, "agent"), word(result, "status"))).collect()
}
