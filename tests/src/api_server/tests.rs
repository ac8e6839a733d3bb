use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Answer, ApiServer, Request};

const MESSAGES: &str = "/v1/messages?beta=true";
const CHAT: &str = "/v1/chat/completions";
const GEMINI: &str = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";

fn server(script: impl IntoIterator<Item = Answer>) -> ApiServer {
    ApiServer::start(|_| script)
}

/// Sends a request like an API client and reads the whole response.
fn post(server: &ApiServer, path: &str, body: &Value) -> String {
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    let body = body.to_string();
    let request = format!("POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it answers");
    response
}

/// Returns an agent's request, which offers a tool.
fn ask(stream: bool) -> Value {
    json!({"stream": stream, "tools": [{"name": "read"}]})
}

/// Returns the text that a client would assemble.
fn said(response: &str) -> String {
    let events = response.lines().filter_map(|line| line.strip_prefix("data: "));
    events.filter_map(|data| serde_json::from_str(data).ok()).map(|event| part_of(&event)).collect()
}

fn part_of(event: &Value) -> String {
    let places = [
        &event["delta"]["text"],
        &event["choices"][0]["delta"]["content"],
        &event["candidates"][0]["content"]["parts"][0]["text"],
        &event["delta"],
    ];
    places.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
}

// C-85
#[test]
fn every_protocol_says_the_same_text_in_pieces() {
    for path in [MESSAGES, "/v1/responses", CHAT, GEMINI] {
        let server = server([Answer::text("I am done, 終わり.")]);
        let response = post(&server, path, &ask(true));
        assert_eq!(said(&response), "I am done, 終わり.", "{path}: {response}");
        assert!(response.ends_with("0\r\n\r\n"), "{path}: {response}");
    }
}

#[test]
fn the_script_is_followed_in_order_and_its_last_answer_stands() {
    let server = server([Answer::slow_down(7), Answer::status(401), Answer::text("yes")]);
    let told: Vec<String> = (0..4).map(|_| post(&server, "/v1/responses", &ask(true))).collect();
    assert!(
        told[0].starts_with("HTTP/1.1 429 ") && told[0].contains("\r\nretry-after: 7\r\n"),
        "{}",
        told[0]
    );
    assert!(told[1].starts_with("HTTP/1.1 401 ") && told[1].contains("bad key"), "{}", told[1]);
    assert_eq!([said(&told[2]), said(&told[3])], ["yes", "yes"]);
}

#[test]
fn requests_outside_the_conversation_use_up_no_answer() {
    let server = server([Answer::text("first"), Answer::text("second")]);
    let title = post(&server, MESSAGES, &json!({"messages": []}));
    let count = post(&server, "/v1/messages/count_tokens", &ask(false));
    assert!(title.contains("aside") && count.contains("\"input_tokens\":100"), "{title}{count}");
    assert_eq!(said(&post(&server, MESSAGES, &ask(true))), "first");
    assert_eq!((server.requests().len(), server.asked().len()), (3, 1));
}

/// Returns OpenCode's request for a turn without tools or for a title. Only the role differs.
fn of_opencode(role: &str) -> Value {
    let messages = json!([{"role": "system", "content": role}, {"role": "user", "content": "Say hello."}]);
    json!({"model": "m", "messages": messages, "stream": true, "stream_options": {"include_usage": true}})
}

#[test]
fn a_turn_without_tools_is_told_from_a_title_by_its_role() {
    let server = server([Answer::text("first"), Answer::text("second")]);
    let title = of_opencode("You are a title generator. You output ONLY a thread title. Nothing else.\n");
    let turn = of_opencode("You are opencode, an interactive CLI tool.");
    let heard = [&title, &turn, &title, &turn].map(|body| said(&post(&server, CHAT, body)));
    assert_eq!(heard, ["aside", "first", "aside", "second"]);
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_title_asked_for_as_a_stream_is_streamed_to_the_end() {
    for path in [MESSAGES, "/v1/responses", GEMINI] {
        let server = server([Answer::text("first")]);
        let response = post(&server, path, &json!({"stream": true}));
        assert_eq!(said(&response), "aside", "{path}: {response}");
        assert!(response.ends_with("0\r\n\r\n"), "{path}: {response}");
        assert!(server.asked().is_empty(), "{path}");
    }
}

#[test]
fn a_cut_stream_ends_in_the_middle_and_without_its_end() {
    for path in [MESSAGES, "/v1/responses", CHAT, GEMINI] {
        let response = post(&server([Answer::Cut("I am nearly done.".to_owned())]), path, &ask(true));
        assert!(response.starts_with("HTTP/1.1 200 "), "{path}: {response}");
        assert!(!response.ends_with("0\r\n\r\n"), "{path}: {response}");
        assert!("I am nearly done.".starts_with(&said(&response)), "{path}: {response}");
        assert_ne!(said(&response), "I am nearly done.", "{path}");
    }
}

#[test]
fn a_request_can_be_waited_for_before_and_after_it_comes() {
    let server = server([Answer::text("x")]);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| server.wait_for(Request::is_ask));
        post(&server, MESSAGES, &ask(false));
        assert_eq!(waiter.join().expect("it came").path, MESSAGES);
    });
    assert_eq!(server.wait_for(Request::is_ask).method, "POST");
}

#[test]
fn a_reply_without_end_is_ended_by_the_client_or_with_the_server() {
    let server = server([Answer::endless()]);
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    let body = ask(true).to_string();
    write!(stream, "POST {MESSAGES} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .expect("it reads");
    server.wait_for(Request::is_ask);
    drop(server);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("it is closed, not broken");
    assert!(!rest.ends_with("0\r\n\r\n"), "{rest}");
}
