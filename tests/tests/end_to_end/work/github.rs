//! Delivery to a forge.

use saihai_connect::forge::testing::{ForgeServer, ForgeState, Wrong};
use saihai_tests::{Invocation, Outcome, Project};

use super::{commit, git, git_in, outcomes, repository, writes};

const CANARY: &str = "canary-token-4711";

/// A repository with a remote on a fake forge.
pub(super) struct Scene {
    pub(super) project: Project,
    pub(super) server: ForgeServer,
}

impl Scene {
    pub(super) fn new(replies: &str, change: impl FnOnce(&mut ForgeState)) -> Self {
        let project = repository(replies);
        commit(&project);
        let remote = project.root().parent().expect("a parent").join("remote.git");
        let path = remote.to_str().expect("a path").to_owned();
        git(&project, &["clone", "--quiet", "--bare", ".", &path]);
        git(&project, &["remote", "add", "origin", &path]);
        let mut state = ForgeState { git: Some(remote), all_green: true, ..ForgeState::default() };
        change(&mut state);
        let server = ForgeServer::start(state);
        Self { project, server }
    }

    /// Calls `work` with yes to every gate.
    pub(super) fn call(&self, arguments: &[&str]) -> Invocation {
        self.asking(&[&["--auto"], arguments].concat())
    }

    /// Calls `work` without an approval for any gate.
    pub(super) fn asking(&self, arguments: &[&str]) -> Invocation {
        let all = [&["work", "--script", "script.yaml", "--repo", "me/tool"], arguments].concat();
        let call = self.project.saihai(all).env("GITHUB_API_URL", self.server.url());
        call.env("GITHUB_TOKEN", CANARY)
    }

    pub(super) fn work(&self, arguments: &[&str]) -> Outcome {
        self.call(arguments).run()
    }

    pub(super) fn remote(&self, arguments: &[&str]) -> String {
        let directory = self.project.root().parent().expect("a parent").join("remote.git");
        git_in(&directory, arguments)
    }
}

fn one(state: &mut ForgeState) {
    state.issue(7, "Login fails", &["saihai", "bug"]).body = "For `a+b`.".to_owned();
}

