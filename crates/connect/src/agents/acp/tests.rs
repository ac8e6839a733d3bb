//! Tests of the protocol, with scripted agents.

use saihai_model::{Ask, Meter, Permission, Progress, ProviderKind, ProviderSettings, Usage, Usd};

use super::*;
use crate::agent::{ListenerStep, ProcessEnd, ProcessExit};
use crate::testing::{ask, shown};

fn settings(program: &str, args: &[&str], honours: &[&str]) -> ProviderSettings {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    ProviderSettings {
        program: Some(program.to_owned()),
        args: texts(args),
        honours: texts(honours),
        ..ProviderSettings::new(ProviderKind::Acp)
    }
}

/// Returns our requests to an agent that prints these lines, and the result.
fn converse(ask: &Ask, lines: &[&str]) -> String {
    let mut client = Acp.listener(ask, &ProviderSettings::new(ProviderKind::Acp));
    let (mut said, mut told) = (String::new(), Vec::new());
    for line in lines {
        match client.output(line, &mut |progress| told.push(progress)) {
            ListenerStep::GoOn => {}
            ListenerStep::Say(words) => said.push_str(&format!("> {words}")),
            ListenerStep::Done => said.push_str("over\n"),
            ListenerStep::Abort(failure) => return format!("{said}aborted\n{}", shown(&Err(failure.into()))),
        }
    }
    for progress in told {
        said.push_str(&format!("{progress:?}\n"));
    }
    let end = ProcessEnd { exit: ProcessExit::AfterDone, complaints: String::new() };
    format!("{said}{}", shown(&client.end(&end)))
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"OpenCode"}}}"#;
const OPEN: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"ses_1"}}"#;
const LOADED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
const END: &str = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;

fn update(update: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"ses_1","update":{update}}}}}"#
    )
}

fn chunk(text: &str) -> String {
    update(&format!(
        r#"{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}"#
    ))
}

// C-67, recorded from `opencode acp`.
#[test]
fn a_turn_is_a_greeting_a_session_and_a_prompt() {
    let cost =
        update(r#"{"sessionUpdate":"usage_update","used":100,"cost":{"amount":0.0006,"currency":"USD"}}"#);
    let end = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120},"_meta":{}}}"#;
    let lines = ["starting…", HELLO, OPEN, &chunk("do"), &chunk("ne"), &cost, end];
    insta::assert_snapshot!(converse(&ask(), &lines), @r#"
    > {"id":2,"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/project","mcpServers":[]}}
    > {"id":3,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"do it","type":"text"}],"sessionId":"ses_1"}}
    over
    Text("do")
    Text("ne")
    replied: "done"
    usage: {"input":100,"output":20}
    cost: $0.0006
    session: ses_1
    "#);
}

// C-67, recorded from `gemini --acp`: its permission request is the only report of a refused tool.
#[test]
fn the_answer_is_what_was_said_after_the_last_tool() {
    let request = r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"options":[{"optionId":"proceed_always","kind":"allow_always"},{"optionId":"proceed_once","kind":"allow_once"},{"optionId":"cancel","kind":"reject_once"}],"toolCall":{"toolCallId":"t1","title":"touch x","kind":"execute"}}}"#;
    let end = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":200,"output_tokens":40}}}}}"#;
    let lines = [HELLO, OPEN, &chunk("I run."), request, &chunk("done"), end];
    insta::assert_snapshot!(converse(&ask(), &lines), @r#"
    > {"id":2,"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/project","mcpServers":[]}}
    > {"id":3,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"do it","type":"text"}],"sessionId":"ses_1"}}
    > {"id":0,"jsonrpc":"2.0","result":{"outcome":{"optionId":"cancel","outcome":"selected"}}}
    over
    Text("I run.")
    Denied("touch x")
    Text("done")
    replied: "done"
    responses: ["I run.", "done"]
    usage: {"input":200,"output":40}
    session: ses_1
    denied: 1
    "#);
}

