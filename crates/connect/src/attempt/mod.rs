//! Runs one ask on an agent program.
//!
//! This code is the same for all programs. [`AgentAttempt`] prepares, starts and judges. [`conversation`]
//! feeds the process, reads its output and enforces its deadlines. [`hearing`] splits the output into lines
//! for the agent's listener and records all of it in a file of the run.

mod conversation;
mod lines;
mod output;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use conversation::{AgentConversation, ConversationEnd, ConversationResult, TurnDeadlines};
pub(crate) use conversation::{IdleAgent, IdleAgents};
pub(crate) use output::transcript_of;
use output::{OutputRecorder, RecordedOutput, TurnTranscript};
use saihai_model::{
    Ask, Failure, FailureClass, Millis, Progress, ProviderAnswer, ProviderRefusal, ProviderSettings, Reply,
    UnwrittenFile, VerdictToolProblem, VerdictToolResult,
};
use tokio::sync::{OnceCell, mpsc};
use tokio_util::sync::CancellationToken;

use crate::agent::{
    AgentInvocation, AgentListener, AgentProgram, ListenerStep, ProcessEnd, ProcessExit, StartupCheck,
    failure, fits, unknown_tools,
};
use crate::clock::Clock;
use crate::clock::GracePeriod;
use crate::doctor;
use crate::process::{
    AgentEnvironment, ProcessMark, ProcessStart, ProcessStatus, ProcessStreams, ProcessTree,
    allowed_variables, is_exhausted, launcher,
};
use crate::redact::Redactor;
use crate::sandbox::{AgentSandboxes, SandboxedStart};
use crate::verdict::VerdictServer;

/// Variable of the W3C trace context. Spans that an agent writes then belong to its attempt (V-32).
const TRACE_CONTEXT: &str = "TRACEPARENT";

/// An agent program on this machine, with its settings.
pub(crate) struct InstalledAgent {
    pub(crate) agent: &'static dyn AgentProgram,
    pub(crate) settings: ProviderSettings,
    pub(crate) program: PathBuf,
    pub(crate) means: Arc<AttemptResources>,
    pub(crate) sandboxes: AgentSandboxes,
    /// Set once the agent's check has passed.
    pub(crate) probed: OnceCell<()>,
}

impl InstalledAgent {
    /// Returns the sandbox that the program gets for an ask.
    pub(crate) fn sandbox_of(&self, ask: &Ask, required: bool) -> Option<SandboxedStart> {
        self.sandboxes.of_ask(ask, required, Some(self.settings.kind))
    }
}

/// Shared resources of all attempts.
pub(crate) struct AttemptResources {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) grace: GracePeriod,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) launcher: Option<PathBuf>,
    pub(crate) redactor: Arc<Redactor>,
    /// Receives processes that stay for another turn.
    pub(crate) staying: mpsc::UnboundedSender<IdleAgent>,
}

pub(crate) struct AgentAttempt {
    ask: Ask,
    installed: Arc<InstalledAgent>,
    /// The process that stayed after the last turn of this session.
    stayed: Option<IdleAgent>,
    sandbox: Option<SandboxedStart>,
}

impl AgentAttempt {
    pub(crate) fn new(
        mut ask: Ask,
        installed: Arc<InstalledAgent>,
        stayed: Option<IdleAgent>,
        sandbox: Option<SandboxedStart>,
    ) -> Self {
        let settings = &installed.settings;
        // C-22: the settings apply if the definition says nothing. An empty tool list says something.
        ask.persona = ask.persona.or_else(|| settings.system_prompt.clone());
        ask.tools = ask.tools.or_else(|| settings.tools.clone());
        ask.model = ask.model.or_else(|| settings.model.clone());
        ask.timeout = ask.timeout.or(settings.turn_timeout);
        Self { ask, installed, stayed, sandbox }
    }

    pub(crate) async fn answer(
        mut self,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: CancellationToken,
    ) -> ProviderAnswer {
        let offered = self.offer_verdict();
        let answer = self.answer_asked(progress, stop).await;
        let Some(offered) = offered else { return answer };
        let (result, warnings) = match offered {
            Ok(server) => server.close(),
            Err(problem) => (VerdictToolResult::Missing(problem), Vec::new()),
        };
        answer.map(|mut reply| {
            reply.verdict = Some(result);
            reply.warnings.extend(warnings);
            reply
        })
    }

