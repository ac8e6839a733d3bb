//! First and second stop signals, and crashed parts of a batch.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::Signal;
use saihai_tests::{FakeAgent, Fault, Project};
use serde_json::json;

use super::{auto, commit, outcomes, repository, work, writes};

const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_saihai-fake-agent");

fn is_alive(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

fn seven(replies: &str) -> Project {
    let project = repository(replies);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project
}

#[test]
fn a_second_ctrl_c_ends_a_git_that_is_waited_for_and_the_same_command_goes_on() {
    let project = seven(&writes("fixed.txt"));
    let note = project.home().join("process");
    let git = format!(
        "#!/bin/sh\ncase \" $* \" in *\" commit-tree \"*|*\" commit \"*) echo $$ > {}; exec sleep 600;; esac\n\
         exec /usr/bin/env PATH=/usr/bin:/bin git \"$@\"\n",
        note.display()
    );
    project.write("../home/bin/git", git);
    fs::set_permissions(project.home().join("bin/git"), fs::Permissions::from_mode(0o755))
        .expect("a program");
    let path = format!("{}:/usr/bin:/bin", project.home().join("bin").display());
    let mut call = work(&project, &["--auto"]).env("PATH", path).start();
    while !fs::read_to_string(&note).is_ok_and(|process| process.ends_with('\n')) {
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let process = fs::read_to_string(&note).expect("a process").trim().to_owned();
    call.signal(Signal::INT);
    call.wait_for_note("press Ctrl-C again to quit immediately");
    // Saihai never leaves a running commit half done.
    assert!(is_alive(&process), "it is waited for");
    call.signal(Signal::INT);
    let outcome = call.finish();
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert!(!is_alive(&process), "{outcome}");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(project.journal().facts("replied").count(), 1, "the agent was asked once");
}

#[test]
fn a_second_ctrl_c_kills_an_agent_that_does_not_end_and_the_same_command_goes_on() {
    let project = seven("");
    // This mode needs no confirmation, even as root.
    let settings = "[providers.claude]\nedit_mode = \"acceptEdits\"\n";
    project.write("../home/.config/saihai/config.toml", settings);
    let answers = json!([
        {"text": "x", "no_end": true, "fault": "ignores_term"},
        {"text": "Done. [STEP:0]", "writes": {"fixed.txt": "x"}},
    ]);
    let fake = FakeAgent::install(&project, Path::new(FAKE_AGENT), &["claude"], &answers);
    let mut call = fake.saihai(["work", "--auto", "--provider", "claude"]).start();
    let agent = fake.wait_for_call().process().to_string();
    call.signal(Signal::INT);
    call.wait_for_note("press Ctrl-C again to quit immediately");
    call.signal(Signal::INT);
    let outcome = call.finish();
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert!(!is_alive(&agent), "{outcome}");
    let again = fake.saihai(["work", "--auto", "--provider", "claude"]).run().exits(0);
    assert_eq!(outcomes(&again), ["#7 branch-ready"], "{again}");
}

// The spending of a crashed part is unknown, so its whole share counts as spent.
#[test]
fn a_part_that_breaks_off_has_spent_its_share_of_the_budget() {
    // The first reply is long enough for a file of its own. The crash happens there, so the journal has no
    // turn.
    let long = "a long word ".repeat(2_000);
    let project = repository(&format!(
        "  - {{prompt: Issue 1, text: '{long} [STEP:0]'}}\n  - {{text: 'Done. [STEP:0]', writes: [{{path: f, content: x}}], times: '*'}}\n"
    ));
    for number in 1..=3 {
        project.write(&format!(".saihai/issues/{number}.md"), format!("# Issue {number}\n"));
    }
    commit(&project);
    let call = |budget: &str| work(&project, &["--auto", "--jobs", "2", "--budget", budget]);
    let outcome = call("turns=2").fault(&Fault::panic("-issue-1/blobs/")).run().exits(70);
    assert_eq!(outcomes(&outcome), ["#1 failed", "#2 branch-ready", "#3 limited"], "{outcome}");
    assert_eq!(project.begun().len(), 2, "one turn was paid for, and one may have been");
}
