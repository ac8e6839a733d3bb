//! The result of each fault of an agent (C-84).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use saihai_connect::{Clock, Sleep};
use saihai_model::Millis;
use serde_json::json;

use super::one_request::{Stage, block_on, told};
use super::personality::{ALL, Name, OWN, with_each};

/// A clock for endless agents: each wait takes a hundredth of its length.
struct Hurried;

impl Clock for Hurried {
    fn sleep(&self, length: Millis) -> Sleep<'_> {
        Box::pin(tokio::time::sleep(Duration::from_millis(length.0 / 100)))
    }
}

/// Prepares a misbehaving agent with the usual settings.
fn usually(name: Name, fault: &str) -> Stage {
    Stage::new(name, &json!({"text": "done", "fault": fault}))
}

/// Prepares an agent that never ends by itself. The time limit is as short as a loaded machine allows. The
/// agent's progress until then does not matter for these faults.
fn for_ever(name: Name, fault: &str) -> Stage {
    let mut stage = usually(name, fault);
    stage.clock = Arc::new(Hurried);
    stage.settings.turn_timeout = None;
    stage.settings.idle_timeout = None;
    stage.settings.max_prompt = Some(20_000_000);
    match fault {
        "hang" => {}
        "talks" => stage.settings.turn_timeout = Some(Millis::seconds(30)),
        _ => stage.settings.idle_timeout = Some(Millis::seconds(30)),
    }
    stage
}

/// Describes the result of each fault in each program. Equal results appear once, with the names of their programs.
fn told_of_all(faults: &[&str], prompt: &str, stage: fn(Name, &str) -> Stage) -> String {
    let cases: Vec<(&str, Name)> = faults.iter().flat_map(|fault| ALL.map(|name| (*fault, name))).collect();
    let all = with_each(&cases, |(fault, name)| asked(&stage(name, fault), prompt).replace(name, "it"));
    let mut text = String::new();
    for fault in faults {
        let of_fault = cases.iter().zip(&all).filter(|((one, _), _)| one == fault);
        let mut same: BTreeMap<&str, Vec<Name>> = BTreeMap::new();
        of_fault.for_each(|((_, name), told)| same.entry(told).or_default().push(name));
        for (told, names) in same {
            let names = if names.len() == ALL.len() { "all".to_owned() } else { names.join(" ") };
            writeln!(text, "{fault} ({names}): {told}").expect("a text");
        }
    }
    text
}

/// Asks the agent on the current thread.
fn asked(stage: &Stage, prompt: &str) -> String {
    let (answer, _) = block_on(stage.answer_and_then(prompt, async || {}));
    // The path of the full line differs between runs.
    told(&answer).split(" all of it is in ").next().unwrap_or_default().to_owned()
}

