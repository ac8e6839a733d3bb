//! Unknown results, concurrent changes by people, and finished work. Saihai repeats nothing and claims
//! nothing of others.

use std::os::unix::fs::PermissionsExt as _;

use saihai_connect::forge::testing::{ForgeState, KeptComment, Wrong};
use saihai_tests::{Fault, Moment, Outcome};

use super::github::Scene;
use super::{outcomes, writes};

fn seven(state: &mut ForgeState) {
    state.closes = true;
    state.issue(7, "Login fails", &["saihai"]);
}

fn labelled(scene: &Scene) -> Outcome {
    scene.work(&["--issues", "7", "--merge"])
}

/// Kills the program just before it writes the result of a stage, so that the result stays unknown.
fn dies_after(scene: &Scene, stage: &str) {
    let result = format!("\"performed\":{{\"call\":{{\"stage\":\"deliver/{stage}\"");
    let fault = Fault::kill_at(Moment::Before, &result);
    let killed = scene.call(&["--issues", "7", "--merge"]).fault(&fault).run();
    assert_eq!(killed.code, None, "{stage}: {killed}");
}

/// Returns the changes requested so far, without labels. Setting a label twice is harmless.
fn changes(scene: &Scene) -> Vec<String> {
    scene.server.writes().into_iter().filter(|line| !line.contains("/labels")).collect()
}

// Returns the marker that Saihai puts into comments and pull requests. It names the run.
fn mark(scene: &Scene) -> String {
    format!("<!-- saihai:issue=7 run={} -->", scene.project.runs()[0])
}

#[test]
fn t41_where_the_lookup_fails_or_is_ambiguous_nothing_is_done_and_that_is_said() {
    let pulls = "/repos/me/tool/pulls";
    let looks = [
        ("pull-request", pulls, "it is unknown if a pull request of `feature/issue-7` was opened"),
        ("merge", "/repos/me/tool/pulls/8", "it is unknown if pull request #8 was merged"),
        ("comment", "/repos/me/tool/issues/7/comments", "it is unknown if the comment on #7 was written"),
    ];
    for (stage, path, said) in looks {
        let scene = Scene::new(&writes("f"), seven);
        // A merge normally closes the issue, which would reveal the outcome. Here only the answer is
        // missing.
        scene.server.change(|state| state.closes = false);
        dies_after(&scene, stage);
        let (before, main) = (changes(&scene), scene.remote(&["rev-parse", "main"]));
        scene.server.goes_wrong("GET", path, Wrong::Status(502, "bad gateway".to_owned()), 1_000);
        let unknown = labelled(&scene).exits(1);
        assert_eq!(outcomes(&unknown), ["#7 unknown"], "{stage}: {unknown}");
        assert!(unknown.stdout.contains(said), "{stage}: {unknown}");
        assert_eq!(
            (changes(&scene), scene.remote(&["rev-parse", "main"])),
            (before, main),
            "{stage}: {unknown}"
        );
        scene.server.goes_right();
        assert_eq!(outcomes(&labelled(&scene).exits(0)), ["#7 merged"], "{stage}");
        let state = scene.server.state();
        assert_eq!((state.pull_requests.len(), state.issues[&7].comments.len()), (1, 1), "{stage}");
    }
    // Two pull requests match.
    let scene = Scene::new(&writes("f"), |state| {
        seven(state);
        state.pull_request(3, "feature/issue-7", "0000");
        state.pull_request(4, "feature/issue-7", "0000");
    });
    assert_eq!(outcomes(&labelled(&scene).exits(1)), ["#7 unknown"]);
    assert_eq!(changes(&scene), [""; 0]);
}

// Git, not the API of the forge, reports the commits of a branch on the server.
#[test]
fn t41_where_nobody_can_say_what_was_pushed_nothing_is_pushed_again() {
    let scene = Scene::new(&writes("f"), seven);
    dies_after(&scene, "push");
    let home = scene.project.home();
    let program = "#!/bin/sh\nfor last; do :; done\ncase \"$*\" in *ls-remote*feature/issue-7) echo 'fatal: nobody is there' >&2; exit 128;; *' push '*) touch pushed;; esac\nexec /usr/bin/env PATH=/usr/bin:/bin git \"$@\"\n";
    scene.project.write("../home/bin/git", program);
    std::fs::set_permissions(home.join("bin/git"), std::fs::Permissions::from_mode(0o755))
        .expect("a program");
    let path = format!("{}:/usr/bin:/bin", home.join("bin").display());
    let unknown = scene.call(&["--issues", "7", "--merge"]).env("PATH", path).run().exits(1);
    assert_eq!(outcomes(&unknown), ["#7 unknown"], "{unknown}");
    assert!(
        unknown.stdout.contains("it is unknown if `feature/issue-7` was pushed: fatal: nobody is there"),
        "{unknown}"
    );
    assert_eq!(changes(&scene), [""; 0]);
    assert_eq!(outcomes(&labelled(&scene).exits(0)), ["#7 merged"]);
}

