//! Issues that another clone has worked on, as in a CI job. This clone has no journal of that work.

use rustix::process::Signal;
use saihai_connect::forge::testing::{ForgeState, Wrong};

use saihai_tests::Journal;

use super::github::Scene;
use super::{auto, branches, commit, git, git_in, outcomes, repository, work, writes};

const ONE: [&str; 2] = ["--label", "saihai"];

fn scene() -> Scene {
    let replies = format!("{}{}", writes("first.txt"), writes("second.txt"));
    Scene::new(&replies, |state: &mut ForgeState| {
        state.issue(7, "Login fails", &["saihai"]);
    })
}

/// Turns the project into a fresh clone of the remote: no runs, branches or worktrees.
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

/// Counts agent turns in the existing runs.
fn turns(scene: &Scene) -> usize {
    let runs = scene.project.root().join(".saihai/runs");
    let journals = scene.project.runs().into_iter().map(|run| runs.join(run).join("journal.ndjson"));
    journals.map(|journal| Journal::read(&journal).facts("replied").count()).sum()
}

// I-72: Saihai reports delivered work, regardless of the clone that delivered it.
#[test]
fn an_open_pull_request_of_another_clone_is_not_paid_for_again() {
    let scene = scene();
    scene.work(&ONE).exits(0);
    forget(&scene);
    let again = scene.work(&ONE).exits(0);
    assert_eq!(outcomes(&again), ["#7 pr-created"]);
    assert!(again.stdout.contains("https://github.com/me/tool/pull/8"), "{again}");
    let told = &scene.work(&[&ONE[..], &["--json"]].concat()).exits(0).json()[0];
    assert_eq!(told["pull_request"], "https://github.com/me/tool/pull/8");
    assert_eq!(told["branch"], "feature/issue-7");
    assert_eq!(scene.project.runs(), [""; 0]);
    assert_eq!(scene.server.state().pull_requests.len(), 1);
    // A person who closes the pull request declines it. Saihai opens no other one.
    scene.server.change(|state| state.pull_requests.get_mut(&8).expect("it").closed = true);
    let closed = scene.work(&ONE).exits(6);
    assert!(closed.stdout.contains("a person closed"), "{closed}");
    let retried = scene.work(&[&ONE[..], &["--retry"]].concat()).exits(6);
    assert!(retried.stdout.contains("a person closed"), "{retried}");
    assert_eq!(turns(&scene), 0);
}

// I-53: `--retry` uses the same branch and the same pull request.
#[test]
fn an_open_pull_request_of_another_clone_is_worked_on_once_more_where_a_person_says_so() {
    let scene = scene();
    scene.work(&ONE).exits(0);
    let first = scene.remote(&["rev-parse", "feature/issue-7"]);
    forget(&scene);
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("second.txt")));
    assert_eq!(outcomes(&scene.work(&[&ONE[..], &["--retry"]].concat()).exits(0)), ["#7 pr-created"]);
    assert_eq!(scene.remote(&["rev-parse", "feature/issue-7~1"]), first);
    assert_eq!(scene.server.state().pull_requests.len(), 1);
}

// I-29: an issue can stay open after its pull request is merged, for example into another branch.
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
    assert!(outcome.stderr.contains("#7 merged (done earlier)"), "{outcome}");
    let row = outcome.stdout.lines().find(|line| line.starts_with("#7")).expect("its row");
    assert!(row.contains(" feature/issue-7 ") && row.contains("https://github.com/me/tool/pull/8"), "{row}");
    let told = scene.work(&["--issues", "7", "--json"]).exits(0).json();
    assert_eq!(told[0]["pull_request"], "https://github.com/me/tool/pull/8");
    assert_eq!((&told[0]["outcome"], &told[0]["branch"]), (&"merged".into(), &"feature/issue-7".into()));
}

/// Creates a scene with our pull request to the base `other`, unknown to this clone.
fn for_another_base() -> Scene {
    let scene = scene();
    scene.remote(&["branch", "other", "main"]);
    scene.work(&[&ONE[..], &["--base", "other"]].concat()).exits(0);
    assert_eq!(scene.server.state().pull_requests[&8].base, "other");
    forget(&scene);
    scene
}

