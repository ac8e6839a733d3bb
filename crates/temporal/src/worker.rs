//! A worker: it takes workflows, short effects, agents and the sessions of its host, each from a queue of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use saihai_cli::{ServerFailure, WorkerSpec};
use sha2::{Digest as _, Sha256};
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, WorkerRunError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use crate::calls::{Calls, report_spooled};
use crate::connection::connect;
use crate::contact::Contact;
use crate::messages::Queues;
use crate::spool::Spool;
use crate::submit::{local, shared_runs};
use crate::work_area::WorkArea;
use crate::workflow::RunWorkflow;

/// Short effects at once.
const CONTROL_SLOTS: usize = 16;
/// Workflow tasks at once. Each takes milliseconds.
const WORKFLOW_SLOTS: usize = 50;
/// Heartbeats are sent at most this far apart, so that a cancellation arrives soon.
const PULSE: Duration = Duration::from_secs(1);
/// Time for calls to end after an interruption. It is longer than an agent has.
const GRACE: Duration = Duration::from_secs(20);

pub(crate) async fn work(spec: WorkerSpec, say: &mut dyn FnMut(&str)) -> Result<(), ServerFailure> {
    let WorkerSpec { place, slots, area, connections } = spec;
    let client = connect(&place.server, &place.namespace).await?;
    let runtime = Runtime::from_current_tokio(Default::default()).map_err(|error| local(&error))?;
    let host = host(&area);
    let area = WorkArea::new(&area);
    let spool = Spool::open(&area.spool()).map_err(|error| local(&error))?;
    let left = spool.left().map_err(|error| local(&error))?;
    for (path, spooled) in left {
        let client = client.clone();
        tokio::spawn(async move {
            report_spooled(&client, &spooled).await;
            Spool::remove(&path);
        });
    }
    let calls = Calls {
        host: host.clone(),
        client: client.clone(),
        runs: shared_runs(&place.blobs),
        area,
        spool,
        connections,
        contact: Contact::start(client.clone()),
        slots: Arc::new(Semaphore::new(slots)),
    };
    let queues = Queues::of_this_version(&place.queue);
    let control = options(queues.control(), CONTROL_SLOTS, &calls)
        .register_workflow::<RunWorkflow>()
        .map_err(|error| local(&error))?
        .build();
    let agents = options(queues.agents(), slots, &calls).build();
    let own = options(queues.host(&host), slots, &calls).build();
    let mut workers = Vec::new();
    for options in [control, agents, own] {
        workers.push(Worker::new(&runtime, client.clone(), options).map_err(|error| local(&error))?);
    }
    say(&format!(
        "worker `{host}` takes up to {slots} agents from queue `{}` of {}, namespace `{}`",
        place.queue, place.server, place.namespace
    ));
    run(workers)
        .await
        .map_err(|error| ServerFailure::NotReached { server: place.server, why: error.to_string() })
}

fn options(
    queue: String,
    slots: usize,
    calls: &Calls,
) -> temporalio_sdk::WorkerOptionsBuilder<impl temporalio_sdk::worker_options_builder::State> {
    WorkerOptions::new(queue)
        .register_activities(calls.clone())
        .tuner(tuner(slots))
        .max_heartbeat_throttle_interval(PULSE)
        .graceful_shutdown_period(GRACE)
}

fn tuner(slots: usize) -> TunerHolder {
    let unused = || FixedSizeSlotSupplier::new(1);
    TunerHolder::builder()
        .workflow_task_slot_supplier(FixedSizeSlotSupplier::new(WORKFLOW_SLOTS))
        .activity_task_slot_supplier(FixedSizeSlotSupplier::new(slots))
        .local_activity_task_slot_supplier(unused())
        .nexus_task_slot_supplier(unused())
        .build()
}

async fn run(mut workers: Vec<Worker>) -> Result<(), WorkerRunError> {
    let stops: Vec<_> = workers.iter().map(Worker::shutdown_handle).collect();
    tokio::spawn(async move {
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stops.iter().for_each(|stop| stop());
    });
    let [control, agents, own] = workers.as_mut_slice() else { return Ok(()) };
    let (control, agents, own) = tokio::join!(control.run(), agents.run(), own.run());
    control.and(agents).and(own)
}

/// Returns the name of a worker: its host and its files. It keeps the name when it is started again.
fn host(area: &Path) -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let files = Sha256::digest(area.as_os_str().as_encoded_bytes());
    let files: String = files.iter().take(3).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}-{files}")
}
