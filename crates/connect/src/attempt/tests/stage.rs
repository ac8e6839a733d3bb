//! A shell program as an agent, in a temporary directory.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use saihai_model::{
    Ask, Failure, FailureClass, Millis, Progress, ProviderAnswer, ProviderKind, ProviderRefusal,
    ProviderSettings, Reply, Usage,
};
use tempfile::TempDir;
use tokio::sync::{OnceCell, watch};
use tokio_util::sync::CancellationToken;

use crate::agent::{
    AgentInvocation, AgentListener, AgentProfile, AgentProgram, ListenerStep, ProcessEnd, failure,
};
use crate::attempt::{AgentAttempt, AttemptResources, InstalledAgent};
use crate::clock::GracePeriod;
pub(super) use crate::clock::HandClock;
use crate::clock::{Clock, RealTime};
use crate::redact::Redactor;
use crate::sandbox::AgentSandboxes;
use crate::script::tests::say::ask;

/// An agent that is a shell program; its persona is the script.
///
/// It understands the lines `text WORDS`, `tool`, `tool-end`, `session ID`, `done`, `abort WORDS` and `fail
/// WORDS`. `tool-back` is a `tool-end` that also reports progress. It skips all other lines. The line `pause`
/// on standard error announces a wait.
pub(super) struct Shell;

static PROFILE: AgentProfile = AgentProfile {
    kind: ProviderKind::Command,
    program: "sh",
    install: "apt install dash",
    tested: "2.10.0",
    environment: &["SHELL_KEY"],
    known_tools: &[],
    max_prompt: 20_000_000,
};

impl AgentProgram for Shell {
    fn profile(&self) -> &'static AgentProfile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, _settings: &ProviderSettings) -> Result<AgentInvocation, Failure> {
        let script = ask.persona.clone().unwrap_or_default();
        let model = ask.model.clone().unwrap_or_default();
        Ok(AgentInvocation {
            arguments: vec!["-c".into(), script, "sh".into(), model],
            environment: vec![("SHELL_SET".into(), "1".into())],
            files: vec![(format!("{}/told.txt", ask.scratch), "told".into())],
            input: ask.prompt.clone(),
        })
    }

    fn listener(&self, _ask: &Ask, _settings: &ProviderSettings) -> Box<dyn AgentListener> {
        Box::new(RecordedOutput::default())
    }
}

#[derive(Default)]
struct RecordedOutput {
    texts: Vec<String>,
    session: Option<String>,
    tools: u32,
    done: bool,
    failed: Option<String>,
    pauses: bool,
}

impl AgentListener for RecordedOutput {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let line = line.trim_end_matches(['\r', '\n']);
        let json = serde_json::from_str::<serde_json::Value>(line).ok();
        if let Some(text) = json.as_ref().and_then(|json| json["text"].as_str()) {
            self.texts.push(text.to_owned());
            return ListenerStep::GoOn;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "text" => {
                self.texts.push(rest.to_owned());
                tell(Progress::Text(rest.to_owned()));
            }
            "session" => self.session = Some(rest.to_owned()),
            "tool" => {
                self.tools += 1;
                tell(Progress::ToolStarted(rest.to_owned()));
            }
            "tool-end" => self.tools -= 1,
            "tool-back" => {
                self.tools -= 1;
                tell(Progress::ToolFinished(rest.to_owned()));
            }
            "fail" => self.failed = Some(rest.to_owned()),
            "done" => {
                self.done = true;
                tell(Progress::Text("done".to_owned()));
                return ListenerStep::Done;
            }
            "abort" => return ListenerStep::Abort(failure(FailureClass::BadRequest, rest)),
            _ => {}
        }
        ListenerStep::GoOn
    }

    fn complaint(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        if line.trim_end() == "pause" {
            self.pauses = true;
            self.failed = Some("it waits".to_owned());
            tell(Progress::Retrying("it waits".to_owned()));
        }
        match line.trim_end().strip_prefix("abort ") {
            Some(why) => ListenerStep::Abort(failure(FailureClass::Refused, why)),
            None => ListenerStep::GoOn,
        }
    }

    fn is_busy(&self) -> bool {
        self.tools > 0
    }

    fn pause(&self) -> Option<Millis> {
        self.pauses.then_some(Millis::seconds(7))
    }

    fn end(self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer {
        let usage = Usage { output: Some(self.texts.len() as u64), ..Usage::default() };
        let refuse = |class, words: String| {
            let refusal = ProviderRefusal::from(Failure::new(class, words));
            Err(ProviderRefusal { usage: usage.clone(), session: self.session.clone(), ..refusal })
        };
        if let Some(words) = self.failed {
            return refuse(FailureClass::RateLimited, words);
        }
        if !self.done || !end.exit.is_fine() {
            return refuse(FailureClass::Crashed, format!("{:?} {}", end.exit, end.complaints.trim()));
        }
        Ok(Reply {
            text: self.texts.last().cloned().unwrap_or_default(),
            responses: self.texts,
            session: self.session,
            usage,
            ..Reply::default()
        })
    }
}

