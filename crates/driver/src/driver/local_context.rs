//! The durable context of this machine: the journal file keeps the records, and processes perform the effects.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use saihai_engine::Run;
use saihai_model::{CallId, Effect, Fact, Moment, OpenGate, Performance, Progress, RecordEntry, Workflow};

use super::call_services::{ActionStart, StartedAsk};
use super::running_calls::{CallEvent, EndedCall};
use super::{DriveOptions, Driver, DriverCommand, actions};
use crate::durable::{DurableContext, PreparedEffect};
use crate::prompts::{PromptError, RenderedPrompt};
use crate::remote_control::{InboxFile, InboxRequest, addressed};
use crate::run_session::{PreparedAsk, SessionFailure};
use crate::{DriverError, DriverEvent, DriverWarning};

/// A driver while it drives.
pub(super) struct LocalContext<'a> {
    driver: &'a mut Driver,
    options: DriveOptions,
    observer: Observer<'a>,
    polls: tokio::time::Interval,
    /// Requests of other processes that wait to be settled.
    requests: VecDeque<InboxFile>,
    /// The request file whose fact was settled last.
    settled_request: Option<PathBuf>,
    /// Calls that had come back when the second Ctrl-C arrived.
    drained: Option<VecDeque<EndedCall>>,
    /// True if the fact settled last is the result of an ask. Only then may a session have ended: a session that a
    /// running call has just opened is not in the run yet.
    ask_ended: bool,
}

