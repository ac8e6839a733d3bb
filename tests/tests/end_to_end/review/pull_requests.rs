//! Reviews of pull requests: fetched as objects, checked out in a separate directory, and fully removed
//! afterwards.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use saihai_connect::forge::testing::{ForgeServer, ForgeState, Wrong};
use saihai_tests::{Invocation, Terminal};

use super::*;

pub(super) const CANARY: &str = "canary-token-0815";

/// Runs git in a directory and returns its output.
pub(super) fn said(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Creates a project whose remote has pull request 7, not yet fetched, and its fake forge.
pub(super) fn proposed(agents: &[(&str, &str)]) -> (Project, ForgeServer, String) {
    let project = reviewed_by(agents);
    fs::remove_file(project.root().join("store.py")).expect("a file");
    let [remote, other] = ["remote.git", "other"].map(|name| project.root().join("..").join(name));
    said(&project.root(), &["clone", "--quiet", "--bare", ".", "../remote.git"]);
    said(&project.root(), &["remote", "add", "origin", &remote.display().to_string()]);
    said(&project.root(), &["clone", "--quiet", "../remote.git", "../other"]);
    fs::write(other.join("store.py"), "def run(query):\n    return db.execute(query)\n").expect("a file");
    said(&other, &["add", "--all"]);
    said(&other, &["commit", "--quiet", "--message", "proposed"]);
    said(&other, &["push", "--quiet", "origin", "HEAD:refs/pull/7/head"]);
    let head = said(&other, &["rev-parse", "HEAD"]);
    let mut state = ForgeState::default();
    state.pull_request(7, "topic", &head);
    let settings = project.read(".saihai/config.toml");
    project.write(".saihai/config.toml", format!("{settings}[work]\nrepo = \"me/tool\"\n"));
    // Uncommitted local files are not part of the pull request.
    project.write("local.py", "print(3)\n");
    (project, ForgeServer::start(state), head)
}

fn asked(project: &Project, server: &ForgeServer, replies: &str, arguments: &[&str]) -> Invocation {
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    let arguments = [&["review", "--script", "script.yaml"], arguments].concat();
    project.saihai(arguments).env("GITHUB_API_URL", server.url()).env("GITHUB_TOKEN", CANARY)
}

/// Returns all state that a review must leave unchanged.
pub(super) fn left(project: &Project) -> String {
    let root = project.root();
    let worktrees = said(&root, &["worktree", "list", "--porcelain"]).matches("worktree ").count();
    format!("{}\n{}\n{worktrees}", said(&root, &["for-each-ref"]), said(&root, &["status", "--porcelain"]))
}

// R-28
#[test]
fn a_pull_request_is_reviewed_at_its_head_and_nothing_of_it_stays() {
    let (project, server, head) = proposed(&[("guard", "")]);
    let before = left(&project);
    let outcome =
        asked(&project, &server, &one("main/guard", "important"), &["--pr", "7", "--json"]).run().exits(1);
    let told = report(&outcome);
    assert_eq!((&told["mode"], &told["base"], &told["head"]), (&"pr".into(), &"main".into(), &head.into()));
    let found = &told["findings"][0];
    assert_eq!((&found["file"], &found["anchor"]), (&"store.py".into(), &"added".into()));
    assert_eq!(found["excerpt"]["lines"][0], "    return db.execute(query)");
    let prompt = project.journal().prompt("main");
    assert!(
        prompt.contains("mode: pull request 7\nbase: main (") && !prompt.contains("local.py"),
        "{prompt}"
    );
    assert_eq!(left(&project), before);
    assert_eq!(server.writes(), [""; 0]);
    assert!(!project.snapshot_contains(CANARY), "the token was kept");
}

// A process that was killed before its run started leaves files without an owner
#[test]
fn a_review_removes_what_a_killed_one_left_behind() {
    let (project, server, head) = proposed(&[("guard", "")]);
    let before = left(&project);
    said(&project.root(), &["fetch", "--quiet", "origin", "refs/pull/7/head"]);
    let check_out = |process: u32| {
        let directory = format!(".worktrees/review-{}-{process}", &head[..12]);
        said(&project.root(), &["worktree", "add", "--quiet", "--detach", &directory, &head]);
        project.root().join(directory)
    };
    let [gone, alive] = [999_999_999, std::process::id()].map(check_out);
    asked(&project, &server, &none("main/guard"), &["--pr", "7"]).run().exits(0);
    assert_eq!((gone.exists(), alive.exists()), (false, true));
    said(&project.root(), &["worktree", "remove", "--force", &alive.display().to_string()]);
    assert_eq!(left(&project), before);
}

// A pull request is compared with its own last review, regardless of other reviews since
#[test]
fn a_pull_request_is_compared_with_its_own_last_review() {
    let (project, server, _) = proposed(&[("guard", "")]);
    let found = one("main/guard", "important");
    asked(&project, &server, &found, &["--pr", "7"]).run().exits(1);
    // A review of the checkout in between finds nothing.
    asked(&project, &server, &none("main/guard"), &[]).run().exits(0);
    let outcome = asked(&project, &server, &found, &["--pr", "7", "--since-last", "--json"]).run().exits(0);
    assert_eq!(report(&outcome)["findings"][0]["state"], "persisting", "{outcome}");
}

#[test]
fn a_review_of_a_pull_request_that_was_stopped_goes_on_where_its_files_are() {
    let (project, server, _) = proposed(&[("a", ""), ("b", "")]);
    let before = left(&project);
    let replies =
        format!("{}  - {{for: main/b, hang: true}}\n{}", one("main/a", "important"), none("main/b"));
    let mut terminal = Terminal::start(asked(&project, &server, &replies, &["--pr", "7", "--jobs", "1"]));
    terminal.wait_for("main/a replied");
    terminal.signal(Signal::INT);
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(3), "{screen}");
    fs::remove_dir_all(project.root().join(".worktrees")).expect("the directory of the review");
    let resumed = project.saihai(["resume", "last"]).env("GITHUB_TOKEN", CANARY).run().exits(1);
    assert!(resumed.stdout.contains("2 |     return db.execute(query)"), "{resumed}");
    assert_eq!(left(&project), before);
}

