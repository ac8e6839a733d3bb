//! Gates and the effects of their answers.

use rustix::process::Signal;
use saihai_tests::{Outcome, Project, Terminal};

use super::github::Scene;
use super::{auto, branches, commit, git, git_in, outcomes, repository, work, writes};

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

// I-40: each gate shows item, base, turns and cost, and later gates also the commit and its files
// I-42, case 18: see also the standing yes below, and the end of input at a terminal
#[test]
fn without_a_person_the_run_parks_at_each_gate_in_turn_and_goes_on_when_answered() {
    let project = asked();
    let at = |outcome: &saihai_tests::Outcome| {
        let gate = outcome.stdout.split("an answer at `").nth(1).unwrap_or_default();
        gate.split('`').next().unwrap_or_default().to_owned()
    };
    let mut gates = Vec::new();
    for _ in 0..2 {
        let parked = work(&project, &[]).run().exits(6);
        assert_eq!(outcomes(&parked), ["#7 waiting"], "{parked}");
        gates.push(at(&parked));
        assert!(parked.stdout.contains("#7 | #7 Login fails, from `main` at "), "{parked}");
        let shows_commit =
            parked.stdout.contains("#7 | commit ") && parked.stdout.contains("#7 |   fixed.txt");
        assert_eq!(shows_commit, gates.len() > 1, "{parked}");
        let shown = if gates.len() == 1 { "#7 | up to 20 turns; cost unknown" } else { ", 1 turn, $0.0000" };
        assert!(parked.stdout.contains(shown), "{parked}");
        answer(&project, "yes");
    }
    // U-19: nothing happens between the two gates after the work, so they ask one question.
    assert_eq!(gates, ["pre-loop", "post-completion"]);
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

// I-44: a later no keeps the finished work.
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

/// Answers yes at every gate.
fn agree(call: &dyn Fn() -> Outcome, project: &Project) {
    for gate in ["pre-loop", "post-completion"] {
        let parked = call().exits(6);
        assert!(parked.stdout.contains(&format!("an answer at `{gate}`")), "{parked}");
        answer(project, "yes");
    }
}

/// Adds a commit after the gates were approved. Asserts that the gates ask again and show the new commit.
fn asks_again(call: &dyn Fn() -> Outcome, project: &Project) {
    agree(call, project);
    let worktree = project.root().join(".worktrees/issue-7");
    std::fs::write(worktree.join("more.txt"), "more\n").expect("a file");
    git_in(&worktree, &["add", "more.txt"]);
    git_in(&worktree, &["commit", "--quiet", "--message", "more"]);
    let tip = git_in(&worktree, &["rev-parse", "HEAD"]);
    let again = call().exits(6);
    assert!(again.stdout.contains("an answer at `post-completion`"), "{again}");
    assert!(again.stdout.contains(&format!("#7 | commit {tip}")), "{again}");
    assert!(again.stdout.contains("#7 |   more.txt"), "{again}");
    answer(project, "yes");
}

// I-43, case 19: the same holds when Saihai delivers only the branch; the forge follows below
#[test]
fn another_commit_after_a_yes_is_asked_about_again() {
    for (arguments, ends) in [(&[] as &[&str], "#7 branch-ready"), (&["--merge"], "#7 merged")] {
        let project = asked();
        let call = || work(&project, arguments).run();
        asks_again(&call, &project);
        assert_eq!(outcomes(&call().exits(0)), [ends]);
        assert_eq!(turns_asked(&project), 1, "agents are not asked again");
    }
}

// I-43, case 19
#[test]
fn another_commit_after_a_yes_is_not_pushed_before_it_was_agreed_to() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    let call = || scene.asking(&["--label", "saihai"]).run();
    asks_again(&call, &scene.project);
    assert!(scene.server.state().pull_requests.is_empty());
    assert_eq!(scene.remote(&["for-each-ref", "refs/heads/feature"]), "");
    assert_eq!(outcomes(&call().exits(0)), ["#7 pr-created"]);
    assert_eq!(scene.remote(&["show", "feature/issue-7:more.txt"]), "more");
    assert_eq!(turns_asked(&scene.project), 1);
}

fn turns_asked(project: &Project) -> usize {
    project.journal().facts("replied").count()
}

// The journal records an approval for all gates as such.
#[test]
fn a_standing_yes_is_recorded_as_one() {
    let project = asked();
    auto(&project, &[]).exits(0);
    let journal = project.journal();
    let by: Vec<&str> = journal.facts("answered").filter_map(|answer| answer["by"].as_str()).collect();
    assert_eq!(by, ["auto"; 2]);
}

// A shared budget also counts runs that an earlier call started.
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
    assert!(outcome.stdout.contains("#2: start it with a larger `--budget`"), "{outcome}");
}

