use insta::assert_snapshot;
use saihai_model::{
    Ask, FailureClass, Json, Meter, Permission, Progress, ProviderKind, ProviderSettings, Usage,
};
use serde_json::json;

use super::{Codex, is_strict};
use crate::agent::{AgentProgram as _, ListenerStep, ProcessEnd, ProcessExit};
use crate::testing::{Said, ask, check_recorded, check_transcripts, hear, shown};

fn settings() -> ProviderSettings {
    ProviderSettings::new(ProviderKind::Codex)
}

fn arguments(ask: &Ask, settings: &ProviderSettings) -> String {
    Codex.invocation(ask, settings).unwrap().arguments.join(" ")
}

fn approval() -> Json {
    json!({
        "type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"],
        "additionalProperties": false
    })
}

// C-61
#[test]
fn a_new_thread_and_a_resumed_one_take_their_arguments_in_another_order() {
    let with = ProviderSettings { args: vec!["-c".into(), "a=1".into()], ..settings() };
    let new = Ask { model: Some("m".into()), schema: Some(approval()), ..ask() };
    assert_snapshot!(arguments(&new, &with), @"exec --json --skip-git-repo-check --disable plugins -s read-only -C /project -m m --output-schema /run/scratch/schema-9b764d98-4fdf-48f6-a0c7-11baf9772871.json -c a=1 -");
    let resumed = Ask { session: Some("t-1".into()), ..new };
    assert_snapshot!(arguments(&resumed, &with), @"exec -s read-only -C /project resume --json --skip-git-repo-check --disable plugins -m m --output-schema /run/scratch/schema-9b764d98-4fdf-48f6-a0c7-11baf9772871.json -c a=1 t-1 -");
}

// C-42, Connections case 1: commands of an editing turn stay in the sandbox.
#[test]
fn every_level_is_a_sandbox() {
    let levels = [Permission::ReadOnly, Permission::Edit { commands: true }, Permission::Full];
    let all = levels.map(|permission| arguments(&Ask { permission, ..ask() }, &settings()));
    assert_snapshot!(all.join("\n"), @r#"
    exec --json --skip-git-repo-check --disable plugins -s read-only -C /project -
    exec --json --skip-git-repo-check --disable plugins -s workspace-write -C /project -
    exec --json --skip-git-repo-check --disable plugins -s danger-full-access -C /project -
    "#);
}

// C-43: Codex can only change files by a command.
#[test]
fn edits_without_commands_are_refused() {
    let asked = Ask { permission: Permission::Edit { commands: false }, ..ask() };
    let failure = Codex.invocation(&asked, &settings()).unwrap_err();
    assert_snapshot!(format!("{}: {}", failure.class.name(), failure.message), @"bad_request: codex cannot enforce `edit-only`: it reads and writes files by commands; allow commands with `edit`, or use another provider");
    assert!(!settings().can_enforce(asked.permission));
}

// C-23
#[test]
fn a_persona_stands_before_the_prompt() {
    let asked = Ask { persona: Some("You plan.".into()), ..ask() };
    assert_eq!(Codex.invocation(&asked, &settings()).unwrap().input, "You plan.\n\n---\n\ndo it");
}

// R-39: a project's MCP servers are commands, and its instructions may come from a stranger.
#[test]
fn where_a_stranger_may_have_been_the_project_is_not_trusted() {
    let reviewing = Ask { foreign: true, directory: "/a b/\"c\".d".into(), ..ask() };
    assert_snapshot!(arguments(&reviewing, &settings()), @r#"exec --json --skip-git-repo-check --disable plugins -s read-only -C /a b/"c".d -c project_doc_max_bytes=0 -c projects={"/a b/\"c\".d"={trust_level="untrusted"}} -"#);
}

// C-24, Connections case 14: Codex counts characters, not bytes.
#[test]
fn a_prompt_of_more_characters_than_it_takes_is_refused_before_it_starts() {
    let invocation = |prompt: String| Codex.invocation(&Ask { prompt, ..ask() }, &settings());
    assert!(invocation("計".repeat(1_048_576)).is_ok());
    let failure = invocation("a".repeat(1_048_577)).unwrap_err();
    assert_snapshot!(format!("{}: {}", failure.class.name(), failure.message), @"bad_request: prompt is 1048577 characters, codex takes 1048576");
}

// C-25: the API rejects schemas that are not closed; our own check covers all schemas.
#[test]
fn only_a_schema_that_the_api_takes_is_handed_on() {
    assert!(is_strict(&approval()));
    let nested = |inner: Json| {
        json!({
            "type": "object", "additionalProperties": false, "required": ["list"],
            "properties": {"list": {"type": "array", "items": inner}}
        })
    };
    assert!(is_strict(&nested(approval())));
    let open = json!({"type": "object", "properties": {"a": {}}, "required": ["a"]});
    let optional = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false});
    for schema in [open.clone(), optional, nested(open), json!({"type": "object"}), json!({"type": "string"})]
    {
        assert!(!is_strict(&schema), "{schema}");
        let invocation = Codex.invocation(&Ask { schema: Some(schema), ..ask() }, &settings()).unwrap();
        assert_eq!(invocation.files, []);
    }
}

