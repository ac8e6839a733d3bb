//! Commands that only a person may run.

use super::{auto, commit, git, outcomes, repository, work, writes};
use crate::support::PROGRAM;

// I-43: the same holds in a worktree, which looks like a project of its own.
#[test]
fn an_agent_can_neither_hand_work_over_nor_go_on_with_cancel_or_trust_anything() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Waits\n");
    project.write(".saihai/issues/8.md", "# Calls\n");
    commit(&project);
    work(&project, &["--issues", "7"]).run().exits(6);
    let waiting = project.runs()[0].clone();
    let refused = [
        "work --issues 7 --auto --merge".to_owned(),
        "work --clean".to_owned(),
        format!("resume {waiting} --auto"),
        format!("cancel {waiting}"),
        format!("answer {waiting} yes"),
        "trust".to_owned(),
    ];
    let mut calls = String::new();
    for place in [".", "../.."] {
        for call in &refused {
            calls += &format!("(cd {place}; {PROGRAM} {call} < /dev/null 2>&1 | head -n 1) >> said\n");
        }
        for call in ["work --list", "trust --list", "runs", "show last"] {
            calls += &format!("(cd ../..; {PROGRAM} {call} > /dev/null 2>&1 || echo {call}) >> said\n");
        }
    }
    let calls_file = project.home().join("calls.sh");
    std::fs::write(&calls_file, calls).expect("it is written");
    let replies =
        format!("  - {{text: 'Done. [STEP:0]', runs: [{{argv: [sh, '{}']}}]}}\n", calls_file.display());
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    let outcome = auto(&project, &["--issues", "8"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#8 branch-ready"], "{outcome}");
    let said = git(&project, &["show", "feature/issue-8:said"]);
    let is_refused = |line: &str| line.contains("person") && line.contains(", and this is the agent of `fix");
    assert!(said.lines().all(is_refused), "{said}");
    assert_eq!(said.lines().count(), 2 * refused.len(), "{said}");
    let shown = project.saihai(["show", &waiting, "--json"]).run().exits(0).json();
    assert_eq!(shown[0]["result"]["outcome"], "parked", "{shown:?}");
}
