//! Turns with tools, and continued sessions.

use insta::assert_snapshot;
use saihai_model::{Ask, Progress, ProviderKind};
use serde_json::{Value, json};

use super::support::{Anthropic, HELLO_ANTHROPIC, HELLO_OPENAI, Openai, World, shown};
use crate::testing::loopback_server::{LoopbackServer, Piece, stream};

/// Returns an answer that requests tools, in the API's format.
fn wants(kind: ProviderKind, calls: &[(&str, Value)]) -> Vec<Piece> {
    let mut events = String::new();
    for (index, (name, input)) in calls.iter().enumerate() {
        let (id, input) = (format!("t{index}"), input.as_str().map_or(input.to_string(), str::to_owned));
        // The input of a tool arrives in parts.
        let middle = input.len() / 2;
        let pieces = [&input[..middle], &input[middle..]];
        let event = |event: Value| format!("{event}\n");
        if kind == Anthropic {
            let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
            events +=
                &event(json!({ "type": "content_block_start", "index": index, "content_block": block }));
            for piece in pieces {
                let delta = json!({ "type": "input_json_delta", "partial_json": piece });
                events += &event(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
            }
        } else {
            for (n, piece) in pieces.into_iter().enumerate() {
                let mut call = json!({ "index": index, "function": { "arguments": piece } });
                if n == 0 {
                    call["id"] = json!(id);
                    call["function"]["name"] = json!(name);
                }
                events += &event(json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }));
            }
        }
    }
    events += if kind == Anthropic {
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":5,"output_tokens":2}}
               {"type":"message_stop"}"#
    } else {
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}
               [DONE]"#
    };
    stream(&events)
}

fn hello(kind: ProviderKind) -> Vec<Piece> {
    stream(if kind == Anthropic { HELLO_ANTHROPIC } else { HELLO_OPENAI })
}

fn lines(messages: &Value) -> String {
    messages.as_array().unwrap().iter().map(|message| format!("{message}\n")).collect()
}

fn looking(world: &World) -> Ask {
    Ask { tools: None, ..world.ask() }
}

