//! The workflow of a run: the one loop over a context whose records are Temporal's history.
//!
//! The server keeps activities, signals and timers. Their results are the facts, in the order in which this code takes
//! them, so a replay makes the same records. Nothing here reads a clock, a file or chance.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, UNIX_EPOCH};

use saihai::durable::{DurableContext, PreparedEffect, settle};
use saihai::{CallHistory, addressed, answer_without_person};
use saihai_engine::Run;
use saihai_git::WorkRevision;
use saihai_model::{
    Action, Answer, AnsweredBy, CallFailed, CallId, Effect, Fact, Failure, FailureClass, FrozenJson as _,
    Moment, Permission, RecordEntry, Workflow,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityCancellationType, ActivityExecutionError, ActivityOptions, ApplicationFailure,
    ContinueAsNewOptions, SyncWorkflowContext, TimeoutType, TimerOptions, WaitConditionOptions,
    WorkflowCancellationToken, WorkflowContext, WorkflowResult, WorkflowTermination,
};
use temporalio_workflow::{MemoValues, RetryPolicy};

use crate::calls::Calls;
use crate::messages::{CallInput, CallReport, ContinuedRun, MEMO_RUN, RunEnd, RunInput, RunSignal};

/// Receives the records of a replay.
pub(crate) type RecordSink = Arc<Mutex<Vec<RecordBatch>>>;

/// One batch of records, and the run that it belongs to.
#[derive(Debug)]
pub(crate) struct RecordBatch {
    pub(crate) run: String,
    pub(crate) entries: Vec<(Moment, RecordEntry)>,
}

/// A run, or several runs of one branch one after the other.
#[workflow]
#[derive(Default)]
pub(crate) struct RunWorkflow {
    signals: VecDeque<RunSignal>,
    sink: Option<RecordSink>,
}

impl RunWorkflow {
    /// Creates a workflow whose records go to a sink, for replays.
    pub(crate) fn recording(sink: RecordSink) -> Self {
        Self { sink: Some(sink), ..Self::default() }
    }
}

#[workflow_methods]
impl RunWorkflow {
    #[run(name = "saihai-run")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, input: RunInput) -> WorkflowResult<RunEnd> {
        let parsed = Workflow::from_json(input.workflow.as_bytes());
        let workflow = parsed.map_err(|error| ApplicationFailure::new(anyhow_of(&error)))?;
        let end = drive(ctx, input, workflow).await?;
        Ok(end)
    }

    #[signal]
    pub(crate) fn receive(&mut self, _ctx: &mut SyncWorkflowContext<Self>, signal: RunSignal) {
        self.signals.push_back(signal);
    }
}

fn anyhow_of(error: &dyn std::fmt::Display) -> std::io::Error {
    std::io::Error::other(error.to_string())
}

/// Longest time of one activity. The engine's own limits end calls long before.
const LONGEST_CALL: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Time in which the host of a session can take a call before any other host may.
const HOST_CHANCE: Duration = Duration::from_secs(5);

async fn drive(
    ctx: &mut WorkflowContext<RunWorkflow>,
    mut input: RunInput,
    workflow: Workflow,
) -> WorkflowResult<RunEnd> {
    let ctx = &*ctx;
    let continued = input.continued.take().map(|state| *state);
    let is_new = continued.is_none();
    let base = WorkRevision { files: input.base.clone(), head: input.base.clone() };
    let state = continued.unwrap_or_else(|| ContinuedRun {
        run: Run::new(),
        history: CallHistory::default(),
        revision: base,
        hosts: BTreeMap::new(),
        due: VecDeque::new(),
        wake: None,
        doubtful: false,
        signals: VecDeque::new(),
    });
    ctx.state_mut(|held| {
        let late = std::mem::replace(&mut held.signals, state.signals);
        held.signals.extend(late);
    });
    let mut context = ServerContext {
        ctx,
        sink: ctx.state(|held| held.sink.clone()),
        workflow,
        run: state.run,
        history: state.history,
        revision: state.revision,
        hosts: state.hosts,
        due: state.due,
        wake: state.wake,
        timer: None,
        doubtful: state.doubtful,
        calls: Vec::new(),
        input,
    };
    if is_new {
        let start = context.input.start.clone();
        settle(&mut context, vec![Fact::Started(start)]).unwrap_or_else(|stopped| match stopped {});
    }
    loop {
        if context.wants_new_history() {
            return Err(context.continue_as_new());
        }
        match context.next().await.unwrap_or_else(|stopped| match stopped {}) {
            Some(facts) => settle(&mut context, facts).unwrap_or_else(|stopped| match stopped {}),
            None => break,
        }
    }
    // The next run of the same branch continues this execution, so the branch is never free in between.
    context.take_enqueued();
    if let Some(mut next) = context.input.waiting.pop_front() {
        next.waiting = std::mem::take(&mut context.input.waiting);
        return Err(restart(ctx, next));
    }
    Ok(RunEnd {
        run: context.input.run.clone(),
        outcome: context.run.ending().map(|ending| ending.outcome().to_string()).unwrap_or_default(),
        revision: context.revision.files.clone(),
    })
}

