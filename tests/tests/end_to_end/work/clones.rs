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
