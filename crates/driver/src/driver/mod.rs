//! The loop: settle a fact, perform the effects, wait for the next fact.

mod actions;
mod command_action;
mod replies;
mod running_calls;
mod start;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use saihai_connect::{CommandSurroundings, Providers, ScriptAccounts};
use saihai_model::{
    Answer, AnsweredBy, Ask, CallId, Ending, Fact, FileChangeCounts, Hold, Label, Moment, OpenGate,
    Performance, PersonNote, Progress, ProviderName, ProviderSettings, Record, RecordEntry, Start, exit_code,
};
use saihai_view::RunView;
use tokio::sync::mpsc;

use crate::live::Live;
use crate::prompts::{PromptError, RenderedPrompt};
use crate::remote_control::{Inbox, InboxRequest, addressed};
use crate::run_session::{EffectMode, PendingEffect, PreparedAsk, RunSession, SessionFailure};
use crate::secrets::ProgressRedactor;
use crate::{DriverError, DriverEvent, DriverWarning, RunDirectory};
use actions::StartedAction;
use running_calls::{AskContext, CallEvent, EndedCall, RunningCalls};
use start::FirstFact;

pub use actions::{ActionExecutor, ActionFuture, ActionRequest};
pub(crate) use replies::{SessionMeters, read_tools, session_meter};
pub use start::{RunSpec, WorkDirectory, Workplace};

/// A command to the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DriverCommand {
    /// Ends the agents and parks the run. The second one makes the driver return immediately.
    Interrupt {
        /// The source: `ctrl-c`, `sigterm`, …
        by: String,
    },
    Answer(Answer),
    /// Cancels the run for good.
    Cancel {
        by: String,
    },
    /// A person's note to the agents.
    Tell(PersonNote),
    /// Takes a note back, by its number.
    Withdraw(u32),
    /// Lets an elapsed wait end now.
    GoOn,
}

/// A handle to a driver, cheap to clone. Commands to a driver that has returned do nothing.
#[derive(Debug, Clone)]
pub struct DriverControl {
    commands: mpsc::UnboundedSender<DriverCommand>,
}

impl DriverControl {
    /// Creates a handle and the receiver for its driver.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<DriverCommand>) {
        let (commands, heard) = mpsc::unbounded_channel();
        (Self { commands }, heard)
    }

    /// Asks the driver to stop. The second call makes it return immediately.
    pub fn interrupt(&self, by: &str) {
        self.send(DriverCommand::Interrupt { by: by.to_owned() });
    }

    /// Answers a gate with `yes`, `no` or `answered`.
    pub fn answer(&self, call: CallId, label: Label, text: Option<String>) {
        self.send(DriverCommand::Answer(Answer { call, by: AnsweredBy::Person, label, text }));
    }

    pub fn cancel(&self, by: &str) {
        self.send(DriverCommand::Cancel { by: by.to_owned() });
    }

    /// Gives the agents a note of a person.
    pub fn tell(&self, note: PersonNote) {
        self.send(DriverCommand::Tell(note));
    }

    /// Ends an elapsed wait of a driver that runs with `DriveOptions::when_told`.
    pub fn go_on(&self) {
        self.send(DriverCommand::GoOn);
    }

    fn send(&self, command: DriverCommand) {
        // The driver may have returned in the meantime.
        drop(self.commands.send(command));
    }
}

/// A run and the one process that owns it.
pub struct Driver {
    session: RunSession,
    providers: Providers,
    settings: BTreeMap<ProviderName, ProviderSettings>,
    meters: SessionMeters,
    /// The environment of the driver's own actions.
    surroundings: CommandSurroundings,
    /// Performs actions that reach beyond the run and its files.
    executor: Option<Arc<dyn ActionExecutor>>,
    first: FirstFact,
    calls: RunningCalls,
    live: Live,
    shown: ProgressRedactor,
    control: DriverControl,
    commands: mpsc::UnboundedReceiver<DriverCommand>,
    inbox: Inbox,
    mode: EffectMode,
    wake: Option<Moment>,
    /// Waits end only on [`DriverControl::go_on`].
    when_told: bool,
    /// True once the current wait may end.
    is_released: bool,
    interrupts: u32,
    warnings: Vec<DriverWarning>,
    count_files: Option<FileCounter>,
    /// True once this driver has recorded a fact.
    has_settled: bool,
}

/// Compares the files of a run with those at its start. Returns `None` if they cannot be compared.
pub type FileCounter = Box<dyn FnOnce(&RunView) -> Option<FileChangeCounts> + Send>;