// Saihai reports files that reviewers change in the checkout of the pull request, also after a resume
#[test]
fn what_changes_in_the_files_of_a_pull_request_is_named_before_and_after_a_stop() {
    let (project, server, _) = proposed(&[("a", "phase = \"early\"\n"), ("b", ""), ("c", "")]);
    // The agent claims to be read-only, but writes. Its third call hangs until the file `stopped` exists.
    let home = project.home().display().to_string();
    let program = format!(
        "cat > /dev/null\necho x >> '{home}/count'\ncase $(wc -l < '{home}/count') in\n1) echo x > store.py;;\n\
         2) echo x > kept.py;;\n*) test -e '{home}/stopped' || sleep 600; echo x > .gitignore;;\nesac\n\
         echo '{{\"issues\": [], \"overall_score\": 9}}'\n"
    );
    fs::write(project.home().join("agent.sh"), program).expect("a program");
    let settings = format!(
        "kind = \"command\"\nprogram = \"sh\"\nargs = [\"{home}/agent.sh\"]\nhonours = [\"readonly\"]\n"
    );
    project.write(
        "../home/.config/saihai/config.toml",
        format!("provider = \"mine\"\n[providers.mine]\n{settings}"),
    );
    let invocation = project.saihai(["review", "--pr", "7", "--jobs", "1"]);
    let invocation = invocation.env("GITHUB_API_URL", server.url()).env("GITHUB_TOKEN", CANARY);
    let mut terminal = Terminal::start(invocation);
    terminal.wait_for("main/b replied");
    terminal.signal(Signal::INT);
    let (_, screen) = terminal.finish();
    for (phase, file) in [("early", "store.py"), ("main", "kept.py")] {
        let warning = format!("files changed while phase `{phase}` reviewed them: `{file}`");
        assert!(screen.contains(&warning), "{screen}");
    }
    fs::write(project.home().join("stopped"), "").expect("a file");
    let resumed = project.saihai(["resume", "last"]).env("GITHUB_TOKEN", CANARY).run().exits(0);
    let warning = "warning: files changed while phase `main` reviewed them: `.gitignore`\n";
    assert!(resumed.stderr.contains(warning), "{resumed}");
    assert_eq!(project.read("kept.py"), "print(1)\n");
}

// Saihai deletes the files of a pull request after every kind of end
#[test]
fn nothing_of_a_pull_request_stays_where_its_review_cannot_begin_cannot_be_told_or_is_cancelled() {
    let (project, server, _) = proposed(&[("a", ""), ("b", "")]);
    let before = left(&project);
    let ask = |replies: &str, arguments: &[&str]| {
        asked(&project, &server, replies, &[&["--pr", "7"], arguments].concat())
    };
    ask("", &["--baseline", "gone.json"]).run().exits(2);
    assert_eq!(left(&project), before, "it could not begin");
    let both = none("main/a") + &none("main/b");
    ask(&both, &["--out", "json=/dev/full"]).run().exits(4);
    assert_eq!(left(&project), before, "it could not be told");
    let replies = format!("{}  - {{for: main/b, hang: true}}\n", none("main/a"));
    let mut terminal = Terminal::start(ask(&replies, &["--jobs", "1"]));
    terminal.wait_for("main/a replied");
    terminal.signal(Signal::INT);
    assert_eq!(terminal.finish().0, Some(3));
    assert_ne!(left(&project), before, "it could go on");
    project.saihai(["cancel", "last"]).run().exits(0);
    assert_eq!(left(&project), before, "it was cancelled");
}