// The budget of a new call replaces that of an earlier call.
#[test]
fn a_later_budget_takes_the_place_of_an_earlier_one() {
    let project = repository(
        "  - {text: 'Planned. [STEP:0]', for: plan}\n  - {text: 'Done. [STEP:0]', for: fix, writes: [{path: f, content: x}]}\n",
    );
    let piece = "name: it\nmovements:\n  - {name: plan, rules: [{condition: on, next: fix}]}\n  - {name: fix, edit: true, rules: [{condition: done, next: COMPLETE}]}\n";
    project.write(".saihai/pieces/it.yaml", piece);
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ngates = [\"pre-loop\"]\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    work(&project, &["--budget", "turns=1"]).run().exits(6);
    answer(&project, "yes");
    let outcome = work(&project, &["--budget", "turns=2"]).run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"], "{outcome}");
    assert_eq!(project.runs().len(), 1);
}

// No run starts with an empty share while budget is left. The unused part of a share goes to the next run.
#[test]
fn a_budget_smaller_than_the_number_of_jobs_is_spent_by_one_after_the_other() {
    let project = repository("  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}]}\n");
    for number in 1..=3 {
        project.write(&format!(".saihai/issues/{number}.md"), "# N\n");
    }
    commit(&project);
    let outcome = auto(&project, &["--jobs", "3", "--budget", "turns=1"]).exits(5);
    assert_eq!(outcomes(&outcome), ["#1 branch-ready", "#2 limited", "#3 limited"], "{outcome}");
    // The first issue is only reported now and takes no share of the budget.
    let outcome = auto(&project, &["--jobs", "3", "--budget", "turns=2"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#1 branch-ready", "#2 branch-ready", "#3 branch-ready"], "{outcome}");
}

// I-45: see also the tests of the schedule
#[test]
fn a_quota_that_is_used_up_holds_no_delivery_back() {
    let project = repository(
        "  - {text: 'Done. [STEP:0]', prompt: First, writes: [{path: f, content: x}]}\n  - {fail: {class: quota, message: 'used up', retry_after: 7200}, prompt: Second, times: '*'}\n",
    );
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ngates = [\"before-pr\"]\n");
    project.write(".saihai/issues/1.md", "# First\n");
    project.write(".saihai/issues/2.md", "# Second\n");
    project.write(".saihai/issues/3.md", "# Second too\n");
    commit(&project);
    work(&project, &["--issues", "1"]).run().exits(6);
    answer(&project, "yes");
    let mut call = work(&project, &["--issues", "2,3,1"]).start();
    call.wait_for_note("#1 branch-ready");
    call.signal(Signal::INT);
    let outcome = call.finish().exits(4);
    assert!(!outcome.stderr.contains("#3 fix"), "nothing new begins: {outcome}");
    assert_eq!(project.runs().len(), 2);
}

// Only agents cost money. Saihai delivers and reports finished work even with an empty budget.
#[test]
fn a_budget_that_is_used_up_holds_no_delivery_back() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ngates = [\"post-completion\"]\n");
    project.write(".saihai/issues/1.md", "# One\n");
    project.write(".saihai/issues/2.md", "# Two\n");
    commit(&project);
    let call = |more: &[&str]| work(&project, &[&["--budget", "turns=1"], more].concat()).run().exits(6);
    assert_eq!(outcomes(&call(&["--issues", "2"])), ["#2 waiting"]);
    project.saihai(["answer", &project.runs()[0], "yes"]).run().exits(0);
    assert_eq!(outcomes(&call(&[])), ["#1 waiting", "#2 branch-ready"]);
    assert_eq!(outcomes(&call(&[])), ["#1 waiting", "#2 branch-ready"]);
}

// `answer` only records a decision without continuing the run, so no process can have died.
#[test]
fn what_follows_an_answer_is_not_said_to_have_died() {
    let project = asked();
    work(&project, &[]).run().exits(6);
    answer(&project, "yes");
    let run = project.runs()[0].clone();
    let resumed = project.saihai(["resume", &run]).run().exits(6);
    assert!(!format!("{resumed}").contains("died"), "{resumed}");
    assert!(!resumed.stderr.contains("attempt 2"), "{resumed}");
    // U-1: an action is shown in words, not as JSON.
    assert!(resumed.stderr.contains("deliver/worktree done: ready (branch: feature/issue-7, "), "{resumed}");
    assert!(!resumed.stderr.contains(['{', '}']), "{resumed}");
}

// I-41: only input typed after the question answers it.
#[test]
fn what_was_typed_before_a_gate_is_shown_does_not_answer_it() {
    let project = asked();
    let mut terminal = Terminal::start(work(&project, &[]));
    terminal.press("y\ny\ny\n");
    terminal.wait_for("? #7 pre-loop");
    terminal.press("n\n");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("#7     declined"), "{text}");
    assert_eq!(branches(&project), ["main"]);
}

// Saihai does not show an expired gate as a question.
#[test]
fn a_gate_whose_time_is_over_is_told_as_a_no_and_not_as_a_question() {
    let project = asked();
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ngate_timeout = \"2s\"\n");
    let waits = work(&project, &[]).run().exits(6);
    assert!(waits.stdout.contains("answer with `saihai answer "), "{waits}");
    let run = project.runs()[0].clone();
    let late = "the gate timed out and counts as declined";
    let shown = (0..1_000).map(|_| project.saihai(["show", &run]).run().exits(0));
    let shown = shown.into_iter().find(|shown| shown.stdout.contains(late)).expect("it passes");
    assert!(shown.stdout.contains(&format!("waiting for you at `deliver/pre-loop`; {late}\n")), "{shown}");
    assert_eq!(shown.stderr, "note: continue with `saihai resume last`\n");
    let listed = project.saihai(["runs"]).run().exits(0);
    assert!(listed.stdout.ends_with(&format!("waiting for you at `deliver/pre-loop`; {late}\n")), "{listed}");
    let refused = project.saihai(["answer", &run, "yes"]).run().exits(2);
    assert!(!refused.stderr.contains("is answered"), "{refused}");
    assert_eq!(outcomes(&work(&project, &[]).run().exits(3)), ["#7 declined"]);
}
