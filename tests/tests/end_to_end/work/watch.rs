//! `--watch`, and people at a terminal.

use rustix::process::Signal;
use saihai_tests::Terminal;

use super::github::Scene;
use super::{branches, commit, git, outcomes, repository, work, writes};

// A started run continues even if its issue is no longer listed.
#[test]
fn a_run_that_waits_goes_on_also_where_its_issue_is_not_listed_any_more() {
    let limited = "  - {fail: {class: rate_limited, message: slow down, retry_after: 18}}\n";
    let replies = format!("{limited}{}", writes("fixed.txt"));
    let scene = Scene::new(&replies, |state| {
        state.issue(1, "Waits", &["saihai"]);
    });
    scene.project.write(".saihai/config.toml", "[retry]\nshort_wait = \"1s\"\n[work]\ndefinition = \"it\"\n");
    let mut call = scene.call(&["--label", "saihai", "--watch", "--every", "15s"]).start();
    call.wait_for_note("#1 fix");
    scene.server.change(|state| state.issues.get_mut(&1).expect("it").labels.clear());
    call.wait_for_note("#1 pr-created");
    call.signal(Signal::TERM);
    call.finish();
}

// `--retry` applies to the first poll only.
#[test]
fn what_is_not_ours_is_tried_again_once() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(1, "Taken", &["saihai"]);
    });
    git(&scene.project, &["branch", "feature/issue-1"]);
    let call = scene.call(&["--label", "saihai", "--watch", "--every", "15s", "--retry"]);
    let mut call = call.start();
    call.wait_for_note("#1 blocked");
    let looks = |scene: &Scene| {
        let lists = |line: &String| line.ends_with("/issues");
        scene.server.requests().iter().map(|request| request.line()).filter(lists).count()
    };
    while looks(&scene) < 3 {
        std::thread::park_timeout(std::time::Duration::from_millis(200));
    }
    call.signal(Signal::TERM);
    call.finish();
    assert!(scene.project.runs().len() <= 1, "{:?}", scene.project.runs());
    assert!(scene.server.unchanged() > 0, "what has not changed is not sent again");
}

// A run that waits for its provider frees its job and continues when a job is free. After a stop, the
// report includes it.
#[test]
fn a_run_that_waits_for_its_provider_keeps_nobody_from_working() {
    let limited = |wait: u32| {
        format!(
            "  - {{prompt: First, fail: {{class: rate_limited, message: slow down, retry_after: {wait}}}}}\n"
        )
    };
    let with = |wait: u32| {
        let project = repository(&format!("{}{}{}", limited(wait), writes("one.txt"), writes("two.txt")));
        project.write(".saihai/issues/1.md", "# First\n");
        project.write(".saihai/issues/2.md", "# Second\n");
        commit(&project);
        project
    };
    let project = with(2);
    let outcome = work(&project, &["--auto", "--jobs", "1"]).run().exits(0);
    assert_eq!(outcomes(&outcome), ["#1 branch-ready", "#2 branch-ready"]);
    let said = |part: &str| outcome.stderr.find(part).unwrap_or_else(|| panic!("{part}: {outcome}"));
    assert!(said("#2 branch-ready") < said("#1 branch-ready"));
    let project = with(3_600);
    let mut call = work(&project, &["--auto", "--jobs", "1"]).start();
    call.wait_for_note("#2 branch-ready");
    call.signal(Signal::INT);
    let outcome = call.finish().exits(4);
    assert_eq!(outcomes(&outcome), ["#1 provider", "#2 branch-ready"], "{outcome}");
}

// A person may leave the terminal, so the gate times out and counts as declined.
#[test]
fn a_question_at_the_terminal_is_given_up_in_time() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ngate_timeout = \"1s\"\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let mut terminal = Terminal::start(work(&project, &[]));
    terminal.wait_for("[y]es [n]o [a]ll > ");
    terminal.wait_for("the gate timed out and counts as declined");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("#7     declined"), "{text}");
}

// After the end of input, open gates stay parked and all other work continues.
#[test]
fn the_end_of_what_is_typed_parks_whatever_is_asked() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let mut terminal = Terminal::start(work(&project, &[]));
    terminal.wait_for("[y]es [n]o [a]ll > ");
    terminal.press("\u{4}");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(6), "{text}");
    assert!(text.contains("#7     waiting") && text.contains("saihai answer "), "{text}");
    assert_eq!(branches(&project), ["main"]);
}

// case 18: the terminal shows one question at a time.
#[test]
fn a_person_at_the_terminal_is_asked_and_understood() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write(".saihai/issues/8.md", "# Another\n");
    commit(&project);
    let mut terminal = Terminal::start(work(&project, &[]));
    terminal.wait_for("[y]es [n]o [a]ll > ");
    terminal.press("maybe\n");
    terminal.wait_for("y = yes, n = no, a = yes to this gate of every issue");
    terminal.press(" YES \n");
    // Meanwhile the other issue has reached its first gate.
    terminal.wait_for("? #8 pre-loop");
    terminal.press("n\n");
    terminal.wait_for("? #7 post-completion");
    terminal.wait_for("[y]es [n]o [a]ll [d]iff [o]pen > ");
    // U-19
    terminal.press("d\n");
    terminal.wait_for("+fixed.txt");
    terminal.press("o\n");
    terminal.wait_for(".worktrees/issue-7");
    terminal.press("a\n");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("#8     declined"), "{text}");
    assert_eq!(branches(&project), ["feature/issue-7", "main"]);
}

