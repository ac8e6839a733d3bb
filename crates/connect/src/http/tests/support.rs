//! Asks a scripted server and summarizes the result.

use std::fmt::Write as _;
use std::sync::Mutex;

use saihai_model::{Ask, Millis, Progress, ProviderAnswer, ProviderKind, ProviderSettings};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::http::ModelService;
use crate::redact::Redactor;
use crate::testing::loopback_server::{LoopbackServer, Piece};

pub(super) use ProviderKind::{Anthropic, Openai};

/// A working directory, a directory for sessions, and settings.
pub(super) struct World {
    pub(super) directory: TempDir,
    pub(super) settings: ProviderSettings,
    pub(super) environment: Vec<(&'static str, &'static str)>,
}

impl World {
    pub(super) fn new(kind: ProviderKind) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("work")).unwrap();
        let settings =
            ProviderSettings { idle_timeout: Some(Millis::seconds(60)), ..ProviderSettings::new(kind) };
        Self { directory, settings, environment: Vec::new() }
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.directory.path().join("work").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(super) fn ask(&self) -> Ask {
        let place = |name: &str| self.directory.path().join(name).display().to_string();
        Ask {
            run: "20260206-085600-task".into(),
            directory: place("work"),
            prompt: "Plan it.".into(),
            provider: "it".into(),
            model: Some("m".into()),
            tools: Some(Vec::new()),
            scratch: place("scratch"),
            ..crate::testing::ask()
        }
    }

    /// Returns the provider at an address.
    pub(super) fn service(&self, url: &str) -> ModelService {
        let settings = ProviderSettings { base_url: Some(url.to_owned()), ..self.settings.clone() };
        let environment: Vec<_> =
            self.environment.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let redactor = Redactor::of_environment(&environment).into();
        ModelService::open(&"it".into(), &settings, &environment, &redactor).unwrap().unwrap()
    }

    /// Asks a server and waits for the answer.
    pub(super) async fn answer(&self, server: &LoopbackServer, ask: Ask) -> (ProviderAnswer, Vec<Progress>) {
        let seen = Mutex::new(Vec::new());
        let tell = |progress| seen.lock().unwrap().push(progress);
        let turn = self.service(&server.url()).ask(ask);
        let answer = turn.answer(&tell, CancellationToken::new()).await;
        (answer, seen.into_inner().unwrap())
    }

    /// Returns a summary of one ask with these answers.
    pub(super) async fn told(&self, answers: Vec<Vec<Piece>>, ask: Ask) -> String {
        let server = LoopbackServer::start(answers).await;
        shown(&self.answer(&server, ask).await.0)
    }
}

/// Returns a summary of a default ask with this answer.
pub(super) async fn told(kind: ProviderKind, answer: Vec<Piece>) -> String {
    let world = World::new(kind);
    let ask = world.ask();
    world.told(vec![answer], ask).await
}

/// Summarizes an answer without its absent parts. A session is only mentioned.
pub(super) fn shown(answer: &ProviderAnswer) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            writeln!(text, "{name}: {value}").unwrap();
        }
    };
    let usage = |usage: &saihai_model::Usage| {
        Some(serde_json::to_string(usage).unwrap()).filter(|usage| usage != "{}")
    };
    match answer {
        Ok(reply) => {
            line("text", Some(format!("{:?}", reply.text)));
            line("responses", (reply.responses.len() > 1).then(|| format!("{:?}", reply.responses)));
            line("structured", reply.structured.as_ref().map(ToString::to_string));
            line("structured_error", reply.structured_error.clone());
            line("usage", usage(&reply.usage));
            for tool in &reply.tools_used {
                let value = |value: &Option<saihai_model::Json>| value.as_ref().unwrap().to_string();
                line("tool", Some(format!("{} {} {}", tool.name, value(&tool.input), value(&tool.output))));
            }
            line("denied", (reply.denied > 0).then(|| reply.denied.to_string()));
            reply.warnings.iter().for_each(|warning| line("warning", Some(warning.clone())));
            assert!(reply.session.as_ref().is_some_and(|id| id.starts_with("http-")), "{:?}", reply.session);
        }
        Err(refusal) => {
            line(refusal.failure.class.name(), Some(refusal.failure.message.clone()));
            line("retry_after", refusal.retry_after.map(|wait| format!("{} ms", wait.0)));
            line("usage", usage(&refusal.usage));
            assert_eq!((refusal.cost, &refusal.session), (None, &None));
        }
    }
    text.trim_end().to_owned()
}

/// A complete answer of Anthropic.
pub(super) const HELLO_ANTHROPIC: &str = r#"
    {"type":"message_start","message":{"id":"m","usage":{"input_tokens":10,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":1}}}
    {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
    {"type":"ping"}
    {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}
    {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo 計"}}
    {"type":"content_block_stop","index":0}
    {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}
    {"type":"message_stop"}
"#;

/// A complete answer of OpenAI.
pub(super) const HELLO_OPENAI: &str = r#"
    {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
    {"id":"c","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}
    {"id":"c","choices":[{"index":0,"delta":{"content":"lo 計"},"finish_reason":null}]}
    {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
    {"id":"c","choices":[],"usage":{"prompt_tokens":16,"completion_tokens":7,"total_tokens":23,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}
    [DONE]
"#;