#[test]
fn tools_are_kept_with_what_they_were_given_and_what_they_answered() {
    let call = update(
        r#"{"sessionUpdate":"tool_call","toolCallId":"t1","title":"ls","kind":"execute","status":"pending","rawInput":{"command":"ls"}}"#,
    );
    let running = update(r#"{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"in_progress"}"#);
    let done = update(
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed","rawOutput":{"output":"a\n"}}"#,
    );
    let lines = [HELLO, OPEN, &call, &running, &done, &chunk("one file"), END];
    let said = converse(&ask(), &lines);
    let tool = said.lines().find(|line| line.starts_with("tool: ")).unwrap();
    assert!(tool.starts_with(r#"tool: ls {"command":"ls"} → {"output":"a\n"} in "#), "{tool}");

    let mut client = Acp.listener(&ask(), &ProviderSettings::new(ProviderKind::Acp));
    for (line, busy) in [(HELLO, false), (OPEN, false), (&call, true), (&running, true), (&done, false)] {
        client.output(line, &mut |_: Progress| ());
        assert_eq!(client.is_busy(), busy, "{line}");
    }
}

// C-42
#[test]
fn what_it_asks_for_is_answered_by_the_level() {
    let kinds = ["read", "search", "think", "edit", "move", "delete", "execute", "fetch", "other", ""];
    let allowed = |level| kinds.into_iter().filter(|kind| message::covers(level, kind)).collect::<Vec<_>>();
    assert_eq!(allowed(Permission::ReadOnly), kinds[..3]);
    assert_eq!(allowed(Permission::Edit { commands: false }), kinds[..6]);
    assert_eq!(allowed(Permission::Edit { commands: true }), kinds[..7]);
    assert_eq!(allowed(Permission::Full), kinds);
}

// C-42: later turns may have a lower level.
#[test]
fn nothing_is_ever_allowed_for_good() {
    let option =
        |id: &str, kind: &str| message::AcpPermissionOption { option_id: id.into(), kind: kind.into() };
    let check = |options: &[message::AcpPermissionOption], is_allowed, expected: &str| {
        assert_eq!(message::permission_outcome(options, is_allowed)["outcome"].to_string(), expected);
    };
    let cancelled = r#"{"outcome":"cancelled"}"#;
    let all = [option("a", "allow_always"), option("o", "allow_once"), option("r", "reject_once")];
    check(&all, true, r#"{"optionId":"o","outcome":"selected"}"#);
    check(&all, false, r#"{"optionId":"r","outcome":"selected"}"#);
    check(&all[..1], true, cancelled);
    check(&all[..1], false, cancelled);
    check(&[option("n", "reject_always")], false, r#"{"optionId":"n","outcome":"selected"}"#);
}

// C-45
#[test]
fn a_level_is_given_only_to_agents_that_ask() {
    let check = |settings: &ProviderSettings, expected: [bool; 3]| {
        let levels = [Permission::ReadOnly, Permission::Edit { commands: true }, Permission::Full];
        let given = levels.map(|permission| Acp.invocation(&Ask { permission, ..ask() }, settings).is_ok());
        assert_eq!(given, expected, "{settings:?}");
    };
    check(&settings("gemini", &["--acp"], &[]), [true, true, true]);
    check(&settings("/opt/bin/copilot", &["--acp", "--model", "m"], &[]), [true, true, true]);
    check(&settings("gemini", &["--acp", "--yolo"], &[]), [false, false, true]);
    check(&settings("gemini", &["--acp", "--approval-mode=yolo"], &[]), [false, false, true]);
    check(&settings("copilot", &["--acp", "--allow-all-tools"], &[]), [false, false, true]);
    check(&settings("gemini", &[], &[]), [false, false, true]);
    check(&settings("opencode", &["acp"], &[]), [false, false, true]);
    check(&settings("opencode", &["acp"], &["readonly"]), [true, false, true]);
    let refused = Acp.invocation(&ask(), &settings("opencode", &["acp"], &[])).unwrap_err();
    insta::assert_snapshot!(refused.message, @"the agent of `p` is not known to enforce `readonly`; if it asks before it acts, set `honours` in its settings");
}

fn continued() -> Ask {
    Ask { session: Some("ses_1".into()), ..ask() }
}

// C-67: the history of a loaded session is not news.
#[test]
fn a_session_is_loaded_and_its_past_is_not_said_again() {
    let lines = [HELLO, &chunk("an old answer"), LOADED, &chunk("new"), END];
    insta::assert_snapshot!(converse(&continued(), &lines), @r#"
    > {"id":2,"jsonrpc":"2.0","method":"session/load","params":{"cwd":"/project","mcpServers":[],"sessionId":"ses_1"}}
    > {"id":3,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"do it","type":"text"}],"sessionId":"ses_1"}}
    over
    Text("new")
    replied: "new"
    session: ses_1
    "#);
}

// C-67: a process with an open session gets only the prompt, with a new id.
#[test]
fn a_process_that_stayed_goes_on_in_its_session() {
    let mut first = Acp.listener(&ask(), &ProviderSettings::new(ProviderKind::Acp));
    for line in [HELLO, OPEN, &chunk("one")] {
        first.output(line, &mut |_| {});
        assert_eq!(first.stays(), None, "the turn is not over");
    }
    first.output(END, &mut |_| {});
    let known = first.stays().unwrap();
    assert_eq!(known, IdleAgentFacts { name: "OpenCode".into(), prompts: 1 });
    let (said, mut second) = Acp.going_on(&continued(), &known).unwrap();
    insta::assert_snapshot!(said, @r#"{"id":4,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"do it","type":"text"}],"sessionId":"ses_1"}}"#);
    // An answer to the earlier prompt does not count.
    for line in [chunk("two").as_str(), END] {
        assert_eq!(second.output(line, &mut |_| {}), ListenerStep::GoOn);
    }
    assert_eq!(second.output(&END.replace(":3,", ":4,"), &mut |_| {}), ListenerStep::Done);
    assert_eq!(second.stays().map(|known| known.prompts), Some(2));
    let end = ProcessEnd { exit: ProcessExit::AfterDone, complaints: String::new() };
    insta::assert_snapshot!(shown(&second.end(&end)), @r#"
    replied: "two"
    session: ses_1
    "#);
}

// C-67: only after a successful turn.
#[test]
fn a_process_whose_turn_failed_does_not_stay() {
    let refused = END.replace("end_turn", "refusal");
    let error = r#"{"jsonrpc":"2.0","id":3,"error":{"code":500,"message":"down"}}"#;
    for last in [refused.as_str(), error] {
        let mut client = Acp.listener(&ask(), &ProviderSettings::new(ProviderKind::Acp));
        for line in [HELLO, OPEN, &chunk("one"), last] {
            client.output(line, &mut |_| {});
        }
        assert_eq!(client.stays(), None, "{last}");
    }
}

// C-32, Connections case 18
#[test]
fn a_session_that_cannot_be_loaded_is_lost() {
    let plain = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}"#;
    insta::assert_snapshot!(converse(&continued(), &[plain]), @r"
    aborted
    session_lost: the agent cannot continue the session `ses_1` in a new process
    ");
    let missing = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error","data":{"details":"Session not found"}}}"#;
    insta::assert_snapshot!(converse(&continued(), &[HELLO, missing]), @r#"
    > {"id":2,"jsonrpc":"2.0","method":"session/load","params":{"cwd":"/project","mcpServers":[],"sessionId":"ses_1"}}
    over
    session_lost: the agent could not load the session `ses_1`: Internal error: Session not found
    "#);
}

// C-27: money counts for the session, and for Copilot tokens too.
#[test]
fn what_was_counted_before_does_not_belong_to_the_turn() {
    let copilot = HELLO.replace("OpenCode", "Copilot");
    let cost = update(r#"{"sessionUpdate":"usage_update","cost":{"amount":0.0012,"currency":"USD"}}"#);
    let end = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":300,"outputTokens":60}}}"#;
    let usage = Usage { input: Some(100), output: Some(20), ..Usage::default() };
    let before = Some(Meter { usage, cost: Some(Usd(600)) });
    let spent = |hello: &str, metered: Option<Meter>| {
        let ask = Ask { metered, ..continued() };
        let said = converse(&ask, &[hello, LOADED, &cost, &chunk("done"), end]);
        said[said.find("usage").unwrap()..].to_owned()
    };
    insta::assert_snapshot!(spent(&copilot, before.clone()), @r#"
    usage: {"input":200,"output":40}
    cost: $0.0006
    session: ses_1
    "#);
    insta::assert_snapshot!(spent(&copilot, None), @r#"
    usage: {"input":300,"output":60,"cumulative":true}
    cost: $0.0012
    session: ses_1
    "#);
    insta::assert_snapshot!(spent(HELLO, before), @r#"
    usage: {"input":300,"output":60}
    cost: $0.0006
    session: ses_1
    "#);
}

// C-67, recorded from `copilot --acp`: it ends the turn at a refusal, and its model never learns of it.
#[test]
fn an_agent_that_stops_at_a_refusal_is_asked_to_continue() {
    let copilot = HELLO.replace("OpenCode", "Copilot");
    let call =
        update(r#"{"sessionUpdate":"tool_call","toolCallId":"t1","title":"Creating x","kind":"edit"}"#);
    let request = r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"options":[{"optionId":"n","kind":"reject_once"}],"toolCall":{"toolCallId":"t1","title":"Create file","kind":"edit"}}}"#;
    let failed = update(r#"{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"failed"}"#);
    let notice = chunk("Info: Operation cancelled by user");
    let second = END.replace(":3,", ":4,");
    let lines = [copilot.as_str(), OPEN, &call, request, &failed, &notice, END, &chunk("done"), &second];
    let said = converse(&ask(), &lines);
    insta::assert_snapshot!(said.lines().filter(|line| !line.starts_with("tool: ")).collect::<Vec<_>>().join("\n"), @r#"
    > {"id":2,"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/project","mcpServers":[]}}
    > {"id":3,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"do it","type":"text"}],"sessionId":"ses_1"}}
    > {"id":0,"jsonrpc":"2.0","result":{"outcome":{"optionId":"n","outcome":"selected"}}}
    > {"id":4,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"`Create file` is not allowed in this turn. Continue without it, and finish the task as you were asked to.","type":"text"}],"sessionId":"ses_1"}}
    over
    ToolStarted("Creating x")
    Denied("Create file")
    ToolFinished("Creating x")
    Text("done")
    replied: "done"
    session: ses_1
    denied: 1
    "#);

    let mut often = vec![copilot.clone(), OPEN.to_owned()];
    for number in 3..7 {
        often.extend([call.clone(), request.to_owned(), notice.clone()]);
        often.push(END.replace(":3,", &format!(":{number},")));
    }
    let often: Vec<&str> = often.iter().map(String::as_str).collect();
    assert_eq!(class_of(&converse(&ask(), &often)), "bad_request");
}

// Recorded from `copilot --acp`: it mixes lines of its own into the messages.
#[test]
fn a_line_of_the_program_is_no_part_of_the_reply() {
    let copilot = HELLO.replace("OpenCode", "Copilot");
    let reply = |lines: &[&str]| {
        let said = converse(&ask(), &[&[copilot.as_str(), OPEN], lines, &[END]].concat());
        said.lines().find(|line| line.starts_with("replied: ")).unwrap_or_default().to_owned()
    };
    assert_eq!(
        reply(&[&chunk("Info: /project/x"), &chunk("All "), &chunk("done.")]),
        r#"replied: "All done.""#
    );
    assert_eq!(reply(&[&chunk("Info: nothing else")]), r#"replied: "Info: nothing else""#);
    let bad_key = chunk("Error: Authentication failed with provider (HTTP 401).");
    assert_eq!(class_of(&converse(&ask(), &[&copilot, OPEN, &chunk("I look."), &bad_key, END])), "auth");
}

// C-32: the data contains the cause.
#[test]
fn the_data_of_an_error_is_told_and_gives_it_its_class() {
    let failed = |data: &str| {
        let end = format!(
            r#"{{"jsonrpc":"2.0","id":3,"error":{{"code":-32603,"message":"Internal error","data":{data}}}}}"#
        );
        converse(&ask(), &[HELLO, OPEN, &end]).lines().nth(3).unwrap_or_default().to_owned()
    };
    let all = [
        r#"{"details":"401 Unauthorized"}"#,
        r#"{"details":"API key not valid"}"#,
        r#"{"status":401,"body":"no"}"#,
        r#"{"error":{"code":429,"message":"slow down"}}"#,
        r#""the disk is full""#,
        r#"{"service":"session"}"#,
        "null",
    ];
    insta::assert_snapshot!(all.map(failed).join("\n"), @r#"
    auth: Internal error: 401 Unauthorized
    auth: Internal error: API key not valid
    auth: Internal error: {"body":"no","status":401}
    rate_limited: Internal error: slow down
    crashed: Internal error: the disk is full
    crashed: Internal error: {"service":"session"}
    crashed: Internal error
    "#);
}

// C-32
#[test]
fn stops_and_errors_have_their_classes() {
    let stopped = |reason: &str| {
        let end = format!(r#"{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"{reason}"}}}}"#);
        class_of(&converse(&ask(), &[HELLO, OPEN, &chunk("x"), &end]))
    };
    let reasons = ["end_turn", "cancelled", "refusal", "max_tokens", "max_turn_requests", "?"];
    let classes = ["replied", "cancelled", "refused", "bad_request", "bad_request", "crashed"];
    assert_eq!(reasons.map(stopped), classes);

    let failed = |code: i64, message: &str| {
        let end = format!(r#"{{"jsonrpc":"2.0","id":3,"error":{{"code":{code},"message":"{message}"}}}}"#);
        class_of(&converse(&ask(), &[HELLO, OPEN, &chunk("x"), &end]))
    };
    assert_eq!(failed(401, "no"), "auth");
    assert_eq!(failed(-32000, "Authentication required"), "auth");
    assert_eq!(failed(-32603, "bad key"), "auth");
    assert_eq!(failed(429, "slow down"), "rate_limited");
    assert_eq!(failed(500, "boom"), "transient");
    assert_eq!(failed(-32603, "Internal error"), "crashed");
    assert_eq!(class_of(&converse(&ask(), &[HELLO, OPEN, END])), "crashed", "it said nothing");
    assert_eq!(class_of(&converse(&ask(), &[HELLO, OPEN, &chunk("x")])), "crashed", "it did not end");
}

/// Returns the class in the line with the result.
fn class_of(said: &str) -> String {
    let classes = saihai_model::FailureClass::ALL.map(saihai_model::FailureClass::name);
    let mut words = said.lines().filter_map(|line| Some(line.split_once(": ")?.0));
    words.find(|word| *word == "replied" || classes.contains(word)).unwrap().to_owned()
}

// C-56, C-67
#[test]
fn a_turn_is_cancelled_in_the_words_of_the_protocol() {
    let mut client = Acp.listener(&ask(), &ProviderSettings::new(ProviderKind::Acp));
    assert!(client.is_spoken_with());
    client.output(HELLO, &mut |_: Progress| ());
    assert_eq!(client.farewell(), None, "there is no turn yet");
    client.output(OPEN, &mut |_: Progress| ());
    let words = r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"ses_1"}}"#;
    assert_eq!(client.farewell(), Some(format!("{words}\n")));
    client.output(END, &mut |_: Progress| ());
    assert_eq!(client.farewell(), None, "it is over");
}

// C-67: `/allow-all on` would be a command to the agent itself.
#[test]
fn a_prompt_is_never_a_command_of_the_agent() {
    let said = |prompt: &str, persona: Option<&str>| {
        message::prompt_text(&Ask { prompt: prompt.into(), persona: persona.map(str::to_owned), ..ask() })
    };
    assert_eq!(said("/allow-all on", None), "---\n\n/allow-all on");
    assert_eq!(said("\n /help", None), "---\n\n\n /help");
    assert_eq!(said("mend src/a.rs", None), "mend src/a.rs");
    assert_eq!(said("/allow-all on", Some("You plan.")), "You plan.\n\n---\n\n/allow-all on");
}

// C-67: we offer no other method.
#[test]
fn whatever_else_it_asks_for_is_refused() {
    let read = r#"{"jsonrpc":"2.0","id":"x7","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}"#;
    insta::assert_snapshot!(converse(&ask(), &[HELLO, OPEN, read, &chunk("no"), END]), @r#"
    > {"id":2,"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/project","mcpServers":[]}}
    > {"id":3,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"do it","type":"text"}],"sessionId":"ses_1"}}
    > {"error":{"code":-32601,"message":"`fs/read_text_file` is not offered"},"id":"x7","jsonrpc":"2.0"}
    over
    Text("no")
    replied: "no"
    session: ses_1
    "#);
}
