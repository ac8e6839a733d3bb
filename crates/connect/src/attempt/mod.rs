//! Runs one ask on an agent program.
//!
//! This code is the same for all programs. [`Attempt`] prepares, starts and judges. [`conversation`] feeds
//! the process, reads its output and enforces its deadlines. [`hearing`] splits the output into lines for the
//! agent's listener and records all of it in a file of the run.

mod age;
mod complaints;
mod conversation;
mod hearing;
mod lines;
mod long_line;
mod mouth;
mod probing;
mod spoken;
mod staying;
mod transcript;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use saihai_model::{
    Ask, Failure, FailureClass, Millis, Progress, ProviderAnswer, ProviderSettings, Refusal, Reply,
    UnwrittenFile,
};
use tokio::sync::{OnceCell, mpsc};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, End, Exit, Invocation, Listener, failure, fits, unknown_tools};
use crate::clock::Clock;
use crate::environment;
use crate::process::{Family, Grace, Mark, Start, Status, Streams, is_exhausted, launcher};
use crate::redact::Redactor;

use conversation::{Conversation, Held, Over, Patience};
use hearing::{Heard, Hearing};
use probing::Probing;
pub(crate) use staying::{Stayed, Staying};
use transcript::Transcript;
pub(crate) use transcript::transcript_of;

/// An agent program on this machine, with its settings.
pub(crate) struct Installed {
    pub(crate) agent: &'static dyn Agent,
    pub(crate) settings: ProviderSettings,
    pub(crate) program: PathBuf,
    pub(crate) means: Arc<Means>,
    /// Set once the agent's check has passed.
    pub(crate) probed: OnceCell<()>,
}

/// Shared resources of all attempts.
pub(crate) struct Means {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) grace: Grace,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) launcher: Option<PathBuf>,
    pub(crate) redactor: Arc<Redactor>,
    /// Receives processes that stay for another turn.
    pub(crate) staying: mpsc::UnboundedSender<Stayed>,
}

pub(crate) struct Attempt {
    ask: Ask,
    installed: Arc<Installed>,
    /// The process that stayed after the last turn of this session.
    stayed: Option<Stayed>,
}

impl Attempt {
    pub(crate) fn new(mut ask: Ask, installed: Arc<Installed>, stayed: Option<Stayed>) -> Self {
        let settings = &installed.settings;
        // C-22: the settings apply if the definition says nothing. An empty tool list says something.
        ask.persona = ask.persona.or_else(|| settings.system_prompt.clone());
        ask.tools = ask.tools.or_else(|| settings.tools.clone());
        ask.model = ask.model.or_else(|| settings.model.clone());
        ask.timeout = ask.timeout.or(settings.turn_timeout);
        Self { ask, installed, stayed }
    }

    pub(crate) async fn answer(
        mut self,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: CancellationToken,
    ) -> ProviderAnswer {
        let stayed = self.stayed.take();
        let Installed { agent, settings, .. } = &*self.installed;
        names_no_argument(&self.ask)?;
        let invocation = agent.invocation(&self.ask, settings)?;
        let most = settings.max_prompt.unwrap_or(agent.profile().max_prompt);
        fits(invocation.input.len(), most, &self.ask.provider)?;
        if stop.is_cancelled() {
            return Err(cancelled().into());
        }
        if let Some(stayed) = stayed
            && let Some(answer) = self.go_on(stayed, progress, &stop).await?
        {
            return Ok(answer);
        }
        let answer = match self.probe(&stop).await {
            Ok(()) => self.talk(invocation, &|| agent.listener(&self.ask, settings), progress, &stop).await,
            Err(refusal) => Err(refusal),
        };
        age::remark(answer, &self.installed).await
    }

    /// Runs the agent's check, once for all asks.
    async fn probe(&self, stop: &CancellationToken) -> Result<(), Refusal> {
        let Installed { agent, settings, probed, .. } = &*self.installed;
        let Some(probe) = agent.probe(&self.ask, settings) else { return Ok(()) };
        let passed = probed.get_or_try_init(|| async {
            let (arguments, environment) = (probe.arguments.clone(), probe.environment.clone());
            let invocation = Invocation { arguments, environment, ..Invocation::default() };
            let listener = || -> Box<dyn Listener> { Box::new(Probing::new(&probe)) };
            self.talk(invocation, &listener, &|_| {}, stop).await.map(drop)
        });
        passed.await.map(drop)
    }

