//! The activity of a worker: one effect of a run, from the files of a revision to the facts and the next revision.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use saihai::{Clock, DriverError, HostedCall, HostedRun, RunDirectory, Runs, StoreError};
use saihai_connect::Connections;
use saihai_model::{CallFailed, CallId, Effect, Fact, Failure, FailureClass, Millis, Start};
use temporalio_client::errors::AsyncActivityError;
use temporalio_client::{ActivityIdentifier, Client, RpcOptions, WorkflowSignalOptions};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use crate::contact::Contact;
use crate::faults;
use crate::messages::{CallInput, CallPulse, CallReport, RunSignal};
use crate::spool::{Spool, SpooledReport};
use crate::work_area::{HeldTree, WorkArea, WorkAreaError};
use crate::workflow::RunWorkflow;

/// The part of a worker that its calls share.
#[derive(Clone)]
pub(crate) struct Calls {
    pub(crate) host: String,
    pub(crate) client: Client,
    /// The runs of all machines.
    pub(crate) runs: Runs,
    pub(crate) area: WorkArea,
    pub(crate) spool: Spool,
    pub(crate) connections: Connections,
    pub(crate) contact: Arc<Contact>,
    /// Agents and commands at once, over all queues.
    pub(crate) slots: Arc<Semaphore>,
}

/// Interval of heartbeats. A cancellation arrives with one.
const PULSE: Duration = Duration::from_secs(1);
/// Time between attempts to report to a server that is away.
const AGAIN: Duration = Duration::from_secs(1);
/// Attempts to publish the files of a call.
const PUSHES: u32 = 5;

#[activities]
impl Calls {
    #[activity(name = "saihai-call")]
    pub(crate) async fn perform(
        self: Arc<Self>,
        ctx: ActivityContext,
        input: CallInput,
    ) -> Result<CallReport, ActivityError> {
        let workflow = ctx.info().workflow_id.clone().unwrap_or_default();
        let execution = ctx.info().workflow_run_id.clone().unwrap_or_default();
        let activity = ctx.info().activity_id.clone();
        let report = self.watched(&ctx, input).await;
        let spooled = SpooledReport { workflow, execution, activity, report };
        let path = self.spool.keep(&spooled)?;
        faults::point("spooled");
        report_spooled(&self.client, &spooled).await;
        Spool::remove(&path);
        // The report above was confirmed, which that of the SDK is not.
        Err(ActivityError::WillCompleteAsync)
    }
}

impl Calls {
    /// Performs the call in a thread of its own, because agents are driven by one thread, and sends heartbeats. Stops
    /// the call if the server asks for it, or if this worker must count as lost.
    async fn watched(self: &Arc<Self>, ctx: &ActivityContext, input: CallInput) -> CallReport {
        let clock = Clock::system();
        let (began, mut last) = (clock.now(), clock.now());
        let longest = Millis(input.lost_after.0 / 2);
        let pulse = CallPulse { host: self.host.clone(), revision: input.revision.files.clone(), seconds: 0 };
        let stop = CancellationToken::new();
        let (mut done, mut is_cancelled) = (self.clone().spawn(input, stop.clone()), false);
        let mut ticks = tokio::time::interval(PULSE.min(Duration::from_millis(longest.0 / 4)));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                report = &mut done => return report.expect("the thread of a call always reports"),
                () = ctx.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    stop.cancel();
                }
                _ = ticks.tick() => {
                    let now = clock.now();
                    // A process that was frozen sees a gap. Another worker may have its call by now.
                    if now.since(last).0 > longest.0 || self.contact.silent_for(now).0 > longest.0 {
                        stop.cancel();
                    }
                    last = now;
                    let pulse = CallPulse { seconds: now.since(began).0 / 1000, ..pulse.clone() };
                    drop(ctx.record_heartbeat(pulse).await);
                }
            }
        }
    }

    fn spawn(self: Arc<Self>, input: CallInput, stop: CancellationToken) -> oneshot::Receiver<CallReport> {
        let (tell, done) = oneshot::channel();
        std::thread::spawn(move || {
            let revision = input.revision.clone();
            let call = call_of(&input.effect);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let performed = match runtime {
                Ok(runtime) => runtime.block_on(self.performed(input, stop)),
                Err(error) => Err(HostError::Runtime(error)),
            };
            let report = performed.unwrap_or_else(|error| CallReport {
                facts: call.map(|call| failed(call, &error)).into_iter().collect(),
                revision,
                host: self.host.clone(),
            });
            drop(tell.send(report));
        });
        done
    }

    async fn performed(&self, input: CallInput, stop: CancellationToken) -> Result<CallReport, HostError> {
        // Sessions come from a queue of their own, so both queues together could start too many agents.
        let _slot = match &input.effect {
            Effect::Perform(_) if !input.edits => None,
            _ => tokio::select! {
                slot = self.slots.acquire() => Some(slot),
                () = stop.cancelled() => return Err(HostError::Stopped),
            },
        };
        let directory = RunDirectory::new(self.runs.directory(), input.run.clone(), &saihai::Disk::new());
        let mut start = read_start(&directory)?;
        let workflow = directory.frozen_workflow(&start)?;
        let tree = self.area.take(&input.repository, &input.run, &input.revision, input.claims)?;
        start.directory = tree.path().display().to_string();
        start.head = Some(start.head.unwrap_or_else(|| input.revision.head.clone()));
        start.report_directory = reports_of(&directory).display().to_string();
        let run = HostedRun {
            script: directory.script()?,
            directory,
            workflow,
            start,
            run: input.state,
            history: input.history,
        };
        let mut call = HostedCall::open(run, self.connections.clone(), None, Clock::system())?;
        let facts = call.perform(input.effect, &|_| {}, stop, &mut Vec::new()).await;
        // The group of the agent has ended before the files are read.
        call.close().await;
        faults::point("replied");
        let revision = if input.edits { published(&tree).await? } else { tree.revision().clone() };
        Ok(CallReport { facts: facts?, revision, host: self.host.clone() })
    }
}

