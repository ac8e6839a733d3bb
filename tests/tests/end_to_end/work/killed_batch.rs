//! Fifty issues with eight jobs, killed in the middle. The second call continues and duplicates nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::Signal;
use saihai_tests::{Journal, Project};
use serde_json::Value;

use super::{branches, commit, git, outcomes, repository, work};

const ISSUES: usize = 50;
const JOBS: usize = 8;
/// Time limit of a call. Saihai merges one issue at a time, with many calls of git for each.
const PATIENCE: Duration = Duration::from_secs(600);

/// Works on fifty issues, kills the call after about ten, and calls again until all are finished.
fn killed_in_the_middle(arguments: &[&str], done: &str) -> Project {
    let project = repository("");
    let log = project.home().join("turns").display().to_string();
    let commands = format!("basename $PWD >> {log}; basename $PWD > $(basename $PWD)");
    let reply = format!("  - {{text: 'Done. [STEP:0]', runs: [{{argv: [sh, -c, '{commands}']}}]}}\n");
    project.write("script.yaml", format!("script: 1\nreplies:\n{reply}"));
    for number in 1..=ISSUES {
        project.write(&format!(".saihai/issues/{number}.md"), format!("# Issue {number}\n"));
    }
    commit(&project);
    let arguments = [&["--jobs", "8"], arguments].concat();
    let mut first = work(&project, &[&["--auto"], arguments.as_slice()].concat()).start();
    for _ in 0..10 {
        first.wait_for_note(done);
    }
    first.signal(Signal::KILL);
    first.finish();
    let finished = finished(&project);
    // One of the ten lines is the announcement at the start, so nine issues are enough.
    assert!((9..ISSUES).contains(&finished.len()), "results are written as each ends: {finished:?}");
    let begun = project.runs().len();
    assert!((finished.len()..ISSUES).contains(&begun), "in the middle: {begun} of {ISSUES} had begun");
    let second = work(&project, &[&["--auto"], arguments.as_slice()].concat()).patience(PATIENCE);
    let outcome = second.run().exits(0);
    // The second call reports earlier results after its own.
    let all: BTreeSet<String> = (1..=ISSUES).map(|number| format!("#{number} {done}")).collect();
    assert_eq!(outcomes(&outcome).len(), ISSUES, "{outcome}");
    assert_eq!(BTreeSet::from_iter(outcomes(&outcome)), all, "{outcome}");
    no_turn_was_done_again(&project, &finished);
    project
}

/// Returns the issues that the killed call recorded as finished.
fn finished(project: &Project) -> Vec<String> {
    let batches = std::fs::read_dir(project.root().join(".saihai/batches")).expect("batches");
    let [batch] =
        batches.map(|batch| batch.expect("a batch").path()).collect::<Vec<_>>().try_into().expect("one");
    let kept = std::fs::read_to_string(batch.join("result.json")).expect("what had come of it");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    let items = kept["items"].as_array().expect("items").iter();
    items.map(|item| format!("issue-{}", item["issue"])).collect()
}

/// Asserts one run and one reply per issue. Only issues in progress at the kill may have started again.
fn no_turn_was_done_again(project: &Project, finished: &[String]) {
    // A kill may leave an empty run directory.
    let runs = project.begun();
    assert_eq!(runs.len(), ISSUES);
    for run in &runs {
        let journal = Journal::read(&project.root().join(".saihai/runs").join(run).join("journal.ndjson"));
        assert_eq!(journal.facts("replied").count(), 1, "{run}");
    }
    let mut turns: BTreeMap<String, usize> = BTreeMap::new();
    for issue in project.read("../home/turns").lines() {
        *turns.entry(issue.to_owned()).or_default() += 1;
    }
    assert_eq!(turns.len(), ISSUES);
    let again: Vec<&String> = turns.iter().filter(|(_, times)| **times > 1).map(|(issue, _)| issue).collect();
    assert!(again.len() <= JOBS && turns.values().all(|times| *times <= 2), "{turns:?}");
    assert!(again.iter().all(|issue| !finished.contains(issue)), "{again:?} were finished: {finished:?}");
}

#[test]
fn fifty_issues_survive_a_kill_in_the_middle() {
    let project = killed_in_the_middle(&[], "branch-ready");
    assert_eq!(branches(&project).len(), ISSUES + 1);
    for number in 1..=ISSUES {
        let range = format!("main..feature/issue-{number}");
        assert_eq!(git(&project, &["rev-list", "--count", &range]), "1", "{number}");
    }
}

#[test]
fn fifty_issues_that_survive_a_kill_are_merged_once_each() {
    let project = killed_in_the_middle(&["--merge", "--keep"], "merged");
    // `main` is checked out, so the merges wait on a separate branch.
    assert_eq!(branches(&project).len(), ISSUES + 2);
    let count = |arguments: &[&str]| {
        let range = ["log", "--oneline", "main..saihai/merge/main"];
        git(&project, &[&range, arguments].concat()).lines().count()
    };
    for number in 1..=ISSUES {
        let trailer = format!("--grep=^Saihai-Issue: {number}$");
        assert_eq!((count(&["--merges", &trailer]), count(&["--no-merges", &trailer])), (1, 1), "{number}");
    }
    assert_eq!(count(&[]), 2 * ISSUES);
}
