//! Nothing of an agent outlives its turn. C-56, C-57.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use saihai_model::Millis;
use serde_json::json;

use super::stage::{Stage, is_alive, told};
use super::{fake, two_movements};

// Case 31: children, those in a session of their own, those without a parent, and those without a mark.
#[tokio::test]
async fn c57_stopping_a_turn_ends_everything_that_came_of_it() {
    for fault in ["forks", "setsid", "double_fork", "bare_double_fork"] {
        let stage = Stage::new("claude", &json!({"text": "done", "fault": fault}));
        let act = async {
            let lingering = stage.lingering().await;
            assert!(is_alive(lingering), "{fault}");
            stage.stop.cancel();
            lingering
        };
        let ((answer, _), lingering) = tokio::join!(stage.answer("x"), act);
        assert!(!is_alive(lingering), "{fault}");
        // Case 12: what it had said stands.
        assert_eq!(told(&answer), "replied: done", "{fault}");
    }
}

#[tokio::test]
async fn c57_what_an_agent_leaves_behind_ends_with_it() {
    let stage = Stage::new("claude", &json!({"text": "done", "fault": "leaves_behind"}));
    let (answer, _) = stage.answer("x").await;
    assert_eq!(told(&answer), "replied: done");
    let lingering = stage.lingering().await;
    assert!(!is_alive(lingering));
}

// Case 31: it has its grace, and is then killed.
#[tokio::test]
async fn c56_an_agent_that_ignores_being_asked_is_killed() {
    let mut stage = Stage::new("claude", &json!({"text": "done", "fault": "ignores_term"}));
    stage.grace = Millis(50);
    let mut seen = stage.seen.subscribe();
    let act = async {
        seen.wait_for(|seen| !seen.is_empty()).await.expect("progress");
        stage.stop.cancel();
    };
    let ((_, call), ()) = tokio::join!(stage.answer("x"), act);
    assert!(!is_alive(call.process()));
}

// C-56, case 31: after Ctrl-C it has two seconds, not ten, and is seen to its end before the run is parked.
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
    // Nobody had to be given up: it was ended in its time.
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