// cases 24 and 43
#[test]
fn an_issue_becomes_a_pull_request_once() {
    let replies =
        "  - {text: 'I fixed it. Closes #1 @admin [STEP:0]', writes: [{path: fixed.txt, content: x}]}\n";
    let scene = Scene::new(replies, one);
    let outcome = scene.work(&["--label", "saihai"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created"]);
    assert!(outcome.stdout.contains("https://github.com/me/tool/pull/8"), "{outcome}");
    let state = scene.server.state();
    let request = &state.pull_requests[&8];
    assert_eq!(
        (request.title.as_str(), request.head.as_str(), request.base.as_str()),
        ("Login fails (#7)", "feature/issue-7", "main")
    );
    for expected in [
        "Closes #7",
        "## Summary",
        "I fixed it. `Closes #1` `@admin`",
        "| `fix` | 1 | 1 |",
        "<!-- saihai:issue=7 run=",
    ] {
        assert!(request.body.contains(expected), "{expected}: {}", request.body);
    }
    assert_eq!(state.issues[&7].labels, ["saihai", "bug", "saihai:completed", "saihai:pr-created"]);
    assert_eq!(state.issues[&7].comments.len(), 1);
    assert_eq!(scene.remote(&["log", "-1", "--format=%s", "feature/issue-7"]), "Login fails (#7)");
    let commits = scene.remote(&["rev-list", "--count", "main..feature/issue-7"]);
    assert_eq!(commits, "1");
    let kept = std::process::Command::new("grep")
        .args(["-r", CANARY, "."])
        .current_dir(scene.project.root())
        .output();
    assert!(kept.expect("grep").stdout.is_empty(), "the token was kept");

    let before = scene.server.writes().len();
    let again = scene.work(&["--label", "saihai"]).exits(0);
    assert_eq!(outcomes(&again), ["#7 pr-created"]);
    assert_eq!(scene.server.writes().len(), before, "{:?}", scene.server.writes());
}

// I-53: a marker that an agent quotes must not end our section, so that a person's text around it survives.
#[test]
fn a_mark_that_an_agent_quotes_is_none_and_a_persons_words_stay() {
    let says = |word: &str| {
        let quoted = "`<!-- saihai:end -->`";
        format!(
            "script: 1\nreplies:\n  - {{text: '{word} {quoted} [STEP:0]', writes: [{{path: {word}, content: x}}]}}\n"
        )
    };
    let scene = Scene::new("", one);
    scene.project.write("script.yaml", says("first"));
    scene.work(&["--label", "saihai"]).exits(0);
    let body = scene.server.state().pull_requests[&8].body.clone();
    assert!(
        body.contains("first `<!--_saihai:end -->`") && body.ends_with("\n<!-- saihai:end -->"),
        "{body}"
    );
    scene.server.change(|state| {
        let request = state.pull_requests.get_mut(&8).expect("it is there");
        request.body = format!("Before.\n\n{body}\n\nAfter.");
    });
    // Without its runs, the clone starts another run on the same branch.
    std::fs::remove_dir_all(scene.project.root().join(".saihai/runs")).expect("it is there");
    for word in ["second", "third"] {
        scene.project.write("script.yaml", says(word));
        scene.work(&["--label", "saihai", "--retry"]).exits(0);
        std::fs::remove_dir_all(scene.project.root().join(".saihai/runs")).expect("it is there");
        let body = scene.server.state().pull_requests[&8].body.clone();
        assert!(body.starts_with("Before.\n\n<!-- saihai:issue=7 run="), "{body}");
        assert!(body.ends_with("\n<!-- saihai:end -->\n\nAfter."), "{body}");
        assert_eq!(body.matches("<!-- saihai:").count(), 2, "{body}");
        assert!(body.contains(&format!("{word} `<!--_saihai:end -->`")) && !body.contains("first"), "{body}");
    }
}

// case 44
#[test]
fn a_pull_request_whose_checks_are_green_is_merged_and_then_there_is_nothing_to_do() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        one(state);
        state.issue(9, "Another", &["saihai"]).body = "Depends on #7".to_owned();
    });
    let outcome = scene.work(&["--label", "saihai", "--merge"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 merged", "#9 no-changes"], "what depends on it has its file");
    // Saihai deletes the branch of issue 9: it has no new commits, and the server has its base (I-65).
    assert!(!super::branches(&scene.project).contains(&"feature/issue-9".to_owned()), "it is gone");
    assert_eq!(scene.remote(&["show", "main:fixed.txt"]), "fixed.txt");
    assert_eq!(
        scene.server.state().issues[&7].labels,
        ["saihai", "bug", "saihai:completed", "saihai:merged"]
    );
    let before = scene.server.writes().len();
    let again = scene.work(&["--label", "saihai", "--merge"]).exits(0);
    assert!(again.stderr.contains("nothing to do"), "{again}");
    assert_eq!(scene.server.writes().len(), before, "{:?}", scene.server.writes());
}

#[test]
fn a_red_check_fails_and_what_a_person_must_do_waits() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        one(state);
        state.all_green = false;
    });
    // The gate shows no commit at first: it is known only after the push.
    let parked = scene.work(&["--label", "saihai", "--draft", "--merge"]).exits(6);
    assert!(parked.stdout.contains("is a draft"), "{parked}");
    let commit = scene.remote(&["rev-parse", "feature/issue-7"]);
    scene.server.change(|state| {
        state.pull_requests.get_mut(&8).expect("it").draft = false;
        state
            .checks
            .insert(commit, vec![("test".to_owned(), "completed".to_owned(), Some("failure".to_owned()))]);
    });
    let red = scene.work(&["--label", "saihai", "--merge"]).exits(1);
    assert!(red.stdout.contains("checks: test"), "{red}");
    assert_eq!(outcomes(&red), ["#7 failed"]);
}

// I-60: Saihai does not bypass a review even if its token could.
#[test]
fn a_review_that_is_required_is_waited_for_although_the_token_could_merge() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        one(state);
        state.guarded = true;
    });
    let waits = scene.work(&["--label", "saihai", "--merge"]).exits(6);
    assert!(waits.stdout.contains("a review or another rule of the base branch blocks"), "{waits}");
    assert!(!scene.server.state().pull_requests[&8].merged, "{waits}");
    scene.server.change(|state| state.guarded = false);
    let merged = scene.work(&["--label", "saihai", "--merge"]).exits(0);
    assert_eq!(outcomes(&merged), ["#7 merged"]);
}

