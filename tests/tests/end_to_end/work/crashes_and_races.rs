//! Exactly-once behaviour: crashes, kills, and many processes at the same time.

use rustix::process::Signal;
use saihai_tests::{At, Fault};

use super::github::Scene;
use super::{auto, commit, git, outcomes, repository, work, writes};
use crate::support::Chance;

/// Crashes per suite. The four suites try 200 in all.
const SEEDS: u64 = 50;

/// Crashes at random points of the work on forge issues and repeats the call until it succeeds. Asserts
/// that each effect happened once.
fn crashes(suite: u64) {
    let scene = Scene::new(&writes("f"), |state| {
        state.closes = true;
        for number in 1..=SEEDS + 1 {
            state.issue(number, &format!("Issue {number}"), &["saihai"]);
        }
    });
    scene.project.write("script.yaml", "script: 1\nreplies:\n  - {text: 'Done. [STEP:0]', runs: [{argv: [sh, -c, 'basename $PWD > $(basename $PWD)']}]}\n");
    let issue = |number: u64| number.to_string();
    let log = scene.project.home().join("operations.log");
    let first = issue(SEEDS + 1);
    scene.call(&["--issues", &first, "--merge"]).fault(&Fault::note(&log)).run().exits(0);
    let noted: Vec<At> = At::noted(&log);
    assert!(noted.len() > 40, "{} operations", noted.len());
    let mut chance = Chance::new(suite);
    for number in 1..=SEEDS {
        let at = &noted[chance.below(noted.len())];
        let moments = at.moments();
        let fault = Fault::kill(moments[chance.below(moments.len())], at.number);
        let call = || scene.call(&["--issues", &issue(number), "--merge"]);
        call().fault(&fault).run();
        let again = call().run();
        assert_eq!(again.code, Some(0), "seed {suite}/{number}, {fault}: {again}");
        let state = scene.server.state();
        let head = format!("feature/issue-{number}");
        let requests: Vec<bool> =
            state.pull_requests.values().filter(|one| one.head == head).map(|one| one.merged).collect();
        assert_eq!(requests, [true], "seed {suite}/{number}, {fault}");
        assert_eq!(state.issues[&number].comments.len(), 1, "seed {suite}/{number}, {fault}");
        let trailer = format!("--grep=^Saihai-Issue: {number}$");
        let made = scene.remote(&["log", "--oneline", &trailer, "main"]);
        assert_eq!(made.lines().count(), 1, "seed {suite}/{number}, {fault}: {made}");
        // A run ID left unused by a crash is not reused; the next ID gets a numeric suffix.
        let begun = scene.project.begun();
        let runs =
            begun.iter().filter(|run| format!("{run}-").contains(&format!("-issue-{number}-"))).count();
        assert_eq!(runs, 1, "seed {suite}/{number}, {fault}");
    }
}

// case 30: a crash after any single step leads to one branch, one pull request, one comment, one merge.
#[test]
fn nothing_happens_twice_wherever_it_crashes_1() {
    crashes(1);
}

#[test]
fn nothing_happens_twice_wherever_it_crashes_2() {
    crashes(2);
}

#[test]
fn nothing_happens_twice_wherever_it_crashes_3() {
    crashes(3);
}

#[test]
fn nothing_happens_twice_wherever_it_crashes_4() {
    crashes(4);
}

// Case 4
#[test]
fn an_owner_that_was_killed_is_followed_at_once_and_no_turn_is_asked_again() {
    let two = "name: it\nmovements:\n  - {name: plan, rules: [{condition: on, next: fix}]}\n  - {name: fix, edit: true, rules: [{condition: done, next: COMPLETE}]}\n";
    let project = repository(
        "  - {text: 'Planned. [STEP:0]', for: plan}\n  - {text: 'Done. [STEP:0]', for: fix, delay: 3s, writes: [{path: f, content: x}]}\n",
    );
    project.write(".saihai/pieces/it.yaml", two);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let mut owner = work(&project, &["--auto"]).start();
    owner.wait_for_note("#7 fix");
    owner.signal(Signal::KILL);
    owner.finish();
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(project.runs().len(), 1);
    let asked = project.journal().asked();
    assert_eq!(
        asked.iter().filter(|(call, _)| call.starts_with("plan")).map(|(_, times)| times).sum::<usize>(),
        1,
        "{asked:?}"
    );
}

