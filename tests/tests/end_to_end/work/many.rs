//! Fifty issues, eight at a time, killed in the middle: the second call continues, and nothing is there twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::Signal;
use saihai_tests::{Journal, Project};
use serde_json::Value;

use super::{branches, commit, git, outcomes, repository, work};

const ISSUES: usize = 50;
const JOBS: usize = 8;
/// Merges are made one after the other, each by many calls of git.
const PATIENCE: Duration = Duration::from_secs(600);

/// Works on fifty issues, is killed when about ten of them are done, and is called again until all are.
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
    // One line at the beginning says what becomes of all.
    assert!((9..ISSUES).contains(&finished.len()), "results are written as each ends: {finished:?}");
    let begun = project.runs().len();
    assert!((finished.len()..ISSUES).contains(&begun), "in the middle: {begun} of {ISSUES} had begun");
    let second = work(&project, &[&["--auto"], arguments.as_slice()].concat()).patience(PATIENCE);
    let outcome = second.run().exits(0);
    // What was done before is told after what was still to be done.
    let all: BTreeSet<String> = (1..=ISSUES).map(|number| format!("#{number} {done}")).collect();
    assert_eq!(outcomes(&outcome).len(), ISSUES, "{outcome}");
    assert_eq!(BTreeSet::from_iter(outcomes(&outcome)), all, "{outcome}");
    no_turn_was_done_again(&project, &finished);
    project
}

/// Which issues the call that was killed had noted as finished.
fn finished(project: &Project) -> Vec<String> {
    let batches = std::fs::read_dir(project.root().join(".saihai/batches")).expect("batches");
    let [batch] =
        batches.map(|batch| batch.expect("a batch").path()).collect::<Vec<_>>().try_into().expect("one");
    let kept = std::fs::read_to_string(batch.join("result.json")).expect("what had come of it");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    let items = kept["items"].as_array().expect("items").iter();
    items.map(|item| format!("issue-{}", item["issue"])).collect()
}

/// One run and one reply for each issue; only what was under way at the kill may have been begun anew.
fn no_turn_was_done_again(project: &Project, finished: &[String]) {
    // A kill may leave a directory in which nothing had been written yet.
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
    // `main` is checked out, so that the merges wait beside it.
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
