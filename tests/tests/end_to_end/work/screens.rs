//! Whole screens of `saihai work` at 80 and 120 columns.

use saihai_connect::forge::testing::Wrong;
use saihai_tests::{Invocation, Project, Terminal, screen};

use super::github::Scene;
use super::{commit, repository, work, writes};

/// Returns the final screen, with placeholders for runs and times.
fn shown(project: &Project, invocation: Invocation, columns: u16) -> String {
    let invocation = invocation.without_env("NO_COLOR").env("TERM", "xterm");
    let (code, text) = Terminal::start_with_columns(invocation, columns).finish();
    assert_eq!(code, Some(0), "{text}");
    let lines: Vec<String> = screen(&text).iter().map(|line| line.trim_end().to_owned()).collect();
    let wide = lines.iter().filter(|line| line.chars().count() > usize::from(columns)).collect::<Vec<_>>();
    assert!(wide.is_empty(), "{wide:?}");
    let text = project.runs().iter().fold(lines.join("\n"), |text, run| text.replace(run.as_str(), "RUN"));
    let timed = regex::Regex::new(r"\d:\d\d\b").expect("a pattern");
    timed.replace_all(text.trim_end(), "TIME").into_owned()
}

fn two_issues() -> Project {
    let reply =
        |prompt: &str, file: &str| writes(file).replacen("{text", &format!("{{prompt: {prompt}, text"), 1);
    let project = repository(&(reply("Login", "fixed.txt") + &reply("message", "other.txt")));
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
                insta::assert_snapshot!(plan, @"
                ISSUE  TITLE                                    DEFINITION  BASE  AFTER  TURNS
                #7     Login fails                              it          main         ≤ 20
                #8     The message about a failed login names…  it          main  #7     ≤ 20
                ");
                insta::assert_snapshot!(worked, @"
                note: added `/.saihai/runs/`, `/.saihai/batches/`, `/.saihai/cache/`,
                    `/.worktrees/`, `/.saihai/reports/` to `.git/info/exclude`
                ISSUE  TITLE                                    DEFINITION  BASE  AFTER  TURNS
                #7     Login fails                              it          main         ≤ 20
                #8     The message about a failed login names…  it          main  #7     ≤ 20
                #7 run RUN
                #7 merged
                #8 run RUN
                #8 merged
                ISSUE  OUTCOME  REASON  BRANCH           PULL REQUEST  TURNS  COST     TIME
                #7     merged   -       feature/issue-7  -             1      $0.0000  TIME
                #8     merged   -       feature/issue-8  -             1      $0.0000  TIME
                all done
                to get the merged work: git merge --ff-only saihai/merge/main
                ");
            }
            _ => {
                insta::assert_snapshot!(plan, @"
                ISSUE  TITLE                                    DEFINITION  BASE  AFTER  TURNS  LABELS
                #7     Login fails                              it          main         ≤ 20   saihai:queued
                #8     The message about a failed login names…  it          main  #7     ≤ 20   saihai:queued
                ");
                insta::assert_snapshot!(worked, @"
                note: added `/.saihai/runs/`, `/.saihai/batches/`, `/.saihai/cache/`, `/.worktrees/`, `/.saihai/reports/` to
                    `.git/info/exclude`
                ISSUE  TITLE                                    DEFINITION  BASE  AFTER  TURNS
                #7     Login fails                              it          main         ≤ 20
                #8     The message about a failed login names…  it          main  #7     ≤ 20
                #7 run RUN
                #7 merged
                #8 run RUN
                #8 merged
                ISSUE  OUTCOME  REASON  BRANCH           PULL REQUEST  TURNS  COST     TIME
                #7     merged   -       feature/issue-7  -             1      $0.0000  TIME
                #8     merged   -       feature/issue-8  -             1      $0.0000  TIME
                all done
                to get the merged work: git merge --ff-only saihai/merge/main
                ");
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