// I-70: a merge into another branch does not change this base.
#[test]
fn a_pull_request_that_was_merged_into_another_base_is_not_done() {
    let scene = for_another_base();
    scene.work(&[&ONE[..], &["--base", "other", "--merge"]].concat()).exits(0);
    scene.remote(&["branch", "-D", "feature/issue-7"]);
    forget(&scene);
    scene.server.change(|state| state.issues.get_mut(&7).expect("it").closed = false);
    let there = scene.work(&[&ONE[..], &["--base", "other"]].concat()).exits(0);
    assert!(there.stderr.contains("#7 merged (done earlier)"), "{there}");
    let here = scene.work(&ONE).exits(0);
    assert_eq!(outcomes(&here), ["#7 pr-created"], "{here}");
    let requests = scene.server.state().pull_requests;
    let bases: Vec<&str> = requests.values().map(|request| request.base.as_str()).collect();
    assert_eq!(bases, ["other", "main"]);
}

// I-70: Saihai does not reuse an open pull request to another base: a push to its branch would change it.
#[test]
fn an_open_pull_request_to_another_base_waits_for_a_person() {
    let scene = for_another_base();
    let waits = scene.work(&ONE).exits(6);
    assert_eq!(outcomes(&waits), ["#7 waiting"], "{waits}");
    let told = "its open pull request https://github.com/me/tool/pull/8 targets `other`, not `main`; \
                `--base other` continues with it, `--retry` starts new work for `main`";
    assert!(waits.stdout.contains(told), "{waits}");
    assert_eq!((turns(&scene), scene.server.state().pull_requests.len()), (0, 1));
    // A call for another base does not merge it either.
    scene.work(&[&ONE[..], &["--merge"]].concat()).exits(6);
    assert!(!scene.server.state().pull_requests[&8].merged);
    let there = scene.work(&[&ONE[..], &["--base", "other"]].concat()).exits(0);
    assert_eq!(outcomes(&there), ["#7 pr-created"], "{there}");
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("second.txt")));
    let retried = scene.work(&[&ONE[..], &["--retry"]].concat()).exits(0);
    assert_eq!(outcomes(&retried), ["#7 pr-created"], "{retried}");
    let requests = scene.server.state().pull_requests;
    let bases: Vec<&str> = requests.values().map(|request| request.base.as_str()).collect();
    assert_eq!(bases, ["other", "main"]);
}

// I-72: a pushed branch is finished work, regardless of its author. Only the pull request is missing.
#[test]
fn a_branch_that_another_clone_pushed_is_handed_over_without_an_agent() {
    let scene = scene();
    scene.server.goes_wrong(
        "POST",
        "/repos/me/tool/pulls",
        Wrong::Status(403, "GitHub Actions is not permitted to create pull requests".to_owned()),
        1,
    );
    let refused = scene.work(&ONE).exits(4);
    assert!(refused.stdout.contains("agents are not called again"), "{refused}");
    let pushed = scene.remote(&["rev-parse", "feature/issue-7"]);
    forget(&scene);
    // The base branch moves meanwhile.
    git(&scene.project, &["commit", "--quiet", "--allow-empty", "--message", "meanwhile"]);
    git(&scene.project, &["push", "--quiet", "origin", "main"]);
    let outcome = scene.work(&ONE).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created"], "{outcome}");
    assert_eq!(turns(&scene), 0, "nobody was asked");
    assert_eq!(scene.remote(&["rev-parse", "feature/issue-7"]), pushed);
    let state = scene.server.state();
    let body = &state.pull_requests[&8].body;
    assert!(body.contains("Closes #7") && body.contains("The agent's reply stays on the machine"), "{body}");
    assert_eq!(state.issues[&7].comments.len(), 1, "the issue is told of it");
    // The outcome stays the same here and in the next clone until a person asks for more.
    assert_eq!(outcomes(&scene.work(&ONE).exits(0)), ["#7 pr-created"]);
    forget(&scene);
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("second.txt")));
    assert_eq!(outcomes(&scene.work(&[&ONE[..], &["--retry"]].concat()).exits(0)), ["#7 pr-created"]);
    assert_eq!(scene.remote(&["rev-parse", "feature/issue-7~1"]), pushed);
    assert_eq!((turns(&scene), scene.server.state().pull_requests.len()), (1, 1));
}