    /// Continues with the process of an earlier turn. Returns nothing if that process was already gone: the
    /// caller then starts a new one, which loads the session.
    async fn go_on(
        &self,
        stayed: Stayed,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: &CancellationToken,
    ) -> Result<Option<Reply>, Refusal> {
        let agent = self.installed.agent;
        let Stayed { known, family, pipes, .. } = stayed;
        let going_on = || agent.going_on(&self.ask, &known);
        let Some(((words, listener), (_, afterwards))) = going_on().zip(going_on()) else { return Ok(None) };
        let hearing = self.hearing(listener, afterwards, &Invocation::default())?;
        let conversation = Conversation { family, pipes, hearing, patience: self.patience(), progress };
        let held = conversation.hold(words.into_bytes(), stop).await;
        if matches!(held.over, Over::Exited(_)) && held.heard.silent {
            return Ok(None);
        }
        self.conclude(held).await.map(Some)
    }

    /// Starts the program, talks to it, and returns its answer.
    async fn talk(
        &self,
        invocation: Invocation,
        listener: &(dyn Fn() -> Box<dyn Listener> + Sync),
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: &CancellationToken,
    ) -> ProviderAnswer {
        let hearing = self.hearing(listener(), listener(), &invocation)?;
        let started = Family::start(&self.start(&invocation), Streams::Pipes);
        let (family, pipes) = started.map_err(|error| self.not_started(&error))?;
        let pipes = pipes.expect("pipes were asked for");
        let conversation = Conversation { family, pipes, hearing, patience: self.patience(), progress };
        let held = conversation.hold(invocation.input.into_bytes(), stop).await;
        self.conclude(held).await
    }

    fn hearing(
        &self,
        listener: Box<dyn Listener>,
        afterwards: Box<dyn Listener>,
        invocation: &Invocation,
    ) -> Result<Hearing, Failure> {
        let transcript = self.prepare(invocation)?;
        let own = self.installed.agent.limits_calls();
        let hearing = Hearing::new(listener, afterwards, transcript, &self.installed.means.redactor);
        Ok(hearing.at_most(self.ask.max_calls.filter(|_| !own)))
    }

    fn patience(&self) -> Patience<'_> {
        let Installed { agent, settings, means, .. } = &*self.installed;
        // A definition knows its agent. The setting is for all agents, and some print nothing until the end.
        let usual = settings.idle_timeout.filter(|_| agent.speaks_while_working(settings));
        Patience {
            deadline: self.ask.timeout,
            silence: self.ask.silence.or(usual),
            grace: &means.grace,
            clock: &*means.clock,
        }
    }

    /// Builds the answer, and keeps a process that stays after a reply.
    async fn conclude(&self, held: Held) -> ProviderAnswer {
        let Held { over, heard, stayed } = held;
        let known = heard.listener.stays();
        let answer = self.judge(over, heard);
        let session = answer.as_ref().ok().and_then(|reply| reply.session.clone());
        match (stayed, known, session) {
            (Some((family, pipes)), Some(known), Some(session)) => {
                let provider = self.ask.provider.clone();
                // Without a receiver, the process comes back and is dropped.
                drop(self.installed.means.staying.send(Stayed { provider, session, known, family, pipes }));
            }
            (Some((family, _)), _, _) => drop(family.end().await),
            (None, _, _) => {}
        }
        answer
    }

    /// Writes the files of the invocation and creates the transcript.
    fn prepare(&self, invocation: &Invocation) -> Result<Transcript, Failure> {
        let scratch = Path::new(&self.ask.scratch);
        let make = |folder: &Path| fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error));
        make(scratch)?;
        for (path, text) in &invocation.files {
            let path = scratch.join(path);
            path.parent().map(make).transpose()?;
            fs::write(&path, text).map_err(|error| unwritten(&path, &error))?;
        }
        Transcript::create(&self.ask).map_err(|error| unwritten(&transcript_of(&self.ask), &error))
    }

    fn start(&self, invocation: &Invocation) -> Start {
        let Installed { agent, settings, program, means, .. } = &*self.installed;
        let given = environment::Given {
            ours: &means.environment,
            agents: agent.profile().environment,
            settings,
            set: &invocation.environment,
        };
        Start {
            program: program.clone(),
            arguments: invocation.arguments.clone(),
            directory: self.ask.directory.clone().into(),
            environment: given.all(),
            mark: Mark::of(&self.ask),
            launcher: means.launcher.clone(),
        }
    }

    /// C-32: the first matching rule decides.
    fn judge(&self, over: Over, heard: Heard) -> ProviderAnswer {
        let Heard { listener, complaints, done, warnings, said: last, .. } = heard;
        let code = match over.status() {
            Some(Status::Code(code)) => Some(code),
            Some(Status::Signal(_)) | None => None,
        };
        let exit = match over.status() {
            Some(Status::Code(code)) => Exit::Code(code),
            Some(Status::Signal(signal)) => Exit::Signal(signal),
            None if done => Exit::AfterDone,
            // In this case only the usage matters.
            None => Exit::Signal(rustix::process::Signal::TERM.as_raw()),
        };
        let unstarted = unstarted(exit, &complaints);
        let stderr = Some(last_of(&complaints)).filter(|text| !text.trim().is_empty()).map(Box::from);
        let said = listener.end(&End { exit, complaints });
        let ours = match over {
            Over::Stopped if done && said.is_ok() => None,
            Over::Stopped => Some(cancelled()),
            Over::Exited(_) => unstarted,
            Over::Lingered | Over::Stays | Over::Paused => None,
            Over::Deadline(length) => Some(timed_out(&words(length))),
            Over::Silence(length) => Some(timed_out(&format!("{} without a word", words(length)))),
            Over::Failed(failure) => Some(failure),
        };
        let mut refusal = match (ours, said) {
            (None, Ok(mut reply)) => {
                reply.warnings.extend(warnings);
                reply.warnings.extend(unknown_tools(self.installed.agent.profile(), &self.ask, &reply));
                return Ok(reply);
            }
            (None, Err(refusal)) => refusal,
            (Some(failure), Ok(reply)) => Refusal {
                usage: reply.usage,
                cost: reply.cost,
                session: reply.session,
                metered: reply.metered,
                ..failure.into()
            },
            // C-26: the usage counts even after a failure.
            (Some(failure), Err(refusal)) => Refusal { failure, retry_after: None, ..refusal },
        };
        refusal.failure.exit_code = code;
        refusal.failure.stderr = stderr;
        refusal.said = last;
        Err(refusal)
    }

    fn not_started(&self, error: &io::Error) -> Failure {
        let program = self.installed.program.display();
        let class = if is_exhausted(error) { FailureClass::Transient } else { FailureClass::Missing };
        failure(class, &format!("`{program}` could not be started: {error}"))
    }
}

