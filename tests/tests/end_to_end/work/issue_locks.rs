//! Locks: an issue has one owner at a time.

use std::fs::{self, File};

use rustix::process::Signal;
use saihai_tests::Project;

use super::{auto, branches, commit, git, outcomes, repository, work, writes};

const LOCK: &str = ".git/saihai/issue-7.lock";

/// Creates a project with issue 7 and these replies.
fn seven(replies: &str) -> Project {
    let project = repository(replies);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project
}

/// Returns a reply that runs shell commands in the worktree.
fn runs(commands: &str) -> String {
    format!("  - {{text: 'Done. [STEP:0]', runs: [{{argv: [sh, -c, '{commands}']}}]}}\n")
}

fn is_free(project: &Project) -> bool {
    File::open(project.root().join(LOCK)).expect("a lock").try_lock().is_ok()
}

// I-32. A test cannot time the replacement of a file between open and lock from outside. The lock's own
// tests in the driver cover it.
#[test]
fn an_issue_is_locked_from_before_the_first_effect_to_the_end_of_its_delivery() {
    nothing_is_done_where_another_has_it_whatever_its_file_says();
    the_lock_is_held_by_one_process_alone_until_all_is_delivered();
    with_its_process_it_is_gone_and_nothing_is_stale();
    every_command_and_checkout_takes_the_same_lock();
    a_run_on_the_branch_of_an_issue_takes_its_lock_too();
    a_run_that_lost_its_lock_does_nothing_more_outside();
}

fn nothing_is_done_where_another_has_it_whatever_its_file_says() {
    let project = seven(&writes("fixed.txt"));
    let before = git(&project, &["for-each-ref"]);
    let note = "{\"process\":4711,\"run\":\"r\",\"start\":\"2026-02-06T08:56:00Z\"}\n";
    for content in [note, "nonsense", ""] {
        project.write(LOCK, content);
        let held = File::open(project.root().join(LOCK)).expect("a lock");
        held.lock().expect("it is free");
        let outcome = auto(&project, &[]).exits(0);
        assert_eq!(outcomes(&outcome), ["#7 elsewhere"], "{content}: {outcome}");
        let effects = (project.runs().len(), project.root().join(".worktrees").exists());
        assert_eq!((effects, git(&project, &["for-each-ref"])), ((0, false), before.clone()));
    }
    // The content of the lock file keeps no process out; only the lock does.
    project.write(LOCK, "{\"process\":1}\n");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
}