// The missing item decides the exit code: a local one, or one on the forge.
#[test]
fn a_pull_request_that_cannot_be_had_is_refused_by_what_is_missing() {
    let (project, server, _) = proposed(&[("guard", "")]);
    let check = |invocation: Invocation, code: i32, expected: &str| {
        let outcome = invocation.run().exits(code);
        assert!(outcome.stderr.contains(expected), "{outcome}");
    };
    let ask = |arguments: &[&str]| asked(&project, &server, &none("main/guard"), arguments);
    check(ask(&["--pr", "7"]).env("GITHUB_TOKEN", ""), 2, "no token for `127.0.0.1`");
    check(ask(&["--pr", "8"]), 2, "was not found");
    check(ask(&["7"]), 2, "`saihai review --pr 7`");
    check(ask(&["--pr", "7", "--base", "main"]), 2, "exclude each other");
    server.goes_wrong("GET", "/repos/me/tool/pulls/7", Wrong::Status(401, "Bad credentials".to_owned()), 1);
    check(ask(&["--pr", "7"]), 4, "Bad credentials");
    fs::remove_dir_all(project.root().join("../remote.git")).expect("the remote");
    check(ask(&["--pr", "7"]), 4, "`git ls-remote` failed");
    let nowhere = Project::new(PROGRAM);
    check(asked(&nowhere, &server, &none("main/guard"), &["--pr", "7"]), 2, "is not in a git repository");
    assert_eq!(project.runs(), [""; 0]);
}

/// Returns the output with a placeholder for the project path.
fn words(project: &Project, outcome: &Outcome) -> String {
    seen(outcome).replace(&project.root().display().to_string(), "<project>")
}

// The advice in each refusal works.
#[test]
fn the_refusals_of_a_pull_request_say_what_is_missing_and_what_to_do() {
    let (project, server, _) = proposed(&[("guard", "")]);
    let ask = |arguments: &[&str]| asked(&project, &server, &none("main/guard"), arguments);
    let told = |invocation: Invocation| words(&project, &invocation.run());
    insta::assert_snapshot!(told(ask(&["--pr", "7"]).env("GITHUB_TOKEN", "")), @"
    error: no token for `127.0.0.1`; set `GITHUB_TOKEN`, or log in with `gh auth login --hostname 127.0.0.1`
    ? 2
    ");
    insta::assert_snapshot!(told(ask(&["--pr", "8"])), @"
    error: pull request #8 was not found
    ? 2
    ");
    insta::assert_snapshot!(told(ask(&["--pr", "x"])), @"
    error: `x` does not fit `--pr`: write the number of a pull request, from 1
    ? 2
    ");
    insta::assert_snapshot!(told(ask(&["--pr", "0"])), @"
    error: `0` does not fit `--pr`: write the number of a pull request, from 1
    ? 2
    ");
    insta::assert_snapshot!(told(ask(&["--pr", "7", "kept.py"])), @"
    error: `--pr` and `BASE|A..B|FILES` exclude each other
      = help: see `saihai review --help`
    ? 2
    ");
    insta::assert_snapshot!(told(ask(&["--pr", "7", "--base", "main"])), @"
    error: `--pr` and `--base` exclude each other
      = help: see `saihai review --help`
    ? 2
    ");
    insta::assert_snapshot!(told(ask(&["--pr", "7", "--no-untracked"])), @"
    error: `--pr` and `--no-untracked` exclude each other
      = help: see `saihai review --help`
    ? 2
    ");
    server.goes_wrong("GET", "/repos/me/tool/pulls/7", Wrong::Status(401, "Bad credentials".to_owned()), 1);
    insta::assert_snapshot!(told(ask(&["--pr", "7"])), @"
    error: no rights for pull request #7: Bad credentials
    ? 4
    ");
    server.goes_right();
    server.goes_wrong("GET", "/repos/me/tool/pulls/7", Wrong::Status(403, "Forbidden".to_owned()), 1);
    insta::assert_snapshot!(told(ask(&["--pr", "7"])), @"
    error: no rights for pull request #7: Forbidden
    ? 4
    ");
    server.goes_right();
    insta::assert_snapshot!(told(ask(&["--pr", "7"]).env("GITHUB_API_URL", "http://127.0.0.1:9")), @"
    error: pull request #7 failed for now: Connection refused (os error 111)
    ? 4
    ");
    said(&project.root(), &["remote", "rename", "origin", "other"]);
    insta::assert_snapshot!(told(ask(&["--pr", "7"])), @"
    error: there is no remote `origin` to fetch from
      = help: `git remote` lists the remotes; set `remote` in `[work]`
    ? 2
    ");
    let settings = project.read(".saihai/config.toml");
    project.write(".saihai/config.toml", settings.replace("repo = \"me/tool\"\n", ""));
    insta::assert_snapshot!(told(ask(&["--pr", "7"])), @r#"
    error: cannot determine the GitHub repository
      = help: set `repo = "OWNER/NAME"` in `[work]`
    ? 2
    "#);
    let nowhere = Project::new(PROGRAM);
    let outcome = asked(&nowhere, &server, &none("main/guard"), &["--pr", "7"]).run();
    insta::assert_snapshot!(words(&nowhere, &outcome), @"
    error: `<project>` is not in a git repository
    ? 2
    ");
    assert_eq!((project.runs().len(), nowhere.runs().len()), (0, 0));
}