// C-32, C-84, Connections case 13: output of the real program, and its outcome.
#[test]
fn every_recorded_transcript_has_its_outcome() {
    check_transcripts(&Codex, |name, ask| match name {
        "schema" => ask.schema = Some(approval()),
        "resumed" => {
            let usage = Usage { input: Some(100), output: Some(20), cached: Some(0), ..Usage::default() };
            ask.session = Some("00000000-0000-4000-8000-000000000001".into());
            ask.metered = Some(Meter { usage, cost: None });
        }
        _ => {}
    });
}

// C-32, C-84: the conversations that are recorded with every agent.
#[test]
fn every_transcript_of_the_common_conversations_has_its_outcome() {
    check_recorded(&Codex);
}

fn said(output: &str) -> Said<'_> {
    Said { output, ..Said::default() }
}

const COMPLETED: &str = r#"{"type":"turn.completed","usage":{"input_tokens":400,"output_tokens":40}}"#;
const MESSAGE: &str = r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"done"}}"#;

// C-27, Connections case 14: the usage covers the whole thread.
#[test]
fn a_resumed_thread_used_what_came_since() {
    let before = Usage { input: Some(200), output: Some(30), ..Usage::default() };
    let metered = Some(Meter { usage: before, cost: None });
    let resumed = Ask { session: Some("t-1".into()), metered, ..ask() };
    let output = format!("{MESSAGE}\n{COMPLETED}");
    let heard = |ask: &Ask| hear(&Codex, ask, &settings(), &said(&output)).answer.unwrap();
    assert_snapshot!(shown(&Ok(heard(&resumed))), @r#"
    replied: "done"
    usage: {"input":200,"output":10}
    "#);
    assert_eq!(
        heard(&resumed).metered.and_then(|meter| meter.usage.input),
        Some(400),
        "what it counts on from"
    );
    assert!(heard(&Ask { metered: None, ..resumed }).usage.cumulative);
}

// C-32: only a failure of the turn counts.
#[test]
fn errors_on_the_way_are_progress() {
    let output = [
        r#"{"type":"thread.started","thread_id":"t-1"}"#,
        r#"{"type":"error","message":"Reconnecting... 1/5"}"#,
        r#"{"type":"item.completed","item":{"id":"0","type":"error","message":"no metadata"}}"#,
        MESSAGE,
        COMPLETED,
    ];
    let heard = hear(&Codex, &ask(), &settings(), &said(&output.join("\n")));
    assert_eq!(
        heard.progress,
        [Progress::Retrying("Reconnecting... 1/5".into()), Progress::Text("done".into())]
    );
    assert!(heard.answer.is_ok_and(|reply| reply.text == "done" && reply.session.as_deref() == Some("t-1")));
}

// C-20, C-28, C-36
#[test]
fn tools_are_open_until_they_come_back_and_declined_ones_are_counted() {
    let mut listener = Codex.listener(&ask(), &settings());
    let mut hear = |line: &str| {
        assert_eq!(listener.output(line, &mut |_| ()), ListenerStep::GoOn);
        listener.is_busy()
    };
    assert!(hear(r#"{"type":"item.started","item":{"id":"2","type":"command_execution","command":"make"}}"#));
    assert!(!hear(
        r#"{"type":"item.completed","item":{"id":"2","type":"command_execution","command":"make","aggregated_output":"","status":"declined"}}"#
    ));
    assert!(!hear(
        r#"{"type":"item.completed","item":{"id":"3","type":"mcp_tool_call","server":"issues","tool":"get","arguments":{"n":1},"result":{"ok":true},"status":"completed"}}"#
    ));
    assert_eq!(listener.output(COMPLETED, &mut |_| ()), ListenerStep::Done);
    let reply = listener.end(&ProcessEnd { exit: ProcessExit::Code(0), complaints: String::new() }).unwrap();
    assert_eq!((reply.text.as_str(), reply.denied), ("", 1));
    let tools: Vec<_> =
        reply.tools_used.iter().map(|tool| (tool.name.as_str(), tool.input.clone())).collect();
    assert_eq!(tools, [("command_execution", Some(json!("make"))), ("issues.get", Some(json!({"n": 1})))]);
}

// Connections case 30, C-59
#[test]
fn a_success_stands_unless_the_process_itself_ended_badly() {
    let output = format!("{MESSAGE}\n{COMPLETED}\n{COMPLETED}");
    let ended =
        |code| hear(&Codex, &ask(), &settings(), &Said { output: &output, complaints: "", code }).answer;
    assert!(ended(0).is_ok_and(|reply| reply.warnings.len() == 1));
    assert!(ended(1).is_err_and(|refusal| refusal.failure.class == FailureClass::Crashed));
    assert!(
        ended(1).is_err_and(|refusal| refusal.usage.input == Some(400)),
        "what it has used, it has used (C-26)"
    );
    let silent = hear(&Codex, &ask(), &settings(), &said(MESSAGE)).answer;
    assert_snapshot!(shown(&silent), @"crashed: codex ended without an end of the turn (exit code 0)");
}

mod failures {
    use super::super::*;

    // C-32: Codex drops the status of the provider's answer.
    #[test]
    fn an_unknown_model_is_a_bad_request() {
        let check = |said: &str, expected| assert_eq!(class_of_message(said), expected, "{said}");
        let bad = Some(FailureClass::BadRequest);
        check("The model `nope` does not exist", bad);
        check("The model `nope` does not exist or you do not have access to it.", bad);
        check(
            r#"{"detail":"The 'nope' model is not supported when using Codex with a ChatGPT account."}"#,
            bad,
        );
        check(r#"{"error":{"message":"no","type":null}}"#, bad);
        check(r#"{"error":{"code":"insufficient_quota"}}"#, Some(FailureClass::Quota));
        check("unexpected status 404 Not Found: no, url: http://x/v1/responses", bad);
        check("something else", None);
    }

    // C-34
    #[test]
    fn a_wait_is_read_in_seconds() {
        let said = [
            "Rate limit reached. Please try again in 11.054s.",
            "Please try again in 250ms.",
            "try again in 3 seconds",
            "try again in a while",
        ];
        assert_eq!(said.map(wait_in_seconds), [Some(11.054), Some(0.25), Some(3.0), None]);
    }

    // C-34: the named time is local time.
    #[test]
    fn a_time_is_read_by_the_clock_on_the_wall() {
        let now: Zoned = "2026-11-16T09:30:00+09:00[Asia/Tokyo]".parse().unwrap();
        let check = |said: &str, expected: Option<&str>| {
            let expected = expected.map(|time| {
                let time: Timestamp = time.parse().unwrap();
                Moment(u64::try_from(time.as_millisecond()).unwrap())
            });
            assert_eq!(retry_time(said, &now), expected, "{said}");
        };
        check("or try again at Jan 15th, 2027 8:00 AM.", Some("2027-01-14T23:01:00Z"));
        check("try again at 12:05 PM.", Some("2026-11-16T03:06:00Z"));
        check("try again at 12:05 AM.", Some("2026-11-16T15:06:00Z"));
        check("try again at Feb 31st, 2027 8:00 AM.", None);
        check("try again at Foo 1st, 2027 8:00 AM.", None);
        check("try again later.", None);
    }

    // C-34: Codex cuts off the seconds, so a retry at the named time gets the same time again.
    #[test]
    fn a_time_of_day_that_has_just_passed_is_not_tomorrow() {
        let check = |now: &str, said: &str, expected: &str| {
            let now: Zoned = now.parse().unwrap();
            let expected: Timestamp = expected.parse().unwrap();
            let until = retry_time(&format!("try again at {said}."), &now).map(|moment| moment.0);
            assert_eq!(until, u64::try_from(expected.as_millisecond()).ok(), "{said} at {now}");
        };
        check("2026-11-16T09:30:00Z[UTC]", "9:30 AM", "2026-11-16T09:31:00Z");
        check("2026-11-16T09:30:59Z[UTC]", "9:30 AM", "2026-11-16T09:31:00Z");
        check("2026-11-16T09:31:00Z[UTC]", "9:30 AM", "2026-11-16T09:32:00Z");
        check("2026-11-16T10:15:00Z[UTC]", "9:30 AM", "2026-11-16T10:16:00Z");
        check("2026-11-16T10:31:00Z[UTC]", "9:30 AM", "2026-11-17T09:31:00Z");
        check("2026-11-16T00:00:01Z[UTC]", "11:59 PM", "2026-11-16T00:01:01Z");
        check("2026-11-16T23:59:30Z[UTC]", "12:10 AM", "2026-11-17T00:11:00Z");
    }
}