/// Returns the end of standard error, which is kept with a failure.
fn last_of(complaints: &str) -> &str {
    const LONGEST: usize = 4 * 1024;
    let surplus = complaints.len().saturating_sub(LONGEST);
    let from = (surplus..=complaints.len()).find(|at| complaints.is_char_boundary(*at)).unwrap_or_default();
    &complaints[from..]
}

/// Rejects a tool name that looks like an argument. Some programs would read it as one, and a definition must
/// not get more permission than it names (C-43).
fn names_no_argument(ask: &Ask) -> Result<(), Failure> {
    for (what, name) in [("model", &ask.model), ("session", &ask.session)] {
        if let Some(name) = name.as_deref().filter(|name| name.starts_with('-')) {
            let words = format!("the {what} `{name}` begins with `-`, and could be taken for an argument");
            return Err(failure(FailureClass::BadRequest, &words));
        }
    }
    Ok(())
}

/// Builds the failure for a run file that could not be written, which is not the program's fault.
fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let (path, cause) = (path.display().to_string(), error.to_string());
    let failure = Failure::new(FailureClass::Crashed, format!("cannot write {path}: {cause}"));
    Failure { unwritten: Some(Box::new(UnwrittenFile { path, cause })), ..failure }
}

/// Returns the launcher's reason for not starting the program.
fn unstarted(exit: Exit, complaints: &str) -> Option<Failure> {
    let Exit::Code(code) = exit else { return None };
    let class = match u8::try_from(code).ok()? {
        launcher::FAILED => FailureClass::Missing,
        launcher::EXHAUSTED => FailureClass::Transient,
        _ => return None,
    };
    let line = complaints.lines().find_map(|line| line.strip_prefix(launcher::COMPLAINT))?;
    Some(Failure::new(class, line.trim()))
}

fn cancelled() -> Failure {
    Failure::new(FailureClass::Cancelled, "stopped")
}

fn timed_out(after: &str) -> Failure {
    let failure = Failure::new(FailureClass::Transient, format!("timed out after {after}"));
    Failure { by_deadline: true, ..failure }
}

/// Formats a duration as in settings.
fn words(length: Millis) -> String {
    match length.0 {
        0 => "0s".to_owned(),
        length if length % 60_000 == 0 => format!("{}m", length / 60_000),
        length if length % 1_000 == 0 => format!("{}s", length / 1_000),
        length => format!("{length}ms"),
    }
}