    /// Opens the server of the verdict tool, if the ask has one. A problem is a result too: the text then decides.
    fn offer_verdict(&mut self) -> Option<Result<VerdictServer, VerdictToolProblem>> {
        let InstalledAgent { settings, means, .. } = &*self.installed;
        let tool = self.ask.verdict.as_mut()?;
        // A process that stayed got its servers with an earlier turn.
        if !settings.has_verdict_tool() || self.stayed.is_some() {
            self.ask.verdict = None;
            return Some(Err(VerdictToolProblem::NotOffered));
        }
        match VerdictServer::open(tool.clone(), means.launcher.as_deref()) {
            Ok((server, command)) => {
                tool.server = Some(command);
                Some(Ok(server))
            }
            Err(error) => {
                self.ask.verdict = None;
                Some(Err(VerdictToolProblem::NotStarted(error.to_string())))
            }
        }
    }

    async fn answer_asked(
        mut self,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: CancellationToken,
    ) -> ProviderAnswer {
        let stayed = self.stayed.take();
        let InstalledAgent { agent, settings, .. } = &*self.installed;
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
        remark(answer, &self.installed).await
    }

    /// Runs the agent's check, once for all asks.
    async fn probe(&self, stop: &CancellationToken) -> Result<(), ProviderRefusal> {
        let InstalledAgent { agent, settings, probed, .. } = &*self.installed;
        let Some(probe) = agent.probe(&self.ask, settings) else { return Ok(()) };
        let passed = probed.get_or_try_init(|| async {
            let (arguments, environment) = (probe.arguments.clone(), probe.environment.clone());
            let invocation = AgentInvocation { arguments, environment, ..AgentInvocation::default() };
            let listener = || -> Box<dyn AgentListener> { Box::new(ProbeListener::new(&probe)) };
            self.talk(invocation, &listener, &|_| {}, stop).await.map(drop)
        });
        passed.await.map(drop)
    }

    /// Continues with the process of an earlier turn. Returns nothing if that process was already gone: the
    /// caller then starts a new one, which loads the session.
    async fn go_on(
        &self,
        stayed: IdleAgent,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: &CancellationToken,
    ) -> Result<Option<Reply>, ProviderRefusal> {
        let agent = self.installed.agent;
        let IdleAgent { known, family, pipes, .. } = stayed;
        let going_on = || agent.going_on(&self.ask, &known);
        let Some(((words, listener), (_, afterwards))) = going_on().zip(going_on()) else { return Ok(None) };
        let hearing = self.hearing(listener, afterwards, &AgentInvocation::default())?;
        let conversation = AgentConversation { family, pipes, hearing, patience: self.patience(), progress };
        let held = conversation.hold(words.into_bytes(), stop).await;
        if matches!(held.over, ConversationEnd::Exited(_)) && held.heard.silent {
            return Ok(None);
        }
        self.conclude(held).await.map(Some)
    }

    /// Starts the program, talks to it, and returns its answer.
    async fn talk(
        &self,
        invocation: AgentInvocation,
        listener: &(dyn Fn() -> Box<dyn AgentListener> + Sync),
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: &CancellationToken,
    ) -> ProviderAnswer {
        let hearing = self.hearing(listener(), listener(), &invocation)?;
        let started = ProcessTree::start(&self.start(&invocation), ProcessStreams::Pipes);
        let (family, pipes) = started.map_err(|error| self.not_started(&error))?;
        let pipes = pipes.expect("pipes were asked for");
        let conversation = AgentConversation { family, pipes, hearing, patience: self.patience(), progress };
        let held = conversation.hold(invocation.input.into_bytes(), stop).await;
        self.conclude(held).await
    }

    fn hearing(
        &self,
        listener: Box<dyn AgentListener>,
        afterwards: Box<dyn AgentListener>,
        invocation: &AgentInvocation,
    ) -> Result<OutputRecorder, Failure> {
        let transcript = self.prepare(invocation)?;
        let own = self.installed.agent.limits_calls();
        let hearing = OutputRecorder::new(listener, afterwards, transcript, &self.installed.means.redactor);
        // A verdict by the tool needs one more call.
        let more = u32::from(self.ask.verdict.is_some());
        let most = self.ask.max_calls.map(|calls| calls.saturating_add(more));
        Ok(hearing.at_most(most.filter(|_| !own)))
    }

