use insta::assert_snapshot;
use saihai_model::{
    Ask, FailureClass, Meter, Moment, Permission, Progress, ProviderKind, ProviderSettings, Usage, Usd,
};
use serde_json::json;

use super::{Claude, ClaudePermissions, logged_in};
use crate::agent::{AgentProgram as _, ListenerStep, Login, ProbeOutput, ProcessEnd, ProcessExit};
use crate::testing::{Said, ask, check_recorded, check_transcripts, hear, shown, transcript};

fn settings() -> ProviderSettings {
    ProviderSettings::new(ProviderKind::Claude)
}

/// Returns the arguments, without the constant ones.
fn arguments(ask: &Ask, settings: &ProviderSettings) -> String {
    let all = Claude.invocation(ask, settings).unwrap().arguments;
    let all: Vec<_> =
        all.into_iter().map(|word| if word.is_empty() { "\"\"".into() } else { word }).collect();
    all.join(" ").strip_prefix("-p --output-format stream-json --verbose ").unwrap().to_owned()
}

fn tools(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

const EDIT: Permission = Permission::Edit { commands: true };
const EDIT_ONLY: Permission = Permission::Edit { commands: false };

// C-60
#[test]
fn a_new_session_has_an_id_that_we_choose() {
    assert_snapshot!(arguments(&ask(), &settings()), @"--permission-mode default --tools Read,Grep,Glob --strict-mcp-config --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871");
}

// C-60, C-38
#[test]
fn a_session_is_continued_by_its_id_after_the_arguments_of_the_settings() {
    let with = ProviderSettings { args: vec!["--effort".into(), "high".into()], ..settings() };
    let again = Ask { session: Some("s-1".into()), model: Some("opus".into()), ..ask() };
    assert_snapshot!(arguments(&again, &with), @"--model opus --permission-mode default --tools Read,Grep,Glob --strict-mcp-config --effort high --resume s-1");
}

// R-39: hooks in a project's settings are commands, which run even in a read-only turn.
#[test]
fn where_a_stranger_may_have_been_only_the_users_own_settings_hold() {
    let reviewing = Ask { foreign: true, ..ask() };
    assert_snapshot!(arguments(&reviewing, &settings()), @"--permission-mode default --tools Read,Grep,Glob --strict-mcp-config --setting-sources user --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871");
}

// Claude enforces the limit itself, and the answer tool needs one more call.
#[test]
fn the_most_model_calls_are_an_argument() {
    let said = |ask: Ask| arguments(&ask, &settings()).contains("--max-turns 3 ");
    assert!(said(Ask { max_calls: Some(3), ..ask() }));
    assert!(said(Ask { max_calls: Some(2), schema: Some(json!({})), ..ask() }));
    assert!(!arguments(&ask(), &settings()).contains("--max-turns"));
    assert!(Claude.limits_calls());
}

/// Returns the arguments for a permission.
fn permission(permission: Permission, tools: Option<Vec<String>>, settings: &ProviderSettings) -> String {
    let said = arguments(&Ask { permission, tools, ..ask() }, settings);
    said.split(" --session-id").next().unwrap_or_default().to_owned()
}

// C-42, Connections cases 1, 2 and 4
#[test]
fn every_level_is_a_mode_of_its_own_and_a_list_of_tools() {
    let careful = ProviderSettings { accept_edits: true, ..settings() };
    let plain = settings();
    let listed = [
        permission(Permission::ReadOnly, None, &plain),
        permission(Permission::ReadOnly, tools(&["Read", "Write", "Bash", "MultiEdit"]), &plain),
        permission(Permission::ReadOnly, tools(&[]), &plain),
        permission(EDIT_ONLY, None, &plain),
        permission(EDIT_ONLY, tools(&["Read", "Edit", "Bash"]), &plain),
        permission(EDIT, None, &plain),
        permission(EDIT, None, &careful),
        permission(EDIT, tools(&["Read", "Edit", "Bash"]), &plain),
        permission(EDIT, tools(&["Read", "mcp__issues__get"]), &plain),
        permission(EDIT, tools(&["Read", "Edit"]), &careful),
        permission(Permission::Full, None, &careful),
        permission(Permission::Full, tools(&["Bash"]), &careful),
        permission(Permission::Full, tools(&["Write", "mcp__issues__get"]), &careful),
    ];
    assert_snapshot!(listed.join("\n"), @r#"
    --permission-mode default --tools Read,Grep,Glob --strict-mcp-config
    --permission-mode default --tools Read,Bash --strict-mcp-config
    --permission-mode default --tools "" --strict-mcp-config
    --permission-mode acceptEdits --disallowedTools Bash
    --permission-mode acceptEdits --tools Read,Edit,Bash --disallowedTools Bash --strict-mcp-config
    --permission-mode acceptEdits --allowedTools Agent,Bash,Glob,Grep,Monitor,Read,Skill,Task,WebFetch,WebSearch,Workflow
    --permission-mode acceptEdits
    --permission-mode acceptEdits --tools Read,Edit,Bash --allowedTools Read,Bash --strict-mcp-config
    --permission-mode acceptEdits --tools Read,mcp__issues__get --allowedTools Read,mcp__issues__get
    --permission-mode acceptEdits --tools Read,Edit --strict-mcp-config
    --permission-mode bypassPermissions
    --permission-mode bypassPermissions --tools Bash --strict-mcp-config
    --permission-mode acceptEdits --tools Write,mcp__issues__get --allowedTools Write,mcp__issues__get
    "#);
}

// C-41: we do not know the tool's effects, and the agent would only see it denied.
#[test]
fn a_read_only_turn_that_names_a_tool_of_a_server_is_refused() {
    let named = |permission| {
        let asked = Ask { permission, tools: tools(&["Read", "mcp__issues__get"]), ..ask() };
        Claude.invocation(&asked, &settings()).err().map(|failure| failure.message)
    };
    assert_snapshot!(named(Permission::ReadOnly).unwrap(), @"a read-only turn cannot have `mcp__issues__get`: the effect of an MCP tool is unknown; let the turn edit, and name no tool that writes");
    assert_eq!([EDIT_ONLY, EDIT, Permission::Full].map(named), [None, None, None]);
}

// C-44, Connections cases 1 and 2
#[test]
fn root_is_refused_what_bypasses_permissions_unless_it_says_to_be_contained() {
    let contained = ProviderSettings { env_pass: vec!["IS_SANDBOX".into()], ..settings() };
    let levels = [Permission::ReadOnly, EDIT_ONLY, EDIT, Permission::Full];
    let refused = |settings: &ProviderSettings| levels.map(|level| Claude.refuses_root(level, settings));
    assert_eq!(refused(&settings()), [false, false, false, true]);
    assert_eq!(refused(&contained), [false; 4]);
}

// C-23: without the second flag a resumed session keeps its first persona.
#[test]
fn a_persona_is_a_file_of_the_run_that_also_a_resumed_session_reads() {
    let asked = Ask { persona: Some("You plan.".into()), session: Some("s-1".into()), ..ask() };
    let invocation = Claude.invocation(&asked, &settings()).unwrap();
    assert_snapshot!(format!("{}\n{:?}", arguments(&asked, &settings()), invocation.files), @r#"
    --permission-mode default --tools Read,Grep,Glob --strict-mcp-config --append-system-prompt-file /run/scratch/persona-9b764d98-4fdf-48f6-a0c7-11baf9772871.md --system-prompt-snapshot off --resume s-1
    [("/run/scratch/persona-9b764d98-4fdf-48f6-a0c7-11baf9772871.md", "You plan.")]
    "#);
    assert_eq!(invocation.input, "do it", "the persona is not said twice");
    let blank = Claude.invocation(&Ask { persona: Some(" \n".into()), ..ask() }, &settings()).unwrap();
    assert_eq!(blank.files, []);
}

// C-25, C-60: a schema too long for an argument is rejected before the start.
#[test]
fn a_schema_stands_in_the_arguments_up_to_its_limit() {
    let asked = Ask { schema: Some(json!({"type": "object"})), money: Some(Usd(2_500_000)), ..ask() };
    assert_snapshot!(arguments(&asked, &settings()), @r#"--permission-mode default --tools Read,Grep,Glob --strict-mcp-config --json-schema {"type":"object"} --max-budget-usd 2.500000 --session-id 9b764d98-4fdf-48f6-a0c7-11baf9772871"#);
    let huge = Ask { schema: Some(json!({ "description": "x".repeat(120 * 1024) })), ..ask() };
    let failure = Claude.invocation(&huge, &settings()).unwrap_err();
    assert_snapshot!(format!("{}: {}", failure.class.name(), failure.message), @"bad_request: the schema is 122898 bytes, claude takes 122880");
}

// C-24, Connections case 33: a prompt is always bytes on standard input.
#[test]
fn a_prompt_is_never_an_argument() {
    let asked = Ask { prompt: "$(touch x)".into(), model: Some("; touch x".into()), ..ask() };
    let invocation = Claude.invocation(&asked, &settings()).unwrap();
    assert_eq!(invocation.input, "$(touch x)");
    assert!(!invocation.arguments.iter().any(|argument| argument.contains("$(")));
    assert!(invocation.arguments.contains(&"; touch x".to_owned()));
    assert_eq!(Claude.profile().max_prompt, 10_000_000);
}

// C-60
#[test]
fn it_is_told_how_often_to_try_by_itself_and_where_to_put_its_files() {
    let set = Claude.invocation(&ask(), &settings()).unwrap().environment;
    let set: Vec<_> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_snapshot!(set.join("\n"), @r#"
    CLAUDE_CODE_MAX_RETRIES=2
    DISABLE_AUTOUPDATER=1
    CLAUDE_CODE_TMPDIR=/run/scratch
    "#);
}

// C-32, C-84, Connections cases 9, 13 and 35: output of the real program, and its outcome.
#[test]
fn every_recorded_transcript_has_its_outcome() {
    check_transcripts(&Claude, |name, ask| match name {
        "tool" => ask.permission = EDIT_ONLY,
        "denied" => ask.tools = tools(&["Read", "Bash"]),
        "no-tools" => ask.tools = tools(&[]),
        "schema" | "schema-ignored" => {
            ask.schema = Some(json!({
                "type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]
            }));
        }
        "resumed" => {
            ask.session = Some("00000000-0000-4000-8000-000000000001".into());
            ask.metered = Some(Meter { usage: Usage::default(), cost: Some(Usd(800)) });
        }
        _ => {}
    });
}

// C-32, C-84: the conversations that are recorded with every agent.
#[test]
fn every_transcript_of_the_common_conversations_has_its_outcome() {
    check_recorded(&Claude);
}

// C-20, C-34: Claude dates its events, and reports when the usage limit resets.
#[test]
fn its_own_times_are_taken_over() {
    let heard = |name: &str, permission: Permission| {
        let recorded = transcript(&Claude, name);
        hear(&Claude, &Ask { permission, ..ask() }, &settings(), &Said::read(&recorded).0).answer
    };
    let tools = heard("tool", EDIT_ONLY).unwrap().tools_used;
    assert_eq!(tools.iter().map(|tool| tool.duration_ms).collect::<Vec<_>>(), [78]);
    let limit = heard("usage-limit", Permission::ReadOnly).unwrap_err();
    assert_eq!(limit.failure.until, Some(Moment(1_800_000_000_000)));
}

fn said(output: &str) -> Said<'_> {
    Said { output, ..Said::default() }
}

/// Returns the outcome of an end with these fields.
fn outcome(ask: &Ask, fields: &str) -> String {
    let line = format!(r#"{{"type":"result","session_id":"s-1",{fields}}}"#);
    shown(&hear(&Claude, ask, &settings(), &said(&line)).answer)
}

// C-27, Connections case 10: Claude counts money over the whole session.
#[test]
fn a_resumed_session_costs_what_came_since() {
    let fields = r#""is_error":false,"result":"done","total_cost_usd":0.0012"#;
    let before = Some(Meter { usage: Usage::default(), cost: Some(Usd(600)) });
    let resumed = Ask { session: Some("s-1".into()), metered: before, ..ask() };
    assert_snapshot!(outcome(&resumed, fields), @r#"
    replied: "done"
    cost: $0.0006
    session: s-1
    "#);
    let unknown = Ask { metered: None, ..resumed };
    assert_snapshot!(outcome(&unknown, fields), @r#"
    replied: "done"
    usage: {"cumulative":true}
    cost: $0.0012
    session: s-1
    "#);
}

// C-32, Connections case 9: `subtype` says success even for errors.
#[test]
fn what_counts_of_an_end_is_whether_it_is_an_error_and_with_which_status() {
    let with = |rest: &str| {
        let fields = format!(r#""is_error":true,"result":"words",{rest}"#);
        outcome(&ask(), &fields).lines().next().unwrap_or_default().to_owned()
    };
    let all = [
        with(r#""subtype":"success","api_error_status":429"#),
        with(r#""subtype":"success","api_error_status":529"#),
        with(r#""subtype":"success","api_error_status":401"#),
        with(r#""api_error_status":413"#),
        with(r#""api_error_status":null,"terminal_reason":"prompt_too_long""#),
        with(r#""subtype":"error_max_turns""#),
        with(r#""api_error_status":null,"api_error":"connection_failed""#),
        with(r#""api_error_status":"what""#),
    ];
    assert_snapshot!(all.join("\n"), @r#"
    rate_limited: words
    transient: words
    auth: words
    bad_request: words
    bad_request: words
    refused: words
    transient: words
    crashed: words
    "#);
}

#[test]
fn an_end_by_a_limit_says_which() {
    let limit = |fields: &str| {
        let line =
            format!(r#"{{"type":"result","session_id":"s-1","is_error":true,"result":"words",{fields}}}"#);
        hear(&Claude, &ask(), &settings(), &said(&line)).answer.unwrap_err().failure.limit
    };
    assert_eq!(limit(r#""subtype":"error_max_turns""#), Some(saihai_model::TurnLimit::Calls));
    assert_eq!(limit(r#""api_error":"max_output_tokens""#), Some(saihai_model::TurnLimit::Output));
    assert_eq!(limit(r#""api_error_status":401"#), None);
}

// C-42, C-60, Connections case 11
#[test]
fn a_process_that_may_do_more_than_was_asked_is_ended() {
    let init_of = |ask: &Ask, mode: &str, tools: &str| {
        let line = format!(
            r#"{{"type":"system","subtype":"init","session_id":"s","permissionMode":"{mode}","tools":[{tools}]}}"#
        );
        let heard = hear(&Claude, ask, &settings(), &said(&line));
        heard.aborted.map(|failure| format!("{}: {}", failure.class.name(), failure.message))
    };
    let init = |mode: &str, tools: &str| init_of(&ask(), mode, tools);
    assert_eq!(init("default", r#""Read","Glob""#), None);
    assert_snapshot!(init("bypassPermissions", "").unwrap(), @"bad_request: claude uses permission mode `bypassPermissions` instead of `default`");
    assert_snapshot!(init("default", r#""Read","Write""#).unwrap(), @"bad_request: claude has the tool `Write`, which this turn must not have");
    let editing = Ask { permission: EDIT, tools: tools(&["Read"]), ..ask() };
    assert_eq!(init_of(&editing, "acceptEdits", r#""Read","Agent""#), None);
    assert_snapshot!(init_of(&editing, "acceptEdits", r#""Read","mcp__issues__get""#).unwrap(), @"bad_request: claude has the tool `mcp__issues__get`, which this turn must not have");
}

// C-32: errors at the start appear on standard error only.
#[test]
fn complaints_count_where_there_is_no_end() {
    let complained = |complaints: &str, code: i32| {
        let said = Said { output: "", complaints, code };
        shown(&hear(&Claude, &ask(), &settings(), &said).answer)
    };
    let all = [
        complained(
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n",
            1,
        ),
        complained("No conversation found with session ID: s-1\n", 1),
        complained("error: unknown option '--tools'\n", 1),
        complained("Segmentation fault\n", 139),
        complained("", 0),
    ];
    assert_snapshot!(all.join("\n"), @r#"
    refused: --dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons
    session_lost: No conversation found with session ID: s-1
    bad_request: error: unknown option '--tools'
    crashed: claude ended without an end of the turn (exit code 139): Segmentation fault
    crashed: claude ended without an end of the turn (exit code 0)
    "#);
}

const SUCCESS: &str =
    r#"{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s-1"}"#;

// Connections cases 12 and 30, C-59
#[test]
fn a_success_stands_unless_the_process_itself_ended_badly() {
    let ended = |exit: ProcessExit| {
        let mut listener = Claude.listener(&ask(), &settings());
        assert_eq!(listener.output(SUCCESS, &mut |_| ()), ListenerStep::Done);
        listener.end(&ProcessEnd { exit, complaints: String::new() })
    };
    assert!(ended(ProcessExit::AfterDone).is_ok_and(|reply| reply.text == "done"));
    assert!(ended(ProcessExit::Code(0)).is_ok());
    for exit in [ProcessExit::Code(1), ProcessExit::Signal(11)] {
        assert!(ended(exit).is_err_and(|refusal| refusal.failure.class == FailureClass::Crashed));
    }
}

// C-59
#[test]
fn a_second_end_is_ignored_with_a_warning() {
    let twice = format!("{SUCCESS}\n{}\n", SUCCESS.replace("done", "no"));
    assert_snapshot!(shown(&hear(&Claude, &ask(), &settings(), &said(&twice)).answer), @r#"
    replied: "done"
    session: s-1
    warning: claude reported a second end of the turn, which was ignored
    "#);
}

// C-53, Connections case 29: unknown lines of any kind are skipped.
#[test]
fn lines_that_are_no_events_change_nothing() {
    let noise = "\u{feff}hello\r\n{\"type\":\"system\",\"subtype\":\"new\"}\n{\"type\":\"later\",\"x\":1}\n[1]\n{\"type\":\"assistant\"}\n{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"\u{fffd}\"},{\"type\":\"tool_use\",\"id\":3}]}}\n{half\n";
    let heard = hear(&Claude, &ask(), &settings(), &said(&format!("{noise}{SUCCESS}")));
    assert_eq!(heard.progress, [Progress::Text("\u{fffd}".into())]);
    assert!(heard.answer.is_ok_and(|reply| reply.text == "done"));
}

// C-28
#[test]
fn what_happens_is_told_while_it_happens() {
    let read = |name: &str| {
        let recorded = transcript(&Claude, name);
        let asked = Ask { tools: tools(&["Read", "Grep", "Glob", "Bash"]), ..ask() };
        hear(&Claude, &asked, &settings(), &Said::read(&recorded).0).progress
    };
    assert_snapshot!(format!("{:#?}\n{:#?}", read("denied"), read("status-429")), @r#"
    [
        Text(
            "I try.",
        ),
        ToolStarted(
            "Bash: touch /project/b.txt",
        ),
        Denied(
            "Bash",
        ),
        ToolFinished(
            "Bash",
        ),
        Text(
            "could not",
        ),
    ]
    [
        Retrying(
            "status 429, 1 of 2",
        ),
        Retrying(
            "status 429, 2 of 2",
        ),
    ]
    "#);
}

// C-86
#[test]
fn the_login_state_is_read_from_the_programs_own_report() {
    for (code, output, expected) in [
        (Some(0), "{\"loggedIn\": true}", Login::In),
        (Some(1), "{\"loggedIn\": false}", Login::Out),
        (Some(0), "Logged in", Login::In),
        (Some(1), "Not logged in", Login::Out),
        (Some(2), "unknown command", Login::Unknown),
        (None, "", Login::Unknown),
    ] {
        assert_eq!(logged_in(&ProbeOutput { code, output: output.to_owned() }), expected, "{output}");
    }
}

// N-1, N-4: the tool is allowed at every level, and a read-only turn has no other tool of a server.
#[test]
fn the_verdict_tool_is_the_only_tool_of_a_server_in_a_read_only_turn() {
    use saihai_model::{VerdictServerCommand, VerdictTool};
    let server = VerdictServerCommand { program: "/bin/saihai".into(), arguments: vec!["__verdict".into()] };
    let verdict = Some(VerdictTool { options: vec![(0, "a".into()), (1, "b".into())], server: Some(server) });
    let offered = Ask { verdict, max_calls: Some(2), ..ask() };
    let said = arguments(&offered, &settings());
    for part in [
        r#"--mcp-config {"mcpServers":{"saihai-turn":{"args":["__verdict"],"command":"/bin/saihai","type":"stdio"}}}"#,
        "--allowedTools mcp__saihai-turn__saihai_verdict",
        "--strict-mcp-config",
        "--max-turns 3",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let allowed = ClaudePermissions::of(&offered, &settings());
    let tool = |name: &str| vec![name.to_owned()];
    assert_eq!(allowed.exceeded_by(None, &tool("mcp__saihai-turn__saihai_verdict")), None);
    assert!(allowed.exceeded_by(None, &tool("mcp__notes__keep_owl")).is_some());
    let plain = ClaudePermissions::of(&ask(), &settings());
    assert!(plain.exceeded_by(None, &tool("mcp__saihai-turn__saihai_verdict")).is_some());
}
