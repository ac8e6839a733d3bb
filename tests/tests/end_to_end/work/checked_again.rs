//! Merged or refused work that Saihai checks again before it pays for more.

use saihai_connect::forge::testing::ForgeState;
use saihai_tests::{Journal, Project};

use super::github::Scene;
use super::{auto, branches, commit, git, git_in, outcomes, repository, writes};

const ONE: [&str; 2] = ["--label", "saihai"];

/// Counts agent turns in all runs.
fn turns(project: &Project) -> usize {
    let runs = project.root().join(".saihai/runs");
    let journals = project.runs().into_iter().map(|run| runs.join(run).join("journal.ndjson"));
    journals.map(|journal| Journal::read(&journal).facts("replied").count()).sum()
}

fn says(project: &Project, replies: &str) {
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
}

// I-31: a dependant starts from a base that contains its dependencies.
#[test]
fn what_depends_on_a_merge_that_was_thrown_away_waits_and_the_merge_can_be_done_again() {
    let project = repository(&writes("first.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write(".saihai/issues/8.md", "# Needs it\n\nDepends on #7\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &["--issues", "7", "--merge"]).exits(0)), ["#7 merged"]);
    assert_eq!(branches(&project), ["main", "saihai/merge/main"]);
    git(&project, &["branch", "--quiet", "-D", "saihai/merge/main"]);
    says(&project, &writes("second.txt"));
    let lost = "#7 was merged into `main`, which no longer contains it";
    let waits = auto(&project, &["--merge"]).exits(6);
    assert_eq!(outcomes(&waits), ["#8 waiting", "#7 merged"], "{waits}");
    assert!(waits.stdout.contains(&format!("dependency: {lost}; `--ignore-deps` ignores it")), "{waits}");
    assert!(waits.stderr.contains(&format!("note: {lost}; `--retry` works on it again\n")), "{waits}");
    assert_eq!(turns(&project), 1, "nothing was paid");
    says(&project, &format!("{}{}", writes("first.txt"), writes("second.txt")));
    let again = auto(&project, &["--merge", "--retry", "--issues", "7"]).exits(0);
    assert_eq!(outcomes(&again), ["#7 merged"]);
    assert_eq!(git(&project, &["show", "saihai/merge/main:first.txt"]), "first.txt");
    says(&project, &writes("second.txt"));
    let next = auto(&project, &["--merge"]).exits(0);
    assert_eq!(outcomes(&next), ["#8 merged", "#7 merged"], "{next}");
    assert_eq!(
        git(&project, &["ls-tree", "--name-only", "saihai/merge/main", "first.txt", "second.txt"]),
        "first.txt\nsecond.txt"
    );
    // Saihai does not repeat work that is in its base.
    auto(&project, &["--merge", "--retry"]).exits(0);
    assert_eq!(turns(&project), 3);
}

fn scene(replies: &str) -> Scene {
    Scene::new(replies, |state: &mut ForgeState| {
        state.issue(7, "Login fails", &["saihai"]);
    })
}

// I-72: reopening an issue does not approve new cost.
#[test]
fn an_issue_that_was_opened_again_after_its_merge_is_worked_on_again_when_that_is_asked_for() {
    let scene = scene(&writes("first.txt"));
    assert_eq!(outcomes(&scene.work(&["--label", "saihai", "--merge"]).exits(0)), ["#7 merged"]);
    scene.server.change(|state| {
        let issue = state.issues.get_mut(&7).expect("it");
        (issue.closed, issue.reopened) = (false, true);
    });
    says(&scene.project, &writes("second.txt"));
    let told = scene.work(&ONE).exits(0);
    assert_eq!(outcomes(&told), ["#7 merged"]);
    let note = "note: #7 was reopened after its merge; `--retry` works on it again\n";
    assert!(told.stderr.contains(note), "{told}");
    assert_eq!(turns(&scene.project), 1);
    let before = scene.remote(&["rev-parse", "main"]);
    let again = scene.work(&["--label", "saihai", "--retry"]).exits(0);
    assert_eq!(outcomes(&again), ["#7 pr-created"], "{again}");
    // The new work starts from the merged base, on the same branch, with a new pull request.
    assert_eq!(scene.remote(&["rev-parse", "feature/issue-7~1"]), before);
    assert_eq!(scene.remote(&["diff", "--name-only", "main", "feature/issue-7"]), "second.txt");
    let state = scene.server.state();
    let requests: Vec<(u64, bool)> =
        state.pull_requests.iter().map(|(number, one)| (*number, one.merged)).collect();
    assert_eq!(requests, [(8, true), (9, false)]);
    assert_eq!(outcomes(&scene.work(&["--label", "saihai", "--merge"]).exits(0)), ["#7 merged"]);
    assert_eq!(turns(&scene.project), 2);
}

/// Squashes the branch of the issue into `main` on the forge, as a person does, and reopens the issue.
fn squash_and_reopen(scene: &Scene) {
    let (tree, main) =
        (scene.remote(&["rev-parse", "feature/issue-7^{tree}"]), scene.remote(&["rev-parse", "main"]));
    let who = ["-c", "user.name=Forge", "-c", "user.email=forge@example.com"];
    let made = ["commit-tree", &tree, "-p", &main, "-m", "Login fails (#8)"];
    let squashed = scene.remote(&[&who[..], &made[..]].concat());
    let moved = ["update-ref", "refs/heads/main", &squashed];
    scene.remote(&moved);
    scene.server.change(|state| {
        let request = state.pull_requests.get_mut(&8).expect("it");
        (request.closed, request.merged) = (true, true);
        state.issues.get_mut(&7).expect("it").reopened = true;
    });
}

// I-72: `--retry` starts again from the current base, or explains before any cost why it cannot.
#[test]
fn an_issue_whose_branch_was_squashed_starts_again_once_the_branch_is_gone_from_the_server() {
    for is_new_clone in [false, true] {
        let scene = scene(&writes("first.txt"));
        scene.work(&ONE).exits(0);
        let old = scene.remote(&["rev-parse", "feature/issue-7"]);
        squash_and_reopen(&scene);
        if is_new_clone {
            std::fs::remove_dir_all(scene.project.root().join(".saihai/runs")).expect("the runs");
            git(&scene.project, &["branch", "--quiet", "-D", "feature/issue-7"]);
        }
        let before = turns(&scene.project);
        says(&scene.project, &writes("second.txt"));
        let retry = ["--label", "saihai", "--retry"];
        let blocked = scene.work(&retry).exits(1);
        assert_eq!(outcomes(&blocked), ["#7 blocked"], "{blocked}");
        let remote = git(&scene.project, &["remote", "get-url", "origin"]);
        let way_out = format!("delete it there: `git push {remote} --delete feature/issue-7`");
        assert!(blocked.stdout.contains(&way_out), "{blocked}");
        assert_eq!(turns(&scene.project), before, "nothing was paid");
        git(&scene.project, &["push", "--quiet", &remote, "--delete", "feature/issue-7"]);
        let again = scene.work(&retry).exits(0);
        assert_eq!(outcomes(&again), ["#7 pr-created"], "{again}");
        let main = scene.remote(&["rev-parse", "main"]);
        assert_eq!(scene.remote(&["rev-parse", "feature/issue-7~1"]), main, "from the base as it is now");
        if !is_new_clone {
            let kept = git(&scene.project, &["rev-parse", "refs/saihai/rescue/issue-7/1^1"]);
            assert_eq!(kept, old, "what was there is kept");
        }
    }
}

// Our pull request identifies the owner of the branch: there is no journal, and the base contains its
// commits.
#[test]
fn an_issue_that_was_merged_and_opened_again_is_worked_on_from_a_new_clone() {
    let scene = scene(&writes("first.txt"));
    scene.work(&["--label", "saihai", "--merge"]).exits(0);
    scene.server.change(|state| {
        let issue = state.issues.get_mut(&7).expect("it");
        (issue.closed, issue.reopened) = (false, true);
    });
    std::fs::remove_dir_all(scene.project.root().join(".saihai/runs")).expect("the runs");
    assert_eq!(scene.remote(&["branch", "--list", "feature/issue-7"]).trim(), "feature/issue-7");
    for branch in branches(&scene.project).iter().filter(|branch| *branch != "main") {
        git(&scene.project, &["branch", "--quiet", "-D", branch]);
    }
    says(&scene.project, &writes("second.txt"));
    let before = scene.remote(&["rev-parse", "main"]);
    let again = scene.work(&["--label", "saihai", "--retry"]).exits(0);
    assert_eq!(outcomes(&again), ["#7 pr-created"], "{again}");
    assert_eq!(scene.remote(&["rev-parse", "feature/issue-7~1"]), before);
}

// An issue that merely stays open, e.g. after a merge into another branch, costs nothing again.
#[test]
fn an_issue_that_is_open_still_after_its_merge_is_not_worked_on_again() {
    let scene = scene(&writes("first.txt"));
    scene.work(&["--label", "saihai", "--merge"]).exits(0);
    scene.server.change(|state| state.issues.get_mut(&7).expect("it").closed = false);
    assert_eq!(outcomes(&scene.work(&["--label", "saihai", "--retry"]).exits(0)), ["#7 merged"]);
    assert_eq!(turns(&scene.project), 1);
}

// I-53: Saihai does not replace a pull request that a person closed, so it pays for nothing.
#[test]
fn what_a_person_has_closed_is_not_paid_for_again() {
    let scene = scene(&writes("first.txt"));
    scene.work(&ONE).exits(0);
    scene.server.change(|state| state.pull_requests.get_mut(&8).expect("it").closed = true);
    std::fs::remove_dir_all(scene.project.root().join(".saihai/runs")).expect("the runs");
    let closed = scene.work(&["--label", "saihai", "--retry"]).exits(6);
    assert_eq!(outcomes(&closed), ["#7 waiting"]);
    assert!(closed.stdout.contains("a person closed https://github.com/me/tool/pull/8"), "{closed}");
    assert_eq!((turns(&scene.project), scene.project.runs().len()), (0, 0));
    // Delivery without a pull request still works.
    let pushed = scene.work(&["--label", "saihai", "--retry", "--no-pr"]).exits(0);
    assert_eq!(outcomes(&pushed), ["#7 branch-ready"]);
    assert_eq!(turns(&scene.project), 1);
}

// I-50: Saihai pays for nothing while the files that it could not commit are still there.
#[test]
fn a_repository_among_the_files_is_looked_for_before_another_turn() {
    let embeds = "  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}], runs: [{argv: [git, init, --quiet, inner]}, {argv: [git, -C, inner, -c, user.name=a, -c, user.email=a@b, commit, --quiet, --allow-empty, -m, x]}]}\n";
    let project = repository(embeds);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let first = auto(&project, &[]).exits(1);
    assert!(first.stdout.contains("embedded-repository"), "{first}");
    says(&project, &writes("second.txt"));
    let again = auto(&project, &["--retry"]).exits(1);
    assert!(again.stdout.contains("embedded-repository"), "{again}");
    assert_eq!((turns(&project), project.runs().len()), (1, 1));
    std::fs::remove_dir_all(project.root().join(".worktrees/issue-7/inner")).expect("it");
    assert_eq!(outcomes(&auto(&project, &["--retry"]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(turns(&project), 2);
}

// I-9, I-34: `run` starts from the push of another clone, as `work` does.
#[test]
fn a_run_on_an_issue_takes_in_what_another_clone_pushed() {
    let scene = scene(&writes("second.txt"));
    let clone = scene.project.root().parent().expect("a parent").join("clone");
    let remote = git(&scene.project, &["remote", "get-url", "origin"]);
    git(&scene.project, &["clone", "--quiet", &remote, &clone.display().to_string()]);
    git_in(&clone, &["switch", "--quiet", "-c", "feature/issue-7"]);
    let push = |file: &str, message: &str| {
        std::fs::write(clone.join(file), "x").expect("a file");
        git_in(&clone, &["add", "--all"]);
        git_in(&clone, &["commit", "--quiet", "--message", message]);
        git_in(&clone, &["push", "--quiet", "origin", "feature/issue-7"]);
    };
    scene.project.write(".saihai/config.toml", "[work]\nrepo = \"me/tool\"\n");
    let run = || {
        let call = scene.project.saihai(["run", "it", "--issue", "7", "--script", "script.yaml"]);
        call.env("GITHUB_API_URL", scene.server.url()).env("GITHUB_TOKEN", "canary-token-4711").run()
    };
    push("theirs.txt", "theirs");
    let refused = run().exits(2);
    assert!(
        refused.stderr.contains("branch `feature/issue-7` exists, but Saihai did not create it"),
        "{refused}"
    );
    assert_eq!((scene.project.runs().len(), branches(&scene.project)), (0, vec!["main".to_owned()]));
    push(
        "first.txt",
        "Login fails (#7)\n\nCloses #7\n\nSaihai-Issue: 7\nSaihai-Run: 20260206-085600-issue-7",
    );
    run().exits(0);
    let worktree = scene.project.root().join(".worktrees/issue-7");
    let files = ["theirs.txt", "first.txt", "second.txt"].map(|file| worktree.join(file).exists());
    assert_eq!(files, [true; 3]);
}

// I-72, I-76: no run started, so a retry loses nothing.
#[test]
fn what_git_would_not_do_before_a_run_began_is_tried_again_by_the_next_call() {
    let project = repository(&writes("first.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    // A directory blocks the path of the issue's lock file.
    std::fs::create_dir_all(project.root().join(".git/saihai/issue-7.lock")).expect("a directory");
    let away = auto(&project, &[]).exits(4);
    assert_eq!(outcomes(&away), ["#7 provider"], "{away}");
    assert_eq!(project.runs(), [""; 0]);
    std::fs::remove_dir(project.root().join(".git/saihai/issue-7.lock")).expect("it");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
}