/// Publishes the files of a call. A server of git that is away for a moment must not cost a paid turn.
async fn published(tree: &HeldTree) -> Result<saihai_git::WorkRevision, HostError> {
    let mut attempt = 1;
    loop {
        match tree.publish() {
            Ok(revision) => return Ok(revision),
            Err(WorkAreaError::Mirror(saihai_git::MirrorError::Git(_))) if attempt < PUSHES => {
                tokio::time::sleep(Duration::from_secs(1 << attempt)).await;
                attempt += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reports a result until the server has it, or has no use for it. An activity that counts as lost gets it by a signal,
/// which the run folds unless it has asked again.
pub(crate) async fn report_spooled(client: &Client, spooled: &SpooledReport) {
    let SpooledReport { workflow, execution, activity, report } = spooled;
    let name = ActivityIdentifier::by_id_workflow(workflow, execution, activity);
    let handle = client.get_async_activity_handle(name);
    loop {
        match handle.complete(Some(report.clone()), RpcOptions::default()).await {
            Ok(()) => return,
            Err(AsyncActivityError::NotFound(_)) => break,
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
    let signal = RunSignal::Spooled { activity: activity.clone(), report: Box::new(report.clone()) };
    loop {
        let handle = client.get_workflow_handle::<RunWorkflow>(workflow);
        let sent =
            handle.signal(RunWorkflow::receive, signal.clone(), WorkflowSignalOptions::default()).await;
        match sent {
            Ok(()) | Err(temporalio_client::errors::WorkflowInteractionError::NotFound(_)) => return,
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// A reason why a worker could not perform a call.
#[derive(Debug, thiserror::Error)]
enum HostError {
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Area(#[from] WorkAreaError),
    #[error("cannot read `{}`: {why}", .path.display())]
    Start { path: PathBuf, why: String },
    #[error("cannot start a runtime: {0}")]
    Runtime(std::io::Error),
    #[error("it was stopped before it began")]
    Stopped,
}

fn failed(call: CallId, error: &HostError) -> Fact {
    let class = match error {
        HostError::Stopped => FailureClass::Cancelled,
        // Another host may have the program.
        HostError::Driver(DriverError::Unavailable(_)) => FailureClass::Missing,
        HostError::Driver(_)
        | HostError::Store(_)
        | HostError::Area(_)
        | HostError::Start { .. }
        | HostError::Runtime(_) => FailureClass::Crashed,
    };
    Fact::Failed(Box::new(CallFailed::new(call, Failure::new(class, error.to_string()))))
}

fn call_of(effect: &Effect) -> Option<CallId> {
    match effect {
        Effect::Ask(request) => Some(request.call.clone()),
        Effect::Perform(performance) => Some(performance.call.clone()),
        Effect::Record(_) | Effect::OpenGate(_) | Effect::Wake { .. } | Effect::Stop { .. } => None,
    }
}

/// The file with the start of a submitted run.
const START: &str = "start.json";

pub(crate) fn write_start(directory: &RunDirectory, start: &Start) -> Result<(), StoreError> {
    let path = directory.path().join(START);
    let text = serde_json::to_vec(start).map_err(std::io::Error::other);
    let written = text.and_then(|text| directory.disk().replace(&path, &text));
    written.map_err(StoreError::io("write", &path))
}

fn read_start(directory: &RunDirectory) -> Result<Box<Start>, HostError> {
    let path = directory.path().join(START);
    let bytes = std::fs::read(&path).map_err(StoreError::io("read", &path))?;
    serde_json::from_slice(&bytes).map_err(|error| HostError::Start { path, why: error.to_string() })
}

/// Reports lie next to the texts of the run, because every host reads them.
pub(crate) fn reports_of(directory: &RunDirectory) -> PathBuf {
    directory.path().join("reports")
}