// C-82: every parallel call has a result, in order. The turn's usage includes all calls.
#[tokio::test]
async fn a_model_looks_around_before_it_answers() {
    for kind in [Anthropic, Openai] {
        let world = World::new(kind);
        world.write("a.txt", "one\ntwo\n");
        let calls = [("read_file", json!({ "path": "a.txt" })), ("grep", json!({ "pattern": "w" }))];
        let server = LoopbackServer::start(vec![wants(kind, &calls), hello(kind)]).await;
        let (answer, progress) = world.answer(&server, looking(&world)).await;
        let told = shown(&answer);
        if kind == Anthropic {
            assert_snapshot!(told, @r#"
            text: "Hello 計"
            usage: {"input":21,"output":9,"cached":4}
            tool: read_file {"path":"a.txt"} "1\tone\n2\ttwo\n"
            tool: grep {"pattern":"w"} "a.txt:2:two\n"
            "#);
        } else {
            assert_snapshot!(told, @r#"
            text: "Hello 計"
            usage: {"input":21,"output":9,"cached":4,"reasoning":3}
            tool: read_file {"path":"a.txt"} "1\tone\n2\ttwo\n"
            tool: grep {"pattern":"w"} "a.txt:2:two\n"
            "#);
        }
        let shown = ["read_file a.txt", "grep w"].map(str::to_owned);
        let mut expected: Vec<_> = shown.clone().map(Progress::ToolStarted).into();
        expected.extend(shown.map(Progress::ToolFinished));
        expected.extend(["Hel", "lo 計"].map(|text| Progress::Text(text.into())));
        assert_eq!(progress, expected);
        let second = lines(&server.seen()[1].body["messages"]);
        if kind == Anthropic {
            assert_snapshot!(second, @r#"
            {"content":[{"text":"Plan it.","type":"text"}],"role":"user"}
            {"content":[{"id":"t0","input":{"path":"a.txt"},"name":"read_file","type":"tool_use"},{"id":"t1","input":{"pattern":"w"},"name":"grep","type":"tool_use"}],"role":"assistant"}
            {"content":[{"content":"1\tone\n2\ttwo\n","tool_use_id":"t0","type":"tool_result"},{"cache_control":{"type":"ephemeral"},"content":"a.txt:2:two\n","tool_use_id":"t1","type":"tool_result"}],"role":"user"}
            "#);
        } else {
            assert_snapshot!(second, @r#"
            {"content":"Plan it.","role":"user"}
            {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"path\":\"a.txt\"}","name":"read_file"},"id":"t0","type":"function"},{"function":{"arguments":"{\"pattern\":\"w\"}","name":"grep"},"id":"t1","type":"function"}]}
            {"content":"1\tone\n2\ttwo\n","role":"tool","tool_call_id":"t0"}
            {"content":"a.txt:2:two\n","role":"tool","tool_call_id":"t1"}
            "#);
        }
    }
}

// C-82, Connections case 41: the model sees a tool error, and the turn continues.
#[tokio::test]
async fn what_a_tool_may_not_do_is_told_to_the_model_and_the_turn_goes_on() {
    let world = World::new(Openai);
    let calls = [
        ("read_file", json!({ "path": "../../etc/passwd" })),
        ("run_shell", json!({ "command": "id" })),
        ("read_file", json!("{\"path\": ")),
        ("read_file", json!({ "file": "a" })),
    ];
    let server = LoopbackServer::start(vec![wants(Openai, &calls), hello(Openai)]).await;
    let (answer, progress) = world.answer(&server, looking(&world)).await;
    assert_snapshot!(shown(&answer), @r#"
    text: "Hello 計"
    usage: {"input":21,"output":9,"cached":4,"reasoning":3}
    tool: read_file {"path":"../../etc/passwd"} {"error":"`../../etc/passwd` is not a relative path that stays inside the working directory"}
    tool: run_shell {"command":"id"} {"error":"there is no tool `run_shell`; known: read_file, list_files, grep"}
    tool: read_file "{\"path\": " {"error":"the arguments are not JSON: {\"path\": "}
    tool: read_file {"file":"a"} {"error":"`read_file` has no argument `file`"}
    denied: 1
    "#);
    assert!(progress.contains(&Progress::Denied("run_shell".into())));
    let told: Vec<_> = server.seen()[1].body["messages"].as_array().unwrap()[2..]
        .iter()
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert_snapshot!(told.join("\n"), @r#"
    error: `../../etc/passwd` is not a relative path that stays inside the working directory
    error: there is no tool `run_shell`; known: read_file, list_files, grep
    error: the arguments are not JSON: {"path": 
    error: `read_file` has no argument `file`
    "#);
}

// C-82: `[]` means no tools, even if the model requests one.
#[tokio::test]
async fn a_tool_that_was_not_given_is_not_run() {
    let world = World::new(Openai);
    world.write("a.txt", "secret");
    let calls = [("read_file", json!({ "path": "a.txt" }))];
    assert_snapshot!(world.told(vec![wants(Openai, &calls), hello(Openai)], world.ask()).await, @r#"
    text: "Hello 計"
    usage: {"input":21,"output":9,"cached":4,"reasoning":3}
    tool: read_file {"path":"a.txt"} {"error":"there is no tool `read_file`; there is none at all"}
    denied: 1
    "#);
}

// C-82: a limit on model calls.
#[tokio::test]
async fn a_model_that_only_looks_around_is_stopped() {
    let world = World::new(Anthropic);
    let calls = [("list_files", json!({}))];
    let answers = vec![wants(Anthropic, &calls); 10];
    let server = LoopbackServer::start(answers).await;
    let (answer, _) = world.answer(&server, Ask { max_calls: Some(3), ..looking(&world) }).await;
    assert_snapshot!(shown(&answer), @r#"
    bad_request: the model still asked for tools after 3 calls
    usage: {"input":15,"output":6}
    "#);
    assert_eq!(server.seen().len(), 3);
    assert_eq!(answer.unwrap_err().failure.limit, Some(saihai_model::TurnLimit::Calls));
}

// C-82: with a schema, the model uses other tools first and then answers through the answer tool.
#[tokio::test]
async fn a_structured_answer_may_come_after_a_look_around() {
    let world = World::new(Anthropic);
    world.write("a.txt", "one");
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let read = ("read_file", json!({ "path": "a.txt" }));
    let both = [("answer", json!({ "n": 1 })), read.clone()];
    let server =
        LoopbackServer::start(vec![wants(Anthropic, &[read]), wants(Anthropic, &both), hello(Anthropic)])
            .await;
    let (answer, _) = world.answer(&server, Ask { schema: Some(schema), ..looking(&world) }).await;
    assert_snapshot!(shown(&answer), @r#"
    text: "{\"n\":1}"
    structured: {"n":1}
    usage: {"input":10,"output":4}
    tool: read_file {"path":"a.txt"} "1\tone\n"
    "#);
    // The session can continue: every call in it has a result.
    let session = answer.unwrap().session;
    world.answer(&server, Ask { session, ..world.ask() }).await.0.unwrap();
    let messages = server.seen()[2].body["messages"].clone();
    let roles: Vec<_> =
        messages.as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "user"]);
    assert_snapshot!(messages[4]["content"].to_string(), @r#"[{"content":"received","tool_use_id":"t0","type":"tool_result"},{"content":"not done: the answer was given","is_error":true,"tool_use_id":"t1","type":"tool_result"}]"#);
}

// C-43: reported once, at the start of the conversation.
#[tokio::test]
async fn tools_nobody_has_here_are_said() {
    let world = World::new(Openai);
    let ask = || Ask { tools: Some(vec!["Read".into(), "Bash".into(), "WebSearch".into()]), ..world.ask() };
    let server = LoopbackServer::start(vec![hello(Openai), hello(Openai)]).await;
    let first = world.answer(&server, ask()).await.0.unwrap();
    assert_eq!(first.warnings, ["`it` has no tool `Bash`, `WebSearch`"]);
    let second = world.answer(&server, Ask { session: first.session, ..ask() }).await.0.unwrap();
    assert_eq!(second.warnings, [""; 0]);
}

// C-83, C-4: a session sends the earlier messages again, with the role of the current turn.
#[tokio::test]
async fn a_session_is_gone_on_with() {
    for kind in [Anthropic, Openai] {
        let world = World::new(kind);
        let server = LoopbackServer::start(vec![hello(kind), hello(kind), hello(kind)]).await;
        let first = world.answer(&server, world.ask()).await.0.unwrap();
        let on = |prompt: &str, session: &Option<String>| Ask {
            prompt: prompt.into(),
            session: session.clone(),
            persona: Some("You go on.".into()),
            ..world.ask()
        };
        let second = world.answer(&server, on("Go on.", &first.session)).await.0.unwrap();
        let third = world.answer(&server, on("And on.", &second.session)).await.0.unwrap();
        assert!(first.session != second.session && second.session != third.session);
        let said = |message: &Value| {
            let content = &message["content"];
            let text = content.as_str().or_else(|| content[0]["text"].as_str());
            format!("{}: {}", message["role"].as_str().unwrap(), text.unwrap())
        };
        let messages = server.seen()[2].body["messages"].clone();
        let all: Vec<_> = messages.as_array().unwrap().iter().map(said).collect();
        let expected =
            ["user: Plan it.", "assistant: Hello 計", "user: Go on.", "assistant: Hello 計", "user: And on."];
        assert!(all.ends_with(&expected.map(str::to_owned)), "{all:?}");
    }
}

// C-32: `SessionLost`; nothing is sent.
#[tokio::test]
async fn a_session_that_is_gone_is_lost() {
    let world = World::new(Openai);
    let ask = Ask { session: Some("http-0123456789abcdef0123456789abcdef".into()), ..world.ask() };
    assert_snapshot!(world.told(Vec::new(), ask).await, @"session_lost: session `http-0123456789abcdef0123456789abcdef` cannot be continued: No such file or directory (os error 2)");
}

// P5: a failed save does not discard the answer.
#[tokio::test]
async fn an_answer_whose_session_cannot_be_kept_is_still_one() {
    let world = World::new(Openai);
    let file = world.directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let server = LoopbackServer::start(vec![hello(Openai)]).await;
    let ask = Ask { scratch: file.join("below").display().to_string(), ..world.ask() };
    let reply = world.answer(&server, ask).await.0.unwrap();
    assert_eq!((reply.text.as_str(), reply.session), ("Hello 計", None));
    assert!(reply.warnings[0].starts_with("the session was not kept: "), "{:?}", reply.warnings);
}

// N-1, N-4: the verdict tool is one of the model's tools. A foreign label is refused, and the last valid call counts.
#[tokio::test]
async fn a_model_reports_its_verdict_by_the_tool() {
    use saihai_model::{ReportedVerdict, VerdictTool, VerdictToolProblem, VerdictToolResult};
    for kind in [Anthropic, Openai] {
        let world = World::new(kind);
        let tool = VerdictTool { options: vec![(0, "approved".into()), (1, "stuck".into())], server: None };
        let asked = |tools| Ask { tools, verdict: Some(tool.clone()), max_calls: Some(1), ..world.ask() };
        let call = |label: &str| ("saihai_verdict", json!({ "verdict": label, "reason": "I looked." }));
        let calls = [call("approved"), call("stuck"), call("merge")];
        let server = LoopbackServer::start(vec![wants(kind, &calls), hello(kind)]).await;
        let (answer, _) = world.answer(&server, asked(None)).await;
        let verdict =
            ReportedVerdict { number: 1, reason: "I looked.".into(), findings: Vec::new(), calls: 2 };
        assert_eq!(answer.unwrap().verdict, Some(VerdictToolResult::Reported(verdict)));
        let server = LoopbackServer::start(vec![hello(kind)]).await;
        let (answer, _) = world.answer(&server, asked(None)).await;
        let missing = |problem| Some(VerdictToolResult::Missing(problem));
        assert_eq!(answer.unwrap().verdict, missing(VerdictToolProblem::NotCalled));
        // A model that gets no tools at all may not know what to do with one.
        let server = LoopbackServer::start(vec![hello(kind)]).await;
        let (answer, _) = world.answer(&server, asked(Some(Vec::new()))).await;
        assert_eq!(answer.unwrap().verdict, missing(VerdictToolProblem::NotOffered));
    }
}
