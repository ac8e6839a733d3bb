//! Tests with recorded output of the real `gemini`.

use saihai_model::{Ask, Permission, Progress, ProviderKind, ProviderSettings};

use super::*;
use crate::testing::{Said, ask, check_recorded, check_transcripts, hear, shown};

fn settings() -> ProviderSettings {
    ProviderSettings::new(ProviderKind::Gemini)
}

/// Returns the outcome of these lines.
fn said(output: &str, complaints: &str, code: i32) -> String {
    shown(&hear(&Gemini, &ask(), &settings(), &Said { output, complaints, code }).answer)
}

// C-32, C-84: recorded from the real program; each file contains its outcome.
#[test]
fn every_recorded_transcript_has_its_outcome() {
    check_transcripts(&Gemini, |_, ask| ask.session = Some("ses_old".into()));
}

// C-32, C-84: the conversations that are recorded with every agent.
#[test]
fn every_transcript_of_the_common_conversations_has_its_outcome() {
    check_recorded(&Gemini);
}

/// Returns the arguments for a level and these tools.
fn started(permission: Permission, tools: Option<&[&str]>) -> String {
    let tools = tools.map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect());
    started_for(&Ask { permission, tools, ..ask() }, &settings())
}

fn started_for(ask: &Ask, settings: &ProviderSettings) -> String {
    let AgentInvocation { arguments, input, files, .. } = Gemini.invocation(ask, settings).unwrap();
    let files: Vec<String> = files.into_iter().map(|(path, text)| format!("\n{path}:\n{text}")).collect();
    format!("{arguments:?}\n{input}{}", files.concat())
}