/// A prepared effect of this machine.
#[derive(Debug)]
pub(super) enum LocalTask {
    Ask(Box<PreparedAsk>),
    Perform(Box<Performance>),
    Gate(Box<OpenGate>),
    Wake(Moment),
    Stop(CallId),
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
pub(super) const GRACE_INTERRUPTED: Duration = Duration::from_millis(2_800);
/// Grace period in other cases: five seconds to stop on request, ten after the signal, one to exit (C-56).
const GRACE: Duration = Duration::from_secs(17);

type Observer<'a> = &'a mut dyn FnMut(DriverEvent<'_>);

impl<'a> LocalContext<'a> {
    pub(super) fn new(driver: &'a mut Driver, options: DriveOptions, observer: Observer<'a>) -> Self {
        let mut polls = tokio::time::interval_at(tokio::time::Instant::now() + POLL, POLL);
        polls.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // Requests to an owner that died must not wait for the first poll.
        let requests = driver.inbox.look().unwrap_or_default().into();
        Self {
            driver,
            options,
            observer,
            polls,
            requests,
            settled_request: None,
            drained: None,
            ask_ended: false,
        }
    }

    fn run(&self) -> &Run {
        self.driver.session.held().run()
    }

    fn warn(&mut self, warning: &DriverWarning) {
        (self.observer)(DriverEvent::Warning(warning));
    }

    async fn wait(&mut self) -> LoopEvent {
        let may_wake = self.may_wake();
        let driver = &mut *self.driver;
        let left = driver.wake.filter(|_| may_wake).map(|at| driver.session.held().clock().until(at));
        let wake = async {
            match left {
                Some(left) => tokio::time::sleep(left).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(command) = driver.commands.recv() => LoopEvent::Command(command),
            next = driver.calls.next() => LoopEvent::Call(next),
            () = wake => {
                // The timer uses monotonic time, so a wait it sat out is over (C-34).
                if let Some(at) = driver.wake {
                    driver.session.has_reached(at);
                }
                LoopEvent::Time
            }
            _ = self.polls.tick() => LoopEvent::Poll,
        }
    }

    /// Returns true if a wait may end. Limits of calls under way always apply.
    fn may_wake(&self) -> bool {
        !self.options.when_told || self.driver.is_released || !self.driver.calls.is_empty()
    }

    /// Returns true if nothing is under way and nothing can happen without a change from outside.
    fn is_over(&self) -> Result<bool, SessionFailure> {
        let run = self.run();
        if run.ending().is_some() {
            return Ok(true);
        }
        if !self.driver.calls.is_empty() {
            return Ok(false);
        }
        if run.is_parked() {
            let stays = self.options.stay_at_gates && self.driver.interrupts == 0;
            return Ok(!(stays && run.open_gate().is_some()));
        }
        if self.driver.wake.is_none() {
            let run = self.driver.directory().id().to_owned();
            return Err(SessionFailure::Error(DriverError::Stuck { run }));
        }
        Ok(false)
    }

    /// Returns the next command that was already given. Nothing changes a run that has ended.
    fn waiting_command(&mut self) -> Option<DriverCommand> {
        if self.run().ending().is_some() { None } else { self.driver.commands.try_recv().ok() }
    }

    /// Returns the fact of a command, if it changes the run.
    fn fact_of(&mut self, command: DriverCommand) -> Option<Fact> {
        Some(match command {
            DriverCommand::Interrupt { by } => {
                self.driver.interrupts += 1;
                if self.driver.interrupts > 1 {
                    return None;
                }
                self.driver.services.hurry();
                // An open gate has nothing to stop, and an interrupted run could not be answered.
                if self.run().is_parked() && self.run().open_gate().is_some() {
                    return None;
                }
                Fact::Interrupted { by }
            }
            DriverCommand::Cancel { by } => Fact::Cancelled { by },
            DriverCommand::Tell(note) => {
                let held = self.driver.session.held();
                Fact::Told(addressed(note, held.run(), held.workflow()))
            }
            DriverCommand::Withdraw(note) => Fact::Withdrawn { note },
            DriverCommand::GoOn => {
                self.driver.is_released = true;
                return None;
            }
            DriverCommand::Answer(answer) => {
                if self.run().open_gate() != Some(&answer.call) {
                    self.warn(&DriverWarning::LateAnswer { call: answer.call });
                    return None;
                }
                Fact::Answered(answer)
            }
        })
    }

    fn wake_if_due(&mut self) -> Option<Fact> {
        let is_due = self.driver.wake.is_some_and(|at| at <= self.now()) && self.may_wake();
        if is_due {
            (self.driver.wake, self.driver.is_released) = (None, false);
        }
        is_due.then_some(Fact::Woke)
    }

    /// Returns the fact of the next request from another process.
    fn next_request(&mut self) -> Result<Option<Fact>, SessionFailure> {
        while let Some(file) = self.requests.pop_front() {
            let fact = match file.request {
                Ok(InboxRequest::Answer(answer)) => self.fact_of(DriverCommand::Answer(answer)),
                Ok(InboxRequest::Cancel { by }) => self.fact_of(DriverCommand::Cancel { by }),
                Ok(InboxRequest::Tell(note)) => self.fact_of(DriverCommand::Tell(note)),
                Ok(InboxRequest::Withdraw(note)) => self.fact_of(DriverCommand::Withdraw(note)),
                Ok(InboxRequest::Lend(loan)) => Some(Fact::Lent(loan)),
                Err(why) => {
                    let path = file.path.display().to_string();
                    self.warn(&DriverWarning::BadRequest { path, why });
                    None
                }
            };
            self.settled_request = Some(file.path);
            if fact.is_some() {
                return Ok(fact);
            }
            self.remove_settled_request()?;
        }
        Ok(None)
    }

    /// Removes a request once the journal has it. One that cannot be removed would be read again and again, so the run
    /// stops there.
    fn remove_settled_request(&mut self) -> Result<(), SessionFailure> {
        let Some(path) = self.settled_request.take() else { return Ok(()) };
        let removed = self.driver.inbox.remove(&path);
        removed.map(drop).map_err(DriverError::io("remove", &path)).map_err(SessionFailure::Error)
    }

    /// Shows the progress of a turn to observers in this and other processes.
    fn show(&mut self, call: &CallId, progress: Progress) {
        if let Some(progress) = self.driver.shown.take(call, progress) {
            self.driver.live.show(call, &progress);
            (self.observer)(DriverEvent::Progress { call, progress: &progress });
        }
    }

    /// Turns the result of a call into a fact.
    fn result_of(&mut self, ended: EndedCall) -> Fact {
        let driver = &mut *self.driver;
        match ended {
            EndedCall::Action { call, came } => actions::performed(driver.session.held(), call, came),
            EndedCall::Ask { about, came } => {
                driver.live.end(&about.call);
                driver.shown.end(&about.call);
                self.ask_ended = true;
                let place = about.place;
                let mut fact = driver.services.reply(driver.session.held(), *about, came);
                driver.trees.add(driver.session.held(), place, &mut fact);
                fact
            }
        }
    }

    fn show_gate(&mut self, gate: &OpenGate) -> Result<(), SessionFailure> {
        let held = self.driver.session.held();
        let blobs = held.directory().blobs();
        let rendered = match held.renderer(&blobs).render(&gate.question) {
            Ok(rendered) => rendered,
            Err(PromptError::Blob { text, why }) => {
                return Err(SessionFailure::Error(held.directory().bad_text(&text, &why).into()));
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
        rendered.warnings.iter().for_each(|warning| self.warn(warning));
        let question = saihai_judge::without_status_tags(rendered.text.trim_end());
        let (call, title) = (&gate.call, gate.title.as_str());
        (self.observer)(DriverEvent::Gate { call, title, question: &question, wants: gate.wants });
        Ok(())
    }
}

impl DurableContext for LocalContext<'_> {
    type Task = LocalTask;
    type Failure = SessionFailure;

    fn state(&mut self) -> (&mut Run, &Workflow) {
        self.driver.session.state()
    }

    fn now(&self) -> Moment {
        self.driver.session.held().clock().now()
    }

    fn redact(&self, fact: Fact) -> Fact {
        self.driver.session.held().secrets().fact(fact)
    }

    fn prepare(&mut self, effect: Effect) -> Result<PreparedEffect<LocalTask>, SessionFailure> {
        let task = match effect {
            Effect::Record(_) => return Ok(PreparedEffect::facts([])),
            Effect::Ask(request) => {
                let mut warnings = Vec::new();
                let prepared = self.driver.session.held().prepare_ask(*request, &mut warnings);
                let (fact, ask) = prepared.map_err(SessionFailure::Error)?;
                warnings.iter().for_each(|warning| self.warn(warning));
                let task = ask.map(|ask| LocalTask::Ask(Box::new(ask)));
                return Ok(PreparedEffect { facts: vec![fact], task });
            }
            Effect::OpenGate(gate) => {
                match self.driver.session.answer_without_person(&gate, self.options.auto) {
                    Some(answer) => return Ok(PreparedEffect::facts([Fact::Answered(answer)])),
                    None => LocalTask::Gate(gate),
                }
            }
            Effect::Perform(performance) => LocalTask::Perform(performance),
            Effect::Wake { at } => LocalTask::Wake(at),
            Effect::Stop { call } => LocalTask::Stop(call),
        };
        Ok(PreparedEffect::task(task))
    }

    fn commit(&mut self, entries: Vec<(Moment, RecordEntry)>) -> Result<(), SessionFailure> {
        for record in &self.driver.session.append(entries)? {
            self.driver.services.note_record(record);
            (self.observer)(DriverEvent::Recorded(record));
        }
        self.driver.has_settled = true;
        // Every fact tells the engine the time, so a wake-up in the past is done.
        self.driver.wake = self.driver.wake.filter(|at| *at > self.run().now());
        Ok(())
    }

    fn perform(&mut self, task: LocalTask) -> Result<Option<Fact>, SessionFailure> {
        let driver = &mut *self.driver;
        match task {
            LocalTask::Ask(prepared) => match driver.services.ask(driver.session.held(), *prepared) {
                StartedAsk::Done(fact) => return Ok(Some(*fact)),
                StartedAsk::Asking(asking, about) => driver.calls.ask(*asking, about),
            },
            LocalTask::Perform(performance) => {
                let started = driver.services.act(driver.session.held(), *performance);
                match started.map_err(SessionFailure::Error)? {
                    ActionStart::Done(fact) => return Ok(Some(*fact)),
                    ActionStart::Running(call, act) => driver.calls.act(call, act),
                }
            }
            LocalTask::Gate(gate) => self.show_gate(&gate)?,
            LocalTask::Wake(at) => driver.wake = Some(driver.wake.map_or(at, |before| before.min(at))),
            LocalTask::Stop(call) => {
                let grace = if driver.interrupts > 0 { GRACE_INTERRUPTED } else { GRACE };
                driver.calls.stop(&call, grace);
            }
        }
        Ok(None)
    }

    async fn next(&mut self) -> Result<Option<Vec<Fact>>, SessionFailure> {
        if let (true, Some(until)) = (self.driver.calls.is_empty(), self.driver.wake) {
            (self.observer)(DriverEvent::Waiting { until });
        }
        loop {
            let driver = &mut *self.driver;
            if std::mem::take(&mut self.ask_ended) {
                driver.services.forget_ended(driver.session.held());
            }
            self.remove_settled_request()?;
            // Commands come first, because the end of the loop would drop a note that waits here.
            while let Some(command) = self.waiting_command() {
                if let Some(fact) = self.fact_of(command) {
                    return Ok(Some(vec![fact]));
                }
            }
            let driver = &mut *self.driver;
            // The second Ctrl-C keeps replies that have already arrived and waits for nothing else.
            if driver.interrupts > 1 {
                let drained = self.drained.get_or_insert_with(|| driver.calls.drain().into());
                let ended = drained.pop_front();
                return Ok(ended.map(|ended| vec![self.result_of(ended)]));
            }
            if let Some(fact) = self.next_request()? {
                return Ok(Some(vec![fact]));
            }
            if self.is_over()? {
                return Ok(None);
            }
            let fact = match self.wait().await {
                LoopEvent::Call(CallEvent::Progress(call, progress)) => {
                    self.show(&call, progress);
                    None
                }
                LoopEvent::Call(CallEvent::Ended(ended)) => Some(self.result_of(*ended)),
                LoopEvent::Command(command) => self.fact_of(command),
                LoopEvent::Time => self.wake_if_due(),
                LoopEvent::Poll => {
                    self.requests = self.driver.inbox.look().unwrap_or_default().into();
                    self.wake_if_due()
                }
            };
            if let Some(fact) = fact {
                return Ok(Some(vec![fact]));
            }
        }
    }
}