fn restart(ctx: &WorkflowContext<RunWorkflow>, input: RunInput) -> WorkflowTermination {
    let mut memo = MemoValues::new();
    memo.insert(MEMO_RUN, input.run.clone());
    let mut options = ContinueAsNewOptions::default();
    options.memo = Some(memo);
    match ctx.continue_as_new(input, options) {
        Err(termination) => termination,
        Ok(never) => match never {},
    }
}

/// Nothing stops the loop of a workflow from inside.
#[derive(Debug)]
enum Stopped {}

type CallFuture<'a> = Pin<Box<dyn Future<Output = Result<CallReport, ActivityExecutionError>> + 'a>>;

/// An activity under way, or one whose worker was lost.
struct ServerCall<'a> {
    call: CallId,
    activity: String,
    effect: Effect,
    edits: bool,
    stop: WorkflowCancellationToken,
    state: ServerCallState<'a>,
}

enum ServerCallState<'a> {
    Running(CallFuture<'a>),
    /// The worker may come back with the result. Then the agent is not asked again.
    Lost(Timer<'a>),
}

/// A timer of the server. Dropping it takes it back.
struct Timer<'a> {
    fired: Pin<Box<dyn Future<Output = ()> + 'a>>,
    token: WorkflowCancellationToken,
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        self.token.cancel();
    }
}

/// The durable context of a server.
struct ServerContext<'a> {
    ctx: &'a WorkflowContext<RunWorkflow>,
    sink: Option<RecordSink>,
    input: RunInput,
    workflow: Workflow,
    run: Run,
    history: CallHistory,
    revision: WorkRevision,
    /// The host of each session.
    hosts: BTreeMap<String, String>,
    due: VecDeque<Effect>,
    wake: Option<Moment>,
    timer: Option<(Moment, Timer<'a>)>,
    /// True if a lost worker may still hold the work.
    doubtful: bool,
    calls: Vec<ServerCall<'a>>,
}

/// The event that the loop waited for.
enum Arrival {
    Call(usize, Box<Result<CallReport, ActivityExecutionError>>),
    /// The worker of a lost call did not come back.
    GivenUp(usize),
    Signal,
    Time,
    /// The workflow itself was cancelled, for example in Temporal's page.
    Cancelled,
}

impl DurableContext for ServerContext<'_> {
    type Task = Effect;
    type Failure = Stopped;

    fn state(&mut self) -> (&mut Run, &Workflow) {
        (&mut self.run, &self.workflow)
    }

    fn now(&self) -> Moment {
        let time = self.ctx.workflow_time().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let millis = time.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        // Another history can begin on a server whose clock is behind.
        Moment(millis).max(self.run.now())
    }

    /// Workers redact what they report.
    fn redact(&self, fact: Fact) -> Fact {
        fact
    }

    fn prepare(&mut self, effect: Effect) -> Result<PreparedEffect<Effect>, Stopped> {
        Ok(match effect {
            Effect::Record(_) => PreparedEffect::facts([]),
            Effect::Ask(request) => {
                self.history.request((*request).clone());
                let asked =
                    Fact::Asked { call: request.call.clone(), attempt: request.attempt, prompt: None };
                PreparedEffect { facts: vec![asked], task: Some(Effect::Ask(request)) }
            }
            Effect::OpenGate(gate) => {
                let answer = answer_without_person(&self.input.answers, &gate, self.input.auto);
                PreparedEffect::facts(answer.map(Fact::Answered))
            }
            effect @ (Effect::Perform(_) | Effect::Wake { .. } | Effect::Stop { .. }) => {
                PreparedEffect::task(effect)
            }
        })
    }

    fn commit(&mut self, entries: Vec<(Moment, RecordEntry)>) -> Result<(), Stopped> {
        for (_, entry) in &entries {
            if let RecordEntry::Fact(fact) = entry {
                self.history.see(fact);
            }
        }
        self.wake = self.wake.filter(|at| *at > self.run.now());
        if let Some(sink) = &self.sink {
            let run = self.input.run.clone();
            sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(RecordBatch { run, entries });
        }
        Ok(())
    }

    fn perform(&mut self, effect: Effect) -> Result<Option<Fact>, Stopped> {
        match effect {
            Effect::Wake { at } => self.wake = Some(self.wake.map_or(at, |before| before.min(at))),
            Effect::Stop { call } => return Ok(self.stop(&call)),
            effect => self.due.push_back(effect),
        }
        Ok(None)
    }

    async fn next(&mut self) -> Result<Option<Vec<Fact>>, Stopped> {
        loop {
            if self.run.ending().is_some() && self.calls.is_empty() {
                return Ok(None);
            }
            if let Some(facts) = self.take_signal() {
                return Ok(Some(facts));
            }
            if self.wants_new_history() {
                return Ok(Some(Vec::new()));
            }
            self.start_due();
            self.set_timer();
            match self.arrival().await {
                Arrival::Call(index, result) => {
                    if let Some(facts) = self.ended(index, *result) {
                        return Ok(Some(facts));
                    }
                }
                Arrival::GivenUp(index) => {
                    let lost = self.calls.remove(index);
                    return Ok(Some(vec![failed(lost.call, "the worker was lost")]));
                }
                Arrival::Time => {
                    (self.wake, self.timer) = (None, None);
                    return Ok(Some(vec![Fact::Woke]));
                }
                Arrival::Cancelled => {
                    return Ok(Some(vec![Fact::Cancelled { by: "Temporal".to_owned() }]));
                }
                Arrival::Signal => {}
            }
        }
    }
}