// I-34: commit trailers identify the owner of a branch.
#[test]
fn a_branch_that_another_clone_pushed_is_gone_on_with_where_a_person_says_so() {
    let scene = scene();
    scene.work(&[&ONE[..], &["--no-pr"]].concat()).exits(0);
    let first = scene.remote(&["rev-parse", "feature/issue-7"]);
    forget(&scene);
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("second.txt")));
    let outcome = scene.work(&[&ONE[..], &["--retry"]].concat()).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created"]);
    assert_eq!(scene.remote(&["rev-parse", "feature/issue-7~1"]), first, "nothing of it was lost");
    let files = scene.remote(&["ls-tree", "--name-only", "feature/issue-7"]);
    assert!(files.contains("first.txt") && files.contains("second.txt"), "{files}");
}

// I-34: Saihai detects a foreign branch before it pays for a turn, and leaves the branch unchanged.
#[test]
fn a_branch_of_another_person_on_the_server_blocks_until_it_is_adopted() {
    let scene = scene();
    git(&scene.project, &["switch", "--quiet", "-c", "theirs"]);
    git(&scene.project, &["commit", "--quiet", "--allow-empty", "--message", "theirs"]);
    git(&scene.project, &["push", "--quiet", "origin", "theirs:feature/issue-7"]);
    git(&scene.project, &["switch", "--quiet", "main"]);
    git(&scene.project, &["branch", "--quiet", "-D", "theirs"]);
    let blocked = scene.work(&ONE).exits(1);
    assert_eq!(outcomes(&blocked), ["#7 blocked"]);
    assert!(
        blocked.stdout.contains("not-ours: branch `feature/issue-7` exists, but Saihai did not create it"),
        "{blocked}"
    );
    assert_eq!((turns(&scene), branches(&scene.project)), (0, vec!["main".to_owned()]));
    let adopted = scene.work(&[&ONE[..], &["--adopt"]].concat()).exits(0);
    assert_eq!(outcomes(&adopted), ["#7 pr-created"]);
    let log = scene.remote(&["log", "--format=%s", "main..feature/issue-7"]);
    assert_eq!(log, "Login fails (#7)\ntheirs");
}

// Another clone pushed first. Saihai fast-forwards a branch that is not checked out, and otherwise waits.
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

// I-33: this version rejects the flags that coordinate machines. Without them both machines pay for turns,
// but no result appears twice.
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
    // Both machines finish the work before either one delivers it.
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
    // The slower machine keeps its work.
    assert_eq!(git(both[1 - winner], &["rev-parse", "feature/issue-7"]), done[1 - winner]);
}

