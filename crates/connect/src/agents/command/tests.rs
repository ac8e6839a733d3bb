use insta::assert_snapshot;
use saihai_model::{Ask, Passing, Permission, Progress, Protocol, ProviderKind, ProviderSettings};
use serde_json::json;

use super::{CommandAgent, PlainTextListener};

use crate::agent::{AgentListener as _, AgentProgram as _, ProcessEnd, ProcessExit};
use crate::testing::{Said, ask, hear, shown};

fn settings(protocol: Protocol, args: &[&str]) -> ProviderSettings {
    let args = args.iter().map(|word| (*word).to_owned()).collect();
    ProviderSettings { protocol, args, ..ProviderSettings::new(ProviderKind::Command) }
}

/// Returns the arguments of a program with these placeholders.
fn arguments(ask: &Ask, args: &[&str]) -> String {
    CommandAgent.invocation(ask, &settings(Protocol::Text, args)).unwrap().arguments.join(" ")
}

const ALL: [&str; 8] =
    ["run", "--model", "{model}", "--session={session}", "{cwd}/x", "-p", "{permission}", "--verbose"];

// C-70
#[test]
fn placeholders_are_filled_and_empty_ones_go_with_their_flag() {
    let full = Ask { model: Some("{cwd}".into()), session: Some("s-1".into()), ..ask() };
    assert_snapshot!(arguments(&full, &ALL), @"run --model {cwd} --session=s-1 /project/x -p readonly --verbose");
    assert_snapshot!(arguments(&ask(), &ALL), @"run /project/x -p readonly --verbose");
    assert_snapshot!(arguments(&ask(), &["{model}", "run", "{model}", "-v", "--m={model}", "{other}"]), @"run -v {other}");
}

