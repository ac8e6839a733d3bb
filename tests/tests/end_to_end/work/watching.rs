//! Looking for issues again and again, and people at a terminal.

use rustix::process::Signal;
use saihai_tests::Terminal;

use super::github::Scene;
use super::{branches, commit, repository, work, writes};

// What is new is begun, what failed is not begun again.
#[test]
fn new_issues_are_found_and_failed_ones_are_left_alone() {
    let replies = "  - {text: 'No. [STEP:1]', prompt: Bad}\n  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}]}\n";
    let scene = Scene::new(replies, |state| {
        state.issue(1, "Bad", &["saihai"]);
    });
    let mut call = scene.call(&["--label", "saihai", "--watch", "--every", "15s"]).start();
    call.wait_for_note("#1 failed");
    scene.server.change(|state| {
        state.issue(2, "Good", &["saihai"]);
    });
    call.wait_for_note("#2 pr-created");
    call.signal(Signal::TERM);
    let outcome = call.finish().exits(1);
    assert_eq!(scene.project.runs().len(), 2, "{outcome}");
}

// case 18: asked at a terminal, one question at a time.
#[test]
fn a_person_at_the_terminal_is_asked_and_understood() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write(".saihai/issues/8.md", "# Another\n");
    commit(&project);
    let mut terminal = Terminal::start(work(&project, &[]));
    terminal.wait_for("Continue? [Y/n] > ");
    terminal.press("maybe\n");
    terminal.wait_for("Continue? [Y/n] > ");
    terminal.press(" YES \n");
    // Meanwhile the other one has come to its first gate.
    terminal.wait_for("? #8 pre-loop");
    terminal.press("n\n");
    terminal.wait_for("? #7 post-completion");
    terminal.press("a\n");
    terminal.wait_for("? #7 before-pr");
    terminal.press("\n");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("#8     declined"), "{text}");
    assert_eq!(branches(&project), ["feature/issue-7", "main"]);
}
