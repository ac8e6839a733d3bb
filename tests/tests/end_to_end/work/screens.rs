//! Whole screens of `saihai work` at 80 and 120 columns.

use saihai_connect::forge::testing::Wrong;
use saihai_tests::{Invocation, Project, Terminal, screen};

use super::github::Scene;
use super::{commit, git, repository, work, writes};

/// Returns the final screen, with placeholders for commits and times.
fn shown(project: &Project, invocation: Invocation, columns: u16) -> String {
    let invocation = invocation.without_env("NO_COLOR").env("TERM", "xterm");
    let (code, text) = Terminal::start_with_columns(invocation, columns).finish();
    assert_eq!(code, Some(0), "{text}");
    let lines: Vec<String> = screen(&text).iter().map(|line| line.trim_end().to_owned()).collect();
    let wide = lines.iter().filter(|line| line.chars().count() > usize::from(columns)).collect::<Vec<_>>();
    assert!(wide.is_empty(), "{wide:?}");
    let commit = git(project, &["rev-parse", "--short=12", "main"]);
    let text = lines.join("\n").replace(&commit, "COMMIT");
    let text = project.runs().iter().fold(text, |text, run| text.replace(run.as_str(), "RUN"));
    let timed = regex::Regex::new(r"\d+ ms|\d+(\.\d+)? s\b|[0-9a-f]{40}").expect("a pattern");
    timed.replace_all(text.trim_end(), "SOME").into_owned()
}

fn two_issues() -> Project {
    let project = repository(&(writes("fixed.txt") + &writes("other.txt")));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write(
        ".saihai/issues/8.md",
        "---\ndepends_on: [7]\n---\n# The message about a failed login names no reason\n",
    );
    commit(&project);
    project
}

// U-11, U-19
#[test]
fn the_screens_of_work_fit_both_widths() {
    for columns in [80, 120] {
        let project = two_issues();
        let plan = shown(&project, work(&project, &["--list"]), columns);
        let worked = shown(&project, work(&project, &["--auto", "--merge"]), columns);
        match columns {
            80 => {
                insta::assert_snapshot!(plan, @"");
                insta::assert_snapshot!(worked, @"");
            }
            _ => {
                insta::assert_snapshot!(plan, @"");
                insta::assert_snapshot!(worked, @"");
            }
        }
    }
}

// U-10: a notice of a worker thread is a line of its own and does not tear the board.
#[test]
fn a_rate_limit_during_the_work_is_a_line_of_the_screen() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    scene.server.goes_wrong("GET", "/repos/me/tool/pulls", Wrong::RateLimit { reset: now + 3 }, 1);
    let call = scene.call(&["--label", "saihai"]).without_env("NO_COLOR").env("TERM", "xterm");
    let (code, text) = Terminal::start_with_columns(call, 80).finish();
    assert_eq!(code, Some(0), "{text}");
    let lines = screen(&text);
    let notices: Vec<&String> = lines.iter().filter(|line| line.contains("rate limit")).collect();
    assert!(!notices.is_empty(), "{lines:?}");
    for notice in notices {
        assert!(notice.starts_with("note: the forge's rate limit is reached; waiting "), "{lines:?}");
    }
}
