//! Step agents on agent programs. The fake agent plays each program.

use std::path::Path;

use saihai_tests::{FakeAgent, Project};
use serde_json::{Value, json};

use super::{agent, completes, run, summaries};

const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_saihai-fake-agent");

pub(super) fn fake_agent() -> &'static Path {
    Path::new(FAKE_AGENT)
}

fn two_steps(more: &Value) -> Project {
    let mut steps = json!({"a": {"next": "b"}, "b": {"terminal": true}});
    for (key, value) in more.as_object().into_iter().flatten() {
        steps["b"][key] = value.clone();
    }
    agent(&completes("stepMachine", &json!({})), &json!({}), &steps, "")
}

// S-22: a provider's own format never leaves the connection layer; the tidy test keeps the layers apart.
#[test]
fn two_programs_that_speak_differently_come_to_one_summary() {
    let told = ["claude", "codex"].map(|name| {
        let project = two_steps(&json!({}));
        let answers = json!([{"text": "first"}, {"text": "second"}]);
        let fake = FakeAgent::install(&project, fake_agent(), &[name], &answers);
        fake.saihai(["run", "it", "--provider", name]).run().exits(0);
        for call in fake.calls() {
            let asked = call.arguments();
            assert!(!asked.contains("-schema"), "nobody wants a form: {asked}");
        }
        let mut told = summaries(&project);
        for one in told.as_array_mut().into_iter().flatten() {
            let fields = one.as_object_mut().expect("an object");
            fields.retain(|key, _| !["sessionId", "timestamp", "durationMs"].contains(&key.as_str()));
        }
        told
    });
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0][1]["assistantResponses"], json!(["second"]));
    assert_eq!((&told[0][0]["errors"], &told[0][1]["errors"]), (&json!([]), &json!([])));
}

// S-58, case 30: this applies to checks and to steps.
#[test]
fn a_lost_session_starts_again_once_with_its_conversation() {
    let steps = json!({
        "a": {"check": {"onPass": {"next": "b"}, "onFail": {"retry": true}}},
        "b": {"terminal": true},
    });
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, "");
    let passed = "{\"result\": \"ok\"}";
    let answers = json!([
        {"text": "first", "forget": true}, {}, {"text": passed, "forget": true}, {}, {"text": "second"},
    ]);
    let fake = FakeAgent::install(&project, fake_agent(), &["claude"], &answers);
    let done = fake.saihai(["run", "it", "--provider", "claude"]).run().exits(0);
    let warning = "warning: Session disconnected, starting new session\n";
    assert_eq!(done.stderr.matches(warning).count(), 2, "{done}");
    let calls = fake.calls();
    let resumed: Vec<bool> = calls.iter().map(|call| call.after("--resume").is_some()).collect();
    assert_eq!(resumed, [false, true, false, true, false]);
    assert_eq!(calls[3].after("--resume"), calls[2].after("--session-id"), "the one that the check began");
    let carried = "## Carried over from the previous iteration\n\nfirst\n\n{\"lastActions\":[],\"lastToolsUsed\":[]}\n\n";
    assert_eq!(calls[2].input().trim_end(), format!("{carried}{}", calls[1].input()).trim_end(), "the check");
    assert_eq!(calls[4].input().trim_end(), format!("{carried}{}", calls[3].input()).trim_end(), "the step");
    assert_eq!(summaries(&project).as_array().map(Vec::len), Some(2), "no iteration more");
}

// S-58, case 30: if each new session is lost immediately, Saihai does not start sessions for ever.
#[test]
fn a_session_that_is_lost_twice_is_given_up() {
    let lost = "  - {fail: {class: session_lost, message: 'no such session'}, times: '*'}\n";
    let steps = json!({"a": {"next": "b"}, "b": {"terminal": true}});
    let replies = format!("  - {{text: 'first'}}\n{lost}");
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, &replies);
    let ended = run(&project, &[]).exits(4);
    assert_eq!(
        ended.stderr.matches("warning: Session disconnected, starting new session\n").count(),
        1,
        "{ended}"
    );
    assert_eq!(project.journal().asked()["b.1.1.1"], 2);
    let result = super::returned(&project);
    assert_eq!(result["completionReason"], json!("provider_failed"));
    assert_eq!(result["error"], json!("session_lost: no such session"));
    assert_eq!(result["iterations"], json!(2), "the one that failed counts");
}

// S-56, S-57: every query gets its directory, persona and tools. The step's own values override the agent's.
#[test]
fn every_query_is_told_where_it_works_and_what_holds_for_it() {
    let project = two_steps(&json!({"systemPromptPath": "prompts/own.md", "allowedTools": []}));
    project.write(".agent/it/prompts/own.md", "You check.\n");
    let file = project.root().join(".agent/it/agent.json");
    let text = std::fs::read_to_string(&file).expect("it is there");
    let mut written: Value = serde_json::from_str(&text).expect("JSON");
    written["behavior"]["allowedTools"] = json!(["Read", "Grep"]);
    project.write(".agent/it/agent.json", written.to_string());
    project.write("below/x", "");
    let answers = json!([{"text": "first"}, {"text": "second"}]);
    let fake = FakeAgent::install(&project, fake_agent(), &["claude"], &answers);
    let call = fake.saihai(["run", "it", "--provider", "claude"]);
    call.directory(&project.root().join("below")).run().exits(0);
    let calls = fake.calls();
    let told = |index: usize| {
        let call = &calls[index];
        (call.persona().map(str::trim).map(str::to_owned), call.after("--tools"), call.directory())
    };
    let (root, of) = (project.root(), |text: &str| Some(text.to_owned()));
    assert_eq!(told(0), (of("You work."), of("Read,Grep"), root.clone()));
    assert_eq!(told(1), (of("You check."), of(""), root), "an empty list is a value");
    assert_eq!(calls[1].after("--resume"), calls[0].after("--session-id"), "the last session received");
}
