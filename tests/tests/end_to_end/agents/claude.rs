//! Claude Code. C-60.

use serde_json::json;

use super::{fake, two_movements};

const DONE: &str = "done\n[STEP:0]";

// C-4, C-27, C-54: turns continue a session by its id, and the session's running totals count only once.
#[test]
fn a_session_goes_on_over_two_movements() {
    let project = two_movements("claude");
    let answers = json!([
        {"text": DONE, "tools": [{"name": "Read", "input": {"file_path": "a"}, "output": "text"}]},
        {"text": DONE},
    ]);
    let fake = fake(&project, "claude", &answers);
    fake.saihai(["run", "it", "The task."]).env("GH_TOKEN", "not for agents").run().exits(0);
    let calls = fake.calls();
    assert_eq!(calls.len(), 2);
    let session = calls[0].after("--session-id").expect("a session of its own");
    assert_eq!(calls[1].after("--resume"), Some(session));
    assert!(calls[0].input().contains("The task."), "{}", calls[0].input());
    assert!(!calls[0].arguments().contains("The task."), "{}", calls[0].arguments());
    assert_eq!(calls[0].after("--permission-mode").as_deref(), Some("default"));
    assert_eq!((calls[0].variable("GH_TOKEN"), calls[0].variable("TERM")), (None, Some("dumb")));
    let journal = project.journal();
    let replied: Vec<_> = journal.facts("replied").collect();
    assert_eq!(replied[0]["tools_used"][0]["name"], "Read");
    assert_eq!(replied.iter().map(|reply| &reply["cost"]).collect::<Vec<_>>(), [&json!(600), &json!(600)]);
}

// C-29, Connections case 18
#[test]
fn a_lost_session_starts_again_once_with_a_warning() {
    let project = two_movements("claude");
    let fake = fake(&project, "claude", &json!([{"text": DONE, "forget": true}, {}, {"text": DONE}]));
    let outcome = fake.saihai(["run", "it", "T"]).run().exits(0);
    assert_eq!(
        outcome.stderr.matches("warning: Session disconnected, starting new session\n").count(),
        1,
        "{outcome}"
    );
    let calls = fake.calls();
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[1].after("--resume"), calls[0].after("--session-id"));
    assert_eq!(calls[2].after("--resume"), None);
    assert_eq!(project.journal().decisions("retry").filter(|retry| retry["new_session"] == true).count(), 1);
}

// C-33: after a rate limit, Saihai repeats the prompt with a new id (C-38).
#[test]
fn a_rate_limit_is_waited_for() {
    let project = two_movements("claude");
    let fake = fake(&project, "claude", &json!([{"status": 429}, {"text": DONE}, {"text": DONE}]));
    fake.saihai(["run", "it", "T"]).run().exits(0);
    let calls = fake.calls();
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[0].input(), calls[1].input());
    assert_ne!(calls[0].after("--session-id"), calls[1].after("--session-id"));
    assert_eq!(calls[2].after("--resume"), calls[1].after("--session-id"));
}

// C-31, C-33: Saihai tries a refused key once, and the run can continue with a better key.
#[test]
fn a_refused_key_parks_the_run() {
    let project = two_movements("claude");
    let fake = fake(&project, "claude", &json!([{"status": 401}, {"text": DONE}, {"text": DONE}]));
    let outcome = fake.saihai(["run", "it", "T"]).run().exits(4);
    assert!(outcome.stderr.contains("API Error: 401"), "{outcome}");
    assert_eq!(fake.calls().len(), 1);
    fake.saihai(["resume", "last"]).run().exits(0);
    assert_eq!(fake.calls().len(), 3);
}

// Connections case 30
#[test]
fn a_process_that_ends_without_an_end_of_the_turn_is_asked_once_more() {
    let project = two_movements("claude");
    let fake = fake(&project, "claude", &json!([{"text": DONE, "no_end": true}, {"text": DONE, "exit": 1}]));
    fake.saihai(["run", "it", "T"]).run().exits(4);
    assert_eq!(fake.calls().len(), 2);
}

// C-32, C-60: claude stops at the run's own budget, so this is not a failure of claude.
#[test]
fn a_budget_that_claude_itself_keeps_to_ends_with_exit_code_5() {
    let project = two_movements("claude");
    let fake = fake(&project, "claude", &json!([{"text": DONE}, {"text": DONE}, {"text": DONE}]));
    let parked = fake.saihai(["run", "it", "T", "--budget", "usd=0.0013"]).run().exits(0);
    assert!(parked.stdout.starts_with("completed"), "two turns of $0.0006 fit: {parked}");

    let project = two_movements("claude");
    let fake = super::fake(&project, "claude", &json!([{"text": DONE}, {"text": DONE}]));
    // No earlier turn gives a price to reserve, so the first turn gets the whole budget, which is too small.
    let parked = fake.saihai(["run", "it", "T", "--budget", "usd=0.0005", "--json"]).run().exits(5);
    assert_eq!(parked.result()["reason"], "budget", "{parked}");
    let told = fake.calls();
    assert_eq!((told.len(), told[0].after("--max-budget-usd").as_deref()), (1, Some("0.000500")));
    let journal = project.journal();
    let failed: Vec<_> = journal.facts("failed").collect();
    assert_eq!((&failed[0]["failure"]["by_budget"], &failed[0]["cost"]), (&json!(true), &json!(600)), "C-26");
    fake.saihai(["resume", "last"]).run().exits(5);
    assert_eq!(fake.calls().len(), 1, "nothing is left to ask with");
}

// C-23: claude has an argument for the role and gets it with every turn.
#[test]
fn a_role_from_the_settings_goes_into_the_slot_for_it() {
    let project = two_movements("claude");
    project
        .write("../home/.config/saihai/config.toml", "[providers.claude]\nsystem_prompt = \"Be brief.\"\n");
    let fake = fake(&project, "claude", &json!([{"text": DONE}, {"text": DONE}]));
    fake.saihai(["run", "it", "T"]).run().exits(0);
    for call in fake.calls() {
        assert_eq!(call.persona(), Some("Be brief."));
        assert_eq!(call.after("--system-prompt-snapshot").as_deref(), Some("off"));
        assert!(!call.input().contains("Be brief."), "{}", call.input());
    }
}
