//! Merges of work that an earlier call delivered without a merge.

use std::time::Duration;

use saihai_connect::forge::testing::ForgeState;
use saihai_tests::{At, Fault, Journal, Project};

use super::github::Scene;
use super::{auto, branches, commit, git, git_in, outcomes, repository, work, writes};
use crate::support::Chance;

fn handed_over(arguments: &[&str]) -> Project {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, arguments).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    project
}

/// Counts agent turns in all runs.
fn turns(project: &Project) -> usize {
    let runs = project.root().join(".saihai/runs");
    let journals = project.runs().into_iter().map(|run| runs.join(run).join("journal.ndjson"));
    journals.map(|journal| Journal::read(&journal).facts("replied").count()).sum()
}

// I-62, I-70: Saihai merges into the base branch, once, without an agent turn.
#[test]
fn a_branch_is_merged_when_that_is_wanted_later_and_only_once() {
    let project = handed_over(&["--keep"]);
    git(&project, &["switch", "--quiet", "-c", "other"]);
    // The merge neither includes nor loses uncommitted files in the worktree.
    std::fs::write(project.root().join(".worktrees/issue-7/mine.txt"), "mine\n").expect("a file");
    let outcome = auto(&project, &["--merge"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 merged"], "{outcome}");
    assert!(outcome.stdout.contains("#7     merged   -       feature/issue-7"), "{outcome}");
    assert_eq!(git(&project, &["ls-tree", "--name-only", "main", "fixed.txt", "mine.txt"]), "fixed.txt");
    let rescued = git(&project, &["show", "refs/saihai/rescue/issue-7/1:mine.txt"]);
    assert_eq!(rescued, "mine", "{outcome}");
    assert_eq!((turns(&project), project.runs().len()), (1, 2));
    let tip = git(&project, &["rev-parse", "main"]);
    let again = auto(&project, &["--merge"]).exits(0);
    assert_eq!(outcomes(&again), ["#7 merged"]);
    assert!(again.stderr.contains("nothing to do"), "{again}");
    assert_eq!((git(&project, &["rev-parse", "main"]), project.runs().len()), (tip, 2));
}

// I-65: the same holds if delivery already deleted the worktree.
#[test]
fn a_branch_that_is_merged_later_is_removed_though_its_worktree_is_gone() {
    let project = handed_over(&[]);
    assert!(!project.root().join(".worktrees/issue-7").exists());
    git(&project, &["switch", "--quiet", "-c", "other"]);
    assert_eq!(outcomes(&auto(&project, &["--base", "main", "--merge"]).exits(0)), ["#7 merged"]);
    assert_eq!(branches(&project), ["main", "other"]);
    // A branch that a person has checked out stays.
    let project = handed_over(&[]);
    git(&project, &["switch", "--quiet", "feature/issue-7"]);
    assert_eq!(outcomes(&auto(&project, &["--base", "main", "--merge"]).exits(0)), ["#7 merged"]);
    assert_eq!(branches(&project), ["feature/issue-7", "main"]);
}

// One call is enough, even if the run started without `--merge`.
#[test]
fn a_run_that_was_begun_without_a_merge_is_merged_by_the_call_that_goes_on_with_it() {
    let project = repository(&writes("fixed.txt"));
    project.write(
        ".saihai/config.toml",
        "[work]\ndefinition = \"it\"\nbase = \"main\"\ngates = [\"before-pr\"]\n",
    );
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    git(&project, &["switch", "--quiet", "-c", "other"]);
    work(&project, &[]).run().exits(6);
    let merged = auto(&project, &["--merge"]).exits(0);
    assert_eq!(outcomes(&merged), ["#7 merged"], "{merged}");
    let row = merged.stdout.lines().find(|line| line.starts_with("#7")).expect("its row");
    assert_eq!(row.split_whitespace().nth(5), Some("1"), "both runs are counted: {row}");
    assert_eq!(git(&project, &["show", "main:fixed.txt"]), "fixed.txt");
    assert_eq!(branches(&project), ["main", "other"]);
    assert_eq!((turns(&project), project.runs().len()), (1, 2));
}

// The person approved only the delivery. The merge needs its own approval, with the current files.
#[test]
fn a_person_is_asked_before_a_later_merge() {
    let project = handed_over(&[]);
    let asked = work(&project, &["--merge"]).run().exits(6);
    assert!(asked.stdout.contains("an answer at `before-pr`"), "{asked}");
    assert!(asked.stdout.contains("#7 |   fixed.txt"), "{asked}");
    let run = project.runs().pop().expect("a run");
    project.saihai(["answer", &run, "yes"]).run().exits(0);
    let merged = work(&project, &["--merge"]).run().exits(0);
    assert_eq!(outcomes(&merged), ["#7 merged"]);
    assert!(merged.stdout.ends_with("git merge --ff-only saihai/merge/main\n"), "{merged}");
    // After the merge by hand, the hint disappears.
    git(&project, &["merge", "--quiet", "--ff-only", "saihai/merge/main"]);
    let again = work(&project, &["--merge"]).run().exits(0);
    assert!(!again.stdout.contains("to get the merged work"), "{again}");
    assert_eq!(turns(&project), 1);
}

// I-63, I-64: a later merge follows the same rules.
#[test]
fn a_later_merge_that_conflicts_or_breaks_moves_nothing() {
    let project = handed_over(&[]);
    project.write("fixed.txt", "another\n");
    commit(&project);
    let base = git(&project, &["rev-parse", "main"]);
    let conflict = auto(&project, &["--merge"]).exits(1);
    assert_eq!(outcomes(&conflict), ["#7 conflict"]);
    assert!(conflict.stdout.contains("`fixed.txt`"), "{conflict}");
    assert_eq!(branches(&project), ["feature/issue-7", "main"]);
    assert_eq!(git(&project, &["rev-parse", "main"]), base);
    // The conflict is resolved by hand with the same files, but the commit is new.
    let hand = project.root().parent().expect("a parent").join("hand");
    git(&project, &["worktree", "add", "--quiet", &hand.display().to_string(), "feature/issue-7"]);
    git_in(&hand, &["merge", "--quiet", "--strategy=ours", "--message", "both", "main"]);
    git(&project, &["worktree", "remove", &hand.display().to_string()]);
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(0)), ["#7 merged"]);
    assert_eq!(git(&project, &["show", "saihai/merge/main:fixed.txt"]), "fixed.txt");

    let project = handed_over(&[]);
    project.write(
        ".saihai/config.toml",
        "[work]\ndefinition = \"it\"\nverify = [\"test\", \"!\", \"-e\", \"fixed.txt\"]\n",
    );
    let broken = auto(&project, &["--merge", "--trust-project"]).exits(1);
    assert_eq!(outcomes(&broken), ["#7 failed"]);
    assert!(broken.stdout.contains("verify"), "{broken}");
    assert_eq!(branches(&project), ["feature/issue-7", "main"]);
    assert_eq!(turns(&project), 1);
}

