//! The fake agent accepts exactly the arguments of the real programs (C-84).

use std::process::{Command, Stdio};

use saihai_tests::Project;
use serde_json::json;

use super::fake;
use crate::support::PROGRAM;

/// Checks the complaint of an agent about these arguments.
fn check(name: &str, arguments: &str, expected: &str) {
    let project = Project::new(PROGRAM);
    let _fake = fake(&project, name, &json!([{"text": "done"}]));
    let mut command = Command::new(project.home().join(".fake-agent/bin").join(name));
    command.args(arguments.split_whitespace()).env("HOME", project.home()).stdin(Stdio::null());
    let output = command.output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), expected, "{name} {arguments}");
}

#[test]
fn c84_an_argument_that_the_real_one_does_not_know_is_refused() {
    check("claude", "-p --output-format stream-json --verbose --permission-mode default --session-id 1", "");
    check("claude", "--yolo", "error: unknown option '--yolo'");
    check("codex", "exec -s read-only -C / --json -", "");
    check("codex", "exec --yolo -", "error: unexpected argument '--yolo' found");
    check("opencode", "run --format json --agent saihai-readonly", "");
    check("opencode", "run --dangerous", "Unknown argument: --dangerous");
    check("gemini", "-o stream-json --approval-mode plan", "");
    check("gemini", "--yolo", "Unknown argument: --yolo");
    check("copilot", "--output-format json --deny-tool=write --session-id 1", "");
    check("copilot", "--yolo", "error: unknown option '--yolo'");
}