impl<'a> ServerContext<'a> {
    /// Returns true at a moment when no activity runs and the history is long.
    fn wants_new_history(&self) -> bool {
        let is_long =
            self.ctx.history_length() > self.input.longest_history || self.ctx.continue_as_new_suggested();
        is_long && self.calls.is_empty() && self.run.ending().is_none()
    }

    fn continue_as_new(mut self) -> WorkflowTermination {
        self.take_enqueued();
        let signals = self.ctx.state_mut(|held| std::mem::take(&mut held.signals));
        let continued = ContinuedRun {
            run: self.run,
            history: self.history,
            revision: self.revision,
            hosts: self.hosts,
            due: self.due,
            wake: self.wake,
            doubtful: self.doubtful,
            signals,
        };
        restart(self.ctx, RunInput { continued: Some(Box::new(continued)), ..self.input })
    }

    /// Moves runs that were enqueued out of the signals.
    fn take_enqueued(&mut self) {
        let signals = self.ctx.state_mut(|held| std::mem::take(&mut held.signals));
        let mut others = VecDeque::new();
        for signal in signals {
            match signal {
                RunSignal::Enqueue(next) => self.enqueue(*next),
                other => others.push_back(other),
            }
        }
        self.ctx.state_mut(|held| held.signals = others);
    }

    fn enqueue(&mut self, next: RunInput) {
        let is_known =
            next.run == self.input.run || self.input.waiting.iter().any(|other| other.run == next.run);
        if !is_known {
            self.input.waiting.push_back(next);
        }
    }