// C-42, C-65
#[test]
fn a_level_becomes_an_approval_mode() {
    insta::assert_snapshot!(started(Permission::ReadOnly, None), @r#"
    ["-o", "stream-json", "--approval-mode", "plan", "--policy", "/run/scratch/policy-9b764d98-4fdf-48f6-a0c7-11baf9772871.toml", "--session-id", "9b764d98-4fdf-48f6-a0c7-11baf9772871"]
    do it
    /run/scratch/policy-9b764d98-4fdf-48f6-a0c7-11baf9772871.toml:
    [[rule]]
    toolName = ["glob","grep_search","list_directory","read_file","read_many_files"]
    decision = "allow"
    priority = 999

    [[rule]]
    toolName = "*"
    decision = "deny"
    priority = 998
    denyMessage = "This turn must not use this tool."
    "#);
    insta::assert_snapshot!(started(Permission::Edit { commands: true }, None), @r#"
    ["-o", "stream-json", "--approval-mode", "auto_edit", "--policy", "/run/scratch/policy-9b764d98-4fdf-48f6-a0c7-11baf9772871.toml", "--session-id", "9b764d98-4fdf-48f6-a0c7-11baf9772871"]
    do it
    /run/scratch/policy-9b764d98-4fdf-48f6-a0c7-11baf9772871.toml:
    [[rule]]
    toolName = ["glob","grep_search","list_directory","read_file","read_many_files","replace","write_file","write_todos","google_web_search","web_fetch"]
    decision = "allow"
    priority = 999

    [[rule]]
    toolName = "*"
    decision = "deny"
    priority = 998
    denyMessage = "This turn must not use this tool."
    "#);
    insta::assert_snapshot!(started(Permission::Full, Some(&["Read"])), @r#"
    ["-o", "stream-json", "--approval-mode", "yolo", "--session-id", "9b764d98-4fdf-48f6-a0c7-11baf9772871"]
    do it
    "#);
}

// C-43: Gemini would split the path and not find its policy.
#[test]
fn a_turn_is_refused_where_its_policy_could_not_be_named() {
    let scratch = "/a,b/scratch".to_owned();
    let refused = |permission| {
        let invocation =
            Gemini.invocation(&Ask { permission, scratch: scratch.clone(), ..ask() }, &settings());
        invocation.err().map(|failure| format!("{}: {}", failure.class.name(), failure.message))
    };
    insta::assert_snapshot!(refused(Permission::ReadOnly).unwrap(), @"bad_request: gemini cannot enforce `readonly` here: it splits the path `/a,b/scratch` at the comma; use a directory without a comma");
    assert_eq!(refused(Permission::Full), None, "a turn that may do everything has no policy");
}

// C-43: only the policy restricts Gemini.
#[test]
fn a_version_that_does_not_know_or_understand_policies_is_refused() {
    let unknown = "Unknown argument: policy\nUsage: gemini [options] [command]\n";
    insta::assert_snapshot!(said("", unknown, 1), @"bad_request: this version of gemini is too old: it has no `--policy`, which enforces `readonly`; install version 0.61.0 or newer: npm install -g @google/gemini-cli");
    let mut listener = Gemini.listener(&ask(), &settings());
    let mut next = |line: &str| match listener.complaint(line, &mut |_| ()) {
        ListenerStep::Abort(failure) => failure.message,
        next @ (ListenerStep::GoOn | ListenerStep::Say(_) | ListenerStep::Done) => format!("{next:?}"),
    };
    let id = unique_id(&ask());
    insta::assert_snapshot!(next(&format!("[USER] Policy file error in policy-{id}.toml:\n")), @"gemini rejected the policy that enforces `readonly`; Saihai was tested with version 0.61.0");
    assert_eq!(next("[ADMIN] Policy file error in ours.toml:\n"), "GoOn");
}

// C-10, C-23, C-65
#[test]
fn a_session_is_continued_after_further_arguments_and_trust_is_asked_for_only_where_it_is_set() {
    let mut settings = settings();
    settings.args = vec!["--debug".into()];
    settings.trust = true;
    let ask = Ask {
        session: Some("s1".into()),
        model: Some("m".into()),
        persona: Some("You plan.".into()),
        ..ask()
    };
    insta::assert_snapshot!(started_for(&ask, &settings), @r#"
    ["-o", "stream-json", "-m", "m", "--approval-mode", "plan", "--policy", "/run/scratch/policy-9b764d98-4fdf-48f6-a0c7-11baf9772871.toml", "--skip-trust", "--debug", "--resume", "s1"]
    You plan.

    ---

    do it
    /run/scratch/policy-9b764d98-4fdf-48f6-a0c7-11baf9772871.toml:
    [[rule]]
    toolName = ["glob","grep_search","list_directory","read_file","read_many_files"]
    decision = "allow"
    priority = 999

    [[rule]]
    toolName = "*"
    decision = "deny"
    priority = 998
    denyMessage = "This turn must not use this tool."
    "#);
}

fn failed_with(message: &str, code: i32) -> String {
    let line =
        format!(r#"{{"type":"result","status":"error","error":{{"message":{}}}}}"#, Json::from(message));
    said(&line, "", code)
}

// C-32, Connections case 15
#[test]
fn a_failure_is_classified_by_what_it_tells_and_else_by_its_exit_code() {
    assert_eq!(failed_with(r#"[API Error: {"error":{"code":403,"message":"no"}}]"#, 147), "auth: no");
    assert_eq!(failed_with(r#"[API Error: {"error":{"code":503,"message":"no"}}]"#, 247), "transient: no");
    assert_eq!(failed_with("[API Error: slow down]", 173), "rate_limited: [API Error: slow down]");
    assert_eq!(failed_with("[API Error: terminated]", 1), "transient: [API Error: terminated]");
    assert_eq!(failed_with("no idea", 1), "crashed: no idea");
    assert_eq!(said("", "bad key\n", 145), "auth: bad key");
    assert_eq!(said("", "settings.json is broken\n", 52), "bad_request: settings.json is broken");
    let quota = r#"[API Error: {"error":{"code":429,"message":"wait","details":[{"retryDelay":"34.5s"}]}}]"#;
    insta::assert_snapshot!(failed_with(quota, 173), @r"
    rate_limited: wait
    retry_after: 34500 ms
    ");
}

// C-32: a used-up daily quota, an unknown model and a model without capacity are three different failures.
#[test]
fn a_failure_is_told_from_others_by_the_name_of_its_error() {
    let failed = |message: &str, name: &str, code| {
        let message = Json::from(format!("[API Error: {message}]"));
        let line = format!(r#"{{"type":"result","status":"error","error":{{"message":{message}}}}}"#);
        said(
            &line,
            &format!("Error when talking to Gemini API … {name}: {message}\n    at x (y.js:1:2)\n"),
            code,
        )
    };
    let daily = "You have exhausted your daily quota on this model.";
    insta::assert_snapshot!(failed(daily, "TerminalQuotaError", 173), @"quota: [API Error: You have exhausted your daily quota on this model.]");
    let delayed = "TerminalQuotaError: x {\n  retryDelayMs: 7200000,\n  status: 429\n}";
    insta::assert_snapshot!(failed("Used up.", delayed, 173), @r#"
    quota: [API Error: Used up.]
    retry_after: 7200000 ms
    "#);
    insta::assert_snapshot!(failed("No capacity available", "TerminalQuotaError", 173), @"rate_limited: [API Error: No capacity available]");
    insta::assert_snapshot!(failed("models/nope is not found", "ModelNotFoundError", 1), @"bad_request: [API Error: models/nope is not found]");
}

// C-32: a model that repeats itself did get a request, even without counted tokens.
#[test]
fn a_loop_is_not_a_long_prompt() {
    let looping = r#"{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}"#;
    let nothing = r#"{"type":"result","status":"success","stats":{"input_tokens":0,"output_tokens":0}}"#;
    insta::assert_snapshot!(said(&format!("{TEXT}\n{looping}\n{nothing}"), "", 0), @"crashed: gemini stopped the turn: its model repeats itself (Loop detected)");
    insta::assert_snapshot!(said(&format!("{TEXT}\n{looping}\n{DONE}"), "", 0), @r#"
    crashed: gemini stopped the turn: its model repeats itself (Loop detected)
    usage: {"input":3,"output":1}
    "#);
}

// C-26, C-27: a token budget includes thoughts.
#[test]
fn thoughts_are_output_that_only_the_total_counts() {
    let done = r#"{"type":"result","status":"success","stats":{"total_tokens":650,"input_tokens":100,"output_tokens":50,"cached":20}}"#;
    insta::assert_snapshot!(said(&format!("{TEXT}\n{done}"), "", 0), @r#"
    replied: "done"
    usage: {"input":100,"output":550,"cached":20,"reasoning":500}
    "#);
}

// C-65, Connections case 15: this is the result of a prompt that is too long for the model.
#[test]
fn a_success_without_a_request_is_none() {
    let nothing = r#"{"type":"result","status":"success","stats":{"input_tokens":0,"output_tokens":0}}"#;
    insta::assert_snapshot!(said(nothing, "", 0), @"bad_request: gemini ended without asking its model: the prompt is too long for the model, or is only a command of gemini");
    insta::assert_snapshot!(said(r#"{"type":"message","role":"user","content":"word wo"#, "", 0), @"crashed: gemini ended before it printed its answer, which is lost; this happens if a prompt is too long for the model, or if the model answers a long prompt at once (exit code 0)");
}

const DONE: &str = r#"{"type":"result","status":"success","stats":{"input_tokens":3,"output_tokens":1}}"#;
const TEXT: &str = r#"{"type":"message","role":"assistant","content":"done"}"#;

// C-32, Connections case 30
#[test]
fn success_takes_an_end_an_answer_and_a_clean_exit() {
    insta::assert_snapshot!(said(&format!("{TEXT}\n{DONE}"), "", 0), @r#"
    replied: "done"
    usage: {"input":3,"output":1}
    "#);
    insta::assert_snapshot!(said(&format!("{TEXT}\n{DONE}"), "", 1), @r#"
    crashed: gemini failed after it had answered (exit code 1)
    usage: {"input":3,"output":1}
    "#);
    insta::assert_snapshot!(said(TEXT, "", 0), @"crashed: gemini ended without an answer (exit code 0)");
    insta::assert_snapshot!(said(DONE, "", 0), @r#"
    crashed: gemini answered nothing (exit code 0)
    usage: {"input":3,"output":1}
    "#);
}

// C-28, C-65, Connections case 16: Gemini would retry for minutes.
#[test]
fn the_fourth_attempt_of_its_own_is_the_last() {
    let mut listener = Gemini.listener(&ask(), &settings());
    let mut told = Vec::new();
    let mut next = |line: &str| match listener.complaint(line, &mut |progress| told.push(progress)) {
        ListenerStep::Abort(failure) => failure.class.name(),
        ListenerStep::GoOn => "goes on",
        ListenerStep::Say(_) => "speaks",
        ListenerStep::Done => "done",
    };
    assert_eq!(next("Attempt 1 failed with status 500. Retrying with backoff... _ApiError: {}\n"), "goes on");
    assert_eq!(next("Attempt 3 failed with status 500. Retrying with backoff...\n"), "goes on");
    assert_eq!(next("Attempt 4 failed with status 503. Retrying with backoff...\n"), "transient");
    assert_eq!(next("Attempt 4 failed with status 429. Retrying with backoff...\n"), "rate_limited");
    assert_eq!(next("Attempt 4 failed. Retrying with backoff...\n"), "transient");
    assert_eq!(next("Attempted 4 failed things\n"), "goes on");
    assert_eq!(
        told[0],
        Progress::Retrying("Attempt 1 failed with status 500. Retrying with backoff...".into())
    );
    assert_eq!(told.len(), 5);
}

// C-36
#[test]
fn an_open_tool_is_told() {
    let mut listener = Gemini.listener(&ask(), &settings());
    let mut hear = |line: &str| listener.output(line, &mut |_: Progress| ());
    hear(r#"{"type":"tool_use","tool_name":"x","tool_id":"1"}"#);
    assert!(listener.is_busy());
    listener.output(r#"{"type":"tool_result","tool_id":"1","status":"success"}"#, &mut |_: Progress| ());
    assert!(!listener.is_busy());
}
