//! Tests with recorded output of the real `copilot`.

use saihai_model::{Ask, Permission, Progress, ProviderKind, ProviderSettings};

use super::*;
use crate::testing::{Said, ask, check_recorded, check_transcripts, hear, shown};

fn settings() -> ProviderSettings {
    ProviderSettings::new(ProviderKind::Copilot)
}

/// Returns the outcome of these lines.
fn said(output: &str, complaints: &str, code: i32) -> String {
    shown(&hear(&Copilot, &ask(), &settings(), &Said { output, complaints, code }).answer)
}

// C-32, C-84: recorded from the real program; each file contains its outcome.
#[test]
fn every_recorded_transcript_has_its_outcome() {
    check_transcripts(&Copilot, |_, ask| ask.session = Some("ses_old".into()));
}

// C-32, C-84: the conversations that are recorded with every agent.
#[test]
fn every_transcript_of_the_common_conversations_has_its_outcome() {
    check_recorded(&Copilot);
}

/// Returns the arguments for a level and these tools.
fn started(permission: Permission, tools: Option<&[&str]>) -> String {
    let tools = tools.map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect());
    started_for(&Ask { permission, tools, ..ask() }, &settings())
}

fn started_for(ask: &Ask, settings: &ProviderSettings) -> String {
    let AgentInvocation { arguments, input, .. } = Copilot.invocation(ask, settings).unwrap();
    format!("{}\n{input}", arguments.join(" "))
}

// R-39
#[test]
fn where_a_stranger_may_have_been_instructions_of_the_project_stay_out() {
    let flag =
        |foreign| started_for(&Ask { foreign, ..ask() }, &settings()).contains("--no-custom-instructions");
    assert_eq!([flag(true), flag(false)], [true, false]);
}

