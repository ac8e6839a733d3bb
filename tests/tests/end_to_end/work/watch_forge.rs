//! `--watch` on a forge.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use saihai_connect::forge::testing::Wrong;
use saihai_tests::Fault;

use super::github::Scene;
use super::{outcomes, writes};

/// Counts the polls for issues.
fn looks(scene: &Scene) -> usize {
    let requests = scene.server.requests();
    requests.iter().filter(|request| request.line().ends_with("/issues")).count()
}

/// Waits for this number of polls.
fn wait_for_looks(scene: &Scene, wanted: usize) {
    while looks(scene) < wanted {
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

// I-76, while a source is unreachable: Saihai reports it once, polls less often, and reports the recovery.
// The tests in `look.rs` control time and check the length of the pauses.
#[test]
fn a_source_that_is_away_is_complained_of_once_asked_less_often_and_taken_up_again() {
    let replies = "  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}], times: '*'}\n";
    let scene = Scene::new(replies, |state| {
        state.issue(1, "One", &["saihai"]);
    });
    let call = scene.call(&["--label", "saihai", "--watch"]).fault(&Fault::looks(300));
    let mut call = call.start();
    call.wait_for_note("#1 pr-created");
    let away = || {
        let wrong = Wrong::Status(401, "not now".to_owned());
        scene.server.goes_wrong("GET", "/repos/me/tool/issues", wrong, usize::MAX);
    };
    away();
    call.wait_for_note("cannot list issues");
    // The pauses are 0.6, 1.2 and 2.4 seconds instead of three times 0.3.
    let (since, seen) = (Instant::now(), looks(&scene));
    wait_for_looks(&scene, seen + 3);
    assert!(since.elapsed() > Duration::from_secs(3), "{:?}", since.elapsed());
    scene.server.goes_right();
    scene.server.change(|state| {
        state.issue(2, "Two", &["saihai"]);
    });
    call.wait_for_note("note: issues are listed again");
    call.wait_for_note("#2 pr-created");
    away();
    call.wait_for_note("cannot list issues");
    call.signal(Signal::TERM);
    let outcome = call.finish().exits(3);
    let count = |part: &str| outcome.stderr.matches(part).count();
    assert_eq!(count("cannot list issues"), 2, "{outcome}");
    assert_eq!(count("issues are listed again"), 1, "{outcome}");
}

// Each attempt costs a refused write and a journal record, so attempts become rarer. Changes by a person
// still take effect.
#[test]
fn a_merge_that_the_forge_refuses_is_not_asked_for_at_every_look() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "Login fails", &["saihai"]);
        (state.forbidden_method, state.closes) = (Some("merge".to_owned()), true);
    });
    let call = scene.call(&["--label", "saihai", "--merge", "--watch"]).fault(&Fault::looks(500));
    let mut call = call.start();
    call.wait_for_note("#7 waiting");
    wait_for_looks(&scene, looks(&scene) + 12);
    let asked = || scene.server.writes().iter().filter(|line| line.ends_with("/pulls/8/merge")).count();
    assert!((2..=7).contains(&asked()), "{} of 12", asked());
    let asked_before = asked();
    scene.server.change(|state| {
        let request = state.pull_requests.get_mut(&8).expect("it");
        (request.merged, request.closed) = (true, true);
        let body = request.body.clone();
        state.close_named_in(&body);
    });
    call.wait_for_note("#7 merged");
    call.signal(Signal::TERM);
    let outcome = call.finish().exits(3);
    assert_eq!(outcomes(&outcome), ["#7 merged"], "{outcome}");
    assert!(asked() <= asked_before + 1, "{outcome}");
    assert_eq!(outcome.stderr.matches("#7 waiting").count(), 1, "{outcome}");
}

// I-76
#[test]
fn watching_lists_again_begins_what_is_new_or_free_and_leaves_what_failed() {
    let replies = "  - {text: 'No. [STEP:1]', prompt: Bad}\n  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}], times: '*'}\n";
    let scene = Scene::new(replies, |state| {
        state.issue(1, "Bad", &["saihai"]);
        state.issue(2, "Waits", &["saihai"]).body = "Depends on #3".to_owned();
        state.issue(3, "In the way", &[]);
    });
    let mut call = scene.call(&["--label", "saihai", "--watch", "--every", "15s"]).start();
    call.wait_for_note("#1 failed");
    // Nothing has changed: the forge only confirms that, and Saihai leaves the failed issue alone.
    wait_for_looks(&scene, looks(&scene) + 1);
    assert!(scene.server.unchanged() > 0, "what has not changed is not sent again");
    assert_eq!(scene.project.runs().len(), 1);
    let away = Wrong::Status(401, "not now".to_owned());
    scene.server.goes_wrong("GET", "/repos/me/tool/issues", away, usize::MAX);
    call.wait_for_note("cannot list issues");
    scene.server.goes_right();
    // Settings and definitions of the start apply, even if the files become invalid.
    scene.project.write(".saihai/config.toml", "nonsense = true\n");
    scene.project.write(".saihai/pieces/it.yaml", "nonsense: true\n");
    scene.server.change(|state| {
        state.issues.get_mut(&1).expect("it").title = "Said more clearly".to_owned();
        state.issues.get_mut(&3).expect("it").closed = true;
        state.issue(4, "New", &["saihai"]);
    });
    let mut done: Vec<String> = (0..3).map(|_| call.wait_for_note("pr-created")).collect();
    done.sort();
    for (line, number) in done.iter().zip([1, 2, 4]) {
        assert!(line.contains(&format!("#{number} pr-created")), "{done:?}");
    }
    call.signal(Signal::TERM);
    call.wait_for_note("press Ctrl-C again to quit immediately");
    let outcome = call.finish().exits(3);
    assert_eq!(outcome.stderr.matches("cannot list issues").count(), 1, "{outcome}");
    assert_eq!(outcome.stderr.matches("#1 failed").count(), 1, "{outcome}");
    assert_eq!(scene.project.runs().len(), 4);
}
