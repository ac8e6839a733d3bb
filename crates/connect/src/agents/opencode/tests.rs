//! Tests with recorded output of the real `opencode`.

use saihai_model::{Ask, Permission, Progress, ProviderKind, ProviderSettings};

use super::*;
use crate::agent::ProcessExit;
use crate::testing::{Said, ask, check_recorded, check_transcripts, hear, shown};

fn settings() -> ProviderSettings {
    ProviderSettings::new(ProviderKind::Opencode)
}

/// Returns the outcome of these lines.
fn said(output: &str, complaints: &str, code: i32) -> String {
    shown(&hear(&Opencode, &ask(), &settings(), &Said { output, complaints, code }).answer)
}

// C-32, C-84: recorded from the real program; each file contains its outcome.
#[test]
fn every_recorded_transcript_has_its_outcome() {
    check_transcripts(&Opencode, |_, ask| ask.session = Some("ses_old".into()));
}

// C-32, C-84: the conversations that are recorded with every agent.
#[test]
fn every_transcript_of_the_common_conversations_has_its_outcome() {
    check_recorded(&Opencode);
}

/// Returns the arguments for a level and these tools.
fn started(permission: Permission, tools: Option<&[&str]>) -> String {
    let tools = tools.map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect());
    started_for(&Ask { permission, tools, ..ask() }, &settings())
}

fn started_for(ask: &Ask, settings: &ProviderSettings) -> String {
    let AgentInvocation { arguments, environment, input, .. } = Opencode.invocation(ask, settings).unwrap();
    let config = environment.iter().find(|(name, _)| name == "OPENCODE_CONFIG_CONTENT").unwrap();
    format!("{arguments:?}\n{}\n{input}", config.1)
}

// R-39
#[test]
fn where_a_stranger_may_have_been_the_configuration_of_the_project_stays_out() {
    let off = |foreign| {
        let environment = Opencode.invocation(&Ask { foreign, ..ask() }, &settings()).unwrap().environment;
        environment.contains(&("OPENCODE_DISABLE_PROJECT_CONFIG".to_owned(), "1".to_owned()))
    };
    assert_eq!([off(true), off(false)], [true, false]);
}

