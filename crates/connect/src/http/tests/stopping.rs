//! Deadlines and stops.

use std::sync::Mutex;

use insta::assert_snapshot;
use saihai_model::{Ask, Millis, Progress, ProviderAnswer};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::support::{Anthropic, HELLO_ANTHROPIC, HELLO_OPENAI, Openai, World, shown};
use crate::testing::loopback_server::{HEAD, LoopbackServer, Piece, stream, written};

fn without_end(begun: &str) -> Vec<Piece> {
    vec![Piece::Bytes(format!("{HEAD}{}", written(begun)).into_bytes()), Piece::Hang]
}

/// Returns the start of an answer: usage so far, and some text.
fn begun() -> String {
    HELLO_ANTHROPIC.lines().take(6).collect::<Vec<_>>().join("\n")
}

// C-36
#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    let mut world = World::new(Anthropic);
    world.settings.idle_timeout = Some(Millis(300));
    for answer in [vec![Piece::Hang], vec![Piece::Bytes(HEAD.into()), Piece::Hang]] {
        assert_eq!(world.told(vec![answer], world.ask()).await, "transient: timed out after 300 ms");
    }
    assert_snapshot!(world.told(vec![without_end(&begun())], world.ask()).await, @r#"
    transient: timed out after 300 ms
    usage: {"input":16,"output":1,"cached":4}
    "#);
}

// C-36: also without any silence.
#[tokio::test]
async fn an_attempt_has_a_deadline_however_busy_it_is() {
    let world = World::new(Anthropic);
    let ping = b"data: {\"type\":\"ping\"}\n\n".to_vec();
    let busy = vec![Piece::Bytes(HEAD.into()), Piece::Forever(ping)];
    let server = LoopbackServer::start(vec![busy]).await;
    let (answer, _) = world.answer(&server, Ask { timeout: Some(Millis(300)), ..world.ask() }).await;
    let refusal = answer.unwrap_err();
    assert_eq!(refusal.failure.message, "timed out after 300 ms");
    assert!(refusal.failure.by_deadline);
    server.left().await;
}

/// Stops an ask at its first progress.
async fn stopped_at_first_sight(
    world: &World,
    server: &LoopbackServer,
    ask: Ask,
) -> (ProviderAnswer, Vec<Progress>) {
    let stop = CancellationToken::new();
    let seen = Mutex::new(Vec::new());
    let (told, mut heard) = mpsc::unbounded_channel();
    let tell = |progress| {
        seen.lock().unwrap().push(progress);
        told.send(()).unwrap();
    };
    let answering = world.service(&server.url()).ask(ask).answer(&tell, stop.clone());
    let stopping = async {
        heard.recv().await;
        stop.cancel();
    };
    let (answer, ()) = tokio::join!(answering, stopping);
    (answer, seen.into_inner().unwrap())
}

// C-32: `Cancelled`; the connection closes immediately, so that the server stops.
#[tokio::test]
async fn a_stopped_ask_closes_its_connection_and_says_what_it_spent() {
    let world = World::new(Anthropic);
    let server = LoopbackServer::start(vec![without_end(&begun())]).await;
    let (answer, progress) = stopped_at_first_sight(&world, &server, world.ask()).await;
    assert_snapshot!(shown(&answer), @r#"
    cancelled: stopped
    usage: {"input":16,"output":1,"cached":4}
    "#);
    assert_eq!(progress.first(), Some(&Progress::Text("Hel".into())));
    server.left().await;
}

// P2: a complete answer counts.
#[tokio::test]
async fn an_answer_that_is_complete_stands_though_it_was_stopped() {
    let world = World::new(Openai);
    let server = LoopbackServer::start(vec![stream(HELLO_OPENAI)]).await;
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    // The whole answer is one chunk, so its end has arrived when its text is displayed.
    let tell = move |_| stopping.cancel();
    let turn = world.service(&server.url()).ask(world.ask());
    let answer = turn.answer(&tell, stop).await;
    assert_eq!(answer.unwrap().text, "Hello 計");
}

#[tokio::test]
async fn an_ask_that_was_stopped_before_it_began_sends_nothing() {
    let world = World::new(Openai);
    let server = LoopbackServer::start(vec![stream(HELLO_OPENAI)]).await;
    let stop = CancellationToken::new();
    stop.cancel();
    let turn = world.service(&server.url()).ask(world.ask());
    let said = shown(&turn.answer(&|_| {}, stop).await);
    assert_eq!(said, "cancelled: stopped");
    assert!(server.seen().is_empty());
}