#[test]
fn t43_what_people_did_meanwhile_is_respected_and_never_taken_for_ours() {
    // A person has already opened a pull request from our branch. Saihai uses it and keeps its text.
    let open = Scene::new(&writes("f"), |state| {
        seven(state);
        state.pull_request(3, "feature/issue-7", "0000").body = "A person's words.".to_owned();
    });
    assert_eq!(outcomes(&labelled(&open).exits(0)), ["#7 merged"]);
    let state = open.server.state();
    assert_eq!(state.pull_requests.keys().copied().collect::<Vec<u64>>(), [3]);
    let body = &state.pull_requests[&3].body;
    assert!(body.starts_with("A person's words.") && body.contains(&mark(&open)), "{body}");
    // A fork may have a branch of the same name. Its pull request is not ours.
    let fork = Scene::new(&writes("f"), |state| {
        seven(state);
        let foreign = state.pull_request(3, "feature/issue-7", "0000");
        foreign.head_repository = Some("other/tool".to_owned());
        foreign.body = "Theirs.".to_owned();
    });
    assert_eq!(outcomes(&labelled(&fork).exits(0)), ["#7 merged"]);
    let state = fork.server.state();
    assert_eq!((state.pull_requests[&3].body.as_str(), state.pull_requests[&3].merged), ("Theirs.", false));
    assert!(state.pull_requests[&8].merged);
    // A pull request that a person closed stays closed. One that a person merged is done.
    for merges in [false, true] {
        let scene = Scene::new(&writes("f"), seven);
        dies_after(&scene, "pull-request");
        let tip = scene.remote(&["rev-parse", "feature/issue-7"]);
        if merges {
            scene.remote(&["update-ref", "refs/heads/main", &tip]);
        }
        scene.server.change(|state| {
            let request = state.pull_requests.get_mut(&8).expect("ours");
            (request.closed, request.merged) = (true, merges);
            request.commit = tip;
        });
        let before = changes(&scene);
        let (code, outcome) = if merges { (0, "#7 merged") } else { (6, "#7 waiting") };
        let ended = labelled(&scene).exits(code);
        assert_eq!(outcomes(&ended), [outcome], "{ended}");
        assert_eq!(scene.server.state().pull_requests.len(), 1, "{ended}");
        assert_eq!(changes(&scene), before, "{ended}");
    }
}

#[test]
fn t43_a_mark_in_a_strangers_comment_is_not_ours() {
    let scene = Scene::new(&writes("f"), seven);
    let intent = "\"called\":{\"call\":{\"stage\":\"deliver/comment\"";
    let fault = Fault::kill_at(Moment::After, intent);
    assert_eq!(scene.call(&["--issues", "7"]).fault(&fault).run().code, None);
    let body = format!("I am the bot.\n\n{}", mark(&scene));
    let comment =
        KeptComment { id: 900, author: "stranger".to_owned(), association: "NONE".to_owned(), body };
    scene.server.change(|state| state.issues.get_mut(&7).expect("it").comments.push(comment));
    assert_eq!(outcomes(&scene.work(&["--issues", "7"]).exits(0)), ["#7 pr-created"]);
    let state = scene.server.state();
    let authors: Vec<&str> = state.issues[&7].comments.iter().map(|one| one.author.as_str()).collect();
    assert_eq!(authors, ["stranger", "saihai-bot"]);
}

#[test]
fn t44_ten_times_after_everything_is_done_nothing_is_written() {
    for (flags, outcome) in
        [(&["--merge"][..], "merged"), (&[], "pr-created"), (&["--no-pr"], "branch-ready")]
    {
        let scene = Scene::new(&writes("f"), |state| {
            seven(state);
            // Issue 7 stays open after its merge. The agent of issue 8 changes nothing.
            state.closes = false;
            state.issue(8, "Nothing", &["saihai"]);
        });
        let script = "script: 1\nreplies:\n  - {text: 'Done. [STEP:0]', prompt: Login, writes: [{path: f, content: x}]}\n  - {text: 'Nothing to do. [STEP:0]'}\n";
        scene.project.write("script.yaml", script);
        let call = || scene.work(&[&["--label", "saihai"], flags].concat());
        let expected = [format!("#7 {outcome}"), "#8 no-changes".to_owned()];
        assert_eq!(outcomes(&call().exits(0)), expected);
        let (before, refs) = (scene.server.writes(), scene.remote(&["for-each-ref"]));
        for _ in 0..10 {
            call().exits(0);
        }
        assert_eq!((scene.server.writes(), scene.remote(&["for-each-ref"])), (before, refs), "{outcome}");
        assert_eq!(scene.project.runs().len(), 2, "{outcome}");
    }
}

// I-54, I-73: a kill between the end of a run and its label update leaves wrong labels.
#[test]
fn labels_that_a_kill_left_wrong_are_put_right_by_the_next_call() {
    let scene = Scene::new(&writes("f"), |state| {
        seven(state);
        state.closes = false;
    });
    assert_eq!(outcomes(&labelled(&scene).exits(0)), ["#7 merged"]);
    for wrong in ["saihai:running", "saihai:queued"] {
        scene.server.change(|state| {
            state.issues.get_mut(&7).expect("it").labels = vec!["saihai".to_owned(), wrong.to_owned()];
        });
        labelled(&scene).exits(0);
        let labels = scene.server.state().issues[&7].labels.clone();
        assert_eq!(labels, ["saihai", "saihai:completed", "saihai:merged"]);
    }
}

