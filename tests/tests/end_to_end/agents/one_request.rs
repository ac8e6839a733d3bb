//! One request to an agent program, without a run.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use saihai_config::Settings;
use saihai_connect::{Clock, Connections, Providers, RealTime};
use saihai_model::{
    Ask, CallId, Millis, Permission, Progress, ProviderAnswer, ProviderSettings, Purpose, RoundPosition,
    Workflow,
};
use saihai_tests::{FakeCall, Project};
use serde_json::{Value, json};
use tokio::runtime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{fake, personality};
use crate::support::{PROGRAM, lowered_with};

const DEFINITION: &str = "
name: it
movements:
  - {name: work, rules: [{condition: done, next: COMPLETE}]}
";

/// An agent program in a project, with the options of its request.
pub(crate) struct Stage {
    project: Project,
    name: &'static str,
    answer: Value,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) grace: Millis,
    pub(crate) settings: ProviderSettings,
    pub(crate) environment: Vec<(&'static str, String)>,
    pub(crate) stop: CancellationToken,
    pub(crate) seen: watch::Sender<Vec<Progress>>,
}

impl Stage {
    pub(crate) fn new(name: &'static str, answer: &Value) -> Self {
        Self {
            project: Project::new(PROGRAM),
            name,
            answer: answer.clone(),
            clock: Arc::new(RealTime),
            grace: Millis::seconds(10),
            settings: personality::settings(name),
            environment: Vec::new(),
            stop: CancellationToken::new(),
            seen: watch::Sender::default(),
        }
    }

    pub(crate) fn project(&self) -> &Project {
        &self.project
    }

    /// Waits for the process that the agent leaves behind.
    pub(crate) async fn lingering(&self) -> u32 {
        let file = self.project.root().join("lingering");
        loop {
            match fs::read_to_string(&file) {
                Ok(number) => return number.parse().expect("a number"),
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Waits for the agent's first call.
    pub(crate) async fn called(&self) {
        let file = self.project.home().join(".fake-agent/calls/0000.json");
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Sends a prompt, and returns the answer and the recorded call.
    pub(crate) async fn answer(&self, prompt: &str) -> (ProviderAnswer, FakeCall) {
        let (answer, calls) = self.answer_and_then(prompt, async || {}).await;
        (answer, calls.into_iter().next().expect("it was called"))
    }

    /// Sends a prompt, and runs `then` before the remaining processes end. Returns the answer and the recorded
    /// calls, of which a faulty agent may have none.
    pub(crate) async fn answer_and_then(
        &self,
        prompt: &str,
        then: impl AsyncFnOnce(),
    ) -> (ProviderAnswer, Vec<FakeCall>) {
        let fake = fake(&self.project, self.name, &json!([self.answer]));
        let mut providers = self.open();
        let progress = |news| self.seen.send_modify(|seen| seen.push(news));
        let answer = providers.ask(self.ask(prompt)).answer(&progress, self.stop.clone()).await;
        then().await;
        providers.close().await;
        (answer, fake.calls())
    }

    fn open(&self) -> Providers {
        let mut settings = Settings::default();
        settings.providers.insert(self.name.into(), self.settings.clone());
        let workflow: Workflow = lowered_with(DEFINITION, self.name, &settings).workflow.expect("a workflow");
        let home = self.project.home().display().to_string();
        let path = format!("{home}/.fake-agent/bin:/usr/bin:/bin");
        let own = self.environment.iter().map(|(name, value)| (*name, value.clone()));
        let environment = [("PATH", path), ("HOME", home)].into_iter().chain(own);
        let connections = Connections {
            settings: settings.providers.into_iter().collect(),
            launcher: Some(PROGRAM.into()),
            clock: Arc::clone(&self.clock),
            grace: self.grace,
            environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
            ..Connections::default()
        };
        Providers::open(&workflow, connections).expect("it is there")
    }

    fn ask(&self, prompt: &str) -> Ask {
        Ask {
            run: "20260206-085600-task".to_owned(),
            call: CallId { stage: "work".into(), visit: 1, round: 1, n: 1 },
            stage: "work".into(),
            turn: None,
            place: RoundPosition::Main(0),
            purpose: Purpose::Work,
            attempt: 1,
            role: None,
            foreign: false,
            rehearsal: false,
            program: None,
            directory: self.project.root().display().to_string(),
            prompt: prompt.to_owned(),
            persona: None,
            provider: self.name.into(),
            model: None,
            permission: Permission::ReadOnly,
            tools: None,
            schema: None,
            verdict: None,
            session: None,
            timeout: None,
            silence: None,
            max_calls: None,
            money: None,
            metered: None,
            scratch: self.project.root().join("run/scratch").display().to_string(),
            traceparent: None,
        }
    }
}

/// Runs a future on the current thread.
pub(crate) fn block_on<T>(act: impl Future<Output = T>) -> T {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(act)
}

/// Returns whether a process exists and is not a zombie.
pub(crate) fn is_alive(process: u32) -> bool {
    let stat =
        fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Formats an answer in a line or two.
pub(crate) fn told(answer: &ProviderAnswer) -> String {
    match answer {
        Ok(reply) => {
            let warnings: Vec<_> =
                reply.warnings.iter().map(|warning| format!("\nwarning: {warning}")).collect();
            format!("replied: {}{}", reply.text, warnings.concat())
        }
        Err(refusal) => format!("{}: {}", refusal.failure.class.name(), refusal.failure.message),
    }
}
