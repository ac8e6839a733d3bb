//! Hats and step agents as the work on an issue: what their own files say about it.

use super::github::Scene;
use super::{auto, commit, git, outcomes, repository, work};
use saihai_tests::Project;

const HATS: &str = "hats:\n  coder:\n    name: Coder\n    triggers: [task.start]\n    publishes: [LOOP_COMPLETE]\n    instructions: Work.\n";
const REPLY: &str = "  - {text: 'Done. LOOP_COMPLETE', writes: [{path: f, content: x}]}\n";

fn with(keys: &str) -> Project {
    let project = repository(REPLY);
    project.write("orch.yml", format!("{keys}{HATS}"));
    project.write(".saihai/config.toml", "[work]\ndefinition = \"orch\"\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project
}

// The issue is the message of the first event, and the keyword opens delivery.
#[test]
fn hats_work_on_an_issue_and_their_keyword_opens_its_delivery() {
    let project = with("auto: true\n");
    let outcome = work(&project, &[]).run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    let journal = project.journal();
    assert!(journal.prompts()[0].1.contains("# Issue 7: Login fails"), "{:?}", journal.prompts());
    let by: Vec<&str> = journal.facts("answered").filter_map(|answer| answer["by"].as_str()).collect();
    assert_eq!(by, ["auto"; 3], "`auto` of the file says yes at the three gates, and each is asked once");
}

// The three gates of the work on an issue, as a file lists them.
#[test]
fn gates_of_the_file_are_those_of_the_work() {
    let project = with("gates: [before-pr]\n");
    let outcome = work(&project, &[]).run().exits(6);
    assert!(outcome.stdout.contains("an answer at `before-pr`"), "{outcome}");
    assert_eq!(git(&project, &["show", "feature/issue-7:f"]), "x", "the work is committed by then");
    let run = project.runs()[0].clone();
    project.saihai(["answer", &run, "yes"]).run().exits(0);
    assert_eq!(outcomes(&work(&project, &[]).run().exits(0)), ["#7 branch-ready"]);
    assert_eq!(project.journal().facts("answered").count(), 1);
}

// The keys that switch issue work on: pull request, labels, dependencies, where worktrees are, what is copied.
#[test]
fn what_the_file_says_of_pull_requests_labels_and_dependencies_counts() {
    let keys = "auto: true\ncreate_pr: false\nlabels: {enabled: true, prefix: hats}\ndependency: {resolve: true}\nworktree: {base_dir: trees, copy_files: [.env]}\n";
    let scene = Scene::new(REPLY, |state| {
        state.issue(7, "Login fails", &["saihai"]).body = "Depends on #8".to_owned();
        state.issue(8, "First", &[]);
    });
    scene.project.write("orch.yml", format!("{keys}{HATS}"));
    scene.project.write(".env", "KEY=1\n");
    let outcome = scene.work(&["--label", "saihai", "--definition", "orch", "--keep"]);
    // 8 is worked on as well, is pushed and not merged, so that 7 waits for it.
    let rows = outcomes(&outcome);
    assert_eq!(rows, ["#8 branch-ready", "#7 waiting"], "{outcome}");
    let state = scene.server.state();
    assert!(state.pull_requests.is_empty());
    assert_eq!(state.issues[&8].labels, ["hats:completed"]);
    assert!(scene.project.root().join("trees/issue-8/.env").exists());
}

#[test]
fn a_flag_counts_for_more_than_the_file() {
    let scene = Scene::new(REPLY, |state| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    scene.project.write("orch.yml", format!("auto: true\ncreate_pr: true\n{HATS}"));
    let outcome = scene.work(&["--label", "saihai", "--definition", "orch", "--no-pr"]).exits(0);
    assert!(scene.server.state().pull_requests.is_empty(), "{outcome}");
}

// A worktree that the file switches off: the run is where the person is.
#[test]
fn a_file_that_wants_no_worktree_has_none_in_a_run() {
    let project = with("worktree: {enabled: false}\n");
    project.saihai(["run", "orch", "--issue", "7", "--auto", "--script", "script.yaml"]).run().exits(0);
    assert!(project.root().join("f").exists());
    assert!(!project.root().join(".worktrees").exists());
    // Work has one all the same: it delivers a branch.
    auto(&project, &[]).exits(0);
}
