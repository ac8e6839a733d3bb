//! Work on issues that another clone has worked on before, as each job of a CI does: there is no journal of it here.

use saihai_connect::forge::testing::ForgeState;

use saihai_tests::Journal;

use super::github::Scene;
use super::{branches, git, outcomes, writes};

const ONE: [&str; 2] = ["--label", "saihai"];

fn scene() -> Scene {
    let replies = format!("{}{}", writes("first.txt"), writes("second.txt"));
    Scene::new(&replies, |state: &mut ForgeState| {
        state.issue(7, "Login fails", &["saihai"]);
    })
}

/// Makes of the project what a clone of the remote is: no runs, no branches, no worktrees.
fn forget(scene: &Scene) {
    let root = scene.project.root();
    for directory in [".saihai/runs", ".saihai/batches", ".worktrees"] {
        let _ = std::fs::remove_dir_all(root.join(directory));
    }
    git(&scene.project, &["worktree", "prune"]);
    for branch in branches(&scene.project).iter().filter(|branch| *branch != "main") {
        git(&scene.project, &["branch", "--quiet", "-D", branch]);
    }
}

/// How often an agent was asked in the runs that there are.
fn turns(scene: &Scene) -> usize {
    let runs = scene.project.root().join(".saihai/runs");
    let journals = scene.project.runs().into_iter().map(|run| runs.join(run).join("journal.ndjson"));
    journals.map(|journal| Journal::read(&journal).facts("replied").count()).sum()
}

// I-72: what is delivered is reported, whoever delivered it.
#[test]
fn an_open_pull_request_of_another_clone_is_not_paid_for_again() {
    let scene = scene();
    scene.work(&ONE).exits(0);
    forget(&scene);
    let again = scene.work(&ONE).exits(0);
    assert_eq!(outcomes(&again), ["#7 pr-created"]);
    assert!(again.stdout.contains("https://github.com/me/tool/pull/8"), "{again}");
    assert_eq!(scene.project.runs(), [""; 0]);
    assert_eq!(scene.server.state().pull_requests.len(), 1);
    // A person who closed it has said no; nothing is opened again.
    scene.server.change(|state| state.pull_requests.get_mut(&8).expect("it").closed = true);
    let closed = scene.work(&ONE).exits(6);
    assert!(closed.stdout.contains("closed by a person"), "{closed}");
    assert_eq!(turns(&scene), 0);
}

// I-29: an issue that stays open though its pull request is merged, as where that went to another branch.
#[test]
fn a_merged_pull_request_of_another_clone_is_done_and_what_depends_on_it_goes_on() {
    let scene = scene();
    scene.work(&[&ONE[..], &["--merge"]].concat()).exits(0);
    forget(&scene);
    scene.server.change(|state| {
        state.issues.get_mut(&7).expect("it").closed = false;
        state.issue(9, "Another", &["saihai"]).body = "Depends on #7".to_owned();
    });
    let outcome = scene.work(&ONE).exits(0);
    assert_eq!(outcomes(&outcome), ["#9 no-changes", "#7 merged"], "{outcome}");
    assert!(outcome.stderr.contains("#7 merged (before)"), "{outcome}");
}

// I-34: the trailers of its commits show whose a branch is.
#[test]
fn a_branch_that_another_clone_pushed_is_gone_on_with() {
    let scene = scene();
    scene.work(&[&ONE[..], &["--no-pr"]].concat()).exits(0);
    let first = scene.remote(&["rev-parse", "feature/issue-7"]);
    forget(&scene);
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("second.txt")));
    let outcome = scene.work(&ONE).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created"]);
    assert_eq!(scene.remote(&["rev-parse", "feature/issue-7~1"]), first, "nothing of it was lost");
    let files = scene.remote(&["ls-tree", "--name-only", "feature/issue-7"]);
    assert!(files.contains("first.txt") && files.contains("second.txt"), "{files}");
}