    /// Returns the facts of the next signal that changes the run.
    fn take_signal(&mut self) -> Option<Vec<Fact>> {
        loop {
            let signal = self.ctx.state_mut(|held| held.signals.pop_front())?;
            let signal = match signal {
                RunSignal::To { run, request } if run == self.input.run => *request,
                RunSignal::To { .. } => continue,
                signal => signal,
            };
            let fact = match signal {
                RunSignal::Answer { label, text } => {
                    let Some(call) = self.run.open_gate().cloned() else { continue };
                    Fact::Answered(Answer { call, by: AnsweredBy::Person, label, text })
                }
                RunSignal::Cancel { by } => Fact::Cancelled { by },
                RunSignal::Tell(note) => Fact::Told(addressed(note, &self.run, &self.workflow)),
                RunSignal::Withdraw(note) => Fact::Withdrawn { note },
                RunSignal::Resume(raise) => Fact::Resumed(raise),
                RunSignal::Enqueue(next) => {
                    self.enqueue(*next);
                    continue;
                }
                // A request is addressed once.
                RunSignal::To { .. } => continue,
                RunSignal::Spooled { activity, report } => {
                    let is_lost = |call: &ServerCall<'_>| {
                        call.activity == activity && matches!(call.state, ServerCallState::Lost(_))
                    };
                    let Some(index) = self.calls.iter().position(is_lost) else { continue };
                    let call = self.calls.remove(index);
                    self.doubtful = false;
                    return Some(self.reported(&call, *report));
                }
            };
            // The end of a run is final.
            if self.run.ending().is_none() {
                return Some(vec![fact]);
            }
        }
    }

    /// Starts the effects that can start. Calls that can change files run one after the other, because each begins
    /// with the files of the one before it.
    fn start_due(&mut self) {
        let mut later = VecDeque::new();
        while let Some(effect) = self.due.pop_front() {
            let edits = can_edit(&effect);
            let is_busy = edits && self.calls.iter().any(|call| call.edits);
            // The order of editing calls is kept.
            let is_behind = edits && later.iter().any(can_edit);
            match is_busy || is_behind {
                true => later.push_back(effect),
                false => self.start(effect, edits, None),
            }
        }
        self.due = later;
    }

    /// Schedules the activity of an effect.
    fn start(&mut self, effect: Effect, edits: bool, avoided: Option<&str>) {
        let (call, attempt, session) = match &effect {
            Effect::Ask(request) => (request.call.clone(), request.attempt, request.session.as_deref()),
            Effect::Perform(performance) => (performance.call.clone(), 0, None),
            Effect::Record(_) | Effect::OpenGate(_) | Effect::Wake { .. } | Effect::Stop { .. } => return,
        };
        let queues = &self.input.queues;
        let host = session.and_then(|session| self.hosts.get(session)).filter(|host| avoided != Some(host));
        let queue = match (&effect, host) {
            (Effect::Ask(_), Some(host)) => queues.host(host),
            (Effect::Ask(_), None) => queues.agents(),
            (Effect::Perform(_), _) if edits => queues.agents(),
            _ => queues.control(),
        };
        // The same call can be performed again: a later attempt, or another host.
        let mut activity = format!("{call}#{attempt}");
        if avoided.is_some() {
            activity.push('+');
        }
        let input = CallInput {
            run: self.input.run.clone(),
            repository: self.input.repository.clone(),
            revision: self.revision.clone(),
            claims: edits && self.doubtful,
            edits,
            effect: effect.clone(),
            state: self.run.clone(),
            history: self.history.of_call(session, self.input.scripted),
            lost_after: self.input.lost_after,
        };
        let stop = WorkflowCancellationToken::new();
        let options = ActivityOptions::with_start_to_close_timeout(LONGEST_CALL)
            .activity_id(activity.clone())
            .task_queue(queue)
            .maybe_schedule_to_start_timeout(host.is_some().then_some(HOST_CHANCE))
            .heartbeat_timeout(Duration::from_millis(self.input.lost_after.0))
            .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
            .cancellation_token(stop.clone())
            .retry_policy(RetryPolicy::builder().maximum_attempts(1).build())
            .summary(call.to_string())
            .build();
        let running: CallFuture<'a> = Box::pin(self.ctx.execute_activity(Calls::perform, input, options));
        let state = ServerCallState::Running(running);
        self.calls.push(ServerCall { call, activity, effect, edits, stop, state });
    }

    /// Stops a call. One that has not started yet fails at once.
    fn stop(&mut self, call: &CallId) -> Option<Fact> {
        if let Some(index) = self.due.iter().position(|due| call_of(due) == Some(call)) {
            self.due.remove(index);
            return Some(cancelled(call.clone()));
        }
        let index = self.calls.iter().position(|running| running.call == *call)?;
        if matches!(self.calls[index].state, ServerCallState::Lost(_)) {
            self.calls.remove(index);
            return Some(cancelled(call.clone()));
        }
        self.calls[index].stop.cancel();
        None
    }

    /// Waits for the first of the calls, in their order, the signals, the time, and a cancellation.
    async fn arrival(&mut self) -> Arrival {
        let ctx = self.ctx;
        let is_over = self.run.ending().is_some();
        let mut signals = Box::pin(ctx.wait_condition_with_options(
            |held: &RunWorkflow| !held.signals.is_empty(),
            WaitConditionOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build(),
        ));
        let mut cancelled = Box::pin(ctx.cancelled());
        let (calls, timer) = (&mut self.calls, &mut self.timer);
        std::future::poll_fn(move |cx| {
            for (index, call) in calls.iter_mut().enumerate() {
                match &mut call.state {
                    ServerCallState::Running(running) => {
                        if let Poll::Ready(result) = running.as_mut().poll(cx) {
                            return Poll::Ready(Arrival::Call(index, Box::new(result)));
                        }
                    }
                    ServerCallState::Lost(grace) => {
                        if grace.fired.as_mut().poll(cx).is_ready() {
                            return Poll::Ready(Arrival::GivenUp(index));
                        }
                    }
                }
            }
            if signals.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Arrival::Signal);
            }
            if let Some((_, timer)) = timer.as_mut()
                && timer.fired.as_mut().poll(cx).is_ready()
            {
                return Poll::Ready(Arrival::Time);
            }
            if !is_over && cancelled.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Arrival::Cancelled);
            }
            Poll::Pending
        })
        .await
    }

    /// Keeps one timer for the next time at which the run must be woken.
    fn set_timer(&mut self) {
        let wake = self.wake.filter(|_| self.run.ending().is_none());
        if self.timer.as_ref().map(|(at, _)| *at) == wake {
            return;
        }
        self.timer = wake.map(|at| (at, self.timer_of(Duration::from_millis(at.since(self.now()).0))));
    }

    fn timer_of(&self, duration: Duration) -> Timer<'a> {
        let token = WorkflowCancellationToken::new();
        let ctx = self.ctx;
        let options = TimerOptions::builder(duration.max(Duration::from_millis(1)));
        let timer = ctx.timer(options.cancellation_token(token.clone()).build());
        Timer {
            fired: Box::pin(async move {
                let _ = timer.await;
            }),
            token,
        }
    }

    /// Returns the facts of an activity that ended, unless its worker may come back.
    fn ended(
        &mut self,
        index: usize,
        result: Result<CallReport, ActivityExecutionError>,
    ) -> Option<Vec<Fact>> {
        let error = match result {
            Ok(report) => {
                let call = self.calls.remove(index);
                self.doubtful &= !call.edits;
                return Some(self.reported(&call, report));
            }
            Err(error) => error,
        };
        let is_timeout = error.as_timeout().is_some();
        if is_timeout && self.hosts_did_not_take(&error) {
            let call = self.calls.remove(index);
            let host = session_of(&call.effect).and_then(|session| self.hosts.get(session)).cloned();
            self.start(call.effect, call.edits, Some(host.as_deref().unwrap_or_default()));
            return None;
        }
        if is_timeout && !self.calls[index].stop.is_cancelled() {
            let grace = self.timer_of(Duration::from_millis(self.input.lost_after.0));
            self.doubtful |= self.calls[index].edits;
            self.calls[index].state = ServerCallState::Lost(grace);
            return None;
        }
        let call = self.calls.remove(index);
        self.doubtful |= call.edits;
        Some(vec![match call.stop.is_cancelled() {
            true => cancelled(call.call),
            false => failed(call.call, &error.to_string()),
        }])
    }

    /// Returns true if the host of a session did not take the call in time.
    fn hosts_did_not_take(&self, error: &ActivityExecutionError) -> bool {
        error.as_timeout().is_some_and(|timeout| timeout.timeout_type() == TimeoutType::ScheduleToStart)
    }

    fn reported(&mut self, call: &ServerCall<'_>, report: CallReport) -> Vec<Fact> {
        if call.edits {
            self.revision = report.revision;
        }
        for fact in &report.facts {
            if let Fact::Replied(reply) = fact
                && let Some(session) = &reply.session
            {
                self.hosts.insert(session.clone(), report.host.clone());
            }
        }
        let kept: Vec<&str> = self.run.sessions().collect();
        let new = report.facts.iter().filter_map(|fact| match fact {
            Fact::Replied(reply) => reply.session.as_deref(),
            _ => None,
        });
        let kept: Vec<String> = kept.into_iter().chain(new).map(str::to_owned).collect();
        self.hosts.retain(|session, _| kept.contains(session));
        report.facts
    }
}

