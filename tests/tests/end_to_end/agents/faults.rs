//! What comes of each thing that an agent can do wrong (C-84).

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::stage::{Stage, told};

/// Asks an agent that misbehaves.
async fn asked(answer: Value) -> String {
    told(&Stage::new("claude", &answer).answer("the prompt").await.0)
}

// Cases 27, 29, 30; C-51, C-53, C-59
#[tokio::test]
async fn c84_what_comes_of_each_fault() {
    let faults = [
        "closes_input",
        "no_end",
        "two_ends",
        "half_line",
        "long_line",
        "bad_text",
        "ansi",
        "segv",
        "kill",
        "success_exit_1",
    ];
    let mut all = Vec::new();
    for fault in faults {
        let told = asked(json!({"text": "done", "fault": fault})).await;
        // Where the whole line can be read differs from run to run.
        let told = told.split(" all of it is in ").next().unwrap_or_default().to_owned();
        all.push(format!("{fault}: {told}"));
    }
    assert_snapshot!(all.join("\n"), @"
    closes_input: replied: done
    no_end: crashed: claude ended without an end of the turn (exit code 0)
    two_ends: replied: done
    warning: it ended its turn twice; the second end was ignored
    half_line: crashed: claude ended without an end of the turn (exit code 0)
    long_line: replied: done
    warning: a line of 50000027 bytes was cut where a text in it was too long;
    bad_text: replied: done
    ansi: replied: done
    segv: crashed: claude did not end well after its reply (signal 11)
    kill: crashed: claude did not end well after its reply (signal 9)
    success_exit_1: crashed: claude did not end well after its reply (exit code 1)
    ");
}

// An error is one whatever the exit code says.
#[tokio::test]
async fn c32_an_error_that_ends_well_is_an_error() {
    let said = asked(json!({"status": 429, "fault": "error_exit_0"})).await;
    assert_snapshot!(said, @"rate_limited: API Error: 429 as the script says");
}

// Case 33
#[tokio::test]
async fn c50_nothing_in_a_prompt_is_ever_executed() {
    let stage = Stage::new("claude", &json!({"text": "done"}));
    let prompt = "$(touch x); `touch x`\n\"'\\";
    let (_, call) = stage.answer(prompt).await;
    assert_eq!(call.input(), prompt);
    assert!(!stage.project().root().join("x").exists());
}

// C-54: its own keys, and not those of others; C-46 is for every agent.
#[tokio::test]
async fn c54_an_agent_is_given_its_own_variables_and_no_others() {
    let mut stage = Stage::new("claude", &json!({"text": "done"}));
    let ours = [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GH_TOKEN",
        "SSH_AUTH_SOCK",
        "LC_ALL",
        "MINE",
        "COPILOT_ALLOW_ALL",
    ];
    stage.environment = ours.map(|name| (name, format!("value of {name}"))).to_vec();
    stage.settings.env_pass = vec!["MINE".to_owned(), "COPILOT_ALLOW_ALL".to_owned()];
    stage.settings.env.insert("SET".to_owned(), "1".to_owned());
    let (_, call) = stage.answer("x").await;
    let given: Vec<&str> =
        ours.into_iter().chain(["SET"]).filter(|name| call.variable(name).is_some()).collect();
    assert_eq!(given, ["ANTHROPIC_API_KEY", "LC_ALL", "MINE", "SET"]);
}

// Case 34
#[tokio::test]
async fn c55_a_key_that_an_agent_repeats_is_taken_out_everywhere() {
    let mut stage = Stage::new("claude", &json!({"text": "the key is open-sesame-42"}));
    stage.environment.push(("ANTHROPIC_API_KEY", "open-sesame-42".to_owned()));
    let (answer, _) = stage.answer("x").await;
    assert_eq!(told(&answer), "replied: the key is [redacted:ANTHROPIC_API_KEY]");
    for file in std::fs::read_dir(stage.project().root().join("run/scratch")).expect("files") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
        assert!(!text.contains("open-sesame-42"), "{text}");
    }
}
