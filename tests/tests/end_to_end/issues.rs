//! Runs on issues from a folder and from a forge.

use saihai_connect::forge::testing::{ForgeServer, ForgeState, Wrong};
use saihai_tests::{Invocation, Project};

use crate::support::project;

const PIECE: &str = "name: it\nmovements: [{name: fix, rules: [{condition: done, next: COMPLETE}]}]\n";
const REPLIES: &str = "  - {text: 'Done. [STEP:0]'}\n";
const CANARY: &str = "canary-token-4711";

fn on_issue(project: &Project, number: &str) -> Invocation {
    project.saihai(["run", "it", "--issue", number, "--no-worktree", "--script", "script.yaml"])
}

#[test]
fn an_issue_of_a_folder_is_the_task_and_names_the_run() {
    let project = project(PIECE, REPLIES);
    project.write(".saihai/issues/007-login.md", "---\nlabels: [bug]\n---\n# Login fails\n\nFor `a+b`.\n");
    project.write(".saihai/issues/8-done.md", "---\nstate: closed\n---\n# Done\n");
    on_issue(&project, "7").run().exits(0);
    let journal = project.journal();
    assert!(project.runs()[0].ends_with("-issue-7"), "{:?}", project.runs());
    assert!(journal.prompt("fix").contains("# Issue 7: Login fails\n\nFor `a+b`.\n\nLabels: bug"));
    let closed = on_issue(&project, "8").run().exits(0);
    assert_eq!(closed.stderr, "note: issue #8 is closed, nothing to do\n");
    let missing = on_issue(&project, "9").run().exits(2);
    assert_eq!(missing.stderr, "error: there is no issue #9 in `.saihai/issues`\n");
    assert_eq!(project.runs().len(), 1);
}

#[test]
fn what_is_wrong_with_any_issue_of_the_folder_is_told_before_anything_begins() {
    let project = project(PIECE, REPLIES);
    project.write(".saihai/issues/1-a.md", "---\nlables: [bug]\n---\n# One\n");
    project.write(".saihai/issues/2-b.md", "---\nlabels: [bug]\n# Two\n");
    let outcome = on_issue(&project, "1").run().exits(2);
    for expected in ["error[work/unknown-key]", "did you mean `labels`?", "error[work/syntax]", "2-b.md:1:1"]
    {
        assert!(outcome.stderr.contains(expected), "{expected}: {outcome}");
    }
    assert_eq!(project.runs(), [""; 0]);
}

#[test]
fn an_issue_of_a_forge_is_the_task_and_the_token_stays_with_us() {
    let mut state = ForgeState::default();
    state.issue(7, "Login\u{7} fails", &["bug"]).body = "For `a+b`.".to_owned();
    let server = ForgeServer::start(state);
    let project = project(PIECE, REPLIES);
    project.write(".saihai/config.toml", "[work]\nrepo = \"me/tool\"\n");
    let asked = |number: &str| {
        on_issue(&project, number).env("GITHUB_API_URL", server.url()).env("GITHUB_TOKEN", CANARY)
    };
    asked("7").run().exits(0);
    let prompt = project.journal().prompt("fix");
    assert!(prompt.contains("# Issue #7: Login fails\n\nFor `a+b`.\n\nLabels: bug"), "{prompt}");
    let kept =
        std::process::Command::new("grep").args(["-r", CANARY, "."]).current_dir(project.root()).output();
    assert!(kept.expect("grep is there").stdout.is_empty(), "the token was kept");
    assert_eq!(server.writes(), [""; 0]);

    let missing = asked("404").run().exits(2);
    assert_eq!(missing.stderr, "error: issue #404 was not found\n");
    server.goes_wrong("GET", "/repos/me/tool/issues/7", Wrong::Status(401, "Bad credentials".to_owned()), 1);
    let refused = asked("7").run().exits(4);
    assert_eq!(refused.stderr, "error: no rights for issue #7: Bad credentials\n");
    let nobody = asked("7").env("GITHUB_TOKEN", "").run().exits(2);
    assert!(nobody.stderr.starts_with("error: no token for `127.0.0.1`; set `GITHUB_TOKEN`"), "{nobody}");
}

#[test]
fn a_run_on_an_issue_takes_no_other_task_and_needs_git_for_its_worktree() {
    let project = project(PIECE, REPLIES);
    project.write(".saihai/issues/7.md", "# Seven\n");
    let own = project.saihai(["run", "it", "--issue", "7", "--script", "script.yaml"]).run().exits(2);
    assert!(own.stderr.contains("is not in a git repository"), "{own}");
    assert!(own.stderr.contains("`--no-worktree` works in this directory"), "{own}");
    let both = project.saihai(["run", "it", "a task", "--issue", "7", "--no-worktree"]).run().exits(2);
    assert!(both.stderr.contains("exclude each other"), "{both}");
    for bad in ["0", "../1", "1.5"] {
        let refused = on_issue(&project, bad).run().exits(2);
        assert!(refused.stderr.contains("write the number of an issue"), "{refused}");
    }
    assert_eq!(project.runs(), [""; 0]);
}
