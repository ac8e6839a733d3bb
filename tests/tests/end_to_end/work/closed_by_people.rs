//! Pull requests that a person or the forge merged or closed before our run ended.

use super::github::Scene;
use super::{outcomes, writes};

/// Creates a run that waits for the review of its pull request.
fn waits(guarded: bool) -> Scene {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        (state.guarded, state.closes) = (guarded, true);
        state.issue(7, "Login fails", &["saihai"]);
    });
    let outcome = scene.work(&["--label", "saihai", "--merge"]).exits(6);
    assert_eq!(outcomes(&outcome), ["#7 waiting"], "{outcome}");
    scene
}

// I-70, I-72: the merge closed the issue. Every kind of call completes the remaining steps.
#[test]
fn a_run_whose_pull_request_a_person_merged_is_brought_to_its_end() {
    for call in [&["--issues", "7"][..], &["--label", "saihai"], &["--issues", "7", "--merge"]] {
        let scene = waits(true);
        scene.server.change(|state| {
            let request = state.pull_requests.get_mut(&8).expect("it");
            (request.merged, request.closed) = (true, true);
            let body = request.body.clone();
            state.close_named_in(&body);
            assert!(state.issues[&7].closed);
        });
        let outcome = scene.work(call).exits(0);
        assert_eq!(outcomes(&outcome), ["#7 merged"], "{outcome}");
        let state = scene.server.state();
        assert_eq!(state.issues[&7].comments.len(), 1, "{outcome}");
        assert_eq!(state.issues[&7].labels, ["saihai", "saihai:completed", "saihai:merged"]);
        assert!(!scene.project.root().join(".worktrees/issue-7").exists(), "{outcome}");
        assert_eq!(scene.project.journal().facts("replied").count(), 1);
        // After the end of the run there is nothing left to do.
        let after = scene.work(&["--label", "saihai"]).exits(0);
        assert!(after.stderr.contains("nothing to do"), "{after}");
    }
}

// A call every five minutes writes nothing to the forge while the review is missing.
#[test]
fn a_run_that_waits_for_a_review_is_looked_at_without_a_write() {
    let scene = waits(true);
    let before = scene.server.writes();
    for _ in 0..2 {
        let outcome = scene.work(&["--label", "saihai", "--merge"]).exits(6);
        assert_eq!(outcomes(&outcome), ["#7 waiting"], "{outcome}");
    }
    assert_eq!(scene.server.writes(), before);
    assert_eq!(scene.server.state().issues[&7].labels, ["saihai", "saihai:completed"]);
}

// The issue is not in the list of open issues, and its worktree may be gone. The journal still names it.
#[test]
fn a_run_whose_pull_request_was_merged_is_found_by_its_journal() {
    let scene = waits(true);
    scene.server.change(|state| {
        let request = state.pull_requests.get_mut(&8).expect("it");
        (request.merged, request.closed) = (true, true);
        let body = request.body.clone();
        state.close_named_in(&body);
        state.issue(9, "Another", &["else"]);
    });
    super::git(&scene.project, &["worktree", "remove", "--force", ".worktrees/issue-7"]);
    let elsewhere = scene.work(&["--label", "else", "--list"]).exits(0);
    assert!(!elsewhere.stdout.contains("#7"), "{elsewhere}");
    let outcome = scene.work(&["--label", "saihai"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 merged"], "{outcome}");
    let state = scene.server.state();
    assert_eq!(state.issues[&7].comments.len(), 1, "{outcome}");
    assert_eq!(state.issues[&7].labels, ["saihai", "saihai:completed", "saihai:merged"]);
    assert_eq!(scene.project.journal().facts("replied").count(), 1);
    let after = scene.work(&["--label", "saihai"]).exits(0);
    assert!(after.stderr.contains("nothing to do"), "{after}");
}

// Saihai does not continue an issue that a person closed without a merge.
#[test]
fn an_issue_that_a_person_closed_stays_closed() {
    let scene = waits(true);
    scene.server.change(|state| {
        state.issues.get_mut(&7).expect("it").closed = true;
        state.pull_requests.get_mut(&8).expect("it").closed = true;
    });
    assert_eq!(outcomes(&scene.work(&["--issues", "7"]).exits(0)), ["#7 closed"]);
    let listed = scene.work(&["--label", "saihai"]).exits(0);
    assert!(listed.stderr.contains("nothing to do"), "{listed}");
}

// I-53, case 32: a second call of the same clone waits too, with the usual message.
#[test]
fn a_pull_request_that_a_person_closed_is_waited_for_by_the_call_that_opened_it() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    let call = |code: u8| scene.work(&["--label", "saihai"]).exits(code.into());
    assert_eq!(outcomes(&call(0)), ["#7 pr-created"]);
    let close = |closed: bool| {
        scene.server.change(|state| state.pull_requests.get_mut(&8).expect("it").closed = closed);
    };
    close(true);
    let outcome = call(6);
    assert_eq!(outcomes(&outcome), ["#7 waiting"], "{outcome}");
    let why = "a person closed https://github.com/me/tool/pull/8";
    assert!(outcome.stdout.contains(why) && !outcome.stdout.contains("all done"), "{outcome}");
    assert_eq!(scene.server.state().pull_requests.len(), 1);
    close(false);
    assert_eq!(outcomes(&call(0)), ["#7 pr-created"]);
}
