//! Where a person is asked, and what becomes of their answer.

use super::{auto, branches, commit, git, outcomes, repository, work, writes};
use saihai_tests::Project;

fn asked() -> Project {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project
}

fn answer(project: &Project, word: &str) {
    let run = project.runs()[0].clone();
    project.saihai(["answer", &run, word]).run().exits(0);
}

// I-42, case 18: with the standing yes below, and the end of what is typed at a terminal
#[test]
fn without_a_person_the_run_parks_at_each_gate_in_turn_and_goes_on_when_answered() {
    let project = asked();
    let at = |outcome: &saihai_tests::Outcome| {
        let gate = outcome.stdout.split("an answer at `").nth(1).unwrap_or_default();
        gate.split('`').next().unwrap_or_default().to_owned()
    };
    let mut gates = Vec::new();
    for _ in 0..3 {
        let parked = work(&project, &[]).run().exits(6);
        assert_eq!(outcomes(&parked), ["#7 waiting"], "{parked}");
        gates.push(at(&parked));
        assert!(parked.stdout.contains("#7 | #7 Login fails, from `main` at "), "{parked}");
        let shows_commit =
            parked.stdout.contains("#7 | commit ") && parked.stdout.contains("#7 |   fixed.txt");
        assert_eq!(shows_commit, gates.len() > 1, "{parked}");
        answer(&project, "yes");
    }
    assert_eq!(gates, ["pre-loop", "post-completion", "before-pr"]);
    assert_eq!(outcomes(&work(&project, &[]).run().exits(0)), ["#7 branch-ready"]);
    assert_eq!(project.runs().len(), 1);
}

// I-44, case 20
#[test]
fn no_before_the_loop_leaves_no_branch_no_worktree_and_no_turn() {
    let project = asked();
    work(&project, &[]).run().exits(6);
    answer(&project, "no");
    let outcome = work(&project, &[]).run().exits(3);
    assert_eq!(outcomes(&outcome), ["#7 declined"]);
    assert_eq!(branches(&project), ["main"]);
    assert!(!project.root().join(".worktrees/issue-7").exists());
    assert_eq!(project.journal().prompts().len(), 0);
}

// I-44: later, what was made is kept.
#[test]
fn no_after_the_work_keeps_branch_and_worktree() {
    let project = asked();
    work(&project, &[]).run().exits(6);
    answer(&project, "yes");
    work(&project, &[]).run().exits(6);
    answer(&project, "no");
    let outcome = work(&project, &[]).run().exits(3);
    assert!(outcome.stdout.contains(".worktrees/issue-7"), "{outcome}");
    assert_eq!(git(&project, &["show", "feature/issue-7:fixed.txt"]), "fixed.txt");
    assert!(project.root().join(".worktrees/issue-7/fixed.txt").exists());
}

// case 19
#[test]
fn another_commit_after_a_yes_is_asked_about_again() {
    let project = asked();
    for _ in 0..2 {
        work(&project, &["--merge"]).run().exits(6);
        answer(&project, "yes");
    }
    // It waits before anything leaves the branch; somebody agrees to what was shown, and then the branch gets more.
    work(&project, &["--merge"]).run().exits(6);
    answer(&project, "yes");
    let worktree = project.root().join(".worktrees/issue-7");
    std::fs::write(worktree.join("more.txt"), "more\n").expect("a file");
    super::git_in(&worktree, &["add", "more.txt"]);
    super::git_in(&worktree, &["commit", "--quiet", "--message", "more"]);
    let again = work(&project, &["--merge"]).run().exits(6);
    assert_eq!(outcomes(&again), ["#7 waiting"]);
    let run = project.runs()[0].clone();
    let shown = project.saihai(["show", &run]).run().exits(0);
    assert!(shown.stdout.contains("post-completion"), "{shown}");
}

// What was said for all is recorded as such.
#[test]
fn a_standing_yes_is_recorded_as_one() {
    let project = asked();
    auto(&project, &[]).exits(0);
    let journal = project.journal();
    let by: Vec<&str> = journal.facts("answered").filter_map(|answer| answer["by"].as_str()).collect();
    assert_eq!(by, ["auto"; 3]);
}

// What git could start because of an agent is shown to a person, also where yes is said to everything.
#[test]
fn an_agent_that_changed_what_git_starts_waits_for_a_person() {
    let replies = "  - {text: 'Done. [STEP:0]', for: fix, writes: [{path: f, content: x}], runs: [{argv: [git, config, core.fsmonitor, /tmp/x]}]}\n";
    let project = repository(replies);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(6);
    assert!(outcome.stdout.contains("an answer at `changed-configuration`"), "{outcome}");
    let run = project.runs()[0].clone();
    let shown = project.saihai(["show", &run]).run().exits(0);
    assert!(shown.stdout.contains("changed-configuration"), "{shown}");
    answer(&project, "yes");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
}

// What all may cost together counts for runs that were begun earlier too.
#[test]
fn a_budget_is_shared_also_by_runs_that_waited() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ngates = [\"pre-loop\"]\n");
    project.write(".saihai/issues/1.md", "# One\n");
    project.write(".saihai/issues/2.md", "# Two\n");
    commit(&project);
    let call = || work(&project, &["--budget", "turns=1"]).run();
    assert_eq!(outcomes(&call().exits(6)), ["#1 waiting", "#2 waiting"]);
    for run in project.runs() {
        project.saihai(["answer", &run, "yes"]).run().exits(0);
    }
    let outcome = call().exits(5);
    assert_eq!(outcomes(&outcome), ["#1 branch-ready", "#2 limited"], "{outcome}");
}