// After a person deletes the branch, they must say how to continue.
#[test]
fn a_branch_that_is_gone_cannot_be_merged() {
    let project = handed_over(&[]);
    git(&project, &["branch", "--quiet", "-D", "feature/issue-7"]);
    let gone = auto(&project, &["--merge"]).exits(1);
    assert!(gone.stdout.contains("branch-changed: branch `feature/issue-7` is gone"), "{gone}");
}

fn seven(state: &mut ForgeState) {
    state.issue(7, "Login fails", &["saihai"]);
}

const ONE: [&str; 2] = ["--label", "saihai"];
const MERGED: [&str; 3] = ["--label", "saihai", "--merge"];

// I-60, I-70: Saihai merges the existing pull request in its current state, once its checks are green.
#[test]
fn a_pull_request_is_merged_when_that_is_wanted_later_and_only_once() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        seven(state);
        state.all_green = false;
    });
    scene.project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nchecks_timeout = \"2s\"\n");
    scene.work(&ONE).exits(0);
    let body = scene.server.state().pull_requests[&8].body.clone();
    let waits = scene.work(&MERGED).exits(6);
    assert!(waits.stdout.contains("no check has started"), "{waits}");
    scene.server.change(|state| state.all_green = true);
    let merged = scene.work(&MERGED).exits(0);
    assert_eq!(outcomes(&merged), ["#7 merged"]);
    assert!(merged.stdout.contains("https://github.com/me/tool/pull/8"), "{merged}");
    let state = scene.server.state();
    assert_eq!((state.pull_requests.len(), state.issues[&7].comments.len()), (1, 1));
    assert_eq!(state.pull_requests[&8].body, body);
    assert_eq!(scene.remote(&["show", "main:fixed.txt"]), "fixed.txt");
    assert_eq!(turns(&scene.project), 1);
    let before = scene.server.writes().len();
    assert!(scene.work(&MERGED).exits(0).stderr.contains("nothing to do"));
    assert_eq!(scene.server.writes().len(), before, "{:?}", scene.server.writes());
}