// case 15
#[test]
fn who_depends_on_an_open_pull_request_waits_until_it_is_merged() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        one(state);
        state.issue(9, "Another", &["saihai"]).body = "Depends on #7".to_owned();
    });
    let outcome = scene.work(&["--label", "saihai"]).exits(6);
    assert_eq!(outcomes(&outcome), ["#7 pr-created", "#9 waiting"]);
    assert!(outcome.stdout.contains("https://github.com/me/tool/pull/10"), "{outcome}");
    scene.server.change(|state| {
        let request = state.pull_requests.get_mut(&10).expect("it");
        (request.merged, request.closed) = (true, true);
    });
    let after = scene.work(&["--label", "saihai"]).exits(0);
    assert!(outcomes(&after).contains(&"#9 pr-created".to_owned()), "{after}");
}

// I-53, cases 31 and 32
#[test]
fn a_person_who_closed_it_is_respected_and_a_fork_is_another_repository() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        one(state);
        let fork = state.pull_request(3, "feature/issue-7", "0000");
        fork.head_repository = Some("you/tool".to_owned());
    });
    let outcome = scene.work(&["--label", "saihai"]).exits(0);
    assert!(outcome.stdout.contains("/pull/8"), "{outcome}");
    let closed = Scene::new(&writes("fixed.txt"), |state| {
        one(state);
        state.pull_request(3, "feature/issue-7", "0000").closed = true;
    });
    let outcome = closed.work(&["--label", "saihai"]).exits(6);
    assert!(outcome.stdout.contains("a person closed"), "{outcome}");
    let state = closed.server.state();
    assert_eq!((state.pull_requests.len(), state.pull_requests[&3].closed), (1, true));
    let told = closed.server.writes().into_iter().filter(|line| line.contains("/pulls")).collect::<Vec<_>>();
    assert_eq!(told, [""; 0], "it is neither opened again nor written to");
}

// I-51, case 29
#[test]
fn a_remote_branch_that_moved_is_never_overwritten() {
    let scene = Scene::new("", one);
    let tree = scene.remote(&["rev-parse", "main^{tree}"]);
    let theirs = scene.remote(&["commit-tree", &tree, "-m", "theirs"]);
    // Another person pushes to the branch while the agent works.
    let remote = scene.project.root().parent().expect("a parent").join("remote.git");
    let pushes =
        format!("[git, --git-dir={}, update-ref, refs/heads/feature/issue-7, {theirs}]", remote.display());
    let reply = format!(
        "  - {{text: 'Done. [STEP:0]', writes: [{{path: f, content: x}}], runs: [{{argv: {pushes}}}]}}\n"
    );
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{reply}"));
    let outcome = scene.work(&["--label", "saihai"]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 failed"]);
    assert!(outcome.stdout.contains("push-rejected"), "{outcome}");
    assert_eq!(scene.remote(&["rev-parse", "feature/issue-7"]), theirs);
    // Saihai keeps the commit and the worktree, and never pushes by force.
    let kept = || super::git(&scene.project, &["log", "-1", "--format=%H %s", "feature/issue-7"]);
    let ours = kept();
    assert!(ours.ends_with(" Login fails (#7)"), "{ours}");
    assert!(scene.project.root().join(".worktrees/issue-7/f").exists());
    scene.project.write("script.yaml", "script: 1\nreplies:\n  - {text: 'Done. [STEP:0]'}\n");
    scene.work(&["--label", "saihai", "--retry"]).exits(1);
    assert_eq!((kept(), scene.remote(&["rev-parse", "feature/issue-7"])), (ours, theirs));
}

// I-19
#[test]
fn strangers_are_not_worked_for() {
    let scene = Scene::new(&writes("fixed.txt"), one);
    let outcome = scene.work(&[]).exits(2);
    assert!(outcome.stderr.contains("--label saihai"), "{outcome}");
}

// case 13
#[test]
fn a_dependency_that_is_not_there_blocks_and_one_that_may_not_be_seen_stops() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(9, "Another", &["saihai"]).body = "Depends on #404".to_owned();
    });
    let outcome = scene.work(&["--label", "saihai"]).exits(1);
    assert_eq!(outcomes(&outcome), ["#9 blocked"]);
    scene.server.goes_wrong(
        "GET",
        "/repos/me/tool/issues/404",
        Wrong::Status(401, "Bad credentials".to_owned()),
        1,
    );
    scene.work(&["--label", "saihai"]).exits(4);
}

// case 40: labels are optional, so a failure to set them stops nothing.
#[test]
fn labels_that_cannot_be_set_stop_nothing() {
    let scene = Scene::new(&writes("fixed.txt"), one);
    scene.server.goes_wrong(
        "GET",
        "/repos/me/tool/issues/7/labels",
        Wrong::Status(403, "no".to_owned()),
        100,
    );
    let outcome = scene.work(&["--label", "saihai"]).exits(0);
    assert!(outcome.stderr.contains("cannot set the labels of #7"), "{outcome}");
}

