//! Agents that use the Agent Client Protocol. C-67.

use saihai_tests::{FakeAgent, FakeCall, Project};
use serde_json::{Value, json};

use super::one_request::is_alive;
use super::{fake, two_movements};

const DONE: &str = "done\n[STEP:0]";

/// Creates a project with two movements in one session of such an agent.
fn project() -> Project {
    let project = two_movements("acp");
    let settings = "[providers.acp]\nprogram = \"acp\"\nhonours = [\"readonly\"]\n";
    project.write("../home/.config/saihai/config.toml", settings);
    project
}

/// Returns the process of every turn, and checks that none is still alive.
fn processes(fake: &FakeAgent<'_>) -> Vec<u32> {
    let processes: Vec<u32> = fake.calls().iter().map(FakeCall::process).collect();
    assert!(processes.iter().all(|process| !is_alive(*process)), "{processes:?}");
    processes
}

/// Returns whether all replies belong to one session.
fn in_one_session(project: &Project) -> bool {
    let journal = project.journal();
    let sessions: Vec<&Value> = journal.facts("replied").map(|reply| &reply["session"]).collect();
    sessions.windows(2).all(|pair| pair[0] == pair[1])
}

#[test]
fn c67_one_process_serves_a_session_and_ends_with_the_run() {
    let project = project();
    let fake = fake(&project, "acp", &json!([{"text": DONE}, {"text": DONE}]));
    fake.saihai(["run", "it", "The task."]).run().exits(0);
    let processes = processes(&fake);
    assert_eq!((processes.len(), processes[0]), (2, processes[1]));
    assert!(in_one_session(&project));
}

#[test]
fn c67_a_process_that_is_gone_is_started_again_and_its_session_loaded() {
    let project = project();
    let fake = fake(&project, "acp", &json!([{"text": DONE, "exit": 0}, {"text": DONE}]));
    fake.saihai(["run", "it", "The task."]).run().exits(0);
    let processes = processes(&fake);
    assert_ne!(processes[0], processes[1]);
    assert!(in_one_session(&project));
    assert_eq!(project.journal().facts("failed").count(), 0, "nothing failed for it");
}

// C-29, Connections case 18
#[test]
fn c67_a_session_that_is_gone_with_its_process_starts_again_once_with_a_warning() {
    let project = project();
    let fake = fake(&project, "acp", &json!([{"text": DONE, "exit": 0, "forget": true}, {"text": DONE}]));
    let outcome = fake.saihai(["run", "it", "T"]).run().exits(0);
    let warning = "warning: Session disconnected, starting new session\n";
    assert_eq!(outcome.stderr.matches(warning).count(), 1, "{outcome}");
    processes(&fake);
}

// C-38: a failed turn leaves no process behind, and the next attempt starts its own.
#[test]
fn c67_after_a_failed_turn_the_session_is_loaded_into_a_new_process() {
    let project = project();
    let fake = fake(&project, "acp", &json!([{"text": DONE}, {"status": 500}, {"text": DONE}]));
    fake.saihai(["run", "it", "T"]).run().exits(0);
    let processes = processes(&fake);
    assert_eq!(processes[0], processes[1]);
    assert_ne!(processes[1], processes[2]);
    assert!(in_one_session(&project));
}

// Each session has its own process, even if no later turn continues the session.
#[test]
fn c67_another_session_has_another_process() {
    let project = project();
    let fresh = "name: it\nmovements:\n  - {name: plan, provider: acp, rules: [{condition: ok, next: fix}]}\n  - {name: fix, provider: acp, rules: [{condition: ok, next: COMPLETE}]}\n";
    project.write(".takt/pieces/it.yaml", fresh);
    let fake = fake(&project, "acp", &json!([{"text": DONE}, {"text": DONE}]));
    fake.saihai(["run", "it", "T"]).run().exits(0);
    let processes = processes(&fake);
    assert_ne!(processes[0], processes[1]);
}
