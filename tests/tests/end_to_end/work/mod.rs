//! `saihai work`: from issues to branches, merges and pull requests.

mod after_delivery;
mod base_and_reports;
mod careless_agents;
mod checked_again;
mod closed_by_people;
mod concurrent_issues;
mod conflicts;
mod crashes_and_races;
mod exactly_once;
mod forge;
mod forge_cases;
mod gates;
mod github;
mod github_actions;
mod hats;
mod hidden_work;
mod interrupted_work;
mod isolation;
mod issue_locks;
mod killed_batch;
mod labels;
mod later_merges;
mod local;
mod locations;
mod obstacles;
mod other_clones;
mod page_board;
mod person_only;
mod refusals;
mod requirements;
mod rescue_refs;
mod reviewer_commits;
mod screens;
mod stop_signals;
mod temporary_failures;
mod unknown_results;
mod unreadable_runs;
mod unverified_reviews;
mod watch;
mod watch_forge;
mod worktrees;

use std::path::Path;
use std::process::Command;

use saihai_tests::{Invocation, Outcome, Project};

use crate::support::PROGRAM;

const PIECE: &str = "name: it\nmovements: [{name: fix, edit: true, rules: [{condition: done, next: COMPLETE}, {condition: no, next: ABORT}]}]\n";

/// Creates a repository on `main` with a definition and a script of these replies.
fn repository(replies: &str) -> Project {
    let project = Project::new(PROGRAM);
    git(&project, &["init", "--quiet", "--initial-branch=main"]);
    let identity = "[user]\n\tname = U Ser\n\temail = user@example.com\n[init]\n\tdefaultBranch = main\n";
    std::fs::write(project.home().join(".gitconfig"), identity).expect("a configuration");
    project.write("kept.txt", "kept\n");
    project.write(".saihai/pieces/it.yaml", PIECE);
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\n");
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    project
}

/// Returns the reply of an agent that writes a file and finishes.
fn writes(file: &str) -> String {
    format!("  - {{text: 'Done. [STEP:0]', writes: [{{path: {file}, content: \"{file}\\n\"}}]}}\n")
}

fn commit(project: &Project) -> &Project {
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "--message", "first"]);
    project
}

/// Calls `saihai work` with the script of the project.
fn work(project: &Project, arguments: &[&str]) -> Invocation {
    project.saihai([&["work", "--script", "script.yaml"], arguments].concat())
}

fn auto(project: &Project, arguments: &[&str]) -> Outcome {
    work(project, &[&["--auto"], arguments].concat()).run()
}

/// Runs git in the project without the git configuration of the machine, and returns its output.
fn git(project: &Project, arguments: &[&str]) -> String {
    git_in(&project.root(), arguments)
}

fn git_in(directory: &Path, arguments: &[&str]) -> String {
    let said = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git");
    assert!(said.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8_lossy(&said.stdout).trim_end().to_owned()
}

fn branches(project: &Project) -> Vec<String> {
    let said = git(project, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    said.lines().map(str::to_owned).collect()
}

/// Returns the outcome of each issue from the table on stdout, e.g. `#7 merged`.
fn outcomes(outcome: &Outcome) -> Vec<String> {
    let rows = outcome.stdout.lines().skip(1).take_while(|line| line.starts_with('#'));
    let words = rows.map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "));
    words.filter(|row| !row.contains(':') && !row.ends_with('|')).collect()
}

/// Returns the messages without the one note about `.git/info/exclude`, which only the first command prints.
fn without_exclude_note(stderr: &str) -> String {
    stderr.lines().filter(|line| !line.starts_with("note: added `/")).flat_map(|line| [line, "\n"]).collect()
}