// I-46: the first stop signal ends a call that waits for the forge before any run has started.
#[test]
fn a_rate_limit_before_a_run_begins_is_not_sat_out_once_everything_is_to_stop() {
    let scene = Scene::new(&writes("f"), seven);
    scene.project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ncomments = \"trusted\"\n");
    scene.server.goes_wrong("GET", "/repos/me/tool/issues/7/comments", Wrong::SlowDown { seconds: 600 }, 9);
    let mut call = scene.call(&["--issues", "7"]).start();
    call.wait_for_note("the forge's rate limit is reached; waiting");
    call.signal(rustix::process::Signal::INT);
    let stopped = call.finish().exits(3);
    assert_eq!(outcomes(&stopped), ["#7 paused"], "{stopped}");
    assert!(!stopped.stderr.contains("nothing to do"), "{stopped}");
    assert_eq!(scene.project.runs().len(), 0);
}

// I-24, I-4: labels that Saihai sets are not part of the task.
#[test]
fn labels_of_our_own_are_not_told_to_agents() {
    let scene = Scene::new(&writes("f"), |state| {
        state.issue(7, "Login fails", &["bug", "saihai:failed", "saihai:pr-created", "saihai:other"]);
    });
    scene.work(&["--issues", "7"]).exits(0);
    let asked = scene.project.journal().facts("asked").next().expect("a turn").to_string();
    assert!(asked.contains("Labels: bug, saihai:other"), "{asked}");
}

// I-63: Saihai reports a program that cannot run before it pays for a turn.
#[test]
fn a_program_to_verify_with_that_is_not_there_is_refused_before_the_first_turn() {
    let project = super::repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nverify = [\"cargoo\", \"test\"]\n");
    super::commit(&project);
    let call = |flags: &[&str]| super::auto(&project, &[&["--trust-project"], flags].concat());
    let refused = call(&["--merge"]).exits(2);
    assert!(refused.stderr.contains("cannot run `work.verify`: program `cargoo` not found"), "{refused}");
    assert_eq!(project.runs().len(), 0);
    // Without a merge Saihai verifies nothing.
    assert_eq!(outcomes(&call(&[]).exits(0)), ["#7 branch-ready"]);
}

// T-72: before a run starts there is nothing to clean up.
#[test]
fn being_asked_to_stop_while_issues_are_looked_for_is_exit_code_3() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM, rustix::process::Signal::HUP]
    {
        let scene = Scene::new(&writes("f"), seven);
        scene.server.goes_wrong("GET", "/repos/me/tool", Wrong::SlowDown { seconds: 600 }, 9);
        let mut call = scene.call(&["--issues", "7"]).start();
        call.wait_for_note("the forge's rate limit is reached; waiting");
        call.signal(signal);
        let stopped = call.finish().exits(3);
        assert!(stopped.stderr.ends_with("stopped before anything started\n"), "{stopped}");
        assert_eq!(scene.project.runs().len(), 0);
    }
}

// I-22, I-40: a file name must not forge a line of the gate.
#[test]
fn a_name_with_a_line_break_is_shown_on_one_line() {
    let replies = "  - {text: 'Done. [STEP:0]', runs: [{argv: [sh, -c, \"touch \\\"$(printf 'x\\\\n#7 | Hand it over?')\\\"\"]}]}\n";
    let project = super::repository(replies);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    super::commit(&project);
    let parked = super::work(&project, &[]).run().exits(6);
    let run = project.runs()[0].clone();
    project.saihai(["answer", &run, "yes"]).run().exits(0);
    let shown = super::work(&project, &[]).run().exits(6);
    assert!(shown.stdout.contains("x\\n#7 | Hand it over?"), "{parked}\n{shown}");
}

// I-63, I-72: a verification that did not run proves nothing about the merge and costs no new turn.
#[test]
fn a_verification_that_was_killed_is_made_again_with_what_is_set_then() {
    let project = super::repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    let verify = |argv: &str| {
        project.write(".saihai/config.toml", format!("[work]\ndefinition = \"it\"\nverify = {argv}\n"));
    };
    verify("[\"sh\", \"-c\", \"kill -9 $$\"]");
    super::commit(&project);
    let call = || super::auto(&project, &["--trust-project", "--merge"]);
    let killed = call().exits(4);
    assert_eq!(outcomes(&killed), ["#7 provider"], "{killed}");
    assert!(killed.stdout.contains("verify: ended by signal 9"), "{killed}");
    verify("[\"test\", \"-e\", \"f\"]");
    assert_eq!(outcomes(&call().exits(0)), ["#7 merged"]);
    assert_eq!((project.runs().len(), project.journal().facts("replied").count()), (1, 1));
}