// I-34: what is not ours is seen before anything is paid, and stays as it is.
#[test]
fn a_branch_of_somebody_elses_on_the_server_blocks_until_it_is_adopted() {
    let scene = scene();
    git(&scene.project, &["switch", "--quiet", "-c", "theirs"]);
    git(&scene.project, &["commit", "--quiet", "--allow-empty", "--message", "theirs"]);
    git(&scene.project, &["push", "--quiet", "origin", "theirs:feature/issue-7"]);
    git(&scene.project, &["switch", "--quiet", "main"]);
    git(&scene.project, &["branch", "--quiet", "-D", "theirs"]);
    let blocked = scene.work(&ONE).exits(1);
    assert_eq!(outcomes(&blocked), ["#7 blocked"]);
    assert!(blocked.stdout.contains("not-ours: branch `feature/issue-7` exists, not ours"), "{blocked}");
    assert_eq!((turns(&scene), branches(&scene.project)), (0, vec!["main".to_owned()]));
    let adopted = scene.work(&[&ONE[..], &["--adopt"]].concat()).exits(0);
    assert_eq!(outcomes(&adopted), ["#7 pr-created"]);
    let log = scene.remote(&["log", "--format=%s", "main..feature/issue-7"]);
    assert_eq!(log, "Login fails (#7)\ntheirs");
}

// Another clone was quicker: what it pushed is taken in where nobody has it checked out, and waited for where somebody has.
#[test]
fn a_branch_that_was_pushed_further_elsewhere_is_taken_in_first() {
    let scene = scene();
    scene.work(&[&ONE[..], &["--no-pr", "--keep"]].concat()).exits(0);
    let tip = git(&scene.project, &["commit-tree", "-p", "feature/issue-7", "-m", "more", "main^{tree}"]);
    git(&scene.project, &["push", "--quiet", "origin", &format!("{tip}:feature/issue-7")]);
    std::fs::remove_dir_all(scene.project.root().join(".saihai/runs")).expect("the runs");
    let blocked = scene.work(&ONE).exits(1);
    assert!(blocked.stdout.contains("has commits on the server that are not here"), "{blocked}");
    assert_eq!(turns(&scene), 0);
    git(&scene.project, &["worktree", "remove", "--force", ".worktrees/issue-7"]);
    let outcome = scene.work(&ONE).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created"]);
    assert_eq!(scene.remote(&["rev-parse", "feature/issue-7~1"]), tip);
}

// I-33: what would keep machines apart is refused by name elsewhere; without it both spend, and nothing more comes of that.
#[test]
fn two_machines_at_once_can_neither_overwrite_nor_duplicate() {
    let scene = scene();
    let settings = "[work]\ndefinition = \"it\"\ngates = [\"before-pr\"]\n";
    scene.project.write(".saihai/config.toml", settings);
    let remote = git(&scene.project, &["remote", "get-url", "origin"]);
    let other = super::repository("");
    git(&other, &["remote", "add", "origin", &remote]);
    git(&other, &["fetch", "--quiet", "origin"]);
    git(&other, &["reset", "--quiet", "--hard", "origin/main"]);
    other.write(".saihai/config.toml", settings);
    other.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("other.txt")));
    let call = |project: &saihai_tests::Project| {
        let all = ["work", "--script", "script.yaml", "--repo", "me/tool", "--label", "saihai"];
        let call = project.saihai(all).env("GITHUB_API_URL", scene.server.url());
        call.env("GITHUB_TOKEN", "canary-token-4711")
    };
    // Both have done the whole work when the first of them hands anything over.
    let both = [&scene.project, &other];
    let done = both.map(|project| {
        assert_eq!(outcomes(&call(project).run().exits(6)), ["#7 waiting"]);
        project.saihai(["answer", "last", "yes"]).run().exits(0);
        git(project, &["rev-parse", "feature/issue-7"])
    });
    assert_ne!(done[0], done[1]);
    assert!(scene.server.state().pull_requests.is_empty());
    let ended = both.map(|project| call(project).start()).map(|live| live.finish());
    let mut words: Vec<String> = ended.iter().flat_map(outcomes).collect();
    words.sort();
    assert_eq!(words, ["#7 failed", "#7 pr-created"], "{} {}", ended[0], ended[1]);
    let loser = ended.iter().find(|one| one.stdout.contains("failed")).expect("one of them");
    assert!(loser.stdout.contains("push-rejected"), "{loser}");
    let pushed = scene.remote(&["rev-parse", "feature/issue-7"]);
    let winner = usize::from(loser.stdout == ended[0].stdout);
    assert_eq!(pushed, done[winner], "what was there first stays");
    assert_eq!(scene.server.state().pull_requests.len(), 1);
    // Whoever came too late has lost nothing.
    assert_eq!(git(both[1 - winner], &["rev-parse", "feature/issue-7"]), done[1 - winner]);
}
