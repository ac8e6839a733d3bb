//! Commits that a reviewer pushes to the branch of a pull request.

use saihai_connect::forge::testing::ForgeState;
use saihai_tests::Journal;

use super::github::Scene;
use super::{git, git_in, outcomes, writes};

const ONE: [&str; 2] = ["--label", "saihai"];
const MERGED: [&str; 3] = ["--label", "saihai", "--merge"];

fn scene(settings: &str) -> Scene {
    let scene = Scene::new(&writes("fixed.txt"), |state: &mut ForgeState| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    scene.project.write(".saihai/config.toml", format!("[work]\ndefinition = \"it\"\n{settings}"));
    scene
}

/// Changes, deletes and adds a file on the branch of the pull request, as a reviewer does.
fn review(scene: &Scene) -> String {
    let clone = scene.project.root().parent().expect("a parent").join("reviewer");
    let remote = git(&scene.project, &["remote", "get-url", "origin"]);
    git(
        &scene.project,
        &["clone", "--quiet", "-b", "feature/issue-7", &remote, &clone.display().to_string()],
    );
    std::fs::write(clone.join("fixed.txt"), "better\n").expect("a file");
    std::fs::write(clone.join("added.txt"), "added\n").expect("a file");
    std::fs::remove_file(clone.join("kept.txt")).expect("a file");
    git_in(&clone, &["add", "--all"]);
    git_in(&clone, &["commit", "--quiet", "--message", "reviewed"]);
    git_in(&clone, &["push", "--quiet", "origin", "feature/issue-7"]);
    git_in(&clone, &["rev-parse", "HEAD"])
}

fn turns(scene: &Scene) -> usize {
    let runs = scene.project.root().join(".saihai/runs");
    let journals = scene.project.runs().into_iter().map(|run| runs.join(run).join("journal.ndjson"));
    journals.map(|journal| Journal::read(&journal).facts("replied").count()).sum()
}

fn assert_merged(scene: &Scene, tip: &str) {
    assert_eq!(scene.remote(&["rev-parse", "main^2"]), tip);
    assert_eq!(scene.remote(&["ls-tree", "--name-only", "main", "kept.txt", "added.txt"]), "added.txt");
    assert_eq!(turns(scene), 1, "no agent was asked");
}

// I-43, case 19: Saihai shows the new commit again before it merges it.
#[test]
fn what_a_reviewer_pushed_is_asked_about_and_merged_without_an_agent() {
    for keep in [&[][..], &["--keep"]] {
        let scene = scene("gates = [\"before-pr\"]\n");
        assert_eq!(outcomes(&scene.work(&[&ONE[..], keep].concat()).exits(0)), ["#7 pr-created"]);
        let tip = review(&scene);
        let asked = scene.asking(&MERGED).run().exits(6);
        assert!(asked.stdout.contains("an answer at `before-pr`"), "{asked}");
        assert!(asked.stdout.contains("#7 |   added.txt") && asked.stdout.contains(&tip), "{asked}");
        let run = scene.project.runs().pop().expect("a run");
        scene.project.saihai(["answer", &run, "yes"]).run().exits(0);
        assert_eq!(outcomes(&scene.asking(&MERGED).run().exits(0)), ["#7 merged"]);
        assert_merged(&scene, &tip);
    }
}

// The checks of the first push failed, and the reviewer fixed them. Only the checks of the new commit
// count.
#[test]
fn a_run_that_waits_for_its_pull_request_goes_on_with_what_a_reviewer_pushed() {
    let scene = scene("checks_timeout = \"2s\"\n");
    scene.server.change(|state| state.all_green = false);
    let waits = scene.work(&MERGED).exits(6);
    assert!(waits.stdout.contains("no check has started"), "{waits}");
    let first = scene.remote(&["rev-parse", "feature/issue-7"]);
    let tip = review(&scene);
    scene.server.change(|state| {
        let red = ("test".to_owned(), "completed".to_owned(), Some("failure".to_owned()));
        state.checks.insert(first, vec![red]);
        state.all_green = true;
    });
    let worktree = scene.project.root().join(".worktrees/issue-7");
    assert!(worktree.join("kept.txt").exists(), "it is there still");
    let merged = scene.work(&MERGED).exits(0);
    assert_eq!(outcomes(&merged), ["#7 merged"], "{merged}");
    assert_merged(&scene, &tip);
    assert!(!worktree.exists(), "{merged}");
}

// Saihai leaves changed files alone until their author decides about them.
#[test]
fn commits_of_a_reviewer_wait_for_the_run_in_the_worktree() {
    let scene = scene("checks_timeout = \"2s\"\n");
    scene.server.change(|state| state.all_green = false);
    scene.work(&MERGED).exits(6);
    let tip = review(&scene);
    scene.server.change(|state| state.all_green = true);
    let mine = scene.project.root().join(".worktrees/issue-7/mine.txt");
    std::fs::write(&mine, "mine\n").expect("a file");
    let waits = scene.work(&MERGED).exits(6);
    assert!(waits.stdout.contains("has commits on the server that are not here; pull them first"), "{waits}");
    assert_eq!(std::fs::read_to_string(&mine).expect("it"), "mine\n");
    std::fs::remove_file(&mine).expect("it");
    assert_eq!(outcomes(&scene.work(&MERGED).exits(0)), ["#7 merged"]);
    assert_merged(&scene, &tip);
}

// A changed base is no request for a second pull request.
#[test]
fn a_pull_request_that_a_person_gave_another_base_waits_and_no_other_is_opened() {
    let scene = scene("");
    scene.work(&ONE).exits(0);
    scene.remote(&["branch", "other", "main"]);
    let send = |base: &str| {
        scene.server.change(|state| state.pull_requests.get_mut(&8).expect("it").base = base.to_owned());
    };
    send("other");
    for _ in 0..2 {
        let waits = scene.work(&MERGED).exits(6);
        assert_eq!(outcomes(&waits), ["#7 waiting"], "{waits}");
        let told = "pull request https://github.com/me/tool/pull/8 now targets `other`, not `main`: \
                    change its base back to `main`, or close it";
        assert!(waits.stdout.contains(told), "{waits}");
    }
    let state = scene.server.state();
    assert_eq!((state.pull_requests.len(), state.pull_requests[&8].merged), (1, false));
    send("main");
    assert_eq!(outcomes(&scene.work(&MERGED).exits(0)), ["#7 merged"]);
    assert_eq!(turns(&scene), 1);
}

// Saihai discards neither side of a rewritten branch, and names the command that continues.
#[test]
fn a_branch_that_a_reviewer_rebased_waits_until_it_is_taken_in_by_the_command_that_is_told() {
    for keep in [&[][..], &["--keep"]] {
        let scene = scene("");
        scene.work(&[&ONE[..], keep].concat()).exits(0);
        review(&scene);
        let clone = scene.project.root().parent().expect("a parent").join("reviewer");
        git_in(&clone, &["switch", "--quiet", "main"]);
        git_in(&clone, &["commit", "--quiet", "--allow-empty", "--message", "meanwhile"]);
        git_in(&clone, &["rebase", "--quiet", "main", "feature/issue-7"]);
        git_in(&clone, &["push", "--quiet", "--force", "origin", "main", "feature/issue-7"]);
        let tip = git_in(&clone, &["rev-parse", "HEAD"]);
        let waits = scene.work(&MERGED).exits(6);
        assert_eq!(outcomes(&waits), ["#7 waiting"], "{waits}");
        let told = waits.stdout.split("to continue with the server's commits: `").nth(1);
        let command = told.and_then(|told| told.split('`').next()).unwrap_or_else(|| panic!("{waits}"));
        let mut shell = std::process::Command::new("sh");
        let done = shell.args(["-c", command]).current_dir(scene.project.root()).output().expect("a shell");
        assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(outcomes(&scene.work(&MERGED).exits(0)), ["#7 merged"]);
        assert_merged(&scene, &tip);
    }
}