// C-42, C-64
#[test]
fn a_level_becomes_an_agent_of_our_own() {
    insta::assert_snapshot!(started(Permission::ReadOnly, None), @r#"
    ["run", "--format", "json", "--title", "20260101-000000-x plan.1.1.1", "--agent", "saihai-readonly"]
    {"agent":{"saihai-readonly":{"description":"Saihai","mode":"primary","permission":{"*":"deny","**":"deny","glob":"allow","grep":"allow","list":"allow","read":"allow"}}}}
    do it
    "#);
    insta::assert_snapshot!(started(Permission::Edit { commands: false }, None), @r#"
    ["run", "--format", "json", "--title", "20260101-000000-x plan.1.1.1", "--agent", "saihai-edit"]
    {"agent":{"saihai-edit":{"description":"Saihai","mode":"primary","permission":{"*":"deny","**":"deny","edit":"allow","glob":"allow","grep":"allow","list":"allow","read":"allow","todowrite":"allow"}}}}
    do it
    "#);
    insta::assert_snapshot!(started(Permission::Edit { commands: true }, None), @r#"
    ["run", "--format", "json", "--title", "20260101-000000-x plan.1.1.1", "--agent", "saihai-edit"]
    {"agent":{"saihai-edit":{"description":"Saihai","mode":"primary","permission":{"*":"deny","**":"deny","bash":"allow","edit":"allow","glob":"allow","grep":"allow","list":"allow","read":"allow","todowrite":"allow"}}}}
    do it
    "#);
    insta::assert_snapshot!(started(Permission::Full, None), @r#"
    ["run", "--format", "json", "--title", "20260101-000000-x plan.1.1.1", "--auto"]
    {"agent":{}}
    do it
    "#);
}

// C-22, C-43
#[test]
fn tools_a_definition_names_narrow_a_level_and_never_widen_it() {
    insta::assert_snapshot!(started(Permission::ReadOnly, Some(&["Read", "Write", "Bash"])), @r#"
    ["run", "--format", "json", "--title", "20260101-000000-x plan.1.1.1", "--agent", "saihai-readonly"]
    {"agent":{"saihai-readonly":{"description":"Saihai","mode":"primary","permission":{"*":"deny","**":"deny","read":"allow"}}}}
    do it
    "#);
    insta::assert_snapshot!(started(Permission::ReadOnly, Some(&[])), @r#"
    ["run", "--format", "json", "--title", "20260101-000000-x plan.1.1.1", "--agent", "saihai-readonly"]
    {"agent":{"saihai-readonly":{"description":"Saihai","mode":"primary","permission":{"*":"deny","**":"deny"}}}}
    do it
    "#);
    insta::assert_snapshot!(started(Permission::Full, Some(&["Read", "Bash"])), @r#"
    ["run", "--format", "json", "--title", "20260101-000000-x plan.1.1.1", "--agent", "saihai-full"]
    {"agent":{"saihai-full":{"description":"Saihai","mode":"primary","permission":{"*":"deny","**":"deny","bash":"allow","external_directory":"allow","read":"allow"}}}}
    do it
    "#);
}

// C-10, C-23
#[test]
fn a_session_is_continued_after_further_arguments_and_a_persona_stands_before_the_prompt() {
    let mut settings = settings();
    settings.args = vec!["--print-logs".into()];
    let ask = Ask {
        session: Some("ses_1".into()),
        model: Some("x/m".into()),
        persona: Some("You plan.".into()),
        ..ask()
    };
    insta::assert_snapshot!(started_for(&ask, &settings), @r#"
    ["run", "--format", "json", "--title", "20260101-000000-x plan.1.1.1", "-m", "x/m", "--agent", "saihai-readonly", "--print-logs", "-s", "ses_1"]
    {"agent":{"saihai-readonly":{"description":"Saihai","mode":"primary","permission":{"*":"deny","**":"deny","glob":"allow","grep":"allow","list":"allow","read":"allow"}}}}
    You plan.

    ---

    do it
    "#);
}

// C-64: instead of an unknown agent, OpenCode silently uses its most powerful one.
#[test]
fn its_agent_is_looked_for_before_the_first_turn() {
    let probe = Opencode.probe(&ask(), &settings()).unwrap();
    assert_eq!(
        (probe.arguments, probe.expected),
        (vec!["agent".into(), "list".into()], "saihai-readonly (primary)".into())
    );
    assert!(
        probe
            .environment
            .iter()
            .any(|(name, value)| name == "OPENCODE_CONFIG_CONTENT" && value.contains("saihai-readonly"))
    );
    assert_eq!(Opencode.probe(&Ask { permission: Permission::Full, ..ask() }, &settings()), None);
}

fn error(name: &str, data: &str) -> String {
    said(&format!(r#"{{"type":"error","error":{{"name":"{name}","data":{data}}}}}"#), "", 1)
}

// C-32
#[test]
fn an_error_is_classified_by_its_status_and_else_by_its_name() {
    let status = |status: u16, body: &str| {
        let data = format!(r#"{{"message":"no","statusCode":{status},"responseBody":{}}}"#, Json::from(body));
        error("APIError", &data)
    };
    let quota = r#"{"error":{"code":"insufficient_quota"}}"#;
    assert_eq!(status(403, ""), "auth: no");
    assert_eq!(status(402, ""), "quota: no");
    assert_eq!(status(429, quota), "quota: no");
    assert_eq!(status(404, ""), "bad_request: no");
    assert_eq!(status(415, ""), "bad_request: no");
    assert_eq!(status(500, ""), "transient: no");
    assert_eq!(status(529, ""), "transient: no");
    assert_eq!(error("ProviderAuthError", r#"{"message":"log in"}"#), "auth: log in");
    assert_eq!(error("ContextOverflowError", "{}"), "bad_request: ContextOverflowError");
    assert_eq!(error("APIError", r#"{"message":"closed","isRetryable":true}"#), "transient: closed");
    assert_eq!(error("APIError", r#"{"message":"?","isRetryable":false}"#), "crashed: ?");
    assert_eq!(error("UnknownError", r#"{"message":"?"}"#), "crashed: ?");
    assert_eq!(error("UnknownError", "17"), "crashed: UnknownError");
}

const STOP: &str = r#"{"type":"step_finish","part":{"reason":"stop"}}"#;
const TEXT: &str = r#"{"type":"text","part":{"messageID":"m","text":"done"}}"#;

// C-32, Connections cases 27 and 30
#[test]
fn success_takes_an_end_an_answer_and_a_clean_exit() {
    insta::assert_snapshot!(said(&format!("{TEXT}\n{STOP}"), "", 0), @r#"replied: "done""#);
    insta::assert_snapshot!(said(&format!("{TEXT}\n{STOP}"), "boom\n", 1), @"crashed: opencode failed after it had answered (exit code 1): boom");
    insta::assert_snapshot!(said(TEXT, "", 0), @"crashed: opencode ended without an answer (exit code 0)");
    insta::assert_snapshot!(said(STOP, "", 0), @"crashed: opencode answered nothing (exit code 0)");
    insta::assert_snapshot!(said("not json\n{\"type\":", "", 0), @"crashed: opencode ended without an answer (exit code 0)");
}

// C-26, C-27: a token budget includes all of them. OpenCode excludes the cache from input and thoughts from
// output.
#[test]
fn cached_tokens_are_input_and_thoughts_are_output() {
    let step = |reason: &str| {
        let tokens =
            r#"{"total":1650,"input":100,"output":50,"reasoning":500,"cache":{"write":200,"read":800}}"#;
        format!(r#"{{"type":"step_finish","part":{{"reason":"{reason}","tokens":{tokens}}}}}"#)
    };
    insta::assert_snapshot!(said(&format!("{}\n{TEXT}\n{}", step("tool-calls"), step("stop")), "", 0), @r#"
    replied: "done"
    usage: {"input":2200,"output":1100,"cached":1600,"reasoning":1000}
    "#);
}

// C-36
#[test]
fn a_tool_may_be_at_work_inside_a_step() {
    let mut listener = Opencode.listener(&ask(), &settings());
    let mut busy = |line: &str| {
        let next = listener.output(line, &mut |_: Progress| ());
        (next, listener.is_busy())
    };
    assert_eq!(busy(r#"{"type":"step_start"}"#), (ListenerStep::GoOn, true));
    assert_eq!(busy(r#"{"type":"step_finish","part":{"reason":"tool-calls"}}"#), (ListenerStep::GoOn, false));
    assert_eq!(busy(STOP), (ListenerStep::Done, false));
}

// C-32, C-37: if its provider asks for hours, OpenCode sleeps for hours.
#[test]
fn a_wait_of_its_own_has_an_end_and_is_a_rate_limit() {
    let refused = "timestamp=t level=ERROR run=r message=\"stream error\" small=false error.error=\"AI_APICallError: slow down\"\n";
    let mut listener = Opencode.listener(&ask(), &settings());
    let mut told = Vec::new();
    assert_eq!(listener.pause(), None);
    listener.complaint(refused, &mut |news: Progress| told.push(news));
    assert_eq!(told, [Progress::Retrying("slow down".into())]);
    assert!(listener.pause().is_some());
    listener.output(r#"{"type":"step_start"}"#, &mut |_: Progress| ());
    assert_eq!(listener.pause(), None, "it was answered");
    listener.complaint(refused, &mut |_: Progress| ());
    let answer = listener.end(&ProcessEnd { exit: ProcessExit::Signal(15), complaints: refused.to_owned() });
    insta::assert_snapshot!(shown(&answer), @"rate_limited: opencode waits for its provider without output: slow down");
}

// C-64, Connections case 6: the warning invalidates a reply even after the end of the turn.
#[test]
fn an_answer_of_another_agent_than_ours_is_none_however_late_that_is_heard() {
    let mut listener = Opencode.listener(&ask(), &settings());
    for line in [TEXT, STOP] {
        listener.output(line, &mut |_: Progress| ());
    }
    let complaints = "! agent \"saihai-readonly\" not found. Falling back to default agent\n".to_owned();
    let answer = listener.end(&ProcessEnd { exit: ProcessExit::AfterDone, complaints });
    assert_eq!(answer.unwrap_err().failure.class, FailureClass::BadRequest);
}

// C-86
#[test]
fn credentials_count_as_a_login() {
    let check = |output: &str, expected| {
        assert_eq!(
            logged_in(&ProbeOutput { code: Some(0), output: output.to_owned() }),
            expected,
            "{output}"
        );
    };
    check("┌  Credentials ~/.local/share/opencode/auth.json\n│\n└  0 credentials\n", Login::Out);
    check("┌  Credentials\n│\n●  Anthropic oauth\n│\n└  1 credentials\n", Login::In);
    check("", Login::Unknown);
}

mod log {
    use super::super::*;

    const REFUSED: &str = "timestamp=2026-11-17T16:49:18.999Z level=ERROR run=53d3ded1 message=\"stream error\" providerID=x modelID=m session.id=ses_1 small=false agent=build mode=primary error.error=\"AI_APICallError: slow down\"\n";

    #[test]
    fn a_refused_request_is_told_from_that_of_a_title_and_from_a_complaint() {
        assert_eq!(stream_error(REFUSED), Some("slow down"));
        assert_eq!(stream_error(&REFUSED.replace("small=false", "small=true")), None);
        assert_eq!(stream_error(REFUSED.trim_start_matches("timestamp=")), None);
        assert_eq!(stream_error("timestamp=x level=ERROR message=\"Failed to fetch models.dev\"\n"), None);
        assert_eq!(without_log(&format!("{REFUSED}boom\n{REFUSED}")), "boom\n");
    }
}

mod code {
    use super::super::*;

    #[test]
    fn plugins_and_settings_that_may_name_some_are_found() {
        let check = |file: &str, text: &str, expected: Option<&str>| {
            let root = tempfile::tempdir().expect("a directory");
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, text).expect("a file");
            assert_eq!(project_code(root.path()).as_deref(), expected.map(Path::new), "{file}");
        };
        check(".opencode/plugin/a.js", "", Some(".opencode/plugin/a.js"));
        check(".opencode/plugins/a.ts", "", Some(".opencode/plugins/a.ts"));
        check(".opencode/plugin/README.md", "", None);
        check(".opencode/plugin/deeper/a.js", "", None);
        check("opencode.json", r#"{"model": "x/y"}"#, None);
        check("opencode.json", r#"{"plugin": ["./evil.js"]}"#, Some("opencode.json"));
        check(
            ".opencode/opencode.jsonc",
            r#"{"\u0070lugins": ["./evil.js"]}"#,
            Some(".opencode/opencode.jsonc"),
        );
        check("src/plugin.js", "", None);
    }
}