    fn patience(&self) -> TurnDeadlines<'_> {
        let InstalledAgent { agent, settings, means, .. } = &*self.installed;
        // A definition knows its agent. The setting is for all agents, and some print nothing until the end.
        let usual = settings.idle_timeout.filter(|_| agent.speaks_while_working(settings));
        TurnDeadlines {
            deadline: self.ask.timeout,
            silence: self.ask.silence.or(usual),
            grace: &means.grace,
            clock: &*means.clock,
        }
    }

    /// Builds the answer, and keeps a process that stays after a reply.
    async fn conclude(&self, held: ConversationResult) -> ProviderAnswer {
        let ConversationResult { over, heard, refused, stayed } = held;
        let known = heard.listener.stays();
        let answer = with_refused_hosts(self.judge(over, heard), &refused);
        let session = answer.as_ref().ok().and_then(|reply| reply.session.clone());
        match (stayed, known, session) {
            (Some((family, pipes)), Some(known), Some(session)) => {
                let (provider, sandbox) = (self.ask.provider.clone(), self.sandbox.clone());
                // Without a receiver, the process comes back and is dropped.
                drop(self.installed.means.staying.send(IdleAgent {
                    provider,
                    session,
                    sandbox,
                    known,
                    family,
                    pipes,
                }));
            }
            (Some((family, _)), _, _) => drop(family.end().await),
            (None, _, _) => {}
        }
        answer
    }

    /// Writes the files of the invocation and creates the transcript.
    fn prepare(&self, invocation: &AgentInvocation) -> Result<TurnTranscript, Failure> {
        let scratch = Path::new(&self.ask.scratch);
        let make = |folder: &Path| fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error));
        make(scratch)?;
        for (path, text) in &invocation.files {
            let path = scratch.join(path);
            path.parent().map(make).transpose()?;
            fs::write(&path, text).map_err(|error| unwritten(&path, &error))?;
        }
        TurnTranscript::create(&self.ask).map_err(|error| unwritten(&transcript_of(&self.ask), &error))
    }

    fn start(&self, invocation: &AgentInvocation) -> ProcessStart {
        let InstalledAgent { agent, settings, program, means, .. } = &*self.installed;
        let given = AgentEnvironment {
            ours: &means.environment,
            agents: agent.profile().environment,
            settings,
            set: &invocation.environment,
        };
        let mut environment = given.all();
        // Settings can name a trace of the user's own.
        let is_set = environment.iter().any(|(name, _)| name == TRACE_CONTEXT);
        if let Some(context) = self.ask.traceparent.as_ref().filter(|_| !is_set) {
            environment.push((TRACE_CONTEXT.into(), context.into()));
        }
        ProcessStart {
            program: program.clone(),
            arguments: invocation.arguments.clone(),
            directory: self.ask.directory.clone().into(),
            environment,
            mark: ProcessMark::of(&self.ask),
            launcher: means.launcher.clone(),
            sandbox: self.sandbox.clone(),
        }
    }

    /// C-32: the first matching rule decides.
    fn judge(&self, over: ConversationEnd, heard: RecordedOutput) -> ProviderAnswer {
        let RecordedOutput { listener, complaints, done, warnings, said: last, .. } = heard;
        let code = match over.status() {
            Some(ProcessStatus::Code(code)) => Some(code),
            Some(ProcessStatus::Signal(_)) | None => None,
        };
        let exit = match over.status() {
            Some(ProcessStatus::Code(code)) => ProcessExit::Code(code),
            Some(ProcessStatus::Signal(signal)) => ProcessExit::Signal(signal),
            None if done => ProcessExit::AfterDone,
            // In this case only the usage matters.
            None => ProcessExit::Signal(rustix::process::Signal::TERM.as_raw()),
        };
        let unstarted = code.and_then(|code| launcher::refusal(code, &complaints));
        let stderr = Some(last_of(&complaints)).filter(|text| !text.trim().is_empty()).map(Box::from);
        let said = listener.end(&ProcessEnd { exit, complaints });
        let ours = match over {
            ConversationEnd::Stopped if done && said.is_ok() => None,
            ConversationEnd::Stopped => Some(cancelled()),
            ConversationEnd::Exited(_) => unstarted,
            ConversationEnd::Lingered | ConversationEnd::Stays | ConversationEnd::Paused => None,
            ConversationEnd::Deadline(length) => Some(timed_out(&words(length))),
            ConversationEnd::Silence(length) => Some(timed_out(&format!("{} without output", words(length)))),
            ConversationEnd::Failed(failure) => Some(failure),
        };
        let mut refusal = match (ours, said) {
            (None, Ok(mut reply)) => {
                reply.warnings.extend(warnings);
                reply.warnings.extend(unknown_tools(self.installed.agent.profile(), &self.ask, &reply));
                return Ok(reply);
            }
            (None, Err(refusal)) => refusal,
            (Some(failure), Ok(reply)) => ProviderRefusal {
                usage: reply.usage,
                cost: reply.cost,
                session: reply.session,
                metered: reply.metered,
                ..failure.into()
            },
            // C-26: the usage counts even after a failure.
            (Some(failure), Err(refusal)) => ProviderRefusal { failure, retry_after: None, ..refusal },
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
            let words = format!("the {what} `{name}` starts with `-` and could be read as an argument");
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

/// Names the hosts that the sandbox refused: as a warning, or as a likely cause of a failure.
pub(crate) fn with_refused_hosts(answer: ProviderAnswer, hosts: &[String]) -> ProviderAnswer {
    if hosts.is_empty() {
        return answer;
    }
    let words = format!("the sandbox refused {}; `sandbox_network` lists what is allowed", hosts.join(", "));
    match answer {
        Ok(mut reply) => {
            reply.warnings.push(words);
            Ok(reply)
        }
        Err(mut refusal) => {
            let message = &mut refusal.failure.message;
            *message = format!("{message}\n{words}");
            Err(refusal)
        }
    }
}

/// Adds the program's version to the failure of an old program that failed at the start.
async fn remark(answer: ProviderAnswer, installed: &InstalledAgent) -> ProviderAnswer {
    let mut refusal = match answer {
        Err(refusal) if is_from_the_start(&refusal) => refusal,
        answer => return answer,
    };
    let profile = installed.agent.profile();
    let given = allowed_variables(&installed.means.environment, &[]);
    let said = doctor::probe(&installed.program, &["--version"], given).await;
    let version = said.and_then(|said| doctor::version(&said.output));
    if let Some(version) = version.filter(|version| is_older(version, profile.tested)) {
        let words = format!(
            "{} {version} is too old: the oldest version known to work is {}; get it with `{}`",
            profile.program, profile.tested, profile.install
        );
        refusal.failure.message = format!("{words}\n{}", refusal.failure.message);
    }
    Err(refusal)
}

/// Returns true if the program exited with an unexplained error before it asked its model.
fn is_from_the_start(refusal: &ProviderRefusal) -> bool {
    let failure = &refusal.failure;
    matches!(failure.class, FailureClass::BadRequest | FailureClass::Crashed)
        && failure.exit_code.is_some_and(|code| code != 0)
        && refusal.usage.tokens() == 0
        && refusal.session.is_none()
}

fn is_older(version: &str, than: &str) -> bool {
    let numbers =
        |text: &str| -> Option<Vec<u64>> { text.split('.').map(|part| part.parse().ok()).collect() };
    numbers(version).zip(numbers(than)).is_some_and(|(version, than)| version < than)
}

/// A listener that looks for the required line.
struct ProbeListener {
    expected: String,
    otherwise: String,
    is_found: bool,
}

impl ProbeListener {
    fn new(probe: &StartupCheck) -> Self {
        Self { expected: probe.expected.clone(), otherwise: probe.otherwise.clone(), is_found: false }
    }
}

impl AgentListener for ProbeListener {
    fn output(&mut self, line: &str, _: &mut dyn FnMut(Progress)) -> ListenerStep {
        self.is_found |= line.trim_end() == self.expected;
        ListenerStep::GoOn
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn end(self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer {
        if self.is_found {
            return Ok(Reply::default());
        }
        let complaints = end.complaints.trim();
        let words =
            if complaints.is_empty() { self.otherwise } else { format!("{}\n{complaints}", self.otherwise) };
        Err(failure(FailureClass::BadRequest, &words).into())
    }
}

#[cfg(test)]
mod tests;
