//! Answers.

use insta::assert_snapshot;
use proptest::prelude::*;
use saihai_model::{Ask, Millis, Progress, ProviderSettings};
use serde_json::json;

use super::support::{Anthropic, HELLO_ANTHROPIC, HELLO_OPENAI, Openai, World, shown, told};
use crate::http::api::ModelApi;
use crate::http::exchange::EventStreamParser;
use crate::testing::loopback_server::{HEAD, LoopbackServer, Piece, refusal, stream, written};

// C-20, C-27: text, and the tokens of this turn.
#[tokio::test]
async fn an_answer_is_its_text_and_its_tokens() {
    assert_snapshot!(told(Anthropic, stream(HELLO_ANTHROPIC)).await, @r#"
    text: "Hello 計"
    usage: {"input":16,"output":7,"cached":4}
    "#);
    assert_snapshot!(told(Openai, stream(HELLO_OPENAI)).await, @r#"
    text: "Hello 計"
    usage: {"input":16,"output":7,"cached":4,"reasoning":3}
    "#);
}

// C-28
#[tokio::test]
async fn text_is_shown_as_it_comes() {
    for (kind, hello) in [(Anthropic, HELLO_ANTHROPIC), (Openai, HELLO_OPENAI)] {
        let world = World::new(kind);
        let server = LoopbackServer::start(vec![stream(hello)]).await;
        let (_, progress) = world.answer(&server, world.ask()).await;
        assert_eq!(progress, [Progress::Text("Hel".into()), Progress::Text("lo 計".into())]);
    }
}

// C-81: chunks of any size, even inside a character or the transfer encoding.
#[tokio::test]
async fn a_stream_may_come_in_single_bytes() {
    let body = written(HELLO_OPENAI);
    let single = HEAD.bytes().chain(body.bytes()).map(|byte| Piece::Bytes(vec![byte])).collect();
    assert!(told(Openai, single).await.starts_with("text: \"Hello 計\""));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks: String = body
        .as_bytes()
        .chunks(7)
        .map(|chunk| {
            let text: String = chunk.iter().map(|byte| char::from(*byte)).collect();
            format!("{:x}\r\n{text}\r\n", chunk.len())
        })
        .collect();
    // Each character here is one byte, so that a chunk may end inside a real character.
    let bytes: Vec<u8> =
        format!("{head}{chunks}0\r\n\r\n").chars().map(|one| u8::try_from(u32::from(one)).unwrap()).collect();
    assert!(told(Openai, vec![Piece::Bytes(bytes)]).await.starts_with("text: \"Hello 計\""));
}

// C-81, Connections case 41: an incomplete stream is not an answer, and nothing of it is kept.
#[tokio::test]
async fn a_stream_that_is_cut_anywhere_is_transient_and_its_text_is_dropped() {
    for (kind, hello) in [(Anthropic, HELLO_ANTHROPIC), (Openai, HELLO_OPENAI)] {
        let lines: Vec<&str> = hello.lines().filter(|line| !line.trim().is_empty()).collect();
        // Nothing after the finish reason is needed.
        let complete = lines.iter().position(|line| line.contains("\"finish_reason\":\"stop\""));
        for end in 0..complete.map_or(lines.len(), |at| at + 1) {
            let said = told(kind, stream(&lines[..end].join("\n"))).await;
            assert!(said.starts_with("transient: the stream ended before the answer was complete"), "{said}");
            assert!(!said.contains("Hel"), "{said}");
        }
    }
    let chunked = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n400\r\ndata: {";
    let said = told(Openai, vec![Piece::Bytes(chunked.into())]).await;
    assert!(said.starts_with("transient: `127.0.0.1` broke off: "), "{said}");
}

// C-81: not every server sends `[DONE]`, or counts tokens.
#[tokio::test]
async fn a_stream_that_ends_after_the_reason_of_its_end_is_complete() {
    let counted = HELLO_OPENAI.replace("[DONE]", "");
    assert_snapshot!(told(Openai, stream(&counted)).await, @r#"
    text: "Hello 計"
    usage: {"input":16,"output":7,"cached":4,"reasoning":3}
    "#);
    let uncounted: Vec<&str> = counted.lines().filter(|line| !line.contains("usage")).collect();
    assert_snapshot!(told(Openai, stream(&uncounted.join("\n"))).await, @r#"text: "Hello 計""#);
    // The stream stays open, or breaks off.
    let world = World::new(Openai);
    let settings = ProviderSettings { idle_timeout: Some(Millis(50)), ..world.settings.clone() };
    let world = World { settings, ..world };
    let mut open = stream(&counted);
    open.push(Piece::Hang);
    assert!(world.told(vec![open], world.ask()).await.starts_with("text: \"Hello 計\""));
}

const WHOLE: &str = r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello 計"},"finish_reason":"stop"}],"usage":{"prompt_tokens":16,"completion_tokens":7}}"#;

fn whole(body: &str) -> Vec<Piece> {
    refusal("200 OK", "content-type: application/json; charset=utf-8\r\n", body)
}

// C-81
#[tokio::test]
async fn a_server_that_answers_at_once_is_heard_and_then_asked_without_a_stream() {
    let call = r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]},"finish_reason":"tool_calls"}]}"#;
    let world = World::new(Openai);
    world.write("a", "one\n");
    let server = LoopbackServer::start(vec![whole(call), whole(WHOLE)]).await;
    let ask = Ask { tools: Some(vec!["read_file".to_owned()]), ..world.ask() };
    let (answer, _) = world.answer(&server, ask).await;
    assert_snapshot!(shown(&answer), @r#"
    text: "Hello 計"
    usage: {"input":16,"output":7}
    tool: read_file {"path":"a"} "1\tone\n"
    "#);
    let sent: Vec<_> = server.seen().iter().map(|seen| seen.body["stream"].clone()).collect();
    assert_eq!(sent, [true, false]);
    assert!(server.seen()[1].body["stream_options"].is_null());
}

// C-81
#[tokio::test]
async fn a_server_that_refuses_to_stream_is_asked_without_a_stream() {
    for (status, why) in [
        ("400 Bad Request", r#"{"error":{"message":"stream is not supported by this model"}}"#),
        ("422 Unprocessable Entity", r#"{"detail":"extra field: stream_options"}"#),
        ("501 Not Implemented", "Streaming is not implemented"),
    ] {
        let world = World::new(Openai);
        let said = world.told(vec![refusal(status, "", why), whole(WHOLE)], world.ask()).await;
        assert!(said.starts_with("text: \"Hello 計\""), "{said}");
    }
    let other = refusal("400 Bad Request", "", r#"{"error":{"message":"upstream says: too long"}}"#);
    assert_snapshot!(told(Openai, other).await, @"bad_request: HTTP 400 Bad Request: upstream says: too long");
    let again = refusal("400 Bad Request", "", r#"{"error":{"message":"no stream"}}"#);
    let world = World::new(Openai);
    let said = world.told(vec![again.clone(), again], world.ask()).await;
    assert_snapshot!(said, @"bad_request: HTTP 400 Bad Request: no stream");
}

// C-26: the usage of a failed attempt is known.
#[tokio::test]
async fn tokens_of_an_answer_that_failed_are_counted() {
    let begun = HELLO_ANTHROPIC.lines().take(3).collect::<Vec<_>>().join("\n");
    assert_snapshot!(told(Anthropic, stream(&begun)).await, @r#"
    transient: the stream ended before the answer was complete
    usage: {"input":16,"output":1,"cached":4}
    "#);
}

// Text before the failure is passed on.
#[tokio::test]
async fn what_an_answer_said_before_it_was_cut_off_is_kept() {
    let cut = HELLO_ANTHROPIC.replace("end_turn", "max_tokens");
    let (world, server) = (World::new(Anthropic), LoopbackServer::start(vec![stream(&cut)]).await);
    let (answer, _) = world.answer(&server, world.ask()).await;
    assert_eq!(answer.unwrap_err().said.as_deref(), Some("Hello 計"));
}

// C-32: `Refused`, and C-81: the message names the limit.
#[tokio::test]
async fn an_answer_that_was_refused_or_cut_off_is_none() {
    let stopped = |reason: &str| HELLO_ANTHROPIC.replace("end_turn", reason);
    assert_snapshot!(told(Anthropic, stream(&stopped("max_tokens"))).await, @r#"
    bad_request: the answer was cut off by the limit `max_tokens` after 7 tokens
    usage: {"input":16,"output":7,"cached":4}
    "#);
    assert_snapshot!(told(Anthropic, stream(&stopped("refusal"))).await, @r#"
    refused: Hello 計
    usage: {"input":16,"output":7,"cached":4}
    "#);
    let stopped = |reason: &str| HELLO_OPENAI.replace("\"stop\"", &format!("\"{reason}\""));
    assert_snapshot!(told(Openai, stream(&stopped("length"))).await, @r#"
    bad_request: the answer was cut off by the limit `length` after 7 tokens
    usage: {"input":16,"output":7,"cached":4,"reasoning":3}
    "#);
    assert_snapshot!(told(Openai, stream(&stopped("content_filter"))).await, @r#"
    refused: the model declined to answer
    usage: {"input":16,"output":7,"cached":4,"reasoning":3}
    "#);
    let refusal = r#"
        {"choices":[{"delta":{"refusal":"I cannot "}}]}
        {"choices":[{"delta":{"refusal":"do that."},"finish_reason":"stop"}]}
        [DONE]"#;
    assert_snapshot!(told(Openai, stream(refusal)).await, @"refused: I cannot do that.");
}

// C-32: an empty reply is a crash.
#[tokio::test]
async fn an_empty_answer_is_a_crash() {
    let empty = r#"
        {"choices":[{"delta":{"content":" \n"},"finish_reason":"stop"}]}
        [DONE]"#;
    assert_snapshot!(told(Openai, stream(empty)).await, @"crashed: the answer is empty");
    assert_snapshot!(told(Anthropic, stream(r#"{"type":"message_stop"}"#)).await, @"crashed: the answer is empty");
}

// C-25: only our own check counts.
#[tokio::test]
async fn a_structured_answer_is_checked_by_ourselves() {
    let schema =
        json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] });
    let said = |text: &str| {
        let event = json!({ "choices": [{ "delta": { "content": text } }] });
        stream(&format!("{event}\n[DONE]"))
    };
    let world = World::new(Openai);
    let ask = || Ask { schema: Some(schema.clone()), ..world.ask() };
    assert_snapshot!(world.told(vec![said("{\"ok\": true}")], ask()).await, @r#"
    text: "{\"ok\": true}"
    structured: {"ok":true}
    "#);
    assert_snapshot!(world.told(vec![said("{\"ok\": 1}")], ask()).await, @r#"
    text: "{\"ok\": 1}"
    structured_error: /ok: 1 is not of type "boolean"
    "#);
    assert_snapshot!(world.told(vec![said("Sure!")], ask()).await, @r#"
    text: "Sure!"
    structured_error: the reply is not JSON: expected value at line 1 column 1
    "#);
    let list =
        Ask { schema: Some(json!({ "type": "array", "items": { "type": "integer" } })), ..world.ask() };
    assert_snapshot!(world.told(vec![said("{\"value\": [1, 2]}")], list).await, @r#"
    text: "[1,2]"
    structured: [1,2]
    "#);
}

// C-82: the forced tool, alone or after some text.
#[tokio::test]
async fn anthropic_gives_a_structured_answer_by_a_tool() {
    let answer = |input: &str| {
        let delta = json!({ "type": "content_block_delta", "index": 1,
                            "delta": { "type": "input_json_delta", "partial_json": input } });
        stream(&format!(
            r#"
            {{"type":"content_block_start","index":0,"content_block":{{"type":"text","text":"Here."}}}}
            {{"type":"content_block_start","index":1,"content_block":{{"type":"tool_use","id":"t1","name":"answer","input":{{}}}}}}
            {delta}
            {{"type":"message_delta","delta":{{"stop_reason":"tool_use"}}}}
            {{"type":"message_stop"}}"#
        ))
    };
    let world = World::new(Anthropic);
    let schema =
        json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] });
    let ask = || Ask { schema: Some(schema.clone()), ..world.ask() };
    assert_snapshot!(world.told(vec![answer("{\"ok\":true}")], ask()).await, @r#"
    text: "{\"ok\":true}"
    structured: {"ok":true}
    "#);
    assert_snapshot!(world.told(vec![answer("{}")], ask()).await, @r#"
    text: "{}"
    structured_error: "ok" is a required property
    "#);
    assert_snapshot!(world.told(vec![answer("{\"ok")], ask()).await, @r#"
    text: "Here."
    structured_error: the reply is not JSON: expected value at line 1 column 1
    "#);
}

proptest! {
    // C-53: no event of a server breaks the listener.
    #[test]
    fn no_event_can_break_a_listener(
        events in prop::collection::vec(prop_oneof![
            any::<String>(),
            "\\{\"type\":\"(content_block_start|content_block_delta|message_delta|message_start|error)\",\"index\":[0-9],\"(delta|content_block|message|error)\":(\\{\"type\":\"(text_delta|tool_use|input_json_delta)\"\\}|7|null|\"x\")\\}",
            "\\{\"choices\":\\[(\\{\"delta\":\\{\"tool_calls\":\\[(\\{\"index\":[0-9],\"id\":\"x\"\\}|\\{\\}|3)\\]\\}\\}|7)?\\]\\}",
        ], 0..12)
    ) {
        for api in [ModelApi::Anthropic, ModelApi::Openai] {
            let mut listener = api.listener();
            for event in &events {
                let _ = listener.hear(event, &mut |_| {});
            }
            let _ = listener.usage();
            let spoken = listener.spoken();
            prop_assert_eq!(spoken.message["role"].as_str(), Some("assistant"));
        }
    }

    // C-81: the result does not depend on the chunks of an answer.
    #[test]
    fn an_answer_does_not_depend_on_how_it_was_cut(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        for (api, hello) in [(ModelApi::Anthropic, HELLO_ANTHROPIC), (ModelApi::Openai, HELLO_OPENAI)] {
            let bytes = written(hello).into_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let (mut events, mut listener, mut told) = (EventStreamParser::default(), api.listener(), String::new());
            for pair in at.windows(2) {
                for data in events.feed(&bytes[pair[0]..pair[1]]).unwrap() {
                    listener.hear(&data, &mut |text| told.push_str(text)).unwrap();
                }
            }
            prop_assert_eq!(&told, "Hello 計");
            prop_assert_eq!(listener.spoken().text, "Hello 計");
        }
    }
}