#[test]
fn ctrl_c_parks_everything_and_the_next_call_goes_on() {
    let project = repository("  - {text: 'Done. [STEP:0]', delay: 2s, writes: [{path: f, content: x}]}\n");
    for number in 1..=3 {
        project.write(&format!(".saihai/issues/{number}.md"), "# N\n");
    }
    commit(&project);
    let mut call = work(&project, &["--auto", "--jobs", "2"]).start();
    call.wait_for_note("#2 fix");
    call.signal(Signal::INT);
    let outcome = call.finish().exits(3);
    assert_eq!(outcomes(&outcome), ["#1 paused", "#2 paused"], "{outcome}");
    // U-19: a person who pauses the work has cancelled nothing.
    assert!(outcome.stderr.ends_with("note: paused, run the same command again to continue\n"), "{outcome}");
    assert!(!format!("{outcome}").contains("cancelled"), "{outcome}");
    let outcome = auto(&project, &["--jobs", "2"]).exits(0);
    assert_eq!(outcomes(&outcome).len(), 3);
    assert_eq!(project.runs().len(), 3);
}

// I-72: the state of an issue decides the next action; see also the tests of other clones and of crashes
#[test]
fn asked_again_every_issue_is_gone_on_with_told_of_or_begun_again() {
    let replies = "  - {text: 'Planned. [STEP:0]', for: plan, prompt: Unfinished, runs: [{argv: [sh, -c, 'echo x > planned; git add planned; git commit -qm planned']}]}\n  - {fail: {class: auth, message: 'no key'}, for: fix, prompt: Unfinished}\n  - {text: 'No. [STEP:1]', for: fix, prompt: Failing}\n  - {text: 'Again. [STEP:2]', for: fix, prompt: Endless, times: '*'}\n  - {text: 'Done. [STEP:0]', for: fix, writes: [{path: f, content: x}], times: '*'}\n  - {text: 'Planned. [STEP:0]', for: plan, times: '*'}\n";
    let project = repository(replies);
    let piece = "name: it\nmax_iterations: 4\nmovements:\n  - {name: plan, edit: true, rules: [{condition: on, next: fix}]}\n  - {name: fix, edit: true, rules: [{condition: done, next: COMPLETE}, {condition: no, next: ABORT}, {condition: again, next: fix}]}\n";
    project.write(".saihai/pieces/it.yaml", piece);
    for (number, title) in [(1, "Unfinished"), (2, "Failing"), (3, "Endless"), (4, "Good")] {
        project.write(&format!(".saihai/issues/{number}.md"), format!("# {title}\n"));
    }
    commit(&project);
    let first = auto(&project, &[]).exits(1);
    assert_eq!(outcomes(&first), ["#1 provider", "#2 failed", "#3 limited", "#4 branch-ready"], "{first}");
    assert!(first.stdout.contains("no key"), "{first}");
    let limited = first.stdout.lines().find(|line| line.starts_with("#3: continue with `saihai resume "));
    assert!(limited.is_some_and(|hint| hint.ends_with(" --max-iterations 8`")), "{first}");
    let runs = project.runs();
    std::fs::remove_dir_all(project.root().join(".worktrees/issue-1")).expect("its worktree");
    project.write(".saihai/issues/1.md", "# Unfinished\n\nAnd more.\n");
    let again = auto(&project, &[]).exits(1);
    assert_eq!(
        outcomes(&again),
        ["#1 branch-ready", "#2 failed", "#3 limited", "#4 branch-ready"],
        "{again}"
    );
    assert!(
        again.stderr.contains("#1 was edited after its run started; the run keeps the earlier text"),
        "{again}"
    );
    assert_eq!(
        git(&project, &["show", "feature/issue-1:planned"]),
        "x",
        "what was done before is part of it"
    );
    assert_eq!(project.runs(), runs, "only gone on with or told of");
    let good = "  - {text: 'Planned. [STEP:0]', for: plan}\n  - {text: 'Done. [STEP:0]', for: fix, writes: [{path: f, content: x}]}\n";
    project.write("script.yaml", format!("script: 1\nreplies:\n{good}"));
    let retried = auto(&project, &["--retry", "--issues", "2,3,4"]).exits(0);
    assert_eq!(outcomes(&retried), ["#2 branch-ready", "#3 branch-ready", "#4 branch-ready"], "{retried}");
    assert_eq!(project.runs().len(), runs.len() + 2, "one more for each of the two");
}
