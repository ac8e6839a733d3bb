//! Sends a run to an OpenTelemetry collector while it runs.
//!
//! A thread follows the files of the run and posts each span once it has ended. So a collector that fails or hangs never
//! slows the run, and a process that dies loses nothing: the next one sends every span again, with the same ids.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use saihai::{FollowedRun, RunDirectory, StoreError};
use saihai_connect::CollectorClient;
use saihai_telemetry::{
    OtelEnvironment, OtelSignal, OtlpResource, OtlpSpan, OtlpTraces, SpanId, TelemetryRun,
};

use super::block_on;
use crate::error::CommandError;

/// Interval between two looks at the run.
const LOOK: Duration = Duration::from_secs(1);
/// Time for the last spans after the end of the run.
const PATIENCE: Duration = Duration::from_secs(3);
/// The largest request. Collectors refuse larger ones, often from 4 MiB on.
const LARGEST_REQUEST: usize = 2 * 1024 * 1024;

/// The thread that sends a run.
pub(crate) struct LiveTelemetry {
    stop: Sender<()>,
    thread: JoinHandle<Result<(), String>>,
}

impl LiveTelemetry {
    /// Starts to send the run. Without a collector in the environment there is nothing to send to.
    pub(crate) fn start(directory: RunDirectory) -> Result<Self, CommandError> {
        let variable = |name: &str| std::env::var(name).ok();
        let environment = OtelEnvironment::new(&variable);
        let Some(target) = environment.target(OtelSignal::Traces, None)? else {
            return Err(CommandError::usage("OTEL_EXPORTER_OTLP_ENDPOINT names no collector"));
        };
        let resource = environment.resource(env!("CARGO_PKG_VERSION"))?;
        let client = CollectorClient::open(&target.url, &target.headers, target.timeout)
            .map_err(|error| CommandError::usage(format!("cannot export to `{}`: {error}", target.url)))?;
        let (stop, stopped) = channel();
        let thread = thread::Builder::new().name("telemetry".to_owned());
        let sender = SpanSender { run: FollowedRun::new(directory), client, resource, sent: BTreeSet::new() };
        let thread = thread.spawn(move || sender.follow(&stopped)).map_err(|error| {
            CommandError::unavailable(format!("cannot start a thread for telemetry: {error}"))
        })?;
        Ok(Self { stop, thread })
    }

    /// Sends the rest of the spans, for a few seconds at most. Returns a warning if some could not be sent.
    pub(crate) fn finish(self) -> Option<String> {
        let run_again = "`saihai export otel` sends the whole run";
        drop(self.stop);
        let begun = Instant::now();
        while !self.thread.is_finished() {
            if begun.elapsed() >= PATIENCE {
                return Some(format!("the collector does not answer; {run_again}"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        match self.thread.join() {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(format!("telemetry is incomplete: {why}; {run_again}")),
            Err(_) => Some(format!("telemetry is incomplete; {run_again}")),
        }
    }
}

struct SpanSender {
    run: FollowedRun,
    client: CollectorClient,
    resource: OtlpResource,
    sent: BTreeSet<SpanId>,
}

impl SpanSender {
    /// Follows the run until it is stopped, and returns the failure of the last attempt to send.
    fn follow(mut self, stopped: &Receiver<()>) -> Result<(), String> {
        loop {
            let is_last = !matches!(stopped.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout));
            let posted = self.post();
            if is_last {
                return posted;
            }
        }
    }

    /// Posts the spans that have ended since the last time.
    fn post(&mut self) -> Result<(), String> {
        // Before its first record, there is nothing to send.
        if self.run.look().is_err() {
            return Ok(());
        }
        let (Some(view), Some(state)) = (self.run.view(), self.run.state()) else { return Ok(()) };
        let directory = self.run.directory();
        let workflow = directory.frozen_workflow(&view.start).map_err(|error| error.to_string())?;
        let run = TelemetryRun { id: directory.id(), workflow: &workflow, view, state: &state };
        let spans = run.spans::<StoreError>(None).map_err(|error| error.to_string())?;
        let is_new = |span: &OtlpSpan| !span.is_unfinished && !self.sent.contains(&span.span_id);
        let new: Vec<OtlpSpan> = spans.into_iter().filter(is_new).collect();
        let ids: Vec<SpanId> = new.iter().map(|span| span.span_id).collect();
        if !new.is_empty() {
            let batches = OtlpTraces::batches(&self.resource, new, LARGEST_REQUEST);
            let post = async {
                for batch in batches {
                    let body = serde_json::to_vec(&batch).unwrap_or_default();
                    self.client
                        .post(body)
                        .await
                        .map_err(|error| CommandError::unavailable(error.to_string()))?;
                }
                Ok(())
            };
            block_on(post).map_err(|error| error.message().to_owned())?;
        }
        self.sent.extend(ids);
        Ok(())
    }
}
