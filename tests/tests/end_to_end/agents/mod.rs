//! Runs on agent programs. The fake agent plays each program under its own name. C-84.

mod acp;
mod claude;
mod codex;
mod command;
mod costs;
mod faults;
mod flags;
mod hostile_texts;
mod killed_saihai;
mod memory;
pub(crate) mod one_request;
mod permissions;
mod personality;
mod process_trees;
mod verdicts;

use std::path::Path;

use saihai_tests::{FakeAgent, Project};
use serde_json::Value;

use crate::support::PROGRAM;

/// Creates a project with two movements in one session of a provider.
fn two_movements(provider: &str) -> Project {
    let movement = |name: &str, next: &str| {
        format!(
            "  - name: {name}\n    provider: {provider}\n    instruction_template: Do {name}.\n    session: continue\n    session_key: one\n    rules: [{{condition: ok, next: {next}}}]\n"
        )
    };
    let project = Project::new(PROGRAM);
    let movements = movement("plan", "fix") + &movement("fix", "COMPLETE");
    project.write(".takt/pieces/it.yaml", format!("name: it\nmovements:\n{movements}"));
    project
}

const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_saihai-fake-agent");

/// Installs the fake agent under one name, with these answers.
fn fake<'a>(project: &'a Project, name: &str, answers: &Value) -> FakeAgent<'a> {
    FakeAgent::install(project, Path::new(FAKE_AGENT), &[name], answers)
}
