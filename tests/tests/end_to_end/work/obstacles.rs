//! Obstacles for git or the forge. Saihai names them and does not retry forever.

use std::fs::{self, File};
use std::time::Duration;

use rustix::process::Signal;
use saihai_connect::forge::testing::{ForgeState, Wrong};
use saihai_tests::Project;

use super::github::Scene;
use super::{auto, commit, git, outcomes, repository, work, writes};

fn seven() -> Project {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project
}

// I-62
#[test]
fn a_branch_in_the_place_of_all_merges_is_refused_before_anything_begins() {
    let project = seven();
    git(&project, &["branch", "saihai"]);
    let refused = auto(&project, &["--merge"]).exits(2);
    let expected = "error: branch `saihai` exists, so git cannot create `saihai/merge/main`\n  = help: rename that branch: `git branch -m saihai NAME`\n";
    assert_eq!(super::without_exclude_note(&refused.stderr), expected);
    assert_eq!(project.runs(), [""; 0]);
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"], "nothing is merged then");
    git(&project, &["branch", "-m", "saihai", "mine"]);
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(0)), ["#7 merged"]);
}

// I-62, I-63
#[test]
fn a_lock_file_that_was_left_is_waited_for_by_nobody_and_verify_runs_once() {
    let project = seven();
    let ran = project.home().join("ran");
    let settings =
        format!("[work]\ndefinition = \"it\"\nverify = [\"sh\", \"-c\", \"echo x >> {}\"]\n", ran.display());
    project.write(".saihai/config.toml", settings);
    let left = project.root().join(".git/refs/heads/saihai/merge/main.lock");
    fs::create_dir_all(left.parent().expect("a parent")).expect("directories");
    fs::write(&left, "").expect("a file");
    let waits = auto(&project, &["--merge", "--trust-project"]).exits(6);
    assert_eq!(outcomes(&waits), ["#7 waiting"]);
    for words in [left.to_str().expect("a path"), "remove that file"] {
        assert!(waits.stdout.contains(words), "{waits}");
    }
    assert_eq!(fs::read_to_string(&ran).expect("it ran"), "x\n");
    assert!(left.exists());
    fs::remove_file(left).expect("it is there");
    assert_eq!(outcomes(&auto(&project, &["--merge", "--trust-project"]).exits(0)), ["#7 merged"]);
}

// I-63
#[test]
fn a_merge_that_another_process_keeps_from_beginning_says_so_once_and_waits() {
    let project = seven();
    fs::create_dir_all(project.root().join(".git/saihai")).expect("a directory");
    let path = project.root().join(".git/saihai/merge-6d61696e.lock");
    let held = File::create(&path).expect("a file");
    held.lock().expect("nobody has it");
    let mut live = work(&project, &["--auto", "--merge"]).start();
    let words = "waiting for another process that merges into `main`";
    live.wait_for_note(words);
    // Leaves time for another attempt.
    std::thread::park_timeout(Duration::from_secs(2));
    drop(held);
    let merged = live.finish().exits(0);
    assert_eq!(outcomes(&merged), ["#7 merged"]);
    assert_eq!(merged.stderr.matches(words).count(), 1, "{merged}");
}

// I-46: the same holds for a verification that does not end by itself.
#[test]
fn a_stop_while_a_merge_is_verified_says_how_to_continue() {
    let project = seven();
    let (begun, go) = (project.home().join("begun"), project.home().join("go"));
    let waits = format!("trap : TERM INT; touch {}; sleep 302; sleep 303", begun.display());
    let verify = format!("test -e {} || {{ {waits}; }}", go.display());
    let settings = format!("[work]\ndefinition = \"it\"\nverify = [\"sh\", \"-c\", \"{verify}\"]\n");
    project.write(".saihai/config.toml", settings);
    let live = work(&project, &["--auto", "--merge", "--trust-project"]).start();
    while !begun.exists() {
        std::thread::park_timeout(Duration::from_millis(20));
    }
    live.signal(Signal::INT);
    let stopped = live.finish().exits(3);
    assert!(!stopped.stderr.contains("panicked") && !stopped.stderr.contains("Tokio"), "{stopped}");
    assert_eq!(outcomes(&stopped), ["#7 paused"], "{stopped}");
    fs::write(go, "").expect("a mark");
    assert_eq!(outcomes(&auto(&project, &["--merge", "--trust-project"]).exits(0)), ["#7 merged"]);
}

fn one(state: &mut ForgeState) {
    state.issue(7, "Login fails", &["saihai"]);
}

// I-53, I-70: work that the base does not contain is not merged, regardless of earlier merges.
#[test]
fn a_pull_request_that_is_refused_after_an_earlier_one_was_merged_is_not_merged() {
    let scene = Scene::new(&writes("fixed.txt"), one);
    assert_eq!(outcomes(&scene.work(&["--label", "saihai", "--merge"]).exits(0)), ["#7 merged"]);
    scene.server.change(|state| {
        let issue = state.issues.get_mut(&7).expect("it is there");
        (issue.closed, issue.reopened) = (false, true);
    });
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("again.txt")));
    let spam = Wrong::Status(422, "was submitted too quickly".to_owned());
    scene.server.goes_wrong("POST", "/repos/me/tool/pulls", spam, 1);
    let refused = scene.work(&["--label", "saihai", "--merge", "--retry"]).exits(6);
    assert_eq!(outcomes(&refused), ["#7 waiting"], "{refused}");
    assert!(refused.stdout.contains("was submitted too quickly"), "{refused}");
    let merged = scene.work(&["--label", "saihai", "--merge"]).exits(0);
    assert_eq!(outcomes(&merged), ["#7 merged"]);
    assert_eq!(scene.remote(&["ls-tree", "--name-only", "main", "again.txt"]), "again.txt");
}

// I-60: if the forge asks for another attempt, Saihai retries after a pause, and not forever.
#[test]
fn a_merge_that_the_forge_puts_off_is_tried_again_as_long_as_checks_are_waited_for() {
    let put_off = [
        Wrong::Status(409, "Head branch was modified. Review and try the merge again.".to_owned()),
        Wrong::Status(405, "Base branch was modified. Review and try the merge again.".to_owned()),
    ];
    let path = "/repos/me/tool/pulls/8/merge";
    for wrong in put_off {
        let scene = Scene::new(&writes("fixed.txt"), one);
        let settings = "[work]\ndefinition = \"it\"\nchecks_timeout = \"2s\"\n";
        scene.project.write(".saihai/config.toml", settings);
        scene.server.goes_wrong("PUT", path, wrong.clone(), 1_000);
        let waits = scene.work(&["--label", "saihai", "--merge"]).exits(6);
        assert_eq!(outcomes(&waits), ["#7 waiting"], "{waits}");
        assert!(waits.stdout.contains("checks-timeout"), "{waits}");
        assert_eq!(waits.stderr.matches("was modified; trying again").count(), 1, "{waits}");
        let tried = 1_000 - scene.server.is_to_go_wrong();
        assert!((2..=10).contains(&tried), "{tried} times");
        scene.server.goes_right();
        scene.server.goes_wrong("PUT", path, wrong, 1);
        let merged = scene.work(&["--label", "saihai", "--merge"]).exits(0);
        assert_eq!(outcomes(&merged), ["#7 merged"], "{merged}");
    }
}
