//! Errors on the way.

use insta::assert_snapshot;
use saihai_model::{Ask, Permission, ProviderSettings};

use super::support::{Anthropic, HELLO_OPENAI, Openai, World, shown, told};
use crate::http::ModelService;
use crate::redact::Redactor;
use crate::testing::loopback_server::{HEAD, LoopbackServer, Piece, refusal, stream};

// C-32, C-34
#[tokio::test]
async fn a_refusal_is_classified_and_says_when_to_come_again() {
    let limited =
        refusal("429 Too Many Requests", "retry-after: 30\r\n", r#"{"error":{"message":"slow down"}}"#);
    assert_snapshot!(told(Openai, limited).await, @"
    rate_limited: HTTP 429 Too Many Requests: slow down
    retry_after: 30000 ms
    ");
    let exact = refusal("429 Too Many Requests", "retry-after-ms: 1200\r\nretry-after: 2\r\n", "");
    assert_snapshot!(told(Openai, exact).await, @"
    rate_limited: HTTP 429 Too Many Requests
    retry_after: 1200 ms
    ");
    let absurd = refusal("503 Service Unavailable", "retry-after: NaN\r\n", "later");
    assert_snapshot!(told(Anthropic, absurd).await, @"transient: HTTP 503 Service Unavailable: later");
    let quota =
        refusal("429 Too Many Requests", "", r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#);
    assert_snapshot!(told(Openai, quota).await, @"quota: HTTP 429 Too Many Requests: pay");
    let overloaded =
        refusal("529 ", "", r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
    assert_snapshot!(told(Anthropic, overloaded).await, @"transient: HTTP 529: Overloaded");
}

// C-81: the client does not follow redirects to another host, and sends no key there.
#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let other = LoopbackServer::start(vec![stream(HELLO_OPENAI)]).await;
    let to = format!("location: {}/chat/completions\r\n", other.url());
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let said = told(Openai, refusal(status, &to, "")).await;
        assert!(said.starts_with("bad_request: HTTP 30"), "{said}");
        assert!(said.ends_with("which is not followed; set `base_url`"), "{said}");
    }
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_redirect_on_the_same_host_is_followed_with_its_body() {
    let moved = refusal("307 Temporary Redirect", "location: /elsewhere\r\n", "");
    let world = World::new(Openai);
    let server = LoopbackServer::start(vec![moved, stream(HELLO_OPENAI)]).await;
    let (answer, _) = world.answer(&server, world.ask()).await;
    assert_eq!(answer.unwrap().text, "Hello 計");
    let seen = server.seen();
    assert_eq!(seen[1].line, "POST /elsewhere HTTP/1.1");
    assert_eq!(seen[0].body, seen[1].body);
}

#[tokio::test]
async fn a_request_is_not_sent_in_circles() {
    let moved = refusal("307 Temporary Redirect", "location: /again\r\n", "");
    let world = World::new(Openai);
    let server = LoopbackServer::start(vec![moved; 20]).await;
    let said = shown(&world.answer(&server, world.ask()).await.0);
    assert_snapshot!(said, @"bad_request: HTTP 307 to `/again`, which is not followed; set `base_url`");
    assert_eq!(server.seen().len(), 6);
}

#[tokio::test]
async fn what_is_no_stream_of_events_is_said_to_be_none() {
    let page = refusal("200 OK", "content-type: text/html\r\n", "<html><body>Welcome</body></html>");
    let said = told(Openai, page).await;
    let (before, after) = said.split_once("http://127.0.0.1:").unwrap();
    assert_eq!(before, "crashed: `");
    assert_eq!(
        after.split_once('/').unwrap().1,
        "chat/completions` answers with text/html instead of a stream of events; check `base_url`"
    );
    let error = refusal(
        "200 OK",
        "content-type: application/json\r\n",
        r#"{"error":{"code":503,"message":"later"}}"#,
    );
    assert_snapshot!(told(Openai, error).await, @"transient: 503: later");
}

#[tokio::test]
async fn an_event_that_is_not_json_is_a_crash() {
    assert_snapshot!(told(Openai, stream("{\"choices\"")).await, @"crashed: an event is not JSON: EOF while parsing an object at line 1 column 10");
    assert_snapshot!(told(Anthropic, stream("<html>")).await, @"crashed: an event is not JSON: expected value at line 1 column 1");
}

#[tokio::test]
async fn an_error_inside_of_a_stream_is_the_failure() {
    let overloaded = r#"
        {"type":"message_start","message":{"usage":{"input_tokens":3}}}
        {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_snapshot!(told(Anthropic, stream(overloaded)).await, @r#"
    transient: overloaded_error: Overloaded
    usage: {"input":3}
    "#);
    let late = r#"{"error":{"code":500,"message":"the slot broke","type":"server_error"}}"#;
    assert_snapshot!(told(Openai, stream(late)).await, @"transient: server_error: the slot broke");
}

// C-32: no server listens there.
#[tokio::test]
async fn a_server_that_is_not_there_is_transient() {
    // The port is bound but does not listen. Another process could reuse a released port immediately.
    let taken = tokio::net::TcpSocket::new_v4().unwrap();
    taken.bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let url = format!("http://{}", taken.local_addr().unwrap());
    let world = World::new(Openai);
    let turn = world.service(&url).ask(world.ask());
    let said = shown(&turn.answer(&|_| {}, tokio_util::sync::CancellationToken::new()).await);
    assert!(said.starts_with("transient: `127.0.0.1` cannot be reached: "), "{said}");
}

// C-52: endless answers are cut off.
#[tokio::test]
async fn bodies_without_end_are_not_kept() {
    let more = |begun: &str| vec![Piece::Bytes(begun.into()), Piece::Forever(vec![b'x'; 64 * 1024])];
    assert_snapshot!(told(Openai, more(&format!("{HEAD}data: "))).await, @"crashed: output limit: one event is longer than 8 MiB");
    let error = told(Openai, more("HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\n\r\n")).await;
    assert!(
        error.starts_with("transient: HTTP 500 Internal Server Error: xxx") && error.len() < 3_000,
        "{error}"
    );
    let event = r#"{"choices":[{"delta":{"content":"0123456789012345678901234567890123456789"}}]}"#;
    let events = format!("data: {event}\n\n").repeat(1_000).into_bytes();
    let told = told(Openai, vec![Piece::Bytes(HEAD.into()), Piece::Forever(events)]).await;
    assert_snapshot!(told, @"crashed: output limit: an answer of more than 8 MiB");
}

// C-55: a server that repeats our key does not get it into a journal.
#[tokio::test]
async fn our_key_is_never_told() {
    let world = World { environment: vec![("OPENAI_API_KEY", "sk-123456789")], ..World::new(Openai) };
    let bad = refusal("401 Unauthorized", "", r#"{"error":{"message":"Incorrect API key: sk-123456789."}}"#);
    assert_snapshot!(world.told(vec![bad], world.ask()).await, @"auth: HTTP 401 Unauthorized: Incorrect API key: [redacted:OPENAI_API_KEY].");
    let echo = r#"
        {"choices":[{"delta":{"content":"Your key is sk-12345"}}]}
        {"choices":[{"delta":{"content":"6789."}}]}
        [DONE]"#;
    let server = LoopbackServer::start(vec![stream(echo)]).await;
    let (answer, progress) = world.answer(&server, world.ask()).await;
    assert_snapshot!(shown(&answer), @r#"text: "Your key is [redacted:OPENAI_API_KEY].""#);
    // Also if it arrives in two parts, and in the saved conversation.
    assert!(!format!("{progress:?}").contains("6789"), "{progress:?}");
    let session = world.directory.path().join("scratch").join(answer.unwrap().session.unwrap() + ".json");
    assert!(!std::fs::read_to_string(session).unwrap().contains("sk-123456789"));
}

// C-55: a secret of our environment is not sent to a server, even if a file contains it.
#[tokio::test]
async fn a_secret_in_a_file_is_not_sent() {
    let world = World { environment: vec![("OTHER_TOKEN", "token-123456789")], ..World::new(Openai) };
    world.write("notes.txt", "use token-123456789 for it");
    let look = r#"
        {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"read_file","arguments":"{\"path\":\"notes.txt\"}"}}]}}]}
        [DONE]"#;
    let server = LoopbackServer::start(vec![stream(look), stream(HELLO_OPENAI)]).await;
    world.answer(&server, Ask { tools: None, ..world.ask() }).await.0.unwrap();
    let told = server.seen()[1].body["messages"][2]["content"].clone();
    assert_eq!(told, "1\tuse [redacted:OTHER_TOKEN] for it\n");
}

// C-24, C-42, C-43: rejected without a request to the server.
#[tokio::test]
async fn what_can_never_be_answered_is_not_sent() {
    let mut world = World::new(Openai);
    let ask = Ask { permission: Permission::Edit { commands: true }, ..world.ask() };
    assert_snapshot!(world.told(Vec::new(), ask).await, @"bad_request: `it` is read-only: it cannot have permission `edit`");
    world.settings.max_prompt = Some(7);
    assert_snapshot!(world.told(Vec::new(), world.ask()).await, @"bad_request: prompt is 8 bytes, it takes 7");
    world.settings.max_prompt = None;
    world.environment = vec![("OPENAI_API_KEY", "secret-key")];
    let turn = world.service("https://api.example.com").ask(Ask { model: None, ..world.ask() });
    let said = shown(&turn.answer(&|_| {}, tokio_util::sync::CancellationToken::new()).await);
    assert_snapshot!(said, @"bad_request: `it` needs a model; set `providers.it.model` or give `--model`");
}

/// Opens a provider with these settings only.
fn opened(settings: &ProviderSettings, environment: &[(&str, &str)]) -> String {
    let environment: Vec<_> = environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
    match ModelService::open(&"it".into(), settings, &environment, &Redactor::of_environment(&[]).into())
        .unwrap()
    {
        Ok(service) => format!("{} {:?}", service.url, service.key),
        Err(error) => error.to_string(),
    }
}

// C-81, C-12: address and key are known before the first turn.
#[test]
fn address_and_key_come_from_the_settings_and_the_environment() {
    let key = ("OPENAI_API_KEY", "k-openai");
    let set = |kind, base: Option<&str>| ProviderSettings {
        base_url: base.map(str::to_owned),
        ..ProviderSettings::new(kind)
    };
    let own = ProviderSettings {
        env_pass: vec!["ROUTER_KEY".into()],
        ..set(Openai, Some("https://r.example/v1/"))
    };
    let all = [
        opened(&set(Openai, None), &[key]),
        opened(&set(Anthropic, None), &[("ANTHROPIC_API_KEY", "k\n")]),
        opened(&set(Openai, None), &[key, ("OPENAI_BASE_URL", "http://h:1/v1/")]),
        opened(&set(Openai, Some("http://[::1]:8080/v1")), &[("OPENAI_BASE_URL", "http://h:1/v1/")]),
        opened(&set(Openai, Some("http://localhost:8080/v1")), &[("OPENAI_API_KEY", " ")]),
        opened(&own, &[key, ("ROUTER_KEY", "k-router")]),
        opened(&own, &[key]),
        opened(&set(Openai, None), &[]),
        opened(&set(Anthropic, None), &[key]),
        opened(&set(Openai, Some("http://192.168.0.2/v1")), &[]),
        opened(&set(Openai, None), &[("OPENAI_API_KEY", "two words")]),
        opened(&set(Openai, None), &[key, ("OPENAI_BASE_URL", "ftp://x")]),
        opened(&set(Openai, None), &[key, ("OPENAI_BASE_URL", "https://u:p@x/")]),
        opened(&set(Openai, None), &[key, ("OPENAI_BASE_URL", "nonsense")]),
    ];
    assert_snapshot!(all.join("\n"), @"
    https://api.openai.com/v1/chat/completions Some([redacted:OPENAI_API_KEY])
    https://api.anthropic.com/v1/messages Some([redacted:ANTHROPIC_API_KEY])
    http://h:1/v1/chat/completions Some([redacted:OPENAI_API_KEY])
    http://[::1]:8080/v1/chat/completions None
    http://localhost:8080/v1/chat/completions None
    https://r.example/v1/chat/completions Some([redacted:ROUTER_KEY])
    provider `it` has no key; set `ROUTER_KEY`
    provider `it` has no key; set `OPENAI_API_KEY`
    provider `it` has no key; set `ANTHROPIC_API_KEY`
    provider `it` has no key; set `OPENAI_API_KEY`
    the key in `OPENAI_API_KEY` has characters that no key has
    provider `it`: `OPENAI_BASE_URL` is not the address of a server: it begins with `ftp:` and not with `https:` or `http:`
    provider `it`: `OPENAI_BASE_URL` is not the address of a server: it must not contain a user name or password
    provider `it`: `OPENAI_BASE_URL` is not the address of a server: relative URL without a base
    ");
}