// C-42, C-66
#[test]
fn a_level_becomes_tools_that_are_offered_allowed_and_denied() {
    insta::assert_snapshot!(started(Permission::ReadOnly, None), @r"
    --output-format json --no-color --no-ask-user --disable-builtin-mcps --available-tools=view,grep,glob --deny-tool=write --deny-tool=shell --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871
    do it
    ");
    insta::assert_snapshot!(started(Permission::Edit { commands: false }, None), @r"
    --output-format json --no-color --no-ask-user --disable-builtin-mcps --allow-tool=write --deny-tool=shell --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871
    do it
    ");
    insta::assert_snapshot!(started(Permission::Edit { commands: true }, None), @r"
    --output-format json --no-color --no-ask-user --disable-builtin-mcps --allow-tool=write --allow-tool=shell --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871
    do it
    ");
    insta::assert_snapshot!(started(Permission::Full, None), @r"
    --output-format json --no-color --no-ask-user --disable-builtin-mcps --allow-all-tools --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871
    do it
    ");
}

// C-22, C-43: an empty list would allow all tools.
#[test]
fn tools_a_definition_names_narrow_a_level_and_never_widen_it() {
    insta::assert_snapshot!(started(Permission::ReadOnly, Some(&["Read", "Write", "Bash"])), @r"
    --output-format json --no-color --no-ask-user --disable-builtin-mcps --available-tools=view --deny-tool=write --deny-tool=shell --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871
    do it
    ");
    insta::assert_snapshot!(started(Permission::ReadOnly, Some(&["Write"])), @r"
    --output-format json --no-color --no-ask-user --disable-builtin-mcps --available-tools=saihai-no-tool --deny-tool=write --deny-tool=shell --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871
    do it
    ");
    insta::assert_snapshot!(started(Permission::Edit { commands: true }, Some(&[])), @r"
    --output-format json --no-color --no-ask-user --disable-builtin-mcps --available-tools=saihai-no-tool --allow-tool=write --allow-tool=shell --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871
    do it
    ");
    insta::assert_snapshot!(started(Permission::Full, Some(&["Bash", "my-server-tool"])), @r"
    --output-format json --no-color --no-ask-user --disable-builtin-mcps --available-tools=bash,read_bash,list_bash,stop_bash,my-server-tool --allow-all-tools --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871
    do it
    ");
}

// C-10, C-23
#[test]
fn a_session_is_continued_after_further_arguments_and_a_persona_stands_before_the_prompt() {
    let mut settings = settings();
    settings.args = vec!["--banner".into()];
    let ask = Ask {
        session: Some("s1".into()),
        model: Some("m".into()),
        persona: Some("You plan.".into()),
        ..ask()
    };
    insta::assert_snapshot!(started_for(&ask, &settings), @r"
    --output-format json --no-color --no-ask-user --disable-builtin-mcps --model m --available-tools=view,grep,glob --deny-tool=write --deny-tool=shell --banner --resume=s1
    You plan.

    ---

    do it
    ");
}

fn error(data: &str) -> String {
    said(&format!(r#"{{"type":"session.error","data":{data}}}"#), "", 1)
}

// C-32, Connections case 17
#[test]
fn an_error_is_classified_by_its_kind_and_else_by_its_status() {
    assert_eq!(error(r#"{"errorType":"rate_limit","message":"slow"}"#), "rate_limited: slow");
    assert_eq!(error(r#"{"errorType":"quota","message":"spent","statusCode":402}"#), "quota: spent");
    assert_eq!(error(r#"{"errorType":"authentication","message":"who"}"#), "auth: who");
    assert_eq!(error(r#"{"errorType":"transport_error","message":"reset"}"#), "transient: reset");
    assert_eq!(error(r#"{"errorType":"query","message":"no","statusCode":503}"#), "transient: no");
    let long = r#"{"errorType":"query","message":"it exceeds the model's prompt budget"}"#;
    assert_eq!(error(long), "bad_request: it exceeds the model's prompt budget");
    assert_eq!(error(r#"{"errorType":"query","message":"?"}"#), "crashed: ?");
}

// C-32
#[test]
fn a_connection_that_broke_is_known_by_the_end_of_its_last_request() {
    let ended = |result: &str, data: &str| {
        let last = format!(
            r#"{{"type":"model.call_final_result","data":{{"result":"{result}"}},"ephemeral":true}}"#
        );
        said(&format!("{last}\n{{\"type\":\"session.error\",\"data\":{data}}}"), "", 1)
    };
    let query = r#"{"errorType":"query","message":"no response"}"#;
    assert_eq!(ended("transport_error", query), "transient: no response");
    assert_eq!(ended("error", query), "crashed: no response");
    let refused = r#"{"errorType":"query","message":"no","statusCode":400}"#;
    assert_eq!(ended("transport_error", refused), "bad_request: no");
}

const DONE: &str = r#"{"type":"result","sessionId":"s","exitCode":0}"#;
const TEXT: &str = r#"{"type":"assistant.message","data":{"content":"done"}}"#;

// C-32, Connections case 30; C-56: after INT or TERM Copilot exits with 0 and without a result.
#[test]
fn success_takes_an_end_an_answer_and_a_clean_exit() {
    insta::assert_snapshot!(said(&format!("{TEXT}\n{DONE}"), "", 0), @r#"
    replied: "done"
    session: s
    "#);
    insta::assert_snapshot!(said(&format!("{TEXT}\n{DONE}"), "", 1), @r"
    crashed: copilot failed after it had answered (exit code 1)
    session: s
    ");
    insta::assert_snapshot!(said(TEXT, "", 0), @r"
    crashed: copilot ended without an answer (exit code 0)
    session: 9b764d98-4fdf-48f6-a0c7-11baf9772871
    ");
    insta::assert_snapshot!(said(DONE, "", 0), @r"
    crashed: copilot answered nothing (exit code 0)
    session: s
    ");
    insta::assert_snapshot!(said(r#"{"type":"result","exitCode":1}"#, "boom\n", 1), @"crashed: copilot failed without a reason (exit code 1): boom");
}

// C-66, C-28
#[test]
fn ephemeral_lines_are_shown_and_mean_nothing() {
    let output = [
        r#"{"type":"assistant.message_delta","data":{"deltaContent":"do"},"ephemeral":true}"#,
        r#"{"type":"session.info","data":{"infoType":"model_retry","message":"again"},"ephemeral":true}"#,
        r#"{"type":"session.error","data":{"errorType":"query","message":"no"},"ephemeral":true}"#,
        TEXT,
        DONE,
    ];
    let said = Said { output: &output.join("\n"), ..Said::default() };
    let heard = hear(&Copilot, &ask(), &settings(), &said);
    assert_eq!(heard.progress, [Progress::Text("do".into()), Progress::Retrying("again".into())]);
    assert_eq!(heard.answer.unwrap().text, "done");
}