/// Options for driving a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DriveOptions {
    /// Stay at an open gate until it is answered, instead of parking.
    pub stay_at_gates: bool,
    /// Answer every yes/no gate with yes, and record the answer as automatic.
    pub auto: bool,
    /// End an idle wait only on [`DriverControl::go_on`], because another run may work in the meantime.
    pub when_told: bool,
}

/// The state in which driving stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveOutcome {
    pub run: String,
    /// The ending, if the run ended.
    pub ending: Option<Ending>,
    /// The reason for waiting, if the run waits.
    pub hold: Option<Hold>,
    /// The failed write, if the run waits because of the disk.
    pub storage: Option<String>,
    /// Unused and missing replies of the script.
    pub accounts: ScriptAccounts,
}

impl DriveOutcome {
    pub fn exit_code(&self) -> u8 {
        exit_code(self.ending.as_ref(), self.hold.as_ref())
    }
}

/// An event that the loop waits for.
enum LoopEvent {
    Call(CallEvent),
    Command(DriverCommand),
    Time,
    Poll,
}

/// Poll interval for the inbox, and for waits that end by the clock while the timer slept.
const POLL: Duration = Duration::from_millis(250);
/// Grace period after Ctrl-C. The run must be parked within three seconds (K-22). An agent has two of them
/// (C-56); this limit is for the rest.
const GRACE_INTERRUPTED: Duration = Duration::from_millis(2_800);
/// Grace period in other cases: five seconds to stop on request, ten after the signal, one to exit (C-56).
const GRACE: Duration = Duration::from_secs(17);