// I-64, case 34: on the forge
#[test]
fn a_conflict_on_the_forge_names_its_files_and_is_tried_again_only_when_something_moved() {
    let scene = Scene::new("", seven);
    git(&scene.project, &["switch", "--quiet", "-c", "theirs"]);
    scene.project.write("kept.txt", "theirs\n");
    git(&scene.project, &["commit", "--quiet", "--all", "--message", "theirs"]);
    let theirs = git(&scene.project, &["rev-parse", "HEAD"]);
    git(&scene.project, &["push", "--quiet", "origin", "theirs"]);
    git(&scene.project, &["switch", "--quiet", "main"]);
    // Another person pushes before the agent finishes.
    let remote = git(&scene.project, &["remote", "get-url", "origin"]);
    let reply = format!(
        "  - {{text: 'Done. [STEP:0]', writes: [{{path: kept.txt, content: ours}}], runs: [{{argv: [git, --git-dir={remote}, update-ref, refs/heads/main, {theirs}]}}]}}\n"
    );
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{reply}"));
    let conflict = scene.work(&MERGED).exits(1);
    assert_eq!(outcomes(&conflict), ["#7 conflict"]);
    let head = scene.remote(&["rev-parse", "feature/issue-7"]);
    let said = format!("`kept.txt` ({head} with main at {theirs}) in https://github.com/me/tool/pull/8");
    assert!(conflict.stdout.contains(&said), "{conflict}");
    assert_eq!(scene.remote(&["rev-parse", "main"]), theirs, "it was not moved");

    let looks = || scene.server.requests().iter().filter(|one| one.path.ends_with("/pulls/8")).count();
    let before = (looks(), scene.server.writes().len());
    assert_eq!(outcomes(&scene.work(&MERGED).exits(1)), ["#7 conflict"]);
    assert_eq!((looks(), scene.server.writes().len()), before, "nothing has moved");

    // A person merges it by hand in the worktree.
    let worktree = scene.project.root().join(".worktrees/issue-7");
    git_in(&worktree, &["merge", "--quiet", "--strategy=ours", "--message", "both", &theirs]);
    assert_eq!(outcomes(&scene.work(&MERGED).exits(0)), ["#7 merged"]);
    assert_eq!(scene.remote(&["show", "main:kept.txt"]), "ours");
    assert_eq!(turns(&scene.project), 1);
}

// A clone without the run, as in a CI job.
#[test]
fn a_pull_request_of_another_clone_is_merged_when_that_is_wanted() {
    let scene = Scene::new(&writes("fixed.txt"), seven);
    scene.work(&ONE).exits(0);
    let clone = scene.project.root().parent().expect("a parent").join("clone");
    let remote = git(&scene.project, &["remote", "get-url", "origin"]);
    git(&scene.project, &["clone", "--quiet", &remote, &clone.display().to_string()]);
    let outcome = scene.call(&MERGED).directory(&clone).run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 merged"], "{outcome}");
    let state = scene.server.state();
    assert_eq!((state.pull_requests.len(), state.issues[&7].comments.len()), (1, 1));
    assert!(state.pull_requests[&8].merged);
    assert!(git_in(&clone, &["status", "--porcelain"]).is_empty());
    let runs = std::fs::read_dir(clone.join(".saihai/runs")).expect("runs");
    let runs = runs.map(|run| run.expect("it").path()).filter(|run| run.is_dir());
    let journals = runs.map(|run| Journal::read(&run.join("journal.ndjson")));
    assert_eq!(journals.map(|journal| journal.facts("replied").count()).sum::<usize>(), 0);
}

// I-70: a crash at any point leads to one merge.
#[test]
fn a_later_merge_happens_once_wherever_it_crashes() {
    const SEEDS: u64 = 40;
    let scene = Scene::new("", |state| {
        for number in 1..=SEEDS + 1 {
            state.issue(number, &format!("Issue {number}"), &["saihai"]);
        }
    });
    scene.project.write("script.yaml", "script: 1\nreplies:\n  - {text: 'Done. [STEP:0]', runs: [{argv: [sh, -c, 'basename $PWD > $(basename $PWD)']}]}\n");
    // So many issues take a long time on a busy machine.
    scene.call(&ONE).patience(Duration::from_secs(300)).run().exits(0);
    let log = scene.project.home().join("operations.log");
    let last = (SEEDS + 1).to_string();
    scene.call(&["--issues", &last, "--merge"]).fault(&Fault::note(&log)).run().exits(0);
    let noted: Vec<At> = At::noted(&log);
    assert!(noted.len() > 20, "{} operations", noted.len());
    let mut chance = Chance::new(7);
    for number in 1..=SEEDS {
        let at = &noted[chance.below(noted.len())];
        let moments = at.moments();
        let fault = Fault::kill(moments[chance.below(moments.len())], at.number);
        let issue = number.to_string();
        let call = || scene.call(&["--issues", &issue, "--merge"]);
        call().fault(&fault).run();
        let again = call().run();
        assert_eq!(again.code, Some(0), "{number}, {fault}: {again}");
        let (state, head) = (scene.server.state(), format!("feature/issue-{number}"));
        let requests: Vec<bool> =
            state.pull_requests.values().filter(|one| one.head == head).map(|one| one.merged).collect();
        assert_eq!((requests, state.issues[&number].comments.len()), (vec![true], 1), "{number}, {fault}");
        let path = format!("/repos/me/tool/pulls/{}/merge", SEEDS + 1 + number);
        let merges = scene.server.writes().iter().filter(|line| line.ends_with(&path)).count();
        assert_eq!(merges, 1, "{number}, {fault}");
    }
}