// C-70, C-23: the role is in a file or before the prompt, never in both.
#[test]
fn a_role_and_a_schema_can_be_files() {
    let asked = Ask { persona: Some("You plan.".into()), schema: Some(json!({"type": "object"})), ..ask() };
    let with = settings(Protocol::Text, &["--role", "{persona_file}", "--schema", "{schema_file}"]);
    let invocation = CommandAgent.invocation(&asked, &with).unwrap();
    assert_snapshot!(format!("{}\n{:?}", invocation.arguments.join(" "), invocation.files), @r#"
    --role /run/scratch/persona-9b764d98-4fdf-48f6-a0c7-11baf9772871.md --schema /run/scratch/schema-9b764d98-4fdf-48f6-a0c7-11baf9772871.json
    [("/run/scratch/persona-9b764d98-4fdf-48f6-a0c7-11baf9772871.md", "You plan."), ("/run/scratch/schema-9b764d98-4fdf-48f6-a0c7-11baf9772871.json", "{\"type\":\"object\"}")]
    "#);
    assert_eq!(invocation.input, "do it");
    let plain = CommandAgent.invocation(&asked, &settings(Protocol::Text, &[])).unwrap();
    assert_eq!((plain.files.len(), plain.input.as_str()), (0, "You plan.\n\n---\n\ndo it"));
}

// For programs that cannot read the prompt from standard input; all others do (C-24).
#[test]
fn a_prompt_can_be_the_last_argument_as_long_as_it_fits() {
    let with = ProviderSettings {
        passing: Passing::Argument,
        ..settings(Protocol::Text, &["run", "--model", "{model}", "-p"])
    };
    let asked = |prompt: &str| Ask { persona: Some("You plan.".into()), prompt: prompt.to_owned(), ..ask() };
    let invocation = CommandAgent.invocation(&asked("do it {model}"), &with).unwrap();
    assert_eq!(invocation.arguments, ["run", "-p", "You plan.\n\n---\n\ndo it {model}"]);
    assert_eq!((invocation.input.as_str(), invocation.files.len()), ("", 0));
    let refused = |prompt: &str| CommandAgent.invocation(&asked(prompt), &with).unwrap_err().message;
    assert_snapshot!(refused(&"x".repeat(131_072)), @"prompt is 131088 bytes, p takes 131071");
    assert_snapshot!(refused("a\0b"), @"the prompt contains a zero byte, which p cannot take in an argument");
}

// C-54
#[test]
fn it_is_told_what_it_may_do() {
    let asked = Ask { permission: Permission::Edit { commands: false }, ..ask() };
    let set = CommandAgent.invocation(&asked, &settings(Protocol::Text, &[])).unwrap().environment;
    assert_eq!(set, [("SAIHAI_PERMISSION".to_owned(), "edit-only".to_owned())]);
}

// C-36
#[test]
fn only_a_program_that_tells_what_is_going_on_is_stuck_when_it_is_silent() {
    let speaks = |protocol| CommandAgent.speaks_while_working(&settings(protocol, &[]));
    assert_eq!([Protocol::Text, Protocol::Json].map(speaks), [false, true]);
}

// C-72
#[test]
fn the_json_protocol_asks_in_one_line() {
    let asked = Ask {
        prompt: "line\nline".into(),
        persona: Some("You plan.".into()),
        tools: Some(vec!["Read".into()]),
        session: Some("s-1".into()),
        ..ask()
    };
    let invocation = CommandAgent.invocation(&asked, &settings(Protocol::Json, &["run"])).unwrap();
    assert_snapshot!(format!("{}\n{}", invocation.arguments.join(" "), invocation.input), @r#"
    run --json-protocol
    {"cwd":"/project","model":null,"permission":"readonly","persona":"You plan.","prompt":"line\nline","schema":null,"session":"s-1","tools":["Read"],"type":"ask","v":1}
    "#);
}

fn text(output: &str, complaints: &str, code: i32) -> String {
    let with = settings(Protocol::Text, &[]);
    shown(&hear(&CommandAgent, &ask(), &with, &Said { output, complaints, code }).answer)
}

// C-71
#[test]
fn what_a_program_prints_is_its_reply_without_one_line_end() {
    assert_snapshot!(text("計画\n\n  done \n\n", "", 0), @r#"replied: "計画\n\n  done \n""#);
    assert_snapshot!(text("no end of line", "", 0), @r#"replied: "no end of line""#);
    assert_snapshot!(text(" \n", "", 0), @"crashed: command ended without any reply (exit code 0)");
}

// C-52, C-71
#[test]
fn a_reply_of_one_line_that_is_too_long_is_passed_on_by_its_end() {
    let long = format!("{}{{\"issues\": []}}\n", "x".repeat(5 << 20));
    for output in [long.clone(), format!("first\n{long}"), long.repeat(3)] {
        let said = Said { output: &output, complaints: "", code: 0 };
        let reply =
            hear(&CommandAgent, &ask(), &settings(Protocol::Text, &[]), &said).answer.expect("a reply");
        assert!(reply.text.len() < 4 << 20 && reply.text.len() > (4 << 20) - 9, "{}", reply.text.len());
        assert!(reply.text.ends_with("x{\"issues\": []}"));
        let warned = format!("only the end of a reply of {} bytes is passed on", output.len());
        assert!(reply.warnings[0].starts_with(&warned), "{:?}", reply.warnings);
    }
}

// C-71, Connections case 42
#[test]
fn exit_codes_have_classes() {
    let all = [1, 64, 65, 69, 75, 77, 127, 139].map(|code| text("half a reply", "why\n", code));
    assert_snapshot!(all.join("\n"), @r#"
    crashed: command failed (exit code 1): why
    bad_request: command failed (exit code 64): why
    bad_request: command failed (exit code 65): why
    transient: command failed (exit code 69): why
    transient: command failed (exit code 75): why
    auth: command failed (exit code 77): why
    missing: command failed (exit code 127): why
    crashed: command failed (exit code 139): why
    "#);
}

fn json(ask: &Ask, lines: &[&str], code: i32) -> String {
    let with = settings(Protocol::Json, &[]);
    let output = lines.join("\n");
    shown(&hear(&CommandAgent, ask, &with, &Said { output: &output, complaints: "", code }).answer)
}

const DONE: &str = r#"{"type":"done"}"#;

// C-72
#[test]
fn lines_of_text_are_put_together_and_the_rest_is_counted() {
    let lines = [
        r#"{"type":"session","id":"s-2"}"#,
        r#"{"type":"text","text":"one "}"#,
        "not json",
        r#"{"type":"later","x":1}"#,
        r#"{"type":"text","text":"two"}"#,
        r#"{"type":"usage","input":1,"output":1}"#,
        r#"{"type":"usage","input":90,"output":12,"cost_usd":0.01}"#,
        DONE,
        DONE,
    ];
    assert_snapshot!(json(&ask(), &lines, 0), @r#"
    replied: "one two"
    usage: {"input":90,"output":12}
    cost: $0.0100
    session: s-2
    warning: the command reported a second end of the turn, which was ignored
    "#);
}

// C-52: the transcript has the whole output; the reply has a limit.
#[test]
fn of_a_very_long_text_the_end_is_passed_on_and_that_is_said() {
    let mut ears = PlainTextListener::new(&ask());
    let line = format!("{}漢\n", "a".repeat(1_000));
    for _ in 0..20_000 {
        ears.output(&line, &mut |_| {});
    }
    let end = ProcessEnd { exit: ProcessExit::Code(0), complaints: String::new() };
    let answer = Box::new(ears).end(&end);
    let reply = answer.unwrap();
    assert!(reply.text.len() <= 4 << 20 && reply.text.len() > (4 << 20) - 2 * line.len());
    assert!(reply.text.starts_with("aaa") && reply.text.ends_with('漢'));
    assert_eq!(
        reply.warnings,
        [
            "only the end of a reply of 20080000 bytes is passed on; all of it is in /run/scratch/plan.1.1.1-1.out"
        ]
    );
}

// C-21, C-25, C-72
#[test]
fn the_last_line_can_bring_the_text_and_the_structured_answer() {
    let asked = Ask { schema: Some(json!({"type": "object", "required": ["ok"]})), ..ask() };
    assert_snapshot!(json(&asked, &[r#"{"type":"done","structured":{"ok":true}}"#], 0), @r#"
    replied: ""
    structured: {"ok":true}
    "#);
    assert_snapshot!(json(&asked, &[r#"{"type":"text","text":"t"}"#, r#"{"type":"done","text":"final","structured":{}}"#], 0), @r#"
    replied: "final"
    responses: ["t", "final"]
    structured_error: "ok" is a required property
    "#);
}

// C-20, C-28
#[test]
fn tools_are_logged_by_their_ids() {
    let lines = [
        r#"{"type":"tool","id":1,"name":"make","status":"started","input":{"target":"all"}}"#,
        r#"{"type":"tool","id":1,"name":"make","status":"done","output":"ok"}"#,
        r#"{"type":"tool","id":"b","name":"rm","status":"failed"}"#,
        DONE,
    ];
    let with = settings(Protocol::Json, &[]);
    let output = lines.join("\n");
    let heard = hear(&CommandAgent, &ask(), &with, &Said { output: &output, ..Said::default() });
    let finished = |name: &str| Progress::ToolFinished(name.into());
    let started = |name: &str| Progress::ToolStarted(name.into());
    assert_eq!(heard.progress, [started("make"), finished("make"), started("rm"), finished("rm")]);
    let reply = heard.answer.unwrap();
    assert_eq!((reply.text.as_str(), reply.tools_used.len()), ("", 2));
    assert_eq!(reply.tools_used[0].output, Some(json!("ok")));
}

// C-72, Connections cases 30 and 42
#[test]
fn failures_name_their_class_and_an_unknown_one_is_quoted() {
    let failed =
        |class: &str| format!(r#"{{"type":"failed","class":"{class}","message":"slow","retry_after":30}}"#);
    let all = [
        json(&ask(), &[&failed("rate_limited")], 0),
        json(&ask(), &[&failed("rate_limitted")], 1),
        json(&ask(), &[r#"{"type":"failed","class":"transient","retry_after":-1}"#], 0),
        json(&ask(), &[r#"{"type":"text","text":"t"}"#], 0),
        json(&ask(), &[r#"{"type":"text","text":"t"}"#], 75),
        json(&ask(), &[r#"{"type":"text","text":"t"}"#, DONE], 1),
        json(&ask(), &[DONE], 0),
    ];
    assert_snapshot!(all.join("\n"), @r#"
    rate_limited: slow
    retry_after: 30000 ms
    crashed: unknown class `rate_limitted` of a failure: slow
    retry_after: 30000 ms
    transient: the command gave no reason
    crashed: command ended without a line `done` or `failed` (exit code 0)
    transient: command failed (exit code 75)
    crashed: command failed (exit code 1)
    crashed: command ended without any reply (exit code 0)
    "#);
}