type Observer<'a> = &'a mut dyn FnMut(DriverEvent<'_>);

impl Driver {
    pub fn directory(&self) -> &RunDirectory {
        self.session.directory()
    }

    /// Returns a handle for commands to the driver while it drives.
    pub fn control(&self) -> DriverControl {
        self.control.clone()
    }

    /// Sets the implementation for actions beyond the run and its files.
    #[must_use]
    pub fn reaching(self, executor: Arc<dyn ActionExecutor>) -> Self {
        Self { executor: Some(executor), ..self }
    }

    /// Sets the function that counts the changed files when driving stops. The journal keeps the result.
    #[must_use]
    pub fn counting_files(self, count: FileCounter) -> Self {
        Self { count_files: Some(count), ..self }
    }

    /// Returns the start of the run, also before it is recorded.
    pub fn start_of_run(&self) -> &Start {
        self.session.start()
    }

    /// Drives the run until it ends or parks.
    pub async fn drive(
        mut self,
        options: DriveOptions,
        observer: &mut dyn FnMut(DriverEvent<'_>),
    ) -> Result<DriveOutcome, DriverError> {
        self.mode = EffectMode::Perform { auto: options.auto };
        self.when_told = options.when_told;
        let driven = self.run_loop(options, observer).await;
        let grace = if self.interrupts > 1 { Duration::ZERO } else { GRACE_INTERRUPTED };
        self.providers.hurry();
        self.surroundings.hurry();
        self.calls.shut_down(grace).await;
        if self.interrupts <= 1 {
            self.providers.close().await;
        }
        if driven.is_ok() && self.interrupts <= 1 {
            self.count_files(observer);
        }
        match driven {
            Ok(()) => Ok(self.finish()),
            Err(SessionFailure::Error(error)) => Err(error),
            Err(SessionFailure::Storage(failed)) => {
                let hold = Some(Hold::Storage(failed.path.display().to_string()));
                Ok(DriveOutcome { ending: None, hold, storage: Some(failed.to_string()), ..self.finish() })
            }
        }
    }

    /// Records how many files differ from the start, if driving recorded anything. The run has stopped already, so a
    /// failure costs only this figure.
    fn count_files(&mut self, observer: Observer<'_>) {
        let Some(count) = self.count_files.take().filter(|_| self.has_settled) else { return };
        let Some(counts) = self.session.view().and_then(count) else { return };
        if let Ok(settled) = self.session.settle(vec![Fact::FilesCounted(counts)], EffectMode::RecordOnly) {
            settled.records.iter().for_each(|record| observer(DriverEvent::Recorded(record)));
        }
    }

    async fn run_loop(
        &mut self,
        options: DriveOptions,
        observer: Observer<'_>,
    ) -> Result<(), SessionFailure> {
        for warning in std::mem::take(&mut self.warnings) {
            observer(DriverEvent::Warning(&warning));
        }
        let Some(facts) = self.first_facts(options) else { return Ok(()) };
        self.settle(facts, observer)?;
        // Requests to an owner that died must not wait for the first poll.
        self.read_inbox(observer)?;
        let mut polls = tokio::time::interval_at(tokio::time::Instant::now() + POLL, POLL);
        polls.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !self.is_over(options)? {
            match self.next(&mut polls).await {
                LoopEvent::Call(CallEvent::Progress(call, progress)) => {
                    self.show(&call, progress, observer);
                }
                LoopEvent::Call(CallEvent::Ended(ended)) => {
                    self.record_result(*ended, observer)?;
                }
                LoopEvent::Command(command) => self.handle_command(command, observer)?,
                LoopEvent::Time => self.wake_if_due(observer)?,
                LoopEvent::Poll => {
                    self.wake_if_due(observer)?;
                    self.read_inbox(observer)?;
                }
            }
            if self.interrupts > 1 {
                return self.stop_immediately(observer);
            }
        }
        Ok(())
    }

    async fn next(&mut self, polls: &mut tokio::time::Interval) -> LoopEvent {
        let left = self.wake.filter(|_| self.may_wake()).map(|at| self.session.clock().until(at));
        let wake = async {
            match left {
                Some(left) => tokio::time::sleep(left).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(command) = self.commands.recv() => LoopEvent::Command(command),
            next = self.calls.next() => LoopEvent::Call(next),
            () = wake => {
                // The timer uses monotonic time, so a wait it sat out is over (C-34).
                if let Some(at) = self.wake {
                    self.session.has_reached(at);
                }
                LoopEvent::Time
            }
            _ = polls.tick() => LoopEvent::Poll,
        }
    }

    /// Returns true if a wait may end. Limits of calls under way always apply.
    fn may_wake(&self) -> bool {
        !self.when_told || self.is_released || !self.calls.is_empty()
    }

    /// Returns true if nothing is under way and nothing can happen without a change from outside.
    fn is_over(&self, options: DriveOptions) -> Result<bool, SessionFailure> {
        let run = self.session.run();
        if run.ending().is_some() {
            return Ok(true);
        }
        if !self.calls.is_empty() {
            return Ok(false);
        }
        if run.is_parked() {
            let stays = options.stay_at_gates && self.interrupts == 0;
            return Ok(!(stays && run.open_gate().is_some()));
        }
        if self.wake.is_none() {
            return Err(SessionFailure::Error(DriverError::Stuck { run: self.directory().id().to_owned() }));
        }
        Ok(false)
    }

    fn handle_command(
        &mut self,
        command: DriverCommand,
        observer: Observer<'_>,
    ) -> Result<(), SessionFailure> {
        let fact = match command {
            DriverCommand::Interrupt { by } => {
                self.interrupts += 1;
                if self.interrupts > 1 {
                    return Ok(());
                }
                self.providers.hurry();
                self.surroundings.hurry();
                // An open gate has nothing to stop, and an interrupted run could not be answered.
                if self.session.run().is_parked() && self.session.run().open_gate().is_some() {
                    return Ok(());
                }
                Fact::Interrupted { by }
            }
            DriverCommand::Cancel { by } => Fact::Cancelled { by },
            DriverCommand::Tell(note) => {
                Fact::Told(addressed(note, self.session.run(), self.session.workflow()))
            }
            DriverCommand::Withdraw(note) => Fact::Withdrawn { note },
            DriverCommand::GoOn => {
                self.is_released = true;
                return Ok(());
            }
            DriverCommand::Answer(answer) => {
                if self.session.run().open_gate() != Some(&answer.call) {
                    observer(DriverEvent::Warning(&DriverWarning::LateAnswer { call: answer.call }));
                    return Ok(());
                }
                Fact::Answered(answer)
            }
        };
        self.settle(vec![fact], observer)
    }

    fn wake_if_due(&mut self, observer: Observer<'_>) -> Result<(), SessionFailure> {
        match self.wake {
            Some(at) if at <= self.session.clock().now() && self.may_wake() => {
                (self.wake, self.is_released) = (None, false);
                self.settle(vec![Fact::Woke], observer)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Handles requests from other processes. A request is removed only once the journal has it. One that
    /// cannot be removed would be read again and again, so the run stops there.
    fn read_inbox(&mut self, observer: Observer<'_>) -> Result<(), SessionFailure> {
        let Ok(files) = self.inbox.look() else { return Ok(()) };
        for file in files {
            match file.request {
                Ok(InboxRequest::Answer(answer)) => {
                    self.handle_command(DriverCommand::Answer(answer), observer)?
                }
                Ok(InboxRequest::Cancel { by }) => {
                    self.handle_command(DriverCommand::Cancel { by }, observer)?
                }
                Ok(InboxRequest::Tell(note)) => self.handle_command(DriverCommand::Tell(note), observer)?,
                Ok(InboxRequest::Withdraw(note)) => {
                    self.handle_command(DriverCommand::Withdraw(note), observer)?
                }
                Err(why) => {
                    let path = file.path.display().to_string();
                    observer(DriverEvent::Warning(&DriverWarning::BadRequest { path, why }));
                }
            }
            let removed = self.inbox.remove(&file.path);
            removed.map_err(DriverError::io("remove", &file.path)).map_err(SessionFailure::Error)?;
        }
        Ok(())
    }

    /// Handles the second Ctrl-C. It keeps replies that have already arrived and waits for nothing else.
    fn stop_immediately(&mut self, observer: Observer<'_>) -> Result<(), SessionFailure> {
        for ended in self.calls.drain() {
            self.record_result(ended, observer)?;
        }
        Ok(())
    }

    /// Shows the progress of a turn to observers in this and other processes.
    fn show(&mut self, call: &CallId, progress: Progress, observer: Observer<'_>) {
        if let Some(progress) = self.shown.take(call, progress) {
            self.live.show(call, &progress);
            observer(DriverEvent::Progress { call, progress: &progress });
        }
    }

    /// Turns the result of an ask into a fact. It notes the counters before settling, because the next ask in
    /// the same session may follow immediately.
    fn record_result(&mut self, ended: EndedCall, observer: Observer<'_>) -> Result<(), SessionFailure> {
        let (about, came) = match ended {
            EndedCall::Ask { about, came } => (*about, came),
            EndedCall::Action { call, came } => {
                return self.settle(vec![actions::performed(&self.session, call, came)], observer);
            }
        };
        self.live.end(&about.call);
        self.shown.end(&about.call);
        let asked = about.session.clone();
        let fact = replies::fact(&self.session, about, came);
        if let Some((session, meter)) = replies::session_meter(&fact) {
            self.meters.note(asked.as_deref(), session.as_deref(), Some(&meter));
        }
        self.settle(vec![fact], observer)?;
        let run = self.session.run();
        self.meters.forget_ended(run);
        self.providers.part(|session| run.sessions().any(|kept| kept == session));
        Ok(())
    }

    /// Settles facts and performs their effects until no further fact follows immediately.
    fn settle(&mut self, facts: Vec<Fact>, observer: Observer<'_>) -> Result<(), SessionFailure> {
        let mut next = VecDeque::from([facts]);
        while let Some(facts) = next.pop_front() {
            let settled = self.session.settle(facts, self.mode)?;
            self.has_settled = true;
            settled.warnings.iter().for_each(|warning| observer(DriverEvent::Warning(warning)));
            for record in &settled.records {
                self.tell_providers(record);
                observer(DriverEvent::Recorded(record));
            }
            // Every fact tells the engine the time, so a wake-up in the past is done.
            self.wake = self.wake.filter(|at| *at > self.session.run().now());
            for todo in settled.todo {
                if let Some(fact) = self.perform(todo, observer)? {
                    next.push_back(vec![fact]);
                }
            }
        }
        if let (true, Some(until)) = (self.calls.is_empty(), self.wake) {
            observer(DriverEvent::Waiting { until });
        }
        Ok(())
    }

    fn tell_providers(&mut self, record: &Record) {
        match &record.entry {
            RecordEntry::Fact(Fact::Replied(reply)) => self.providers.ended(&reply.call, None),
            RecordEntry::Fact(Fact::Failed(failed)) => {
                self.providers.ended(&failed.call, Some(&failed.failure))
            }
            RecordEntry::Fact(_) | RecordEntry::Decision(_) => {}
        }
    }

    fn perform(
        &mut self,
        todo: PendingEffect,
        observer: Observer<'_>,
    ) -> Result<Option<Fact>, SessionFailure> {
        match todo {
            PendingEffect::Ask(prepared) => return Ok(self.ask(*prepared)),
            PendingEffect::Perform(performance) => return self.act(*performance),
            PendingEffect::Gate(gate) => self.show_gate(&gate, observer)?,
            PendingEffect::Wake(at) => self.wake = Some(self.wake.map_or(at, |before| before.min(at))),
            PendingEffect::Stop(call) => {
                let grace = if self.interrupts > 0 { GRACE_INTERRUPTED } else { GRACE };
                self.calls.stop(&call, grace);
            }
        }
        Ok(None)
    }

    /// Performs an action: immediately, or as a task if it takes time.
    fn act(&mut self, performance: Performance) -> Result<Option<Fact>, SessionFailure> {
        let begun = actions::perform(&self.session, &self.surroundings, performance)
            .map_err(SessionFailure::Error)?;
        match begun {
            StartedAction::Done(fact) => Ok(Some(*fact)),
            StartedAction::Outside(call, request) => {
                let Some(executor) = self.executor.clone() else {
                    return Ok(Some(actions::unsupported(call, &request)));
                };
                self.calls.act(call, |stop| executor.perform(*request, stop));
                Ok(None)
            }
            StartedAction::Command(call, command) => {
                let surroundings = self.surroundings.clone();
                self.calls.act(call, |stop| command.run(surroundings, stop));
                Ok(None)
            }
        }
    }

    fn show_gate(&self, gate: &OpenGate, observer: Observer<'_>) -> Result<(), SessionFailure> {
        let blobs = self.directory().blobs();
        let rendered = match self.session.renderer(&blobs).render(&gate.question) {
            Ok(rendered) => rendered,
            Err(PromptError::Blob { text, why }) => {
                return Err(SessionFailure::Error(self.directory().bad_text(&text, &why).into()));
            }
            // A person can answer without it. No gate's question shows changes.
            Err(PromptError::Changes(_)) => RenderedPrompt::default(),
            Err(PromptError::Report { file, source }) => {
                let why = source.to_string();
                RenderedPrompt {
                    warnings: vec![DriverWarning::UnsafeReport { file, why }],
                    ..RenderedPrompt::default()
                }
            }
        };
        rendered.warnings.iter().for_each(|warning| observer(DriverEvent::Warning(warning)));
        let question = saihai_judge::without_status_tags(rendered.text.trim_end());
        let (call, title) = (&gate.call, gate.title.as_str());
        observer(DriverEvent::Gate { call, title, question: &question, wants: gate.wants });
        Ok(())
    }

    /// Asks an agent. If the cache has the reply, returns the fact immediately.
    fn ask(&mut self, prepared: PreparedAsk) -> Option<Fact> {
        let PreparedAsk { request, prompt, persona } = prepared;
        let (call, place, session) = (request.call.clone(), request.place, request.session.clone());
        let (provider, set) = (request.provider.clone(), self.settings.get(&request.provider));
        let (price, is_counted) = (set.map(|set| set.price).unwrap_or_default(), request.money.is_some());
        // After a fallback the request names no model, so the provider's own setting applies.
        let model = request.model.or_else(|| set?.model.clone());
        let began = self.session.clock().now();
        let about =
            AskContext { call: call.clone(), place, prompt, began, provider, session, price, is_counted };
        let about = match replies::cached(&self.session, about, request.purpose) {
            Ok(fact) => return Some(fact),
            Err(about) => about,
        };
        let traceparent = saihai_telemetry::traceparent(
            self.session.directory().id(),
            self.session.start().seed,
            &call,
            request.attempt,
        );
        let asking = self.providers.ask(Ask {
            run: self.session.directory().id().to_owned(),
            stage: call.stage.clone(),
            call: request.call,
            place,
            turn: request.turn,
            purpose: request.purpose,
            attempt: request.attempt,
            role: request.role,
            directory: self.session.start().directory.clone(),
            // The change under review may come from a stranger, and project settings can name programs to run
            //
            foreign: self.session.workflow().is_review(),
            rehearsal: self.session.start().rehearsal,
            prompt: about.prompt.clone(),
            persona,
            provider: request.provider,
            program: request.program,
            model,
            permission: request.permission,
            tools: request.tools,
            schema: request.schema,
            metered: self.meters.of(request.session.as_deref()),
            session: request.session,
            timeout: request.timeout,
            silence: self.session.run().limits().silence,
            max_calls: request.max_calls,
            money: request.money,
            scratch: self.session.directory().scratch().display().to_string(),
            traceparent: Some(traceparent),
        });
        self.calls.ask(asking, *about);
        None
    }

    fn finish(&self) -> DriveOutcome {
        let run = self.session.run();
        DriveOutcome {
            run: self.directory().id().to_owned(),
            ending: run.ending().cloned(),
            hold: run.hold().cloned(),
            storage: None,
            accounts: self.providers.accounts(),
        }
    }
}

#[cfg(test)]
mod tests;
