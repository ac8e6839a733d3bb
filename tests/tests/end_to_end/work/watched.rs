//! Looking for issues again and again.

use rustix::process::Signal;
use saihai_connect::forge::testing::Wrong;

use super::github::Scene;

// I-76. How the pauses grow while a source is away, up to a quarter of an hour, is shown where time can be held still (`look.rs`).
#[test]
fn watching_lists_again_begins_what_is_new_or_free_and_leaves_what_failed() {
    let replies = "  - {text: 'No. [STEP:1]', prompt: Bad}\n  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}], times: '*'}\n";
    let scene = Scene::new(replies, |state| {
        state.issue(1, "Bad", &["saihai"]);
        state.issue(2, "Waits", &["saihai"]).body = "Depends on #3".to_owned();
        state.issue(3, "In the way", &[]);
    });
    let looks = || {
        let requests = scene.server.requests();
        requests.iter().filter(|request| request.line().ends_with("/issues")).count()
    };
    let mut call = scene.call(&["--label", "saihai", "--watch", "--every", "15s"]).start();
    call.wait_for_note("#1 failed");
    // Nothing has changed: the forge need only say so, and what failed is left alone.
    let seen = looks();
    while looks() < seen + 1 {
        std::thread::park_timeout(std::time::Duration::from_millis(200));
    }
    assert!(scene.server.unchanged() > 0, "what has not changed is not sent again");
    assert_eq!(scene.project.runs().len(), 1);
    let away = Wrong::Status(401, "not now".to_owned());
    scene.server.goes_wrong("GET", "/repos/me/tool/issues", away, usize::MAX);
    call.wait_for_note("issues cannot be listed");
    scene.server.goes_right();
    // Settings and definitions are those of the start, also where they are broken meanwhile.
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
    call.wait_for_note("stopping; once more to end at once");
    let outcome = call.finish().exits(3);
    assert_eq!(outcome.stderr.matches("issues cannot be listed").count(), 1, "{outcome}");
    assert_eq!(outcome.stderr.matches("#1 failed").count(), 1, "{outcome}");
    assert_eq!(scene.project.runs().len(), 4);
}