#[test]
fn the_way_to_take_merges_in_is_one_that_git_can_go() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let first = auto(&project, &["--merge"]).exits(0);
    assert!(
        first.stdout.ends_with("to get the merged work: git merge --ff-only saihai/merge/main\n"),
        "{first}"
    );
    project.write("other.txt", "x\n");
    git(&project, &["add", "other.txt"]);
    git(&project, &["commit", "--quiet", "--message", "another way"]);
    let again = auto(&project, &["--merge"]).exits(0);
    assert!(again.stdout.ends_with("to get the merged work: git merge saihai/merge/main\n"), "{again}");
    git(&project, &["merge", "--quiet", "--no-edit", "saihai/merge/main"]);
}

// I-66: after a conflict, work that a person merged by hand is not an undelivered leftover.
#[test]
fn what_was_merged_by_hand_after_a_conflict_is_cleaned_up() {
    let own = "git -c user.name=T -c user.email=t@example.com";
    let moves = format!("cd ../.. && echo theirs > f && git add f && {own} commit --quiet -m theirs");
    let project = repository(&format!(
        "  - {{text: 'Done. [STEP:0]', writes: [{{path: f, content: ours}}], runs: [{{argv: [sh, -c, '{moves}']}}]}}\n"
    ));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(1)), ["#7 conflict"]);
    let clean = || project.saihai(["work", "--clean"]).run().exits(0).stdout;
    assert!(clean().contains("has not delivered it"), "{}", clean());
    git(&project, &["merge", "--quiet", "--no-edit", "-X", "ours", "feature/issue-7"]);
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(0)), ["#7 merged"]);
    // U-19: the run ends too, and cleans up.
    assert_eq!(states(&project), ["completed"]);
    assert_eq!(turns(&project), 1);
    assert!(!project.root().join(".worktrees/issue-7").exists());
}

/// Returns the state of each run.
fn states(project: &Project) -> Vec<String> {
    let listed = project.saihai(["runs", "--json"]).run().exits(0).json();
    listed.iter().map(|run| run["state"].as_str().unwrap_or_default().to_owned()).collect()
}

// U-19: agents had not finished, so nothing is left for the run to do.
#[test]
fn a_run_that_met_its_limit_ends_after_a_merge_by_hand() {
    let project =
        repository("  - {text: 'More to do. [STEP:1]', writes: [{path: f, content: x}], times: '*'}\n");
    let piece = "name: it\nmax_iterations: 2\nmovements: [{name: fix, edit: true, rules: [{condition: done, next: COMPLETE}, {condition: more, next: fix}]}]\n";
    project.write(".saihai/pieces/it.yaml", piece);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &[]).exits(5)), ["#7 limited"]);
    assert_eq!(states(&project), ["parked"]);
    let worktree = project.root().join(".worktrees/issue-7");
    git_in(&worktree, &["add", "--all"]);
    git_in(&worktree, &["commit", "--quiet", "--message", "by hand"]);
    git(&project, &["merge", "--quiet", "feature/issue-7"]);
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 merged"]);
    assert_eq!(states(&project), ["cancelled"]);
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 merged"]);
}

#[test]
fn a_conflict_with_the_merge_branch_says_to_merge_that_first() {
    let project =
        repository("  - {text: 'Done. [STEP:0]', runs: [{argv: [sh, -c, 'basename \"$PWD\" > f']}]}\n");
    project.write(".saihai/issues/7.md", "# Seven\n").write(".saihai/issues/8.md", "# Eight\n");
    commit(&project);
    auto(&project, &[]).exits(0);
    let conflict = auto(&project, &["--merge"]).exits(1);
    assert_eq!(outcomes(&conflict), ["#7 merged", "#8 conflict"]);
    let first = "#8: first merge the waiting work: `git merge saihai/merge/main`\n";
    let then = "#8: merge it by hand: `git merge feature/issue-8`; or start again on `main` with `--retry`\n";
    assert!(conflict.stdout.contains(&[first, then].concat()), "{conflict}");
    git(&project, &["merge", "--quiet", "--no-edit", "saihai/merge/main"]);
    git(&project, &["merge", "--quiet", "--no-edit", "-X", "theirs", "feature/issue-8"]);
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(0)), ["#8 merged", "#7 merged"]);
}