// The recorded exit code is that of the call, also after a stop without work in progress.
#[test]
fn the_exit_code_that_is_kept_is_that_of_the_call() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let mut call = work(&project, &["--auto", "--watch"]).start();
    call.wait_for_note("#7 branch-ready");
    call.signal(Signal::INT);
    call.finish().exits(3);
    let batches = project.root().join(".saihai/batches");
    let batch = std::fs::read_dir(batches).expect("batches").next().expect("one").expect("it").path();
    let kept = std::fs::read_to_string(batch.join("result.json")).expect("a result");
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!((&kept["exit"], &kept["items"][0]["exit"]), (&3.into(), &0.into()));
}

// Definitions of the start apply, even for issues that appear later. Saihai reports an error of one issue
// once, and the other issues continue.
#[test]
fn a_definition_counts_as_it_was_at_the_start_and_a_wrong_one_is_said_once() {
    let reply = "  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}], times: '*'}\n";
    let project = repository(reply);
    project.write(".saihai/pieces/other.yaml", super::PIECE.replace("name: it", "name: other"));
    let settings = "[work]\ndefinition = \"it\"\ndefinitions = { bug = \"other\" }\n";
    project.write(".saihai/config.toml", settings);
    project.write(".saihai/issues/1.md", "# One\n");
    commit(&project);
    let mut call = work(&project, &["--auto", "--watch", "--every", "15s"]).start();
    call.wait_for_note("#1 branch-ready");
    for piece in ["it", "other"] {
        project.write(&format!(".saihai/pieces/{piece}.yaml"), "nonsense: true\n");
    }
    project.write(".saihai/issues/2.md", "---\ndefinition: nowhere\n---\n# Two\n");
    project.write(".saihai/issues/3.md", "---\nlabels: [bug]\n---\n# Three\n");
    project.write(".saihai/issues/4.md", "# Four\n");
    let notes = [call.wait_for_note("branch-ready"), call.wait_for_note("branch-ready")].concat();
    assert!(notes.contains("#3 branch-ready") && notes.contains("#4 branch-ready"), "{notes}");
    project.write(".saihai/issues/5.md", "# Five\n");
    call.wait_for_note("#5 branch-ready");
    // After an edit, Saihai tries the issue again.
    project.write(".saihai/issues/2.md", "# Two\n\nMore.\n");
    call.wait_for_note("#2 branch-ready");
    call.signal(Signal::TERM);
    let outcome = call.finish().exits(3);
    assert_eq!(outcome.stderr.matches("`nowhere`").count(), 1, "{outcome}");
    assert_eq!(outcome.stderr.matches("#2 failed").count(), 1, "{outcome}");
    assert_eq!(project.runs().len(), 5);
}

// Work that a new call would continue also continues by itself here (I-64, I-72).
#[test]
fn a_conflict_and_a_provider_that_could_not_serve_go_on_once_they_can() {
    let own = "git -c user.name=T -c user.email=t@example.com";
    let moves = format!("cd ../.. && echo theirs > f && git add f && {own} commit --quiet -m theirs");
    let replies = format!(
        "  - {{prompt: Collides, text: 'Done. [STEP:0]', writes: [{{path: f, content: ours}}], runs: [{{argv: [sh, -c, '{moves}']}}]}}\n  \
         - {{prompt: Refused, fail: {{class: auth, message: not now}}}}\n{}",
        writes("served.txt")
    );
    let project = repository(&replies);
    project.write(".saihai/issues/1.md", "# Collides\n");
    project.write(".saihai/issues/2.md", "# Refused\n");
    commit(&project);
    let mut call = work(&project, &["--auto", "--merge", "--watch", "--every", "15s"]).start();
    call.wait_for_note("#1 conflict");
    git(&project, &["rm", "--quiet", "-f", "f"]);
    git(&project, &["commit", "--quiet", "--message", "out of the way"]);
    call.wait_for_note("#2 provider");
    call.wait_for_note("#1 merged");
    call.wait_for_note("#2 merged");
    call.signal(Signal::TERM);
    let outcome = call.finish();
    assert_eq!(project.runs().len(), 2, "{outcome}");
}

#[test]
fn a_file_of_an_issue_that_is_wrong_is_named_while_watching() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let mut call = work(&project, &["--auto", "--watch", "--every", "15s"]).start();
    call.wait_for_note("#7 branch-ready");
    project.write(".saihai/issues/8.md", "---\nlables: [x]\n---\n# Wrong\n");
    call.wait_for_note("cannot list issues");
    call.signal(Signal::TERM);
    let outcome = call.finish();
    assert!(outcome.stderr.contains(".saihai/issues/8.md:2:1"), "{outcome}");
}