fn call_of(effect: &Effect) -> Option<&CallId> {
    match effect {
        Effect::Ask(request) => Some(&request.call),
        Effect::Perform(performance) => Some(&performance.call),
        Effect::Record(_) | Effect::OpenGate(_) | Effect::Wake { .. } | Effect::Stop { .. } => None,
    }
}

fn session_of(effect: &Effect) -> Option<&str> {
    if let Effect::Ask(request) = effect { request.session.as_deref() } else { None }
}

/// Returns true if an effect can change files of the worktree.
fn can_edit(effect: &Effect) -> bool {
    match effect {
        Effect::Ask(request) => request.program.is_some() || request.permission != Permission::ReadOnly,
        Effect::Perform(performance) => {
            matches!(performance.action.does, Action::Command { .. } | Action::WriteFile { .. })
        }
        Effect::Record(_) | Effect::OpenGate(_) | Effect::Wake { .. } | Effect::Stop { .. } => false,
    }
}

fn failed(call: CallId, why: &str) -> Fact {
    Fact::Failed(Box::new(CallFailed::new(call, Failure::new(FailureClass::Crashed, why.to_owned()))))
}

fn cancelled(call: CallId) -> Fact {
    let failure = Failure::new(FailureClass::Cancelled, "it was stopped".to_owned());
    Fact::Failed(Box::new(CallFailed::new(call, failure)))
}