// The test asks all agents at the same time, including good ones: no agent affects another.
// T-73, C-84, Connections cases 27, 29 and 30; C-51, C-53, C-59
#[test]
fn t73_what_comes_of_each_fault_in_each_program() {
    let faults = [
        "closes_input",
        "mute",
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
    assert_snapshot!(told_of_all(&faults, "the prompt", usually), @"
    closes_input (all): replied: done
    mute (mine): crashed: command ended without a line `done` or `failed` (exit code 0)
    mute (opencode gemini copilot acp): crashed: it ended without an answer (exit code 0)
    mute (claude codex): crashed: it ended without an end of the turn (exit code 0)
    no_end (mine): crashed: command ended without a line `done` or `failed` (exit code 0)
    no_end (opencode gemini copilot acp): crashed: it ended without an answer (exit code 0)
    no_end (claude codex): crashed: it ended without an end of the turn (exit code 0)
    two_ends (acp): replied: done
    two_ends (claude codex opencode gemini copilot mine): replied: done
    warning: it ended its turn twice; the second end was ignored
    half_line (mine): crashed: command ended without a line `done` or `failed` (exit code 0)
    half_line (opencode gemini copilot acp): crashed: it ended without an answer (exit code 0)
    half_line (claude codex): crashed: it ended without an end of the turn (exit code 0)
    long_line (all): replied: done
    warning: a line of 50000027 bytes was cut where a text in it was too long;
    bad_text (all): replied: done
    ansi (all): replied: done
    segv (mine): crashed: command failed (signal 11)
    segv (claude codex): crashed: it did not end well after its reply (signal 11)
    segv (opencode gemini copilot): crashed: it failed after it had answered (signal 11)
    segv (acp): replied: done
    kill (mine): crashed: command failed (signal 9)
    kill (claude codex): crashed: it did not end well after its reply (signal 9)
    kill (opencode gemini copilot): crashed: it failed after it had answered (signal 9)
    kill (acp): replied: done
    success_exit_1 (mine): crashed: command failed (exit code 1)
    success_exit_1 (claude codex): crashed: it did not end well after its reply (exit code 1)
    success_exit_1 (opencode gemini copilot): crashed: it failed after it had answered (exit code 1)
    success_exit_1 (acp): replied: done
    ");
}

// T-73, C-36, C-51, C-59, Connections case 26: Saihai never waits for ever for an agent.
#[test]
fn t73_an_agent_that_goes_on_for_ever_is_ended_in_each_program() {
    assert_snapshot!(told_of_all(&["never_reads"], &"x".repeat(10_000_000), for_ever), @"
    never_reads (codex): bad_request: prompt is 10000000 characters, it takes 1048576
    never_reads (claude opencode gemini copilot acp mine): transient: timed out after 30s without output
    ");
    let faults = ["never_reads", "silence", "closes_output", "talks", "hang"];
    assert_snapshot!(told_of_all(&faults, &"x".repeat(900_000), for_ever), @"
    never_reads (all): transient: timed out after 30s without output
    silence (all): transient: timed out after 30s without output
    closes_output (all): transient: timed out after 30s without output
    talks (all): transient: timed out after 30s
    hang (all): replied: done
    ");
}

// T-73, C-52, Connections case 28
#[test]
fn t73_an_agent_that_prints_a_gigabyte_is_ended_in_each_program() {
    assert_snapshot!(told_of_all(&["flood"], "the prompt", usually), @"flood (all): crashed: output limit: it printed more than 256 MiB");
}

// C-24, Connections cases 14 and 16
#[test]
fn c24_a_prompt_that_a_program_does_not_take_is_refused_before_it_starts() {
    let prompt = "x".repeat(10_000_001);
    let limited: Vec<Name> = ALL.into_iter().filter(|name| *name != OWN).collect();
    let told = with_each(&limited, |name| {
        let stage = Stage::new(name, &json!({"text": "done"}));
        let (answer, calls) = block_on(stage.answer_and_then(&prompt, async || {}));
        assert!(calls.is_empty(), "{name}");
        told(&answer)
    });
    assert_snapshot!(told.join("\n"), @"
    bad_request: prompt is 10000001 bytes, claude takes 10000000
    bad_request: prompt is 10000001 characters, codex takes 1048576
    bad_request: prompt is 10000001 bytes, opencode takes 1000000
    bad_request: prompt is 10000001 bytes, gemini takes 8388608
    bad_request: prompt is 10000001 bytes, copilot takes 1000000
    bad_request: prompt is 10000001 bytes, acp takes 10000000
    ");
}

// C-32: an error counts as an error with any exit code.
#[test]
fn c32_an_error_that_ends_well_is_an_error_in_each_program() {
    let mut text = String::new();
    for status in [401_u16, 429, 500] {
        let answer = json!({"status": status, "fault": "error_exit_0"});
        let told = with_each(&ALL, |name| asked(&Stage::new(name, &answer), "the prompt"));
        ALL.iter()
            .zip(told)
            .for_each(|(name, told)| writeln!(text, "{status} {name}: {told}").expect("a text"));
    }
    assert_snapshot!(text, @"
    401 claude: auth: API Error: 401 as the script says
    401 codex: auth: unexpected status 401: as the script says
    401 opencode: auth: as the script says
    401 gemini: auth: as the script says
    401 copilot: auth: as the script says
    401 acp: auth: as the script says
    401 mine: auth: bad key
    429 claude: rate_limited: API Error: 429 as the script says
    429 codex: rate_limited: exceeded retry limit, last status: 429 Too Many Requests
    429 opencode: rate_limited: as the script says
    429 gemini: rate_limited: as the script says
    429 copilot: rate_limited: as the script says
    429 acp: rate_limited: as the script says
    429 mine: rate_limited: slow down
    500 claude: transient: API Error: 500 as the script says
    500 codex: transient: We’re currently experiencing high demand, which may cause temporary errors.
    500 opencode: transient: as the script says
    500 gemini: transient: as the script says
    500 copilot: transient: as the script says
    500 acp: transient: as the script says
    500 mine: transient: status 500
    ");
}

// C-54: an agent gets its own keys, not those of others; C-46 applies to every agent.
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

// Connections case 34
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
