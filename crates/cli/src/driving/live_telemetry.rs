//! Sends runs to an OpenTelemetry collector while they work.
//!
//! A thread follows the files of the runs and posts each span once it has ended. So a collector that fails or hangs never
//! slows a run, and a process that dies loses nothing: the next one sends every span again, with the same ids.

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
use crate::terminal::{Streams, visible_line};

/// Interval between two looks at the run.
const LOOK: Duration = Duration::from_secs(1);
/// Time for the last spans after the end of the run.
const PATIENCE: Duration = Duration::from_secs(3);
/// The largest request. Collectors refuse larger ones, often from 4 MiB on.
const LARGEST_REQUEST: usize = 2 * 1024 * 1024;

/// The thread that sends runs.
pub(crate) struct LiveTelemetry {
    runs: Sender<RunDirectory>,
    thread: JoinHandle<Result<(), String>>,
}

impl LiveTelemetry {
    /// Starts the thread if telemetry is wanted. It never stops a run: without a collector there is a warning.
    pub(crate) fn start_if(is_wanted: bool, streams: &mut Streams) -> Option<Self> {
        match is_wanted.then(Self::start)? {
            Ok(started) => Some(started),
            Err(error) => {
                streams.warning(&format!("no telemetry: {}", visible_line(error.message())));
                None
            }
        }
    }

    fn start() -> Result<Self, CommandError> {
        let variable = |name: &str| std::env::var(name).ok();
        let environment = OtelEnvironment::new(&variable);
        let Some(target) = environment.target(OtelSignal::Traces, None)? else {
            return Err(CommandError::usage("OTEL_EXPORTER_OTLP_ENDPOINT names no collector"));
        };
        let resource = environment.resource(env!("CARGO_PKG_VERSION"))?;
        let client = CollectorClient::open(&target.url, &target.headers, target.timeout)
            .map_err(|error| CommandError::usage(format!("cannot export to `{}`: {error}", target.url)))?;
        let (runs, new) = channel();
        let thread = thread::Builder::new().name("telemetry".to_owned());
        let sender = SpanSender { runs: Vec::new(), client, resource };
        let thread = thread.spawn(move || sender.follow(&new)).map_err(|error| {
            CommandError::unavailable(format!("cannot start a thread for telemetry: {error}"))
        })?;
        Ok(Self { runs, thread })
    }

    /// Sends a run from now on. A run that continues is followed already.
    pub(crate) fn follow(&self, directory: RunDirectory) {
        // After a panic of the thread, the end reports that telemetry is incomplete.
        self.runs.send(directory).unwrap_or(());
    }

    /// Sends the rest of the spans, for a few seconds at most. Warns if some could not be sent.
    pub(crate) fn finish(self, streams: &mut Streams) {
        if let Some(warning) = self.send_rest() {
            streams.warning(&visible_line(&warning));
        }
    }

    fn send_rest(self) -> Option<String> {
        let run_again = "`saihai export otel` sends the whole run";
        drop(self.runs);
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
    runs: Vec<SentRun>,
    client: CollectorClient,
    resource: OtlpResource,
}

/// A run, and the spans of it that the collector has.
struct SentRun {
    run: FollowedRun,
    sent: BTreeSet<SpanId>,
}

impl SpanSender {
    /// Follows runs until it is stopped, and returns a failure of the last attempts to send.
    fn follow(mut self, new: &Receiver<RunDirectory>) -> Result<(), String> {
        let mut looked = Instant::now();
        loop {
            match new.recv_timeout(LOOK.saturating_sub(looked.elapsed())) {
                Ok(directory) => {
                    if self.runs.iter().all(|known| known.run.directory().id() != directory.id()) {
                        self.runs.push(SentRun { run: FollowedRun::new(directory), sent: BTreeSet::new() });
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    looked = Instant::now();
                    // What fails now is sent with the next look.
                    self.post_all().unwrap_or(());
                }
                Err(RecvTimeoutError::Disconnected) => return self.post_all(),
            }
        }
    }

    /// Posts news of all runs. A run that fails does not hold back the others.
    fn post_all(&mut self) -> Result<(), String> {
        let Self { runs, client, resource } = self;
        let mut posted = Ok(());
        for run in runs {
            posted = posted.and(run.post(client, resource));
        }
        posted
    }
}

impl SentRun {
    /// Posts the spans that have ended since the last time.
    fn post(&mut self, client: &CollectorClient, resource: &OtlpResource) -> Result<(), String> {
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
            let batches = OtlpTraces::batches(resource, new, LARGEST_REQUEST);
            let post = async {
                for batch in batches {
                    let body = serde_json::to_vec(&batch).unwrap_or_default();
                    client.post(body).await.map_err(|error| CommandError::unavailable(error.to_string()))?;
                }
                Ok(())
            };
            block_on(post).map_err(|error| error.message().to_owned())?;
        }
        self.sent.extend(ids);
        Ok(())
    }
}