// I-29, I-70: without a forge, Saihai searches the base for the trailer of its merge.
#[test]
fn what_was_merged_here_is_known_without_its_journal_and_from_another_checkout() {
    let project = repository(&writes("first.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write(".saihai/issues/8.md", "# Needs it\n\nDepends on #7\n");
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nbase = \"main\"\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &["--issues", "7", "--merge"]).exits(0)), ["#7 merged"]);
    // The merge waits on a separate branch because `main` is checked out.
    let other = project.root().parent().expect("a parent").join("other");
    git(&project, &["worktree", "add", "--quiet", "-b", "other", &other.display().to_string(), "main"]);
    std::fs::copy(project.root().join("script.yaml"), other.join("script.yaml")).expect("a copy");
    let there = work(&project, &["--issues", "7", "--auto", "--merge"]).directory(&other).run().exits(0);
    assert_eq!(outcomes(&there), ["#7 merged"], "{there}");
    assert!(there.stderr.contains("nothing to do"), "{there}");
    // The result is the same after a person merges it, also with a merge commit of their own.
    git(&project, &["commit", "--quiet", "--allow-empty", "--message", "meanwhile"]);
    git(&project, &["merge", "--quiet", "--no-edit", "saihai/merge/main"]);
    std::fs::remove_dir_all(project.root().join(".saihai/runs")).expect("the runs");
    let again = auto(&project, &["--issues", "7"]).exits(0);
    assert_eq!(outcomes(&again), ["#7 merged"], "{again}");
    assert_eq!(project.runs(), [""; 0], "nobody was asked");
    // Its dependent issue starts.
    let next = auto(&project, &["--issues", "8"]).exits(0);
    assert_eq!(outcomes(&next), ["#8 no-changes"], "{next}");
}

// Issues of different sources can have the same number.
#[test]
fn a_merge_for_an_issue_of_another_source_says_nothing() {
    let scene = Scene::new(&writes("first.txt"), |state: &mut ForgeState| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    scene.project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nforge = \"local\"\n");
    assert_eq!(outcomes(&scene.work(&["--label", "saihai", "--merge"]).exits(0)), ["#7 merged"]);
    std::fs::remove_dir_all(scene.project.root().join(".saihai/runs")).expect("the runs");
    assert_eq!(outcomes(&scene.work(&["--label", "saihai"]).exits(0)), ["#7 merged"]);
    assert_eq!(turns(&scene), 0);
    scene.project.write(".saihai/issues/7.md", "# Something else\n");
    let folder = work(&scene.project, &["--from", ".saihai/issues", "--auto"]).run().exits(0);
    assert_eq!(outcomes(&folder), ["#7 no-changes"], "{folder}");
    assert_eq!(turns(&scene), 1);
}

// I-9: `run` starts from the current state of the server, as `work` does.
#[test]
fn a_run_on_an_issue_begins_with_what_the_server_holds() {
    let scene = Scene::new(&writes("first.txt"), |state: &mut ForgeState| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    let clone = scene.project.root().parent().expect("a parent").join("clone");
    let remote = git(&scene.project, &["remote", "get-url", "origin"]);
    git(&scene.project, &["clone", "--quiet", &remote, &clone.display().to_string()]);
    std::fs::write(clone.join("newer.txt"), "newer\n").expect("a file");
    git_in(&clone, &["add", "newer.txt"]);
    git_in(&clone, &["commit", "--quiet", "--message", "newer"]);
    git_in(&clone, &["push", "--quiet", "origin", "main"]);
    scene.project.write(".saihai/config.toml", "[work]\nrepo = \"me/tool\"\n");
    let call = scene.project.saihai(["run", "it", "--issue", "7", "--script", "script.yaml"]);
    let call = call.env("GITHUB_API_URL", scene.server.url()).env("GITHUB_TOKEN", "canary-token-4711");
    call.run().exits(0);
    assert_eq!(scene.project.read(".worktrees/issue-7/newer.txt"), "newer\n");
    assert!(!scene.project.root().join("newer.txt").exists(), "the checkout stays as it is");
}

// I-32: the refusal names the run that holds the lock, regardless of the command that started it.
#[test]
fn the_lock_of_a_run_on_an_issue_names_the_run() {
    let project = repository("  - {text: 'Done. [STEP:0]', delay: 60s}\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let run = || project.saihai(["run", "it", "--issue", "7", "--script", "script.yaml"]);
    let mut owner = run().start();
    owner.wait_for_note("working in");
    let id = project.runs()[0].clone();
    let elsewhere = auto(&project, &[]).exits(0);
    assert_eq!(outcomes(&elsewhere), ["#7 elsewhere"]);
    assert!(elsewhere.stdout.contains(&format!(", run {id}")), "{elsewhere}");
    let refused = run().run().exits(2);
    assert!(refused.stderr.contains(&format!(", run `{id}`")), "{refused}");
    owner.signal(Signal::INT);
    owner.finish().exits(3);
    let mut resumed = project.saihai(["resume", &id]).start();
    resumed.wait_for_note("fix");
    let elsewhere = auto(&project, &[]).exits(0);
    assert!(elsewhere.stdout.contains(&format!(", run {id}")), "{elsewhere}");
    resumed.signal(Signal::INT);
    resumed.finish().exits(3);
}