fn the_lock_is_held_by_one_process_alone_until_all_is_delivered() {
    // The agent does not inherit the handle. The verification of the merge finds the lock held.
    let project = seven(&runs("ls -l /proc/$$/fd > fds"));
    let held = project.home().join("held");
    let lock = project.root().join(LOCK).display().to_string();
    let verify =
        format!("flock --nonblock {lock} true && echo free > {0} || echo held > {0}", held.display());
    let settings = format!("[work]\ndefinition = \"it\"\nverify = [\"sh\", \"-c\", \"{verify}\"]\n");
    project.write(".saihai/config.toml", settings);
    git(&project, &["switch", "--quiet", "-c", "mine"]);
    let outcome = auto(&project, &["--merge", "--base", "main", "--trust-project"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 merged"], "{outcome}");
    let handles = git(&project, &["show", "main:fds"]);
    assert!(handles.contains("/dev/null") || handles.contains("pipe"), "{handles}");
    assert!(!handles.contains("issue-7.lock"), "{handles}");
    assert_eq!(fs::read_to_string(held).expect("it was verified"), "held\n");
    assert!(is_free(&project));
}

fn with_its_process_it_is_gone_and_nothing_is_stale() {
    let project = seven(&format!("  - {{hang: true}}\n{}", writes("fixed.txt")));
    let mut owner = work(&project, &["--auto"]).start();
    owner.wait_for_note("#7 fix");
    assert!(!is_free(&project));
    let other = auto(&project, &[]).exits(0);
    assert_eq!(outcomes(&other), ["#7 elsewhere"]);
    assert!(other.stdout.contains(&format!("process {}", owner.pid())), "{other}");
    owner.signal(Signal::KILL);
    owner.finish();
    assert!(is_free(&project) && !project.read(LOCK).is_empty(), "its words are still there");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
}

fn every_command_and_checkout_takes_the_same_lock() {
    let project = seven(&format!("  - {{hang: true}}\n{}", writes("fixed.txt")));
    let begin = || project.saihai(["run", "it", "--issue", "7", "--script", "script.yaml", "--auto"]);
    // `run` starts it, it parks, and `resume` continues it.
    let mut owner = begin().start();
    owner.wait_for_note("fix");
    let run = project.runs()[0].clone();
    let by = |process: u32| format!("#7 is being worked on by process {process}, run `{run}`");
    assert_eq!(begin().run().exits(2).stderr, format!("error: {}\n", by(owner.pid())));
    git(&project, &["worktree", "add", "--quiet", "-b", "beside", "../beside"]);
    let beside = project.root().join("../beside");
    let refused = begin().directory(&beside).run().exits(2);
    assert!(refused.stderr.contains(&by(owner.pid())), "{refused}");
    owner.signal(Signal::INT);
    owner.finish().exits(3);
    let holder = File::open(project.root().join(LOCK)).expect("a lock");
    holder.lock().expect("it is free");
    let refused = project.saihai(["resume", &run]).run();
    assert!(refused.code != Some(0) && refused.stderr.contains("#7 is being worked on"), "{refused}");
    holder.unlock().expect("it is ours");
    project.saihai(["resume", &run]).run().exits(0);
    assert_eq!(branches(&project), ["beside", "feature/issue-7", "main"]);
}

/// Tests a run without a worktree: its checkout can be the branch of an issue.
fn a_run_on_the_branch_of_an_issue_takes_its_lock_too() {
    let project = seven(&writes("fixed.txt"));
    auto(&project, &["--keep"]).exits(0);
    let there = project.root().join(".worktrees/issue-7");
    let script = project.root().join("script.yaml").display().to_string();
    let here = |arguments: &[&str]| {
        project.saihai([&["run", "it", "--script", &script], arguments].concat()).directory(&there)
    };
    let by_hand = || here(&["by hand"]);
    let holder = File::open(project.root().join(LOCK)).expect("a lock");
    holder.lock().expect("it is free");
    for call in [by_hand(), here(&["--issue", "7", "--no-worktree"])] {
        let refused = call.run().exits(2);
        assert!(refused.stderr.starts_with("error: #7 is being worked on by "), "{refused}");
        assert!(refused.stderr.contains("`feature/issue-7` is checked out"), "{refused}");
    }
    holder.unlock().expect("it is ours");
    project.write("script.yaml", "script: 1\nreplies:\n  - {hang: true}\n  - {text: 'Done. [STEP:0]'}\n");
    let mut owner = by_hand().start();
    owner.wait_for_note("fix");
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(0)), ["#7 elsewhere"]);
    owner.signal(Signal::INT);
    owner.finish().exits(3);
    holder.lock().expect("it is free");
    let refused = project.saihai(["resume", "last"]).directory(&there).run().exits(2);
    assert!(refused.stderr.contains("#7 is being worked on"), "{refused}");
    holder.unlock().expect("it is ours");
    project.saihai(["resume", "last"]).directory(&there).run().exits(0);
    assert!(is_free(&project));
}

fn a_run_that_lost_its_lock_does_nothing_more_outside() {
    let replaced = "C=$(git rev-parse --path-format=absolute --git-common-dir)/saihai; rm $C/issue-7.lock; \
                    touch $C/issue-7.lock; echo x > f";
    let project = seven(&runs(replaced));
    let outcome = auto(&project, &["--merge"]);
    assert_ne!(outcome.code, Some(0), "{outcome}");
    assert!(outcome.stdout.contains("lock-lost"), "{outcome}");
    assert_eq!(git(&project, &["log", "--format=%s", "feature/issue-7"]), "first", "nothing was committed");
    assert!(is_free(&project));
}
