//! Codex. C-61.

use serde_json::json;

use super::{fake, two_movements};

const DONE: &str = "done\n[STEP:0]";

// C-4, C-27, C-42
#[test]
fn a_thread_goes_on_over_two_movements() {
    let project = two_movements("codex");
    let answers = json!([
        {"text": DONE, "tools": [{"name": "shell", "input": "ls", "output": "a\n"}]},
        {"text": DONE},
    ]);
    let fake = fake(&project, "codex", &answers);
    fake.saihai(["run", "it", "The task."]).run().exits(0);
    let calls = fake.calls();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].after("-s").as_deref(), Some("read-only"));
    assert_eq!(calls[1].after("resume").as_deref(), Some("--json"));
    assert!(
        calls[1].arguments().ends_with("01a1e076-0000-7000-8000-000000000001 -"),
        "{}",
        calls[1].arguments()
    );
    let journal = project.journal();
    let replied: Vec<_> = journal.facts("replied").collect();
    assert_eq!(replied[0]["tools_used"][0]["input"], "ls");
    assert_eq!(
        replied.iter().map(|reply| &reply["usage"]["input"]).collect::<Vec<_>>(),
        [&json!(200), &json!(200)]
    );
}

// C-33
#[test]
fn a_server_error_is_asked_again_and_a_refused_key_is_not() {
    let project = two_movements("codex");
    let fake = fake(&project, "codex", &json!([{"status": 500}, {"text": DONE}, {"status": 401}]));
    let outcome = fake.saihai(["run", "it", "T"]).run().exits(4);
    assert!(outcome.stderr.contains("unexpected status 401"), "{outcome}");
    assert_eq!(fake.calls().len(), 3);
}

// C-29, Connections case 18
#[test]
fn a_lost_thread_starts_again_once_with_a_warning() {
    let project = two_movements("codex");
    let fake = fake(&project, "codex", &json!([{"text": DONE, "forget": true}, {}, {"text": DONE}]));
    let outcome = fake.saihai(["run", "it", "T"]).run().exits(0);
    assert_eq!(
        outcome.stderr.matches("warning: Session disconnected, starting new session\n").count(),
        1,
        "{outcome}"
    );
    let resumed: Vec<bool> = fake.calls().iter().map(|call| call.after("resume").is_some()).collect();
    assert_eq!(resumed, [false, true, false]);
}

// C-23: a thread keeps its first instructions, so the role goes before the prompt instead.
#[test]
fn a_role_from_the_settings_stands_before_the_prompt() {
    let project = two_movements("codex");
    project.write("../home/.config/saihai/config.toml", "[providers.codex]\nsystem_prompt = \"Be brief.\"\n");
    let fake = fake(&project, "codex", &json!([{"text": DONE}, {"text": DONE}]));
    fake.saihai(["run", "it", "T"]).run().exits(0);
    for call in fake.calls() {
        assert!(call.input().starts_with("Be brief.\n\n---\n\n## Execution Context"), "{}", call.input());
        assert!(!call.arguments().contains("Be brief."), "{}", call.arguments());
    }
}
