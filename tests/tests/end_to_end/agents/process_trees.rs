//! No process of an agent outlives its turn. C-56, C-57.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use saihai_model::Millis;
use serde_json::json;

use super::one_request::{Stage, block_on, is_alive, told};
use super::personality::{ALL, with_each};
use super::{fake, two_movements};

// Connections case 31: children, processes in their own session, without a parent, and without a mark.
#[test]
fn c57_stopping_a_turn_ends_everything_that_came_of_it_in_each_program() {
    let faults = ["forks", "setsid", "double_fork", "bare_double_fork"];
    let cases: Vec<_> = faults.into_iter().flat_map(|fault| ALL.map(|name| (fault, name))).collect();
    with_each(&cases, |case @ (fault, name)| {
        // The agent is in the middle of its turn, as when it runs a command.
        let stage = Stage::new(name, &json!({"text": "part", "no_end": true, "fault": fault}));
        let act = async {
            let lingering = stage.lingering().await;
            assert!(is_alive(lingering), "{case:?}");
            stage.stop.cancel();
            lingering
        };
        let ((answer, _), lingering) = block_on(async { tokio::join!(stage.answer("x"), act) });
        assert!(!is_alive(lingering), "{case:?}");
        assert_eq!(told(&answer), "cancelled: stopped", "{case:?}");
    });
}

// An agent that stays for the next turn has not ended; its processes end together with it.
#[test]
fn c57_what_an_agent_leaves_behind_ends_with_it_in_each_program() {
    with_each(&ALL, |name| {
        let stage = Stage::new(name, &json!({"text": "done", "fault": "leaves_behind"}));
        let left = async || {
            stage.lingering().await;
        };
        let (answer, _) = block_on(stage.answer_and_then("x", left));
        assert_eq!(told(&answer), "replied: done", "{name}");
        assert!(!is_alive(block_on(stage.lingering())), "{name}");
    });
}

// Connections case 31: Saihai waits for the grace period, then kills the agent.
#[test]
fn c56_an_agent_that_ignores_being_asked_is_killed_in_each_program() {
    with_each(&ALL, |name| {
        let answer = json!({"text": "part", "no_end": true, "fault": "ignores_term"});
        let mut stage = Stage::new(name, &answer);
        stage.grace = Millis(50);
        let act = async {
            stage.called().await;
            stage.stop.cancel();
        };
        let ((answer, call), ()) = block_on(async { tokio::join!(stage.answer("x"), act) });
        assert!(!is_alive(call.process()), "{name}");
        assert_eq!(told(&answer), "cancelled: stopped", "{name}");
    });
}

// C-56, Connections case 31: after Ctrl-C, the agent has two seconds, not ten.
// The run parks only after the agent's end.
#[test]
fn c56_after_ctrl_c_an_agent_that_ignores_being_asked_has_two_seconds() {
    let project = two_movements("claude");
    let fake = fake(&project, "claude", &json!([{"text": "x", "no_end": true, "fault": "ignores_term"}]));
    let mut live = fake.saihai(["run", "it", "T", "--json"]).start();
    live.wait_for("\"asked\"");
    let agent = fake.wait_for_call().process();
    let asked = Instant::now();
    live.signal(Signal::INT);
    let outcome = live.finish().exits(3);
    assert!(asked.elapsed() >= Duration::from_secs(2), "it has its grace: {outcome}");
    assert!(!is_alive(agent));
    let journal = project.journal();
    let failed: Vec<_> = journal.facts("failed").collect();
    // The agent ended in time, so Saihai did not have to abandon it.
    assert_eq!(failed[0]["failure"]["message"], "stopped", "{outcome}");
}

// C-50: no terminal, no colours.
#[tokio::test]
async fn c50_an_agent_is_told_that_there_is_no_terminal() {
    let stage = Stage::new("claude", &json!({"text": "done"}));
    let (_, call) = stage.answer("x").await;
    let given = ["NO_COLOR", "TERM", "SAIHAI_TURN"].map(|name| call.variable(name));
    assert_eq!(given, [Some("1"), Some("dumb"), Some("work.1.1.1")]);
}
