//! Single requests, with the text they show along the way.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use saihai_config::{Definition, Dialect, MemorySource, Options, Origin, ProjectPaths, Settings, load};
use saihai_connect::{Asking, Connections, Providers};
use saihai_model::{
    Ask, CallId, FailureClass, Permission, Progress, ProviderKind, ProviderName, ProviderSettings, Purpose,
    RoundPosition, Workflow,
};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::model::Model;

/// A prompt that takes the model about a second and has an end.
const SOME: &str = "Explain in one paragraph why the sky is blue.";

const LONG: &str = "Write a long story about a cat and a dog.";

/// A longer wait always means that the server hangs.
const WATCHDOG: Duration = Duration::from_secs(300);

fn workflow(provider: &str) -> Workflow {
    let text = "{name: it, movements: [{name: work, rules: [{condition: done, next: COMPLETE}]}]}";
    let source = MemorySource::new([("/p/it.yaml", text)]);
    let root = PathBuf::from("/p");
    let places = ProjectPaths { current: root.clone(), root, user: None, home: None };
    let path = Some(PathBuf::from("/p/it.yaml"));
    let definition =
        Definition { name: "it".to_owned(), dialect: Dialect::Piece, origin: Origin::Project, path };
    let options = Options { provider: Some(provider.into()), ..Options::default() };
    load(&source, &places, &definition, &options, &Settings::default()).workflow.expect("a workflow")
}

fn asking(model: &Model, provider: &str, directory: &TempDir, change: impl FnOnce(&mut Ask)) -> Asking {
    let kind = ProviderKind::named(provider).expect("a provider");
    let settings = ProviderSettings { base_url: Some(model.base(provider)), ..ProviderSettings::new(kind) };
    let name = ProviderName::from(provider);
    let connections = Connections { settings: [(name.clone(), settings)].into(), ..Connections::default() };
    let mut providers =
        Providers::open(&workflow(provider), connections).expect("a provider on the loopback");
    let mut ask = Ask {
        run: "20260206-085600-it".into(),
        call: CallId { stage: "work".into(), visit: 1, round: 1, n: 1 },
        stage: "work".into(),
        turn: Some("work".into()),
        place: RoundPosition::Main(0),
        purpose: Purpose::Work,
        attempt: 1,
        role: None,
        foreign: false,
        rehearsal: false,
        program: None,
        directory: directory.path().display().to_string(),
        prompt: "Say hello.".into(),
        persona: None,
        provider: name,
        model: None,
        permission: Permission::ReadOnly,
        tools: Some(Vec::new()),
        schema: None,
        verdict: None,
        session: None,
        timeout: None,
        silence: None,
        max_calls: None,
        money: None,
        metered: None,
        scratch: directory.path().join("scratch").display().to_string(),
        traceparent: None,
    };
    change(&mut ask);
    providers.ask(ask)
}

// C-28, C-27: text appears while the model still generates, and its tokens count.
#[tokio::test]
async fn text_is_shown_while_the_model_still_speaks() {
    let model = Model::start();
    for provider in ["openai", "anthropic"] {
        let directory = tempfile::tempdir().expect("a directory");
        let (shown, spoke) = (Mutex::new(String::new()), AtomicBool::new(false));
        let tell = |progress| {
            let Progress::Text(text) = progress else { panic!("only text was asked for: {progress:?}") };
            if shown.lock().expect("one at a time").is_empty() {
                spoke.store(model.is_speaking(), Ordering::Relaxed);
            }
            shown.lock().expect("one at a time").push_str(&text);
        };
        let asking = asking(&model, provider, &directory, |ask| ask.prompt = SOME.into());
        let answer = asking.answer(&tell, CancellationToken::new()).await;
        let reply = answer.unwrap_or_else(|refusal| panic!("{provider}: {refusal:?}"));
        assert!(spoke.into_inner(), "{provider}: the first text came before the last was spoken");
        assert_eq!(reply.text, shown.into_inner().expect("whole"), "{provider}");
        assert!(reply.usage.input.is_some_and(|tokens| tokens > 0), "{provider}: {:?}", reply.usage);
        assert!(reply.usage.output.is_some_and(|tokens| tokens > 0), "{provider}: {:?}", reply.usage);
    }
}

// C-83: the session keeps its history, so the second turn has more input tokens than the first.
#[tokio::test]
async fn a_session_goes_on() {
    let model = Model::start();
    for provider in ["openai", "anthropic"] {
        let directory = tempfile::tempdir().expect("a directory");
        let nobody = |_| {};
        let first =
            asking(&model, provider, &directory, |_| {}).answer(&nobody, CancellationToken::new()).await;
        let first = first.unwrap_or_else(|refusal| panic!("{provider}: {refusal:?}"));
        let next = |ask: &mut Ask| ask.session.clone_from(&first.session);
        let second =
            asking(&model, provider, &directory, next).answer(&nobody, CancellationToken::new()).await;
        let second = second.unwrap_or_else(|refusal| panic!("{provider}: {refusal:?}"));
        assert!(second.usage.input > first.usage.input, "{provider}: {:?} {:?}", first.usage, second.usage);
    }
}

// C-82: the server forces the requested form, and Saihai's own check agrees.
#[tokio::test]
async fn a_structured_answer_has_the_form_that_was_asked_for() {
    let model = Model::start();
    let directory = tempfile::tempdir().expect("a directory");
    let schema = json!({
        "type": "object",
        "properties": { "greeting": { "enum": ["hello", "goodbye"] } },
        "required": ["greeting"],
        "additionalProperties": false,
    });
    let asking = asking(&model, "openai", &directory, |ask| ask.schema = Some(schema));
    let reply = asking.answer(&|_| {}, CancellationToken::new()).await;
    let reply = reply.unwrap_or_else(|refusal| panic!("{refusal:?}"));
    assert_eq!(reply.structured_error, None, "{}", reply.text);
    let value = reply.structured.expect("a value");
    assert!(value["greeting"] == "hello" || value["greeting"] == "goodbye", "{value}");
}

// C-56: a stopped turn closes its connection, and the server then stops generating.
#[tokio::test]
async fn a_stopped_turn_stops_the_server() {
    let model = Model::start();
    for provider in ["openai", "anthropic"] {
        let directory = tempfile::tempdir().expect("a directory");
        let stop = CancellationToken::new();
        let spoke = AtomicBool::new(false);
        let tell = |_| {
            if !stop.is_cancelled() {
                spoke.store(model.is_speaking(), Ordering::Relaxed);
                stop.cancel();
            }
        };
        let asking = asking(&model, provider, &directory, |ask| ask.prompt = LONG.into());
        let refusal = asking.answer(&tell, stop.clone()).await.expect_err("it was stopped");
        assert_eq!(refusal.failure.class, FailureClass::Cancelled, "{provider}: {refusal:?}");
        assert!(spoke.into_inner(), "{provider}: it was speaking when it was stopped");
        let begun = Instant::now();
        while model.is_speaking() {
            assert!(begun.elapsed() < WATCHDOG, "{provider}: the server goes on");
            tokio::task::yield_now().await;
        }
    }
}