#[test]
fn an_event_names_its_issue_and_the_results_are_shown_with_the_step() {
    let scene = Scene::new(&writes("fixed.txt"), one);
    scene.project.write("event.json", "{\"issue\": {\"number\": 7}}");
    let summary = scene.project.root().join("summary.md");
    let call = scene.call(&["--event", "--json"]).env("GITHUB_STEP_SUMMARY", &summary);
    let outcome = call.env("GITHUB_EVENT_PATH", scene.project.root().join("event.json")).run().exits(0);
    let item: serde_json::Value =
        serde_json::from_str(outcome.stdout.lines().next().expect("an item")).expect("JSON");
    assert_eq!((&item["issue"], &item["outcome"]), (&7.into(), &"pr-created".into()));
    let shown = std::fs::read_to_string(summary).expect("a summary");
    assert!(shown.contains("| #7 | Login fails | pr-created |"), "{shown}");
}

// Case 30: the forge dies after it has carried out the request.
#[test]
fn an_effect_whose_answer_was_lost_is_looked_up_and_not_repeated() {
    let scene = Scene::new(&writes("fixed.txt"), one);
    for path in ["/repos/me/tool/pulls", "/repos/me/tool/issues/7/comments"] {
        scene.server.goes_wrong("POST", path, Wrong::CutAfter, 1);
    }
    scene.server.goes_wrong("PUT", "/repos/me/tool/pulls/8/merge", Wrong::CutAfter, 1);
    scene.server.goes_wrong("GET", "/repos/me/tool/pulls", Wrong::Status(502, "bad gateway".to_owned()), 2);
    let outcome = scene.work(&["--label", "saihai", "--merge"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 merged"]);
    let state = scene.server.state();
    assert_eq!((state.pull_requests.len(), state.issues[&7].comments.len()), (1, 1));
}

// Saihai waits for a rate limit and reports it. Missing and forbidden resources have different messages.
#[test]
fn a_rate_limit_is_sat_out_and_other_errors_are_told_apart() {
    let scene = Scene::new(&writes("fixed.txt"), one);
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    scene.server.goes_wrong("GET", "/repos/me/tool/issues", Wrong::RateLimit { reset: now + 2 }, 1);
    let outcome = scene.work(&["--label", "saihai"]).exits(0);
    assert!(outcome.stderr.contains("the forge's rate limit is reached; waiting"), "{outcome}");
    let missing = scene.work(&["--issues", "404"]).exits(2);
    assert!(missing.stderr.contains("issue #404 was not found"), "{missing}");
    scene.server.goes_wrong(
        "GET",
        "/repos/me/tool/issues/7",
        Wrong::Body("{\"number\": \"x\"}".to_owned()),
        1,
    );
    let odd = scene.work(&["--issues", "7"]).exits(4);
    assert!(odd.stderr.contains("cannot parse the answer about"), "{odd}");
    scene.server.change(|state| state.issues.get_mut(&7).expect("it").closed = true);
    let closed = scene.work(&["--issues", "7"]).exits(0);
    assert_eq!(outcomes(&closed), ["#7 closed"]);
    assert!(closed.stderr.contains("nothing to do"), "{closed}");
}

// I-12, case 42
#[test]
fn a_token_is_not_sent_in_the_clear() {
    let scene = Scene::new(&writes("fixed.txt"), one);
    let call = scene.call(&["--label", "saihai"]).env("GITHUB_API_URL", "http://example.org");
    let outcome = call.run().exits(2);
    assert!(outcome.stderr.contains("is not encrypted"), "{outcome}");
    scene.server.goes_wrong(
        "GET",
        "/repos/me/tool",
        Wrong::Redirect(302, "http://127.0.0.1:9/elsewhere".to_owned()),
        1,
    );
    assert_ne!(scene.work(&["--label", "saihai"]).code, Some(0));
}

// case 41
#[test]
fn every_page_is_read_and_pull_requests_are_no_issues() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        for number in 1..=250 {
            state.issue(number, &format!("Issue {number}"), &["saihai"]).is_pull_request = number <= 40;
        }
    });
    let outcome = scene.work(&["--label", "saihai", "--list", "--json"]).exits(0);
    assert_eq!(outcome.stdout.lines().count(), 210);
}