/// A directory, a clock and settings.
pub(super) struct Stage {
    pub(super) directory: TempDir,
    pub(super) settings: ProviderSettings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) deadline: Option<Millis>,
    pub(super) silence: Option<Millis>,
    pub(super) max_calls: Option<u32>,
    pub(super) prompt: String,
    pub(super) stop: CancellationToken,
    pub(super) program: PathBuf,
    pub(super) launcher: Option<PathBuf>,
    pub(super) grace: GracePeriod,
    pub(super) seen: watch::Sender<Vec<Progress>>,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            settings: ProviderSettings::new(ProviderKind::Command),
            clock: Arc::new(RealTime),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            prompt: "the prompt".into(),
            deadline: None,
            silence: None,
            max_calls: None,
            stop: CancellationToken::new(),
            program: "/bin/sh".into(),
            launcher: None,
            grace: GracePeriod::new(Millis(20)),
            seen: watch::Sender::default(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn transcript(&self) -> Vec<u8> {
        fs::read(self.transcript_path()).unwrap()
    }

    pub(super) fn transcript_length(&self) -> u64 {
        fs::metadata(self.transcript_path()).unwrap().len()
    }

    fn transcript_path(&self) -> PathBuf {
        self.path().join("run/scratch/work.1.1.1-1.out")
    }

    /// Runs a shell program as an agent.
    pub(super) async fn answer(&self, script: &str) -> ProviderAnswer {
        let ask = Ask {
            directory: self.path().display().to_string(),
            scratch: self.path().join("run/scratch").display().to_string(),
            persona: Some(script.to_owned()),
            prompt: self.prompt.clone(),
            timeout: self.deadline,
            silence: self.silence,
            max_calls: self.max_calls,
            ..ask("work", 1)
        };
        let environment: Vec<(OsString, OsString)> =
            self.environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let means = Arc::new(AttemptResources {
            clock: Arc::clone(&self.clock),
            grace: self.grace.clone(),
            redactor: Arc::new(Redactor::of_environment(&environment)),
            environment,
            launcher: self.launcher.clone(),
            staying: tokio::sync::mpsc::unbounded_channel().0,
        });
        let settings = self.settings.clone();
        let installed = InstalledAgent {
            agent: &Shell,
            settings,
            program: self.program.clone(),
            means,
            sandboxes: AgentSandboxes::default(),
            probed: OnceCell::new(),
        };
        let progress = |news| self.seen.send_modify(|seen| seen.push(news));
        AgentAttempt::new(ask, Arc::new(installed), None, None).answer(&progress, self.stop.clone()).await
    }

    /// Runs a shell program, and an action after the given amount of progress.
    pub(super) async fn answer_while(
        &self,
        script: &str,
        news: usize,
        then: impl AsyncFnOnce(),
    ) -> ProviderAnswer {
        let mut seen = self.seen.subscribe();
        let act = async {
            seen.wait_for(|seen| seen.len() >= news).await.unwrap();
            then().await;
        };
        tokio::join!(self.answer(script), act).0
    }
}

/// Summarizes an answer in a few lines.
pub(super) fn told(answer: &ProviderAnswer) -> String {
    match answer {
        Ok(reply) => {
            let session = reply.session.as_deref().unwrap_or("none");
            let warnings: Vec<_> =
                reply.warnings.iter().map(|warning| format!("\nwarning: {warning}")).collect();
            format!("replied: {} (session {session}){}", reply.responses.join(" | "), warnings.concat())
        }
        Err(refusal) => {
            let Failure { class, message, by_deadline, .. } = &refusal.failure;
            let spent = refusal.usage.output.map(|output| format!(" (spent {output})")).unwrap_or_default();
            let deadline = if *by_deadline { " by deadline" } else { "" };
            format!("{}{deadline}: {message}{spent}", class.name())
        }
    }
}
