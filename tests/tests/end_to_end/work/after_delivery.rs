//! State on the forge after delivery: refused comments, labels of finished runs, and pull requests that a
//! person merged.

use saihai_connect::forge::testing::Wrong;

use super::github::Scene;
use super::{commit, outcomes, repository, work, writes};

const LABELLED: [&str; 2] = ["--label", "saihai"];

fn scene(replies: &str) -> Scene {
    Scene::new(replies, |state| {
        state.issue(7, "Login fails", &["saihai"]);
    })
}

// A refused comment never stops a run: an issue may be locked, and Saihai still delivers the work.
#[test]
fn an_issue_that_takes_no_comment_is_delivered_all_the_same() {
    for status in [403, 404, 410, 422] {
        let scene = scene(&writes("fixed.txt"));
        scene.server.goes_wrong(
            "POST",
            "/repos/me/tool/issues/7/comments",
            Wrong::Status(status, "no".to_owned()),
            9,
        );
        let outcome = scene.work(&LABELLED).exits(0);
        assert_eq!(outcomes(&outcome), ["#7 pr-created"], "{status}");
        assert_eq!(
            scene.server.state().issues[&7].labels,
            ["saihai", "saihai:completed", "saihai:pr-created"]
        );
    }
}

// I-54: the next call corrects the label of a finished run. A label that a person removed stays removed.
#[test]
fn a_label_that_was_left_behind_is_set_right() {
    let scene = scene(&writes("fixed.txt"));
    scene.work(&LABELLED).exits(0);
    let right = ["saihai", "saihai:completed", "saihai:pr-created"];
    for left in ["running", "queued", "failed"] {
        scene.server.change(|state| {
            let issue = state.issues.get_mut(&7).expect("it");
            issue.labels = vec!["saihai".to_owned(), format!("saihai:{left}")];
        });
        scene.work(&LABELLED).exits(0);
        assert_eq!(scene.server.state().issues[&7].labels, right, "{left}");
    }
    scene.server.change(|state| state.issues.get_mut(&7).expect("it").labels = vec!["saihai".to_owned()]);
    scene.work(&LABELLED).exits(0);
    assert_eq!(scene.server.state().issues[&7].labels, ["saihai"]);
}

// I-53: a merge by a person covers the commits of that time, not later ones.
#[test]
fn a_pull_request_that_was_merged_before_the_work_went_on_is_not_taken_for_it() {
    let replies = "  - {text: 'Done. [STEP:0]', runs: [{argv: [sh, -c, 'echo $$ > a.txt']}]}\n";
    let scene = Scene::new(replies, |state| {
        state.issue(7, "Login fails", &["saihai"]);
        state.all_green = false;
    });
    scene.work(&["--label", "saihai", "--draft", "--merge"]).exits(6);
    let first = scene.remote(&["rev-parse", "feature/issue-7"]);
    scene.server.change(|state| {
        let red = vec![("test".to_owned(), "completed".to_owned(), Some("failure".to_owned()))];
        state.checks.insert(first.clone(), red);
        state.pull_requests.get_mut(&8).expect("it").draft = false;
    });
    scene.work(&["--label", "saihai", "--merge"]).exits(1);
    scene.server.change(|state| {
        let request = state.pull_requests.get_mut(&8).expect("it");
        (request.merged, request.closed) = (true, true);
    });
    let outcome = scene.work(&["--label", "saihai", "--retry"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created"], "{outcome}");
    let state = scene.server.state();
    assert_eq!(state.pull_requests.len(), 2, "{outcome}");
    assert_ne!(scene.remote(&["rev-parse", "feature/issue-7"]), first);
}

// Saihai reports a setting that has no effect.
#[test]
fn verify_is_said_not_to_run_where_the_forge_merges() {
    let scene = scene(&writes("fixed.txt"));
    scene.project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nverify = [\"false\"]\n");
    let outcome = scene.work(&["--label", "saihai", "--merge", "--trust-project"]).exits(0);
    assert!(outcome.stderr.contains("warning: `verify` is skipped"), "{outcome}");
    let silent = scene.work(&["--label", "saihai", "--trust-project"]);
    assert!(!silent.stderr.contains("`verify`"), "{silent}");
}

// I-11: a flag selects the source of issues, regardless of the repository in the settings. If both sources
// exist, Saihai does not guess.
#[test]
fn a_repository_in_the_settings_is_no_flag() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# One\n");
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nrepo = \"me/tool\"\n");
    commit(&project);
    let outcome = work(&project, &["--from", ".saihai/issues", "--auto"]).run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    let both = work(&project, &["--auto"]).run().exits(2);
    assert!(both.stderr.contains("source"), "{both}");
}

// Finished and pushed work waits while the forge refuses it. The next call checks again without a new turn.
#[test]
fn a_refusal_that_passes_costs_no_second_turn() {
    let scene = scene(&writes("fixed.txt"));
    let refusal = Wrong::Status(422, "was submitted too quickly".to_owned());
    scene.server.goes_wrong("POST", "/repos/me/tool/pulls", refusal, 1);
    let outcome = scene.work(&LABELLED).exits(6);
    assert_eq!(outcomes(&outcome), ["#7 waiting"], "{outcome}");
    assert!(outcome.stdout.contains("was submitted too quickly"), "{outcome}");
    assert!(outcome.stdout.contains("#7: then run the same command again"), "{outcome}");
    assert!(outcome.stdout.contains("#7: `saihai cancel last` cancels it"), "{outcome}");
    assert_eq!(outcomes(&scene.work(&LABELLED).exits(0)), ["#7 pr-created"]);
    let asked = scene.project.journal().asked();
    assert_eq!(asked.values().sum::<usize>(), 1, "{asked:?}");
    assert_eq!(scene.project.runs().len(), 1);
}
