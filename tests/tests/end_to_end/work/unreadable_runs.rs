//! Unreadable runs: their cost and deliveries are unknown.

use saihai_tests::{Outcome, Project};

use super::{auto, commit, outcomes, repository, writes};

/// Creates an issue with a finished run and changes one line of its journal.
fn changed(line: usize, change: impl Fn(&str) -> String) -> Project {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    auto(&project, &[]).exits(0);
    let path = format!(".saihai/runs/{}/journal.ndjson", project.runs()[0]);
    let text = std::fs::read_to_string(project.root().join(&path)).expect("a journal");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[line] = change(&lines[line]);
    assert_ne!(lines.join("\n"), text.trim_end());
    project.write(&path, lines.join("\n") + "\n");
    project
}

/// Changes one digit of the timestamp, so that the checksum fails.
fn digit(line: &str) -> String {
    line.replacen("\"at\":\"20", "\"at\":\"21", 1)
}

/// Makes the line an intact record of an unknown format version.
fn newer(line: &str) -> String {
    let line = line.replacen("{\"v\":1,", "{\"v\":9,", 1);
    let text = line.split(",\"sum\":").next().unwrap_or_default();
    format!("{text},\"sum\":\"{:08x}\"}}", crc32fast::hash(text.as_bytes()))
}

fn is_told_and_not_paid_for(project: &Project, outcome: &Outcome, line: usize, why: &str) {
    assert_eq!(outcomes(outcome), ["#7 unknown"], "{outcome}");
    let place = format!("journal.ndjson`:{}: ", line + 1);
    assert!(outcome.stdout.contains(&place) && outcome.stdout.contains(why), "{outcome}");
    assert!(outcome.stdout.contains("move its directory out of `.saihai/runs`"), "{outcome}");
    assert_eq!(project.runs().len(), 1, "{outcome}");
}

#[test]
fn an_issue_whose_run_cannot_be_read_is_not_paid_for_again() {
    for line in [0, 4] {
        let project = changed(line, digit);
        for flags in [&[][..], &["--retry"]] {
            is_told_and_not_paid_for(&project, &auto(&project, flags).exits(1), line, "");
        }
        let listed = auto(&project, &["--list"]).exits(0);
        assert!(listed.stdout.contains("#7"), "{listed}");
        project.saihai(["work", "--clean"]).run().exits(0);
    }
}

#[test]
fn an_issue_whose_run_a_newer_version_wrote_is_not_paid_for_again() {
    let project = changed(4, newer);
    let outcome = auto(&project, &[]).exits(1);
    is_told_and_not_paid_for(&project, &outcome, 4, "a newer version of Saihai");
    // Follows the hint.
    let run = project.root().join(".saihai/runs").join(&project.runs()[0]);
    std::fs::rename(run, project.home().join("newer")).expect("it is moved");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
}

#[test]
fn another_issue_is_not_kept_from_work_by_it() {
    let project = changed(4, digit);
    project.write(".saihai/issues/8.md", "# Another\n");
    project.write(".saihai/issues/9.md", "# Needs it\n\nDepends on #7\n");
    let outcome = auto(&project, &[]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 unknown", "#8 branch-ready", "#9 blocked"], "{outcome}");
}

// Received replies determine the spending, even if an agent deletes files that describe its run.
#[test]
fn a_budget_holds_though_an_agent_removes_files_of_its_run() {
    let removes = "rm ../../.saihai/runs/*/workflow.json";
    let project = repository(&format!(
        "  - {{text: 'Done. [STEP:0]', cost: 1.0, runs: [{{argv: [sh, -c, '{removes}']}}]}}\n"
    ));
    for number in 1..=3 {
        project.write(&format!(".saihai/issues/{number}.md"), "# N\n");
    }
    commit(&project);
    let outcome = auto(&project, &["--budget", "usd=1"]).exits(1);
    assert_eq!(outcomes(&outcome), ["#1 unknown", "#2 limited", "#3 limited"], "{outcome}");
    assert!(outcome.stdout.contains("$1.0000"), "{outcome}");
    assert_eq!(project.runs().len(), 1, "{outcome}");
}
