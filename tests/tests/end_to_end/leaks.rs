//! Long runs leak nothing, and release builds contain no fault injection.

use std::fs;

use saihai_tests::{Fault, Project};

use crate::support::{PROGRAM, project};

/// Returns the number of open descriptors and threads of a process.
fn held(pid: u32) -> (usize, usize) {
    let count = |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count);
    (count("fd"), count("task"))
}

/// Returns the number of zombie children of a process.
fn zombies(pid: u32) -> usize {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let status = |child: &str| fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    children.split_whitespace().filter(|child| status(child).contains(") Z ")).count()
}

#[test]
fn t75_after_a_thousand_turns_no_descriptor_thread_or_child_is_left() {
    let definition = "
name: it
max_iterations: 1000
movements:
  - {name: work, permission_mode: full, rules: [{condition: again, next: work}]}
";
    let replies = "  - {for: work, visit: 5, runs: [{argv: ['true']}], text: '[STEP:0]'}
  - {for: work, visit: \"400..\", times: 100, runs: [{argv: ['true']}], text: '[STEP:0]'}
  - {for: work, visit: 1000, hang: true}
  - {for: work, times: \"*\", text: '[STEP:0]'}\n";
    let project = project(definition, replies);
    let mut live = project.saihai(["run", "it", "T", "--script", "script.yaml", "--json"]).start();
    live.wait_for("\"iteration\":10}");
    let (descriptors, threads) = held(live.pid());
    live.wait_for("\"iteration\":1000}");
    live.wait_for("\"asked\"");
    let (now, threads_now) = held(live.pid());
    assert!(now <= descriptors, "{descriptors} descriptors at turn 10, {now} at turn 1,000");
    // A few threads wait for programs and stay for a while. Their number varies with timing; a hundred would be a leak.
    assert!(threads_now <= threads + 4, "{threads} threads at turn 10, {threads_now} at turn 1,000");
    assert_eq!(zombies(live.pid()), 0);
    live.signal(rustix::process::Signal::INT);
    live.finish().exits(3);
}

// `cargo xtask test` searches the release binary for the same word.
#[test]
fn t2_only_this_build_knows_how_to_fail_on_purpose() {
    let knows = |program: &str| {
        let bytes = fs::read(program).expect("a program");
        bytes.windows(Fault::VARIABLE.len()).any(|window| window == Fault::VARIABLE.as_bytes())
    };
    assert!(knows(PROGRAM), "the control: the search finds the word where it is");
    // An unreadable fault plan must not pass as no plan.
    let project = Project::new(PROGRAM);
    project.write(
        ".takt/pieces/it.yaml",
        "name: it\nmovements:\n  - {name: a, rules: [{condition: x, next: COMPLETE}]}\n",
    );
    project.saihai(["run", "it", "T", "--rehearse"]).env(Fault::VARIABLE, "nonsense").run().exits(70);
    for manifest in ["driver", "cli"] {
        let path = xtask::source::root().join("crates").join(manifest).join("Cargo.toml");
        let text = fs::read_to_string(path).expect("a manifest");
        assert!(
            text.contains("\nfaults = ") && !text.contains("\ndefault = "),
            "{manifest} has it on by default"
        );
    }
}
