//! `saihai export`: a run in the format of other tools.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use saihai::{LoadedRun, StoreError};
use saihai_connect::{CollectorClient, CollectorError};
use saihai_model::{ExitStatus, Text};
use saihai_telemetry::{
    OtelEnvironment, OtelSignal, OtelVariableError, OtlpResource, OtlpSpan, OtlpTraces, SignalTarget,
    TelemetryRun, TextReader,
};
use serde::Serialize;

use crate::commands::flags::RunArgument;
use crate::driving::block_on;
use crate::error::{CommandError, write_file};
use crate::project::Project;
use crate::quantities::count;
use crate::terminal::{Streams, visible_line};

/// Export a run as an OpenTelemetry trace
#[derive(Debug, Args)]
#[command(after_help = "\
Prints the trace as OTLP/JSON, writes it to a file, or posts trace and metrics to a collector.
A second export of a run has the same spans. A run that has not ended exports what it has recorded.
Prompts, replies and messages of failures are left out unless `--content` is given.
The variables OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME and
OTEL_RESOURCE_ATTRIBUTES have their usual meaning.

Examples:
  saihai export otel --endpoint http://localhost:4318
  saihai export otel 20260206-0856 -o trace.json
  saihai export otel --content -o -")]
pub(crate) struct ExportCommand {
    /// Format: the OpenTelemetry protocol (OTLP) as JSON
    #[arg(value_name = "FORMAT", value_enum)]
    format: ExportFormat,

    #[command(flatten)]
    run: RunArgument,

    /// Post to the collector at this base URL, instead of the one in OTEL_EXPORTER_OTLP_ENDPOINT
    #[arg(long, value_name = "URL", conflicts_with = "out")]
    endpoint: Option<String>,

    /// Write the trace to this file and post nothing; `-` is stdout
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Include prompts, replies, answers, and inputs and outputs of tools
    #[arg(long)]
    content: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExportFormat {
    Otel,
}

/// The largest request. Collectors refuse larger ones, often from 4 MiB on.
const LARGEST_REQUEST: usize = 2 * 1024 * 1024;

impl ExportCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let ExportFormat::Otel = self.format;
        let project = Project::find()?;
        let directory = self.run.find(&project)?;
        let variable = |name: &str| project.variables.get(name).map(str::to_owned);
        let environment = OtelEnvironment::new(&variable);
        let traces = match &self.out {
            Some(_) => None,
            None => environment.target(OtelSignal::Traces, self.endpoint.as_deref())?,
        };
        let run = LoadedRun::read(&directory)?;
        if let Some(torn) = run.torn {
            streams.warning(&saihai::DriverWarning::torn(&directory, torn).to_string());
        }
        let exported =
            TelemetryRun { id: directory.id(), workflow: &run.workflow, view: &run.view, state: &run.state };
        let resource = environment.resource(&run.view.start.version)?;
        let read = |text: &Text| directory.text(text);
        let content: Option<&TextReader<'_, StoreError>> = if self.content { Some(&read) } else { None };
        let spans = exported.spans(content)?;
        match (traces, self.out.as_deref()) {
            (Some(traces), _) => {
                let metrics = environment.target(OtelSignal::Metrics, self.endpoint.as_deref())?;
                let targets = ExportTargets { traces, metrics };
                block_on(targets.post(&exported, &resource, spans, streams))?;
            }
            (None, Some(path)) if path != Path::new("-") => {
                write_file(path, trace_line(resource, spans))?;
                streams.note(&format!("wrote trace {} to `{}`", exported.trace_id(), path.display()));
            }
            (None, _) => streams.out.raw(trace_line(resource, spans).as_bytes())?,
        }
        Ok(ExitStatus::Done)
    }
}

/// Returns the trace as one line of JSON. GitHub's runner would treat `##[` as a command; it occurs only in strings.
fn trace_line(resource: OtlpResource, spans: Vec<OtlpSpan>) -> String {
    let line = serde_json::to_string(&OtlpTraces::new(resource, spans)).unwrap_or_default();
    line.replace("##[", "#\\u0023[") + "\n"
}

struct ExportTargets {
    traces: SignalTarget,
    metrics: Option<SignalTarget>,
}

impl ExportTargets {
    async fn post(
        &self,
        run: &TelemetryRun<'_>,
        resource: &OtlpResource,
        spans: Vec<OtlpSpan>,
        streams: &mut Streams,
    ) -> Result<(), CommandError> {
        let client = open(&self.traces)?;
        let metrics = self.metrics.as_ref().map(open).transpose()?;
        let posted = spans.len() as u64;
        for batch in OtlpTraces::batches(resource, spans, LARGEST_REQUEST) {
            let receipt = client.post(body(&batch)).await.map_err(|error| refused(&self.traces, &error))?;
            if receipt.rejected > 0 {
                let rejected = count(receipt.rejected, "span");
                streams
                    .warning(&format!("the collector rejected {rejected}: {}", visible_line(&receipt.said)));
            }
        }
        if let (Some(client), Some(target)) = (metrics, &self.metrics) {
            match client.post(body(&run.metrics(resource))).await {
                Ok(_) => {}
                // Some backends take only traces.
                Err(CollectorError::Refused { status: 404 | 405 | 501, .. }) => {
                    streams.note("the collector takes no metrics; only the trace was exported");
                }
                Err(error) => return Err(refused(target, &error)),
            }
        }
        let line = format!("exported {} as trace {}", count(posted, "span"), run.trace_id());
        streams.out.data(&line)?;
        Ok(())
    }
}

fn open(target: &SignalTarget) -> Result<CollectorClient, CommandError> {
    CollectorClient::open(&target.url, &target.headers, target.timeout)
        .map_err(|error| refused(target, &error))
}

fn body(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn refused(target: &SignalTarget, error: &CollectorError) -> CommandError {
    let cause = error.to_string();
    let message = format!("cannot export to `{}`: {}", visible_line(&target.url), visible_line(&cause));
    match error {
        CollectorError::BadAddress { .. } => {
            CommandError::usage(message).hint("write it like `http://localhost:4318`")
        }
        CollectorError::BadHeader { .. } => {
            CommandError::usage(message).hint("check OTEL_EXPORTER_OTLP_HEADERS")
        }
        CollectorError::Refused { status: 401 | 403, .. } => {
            CommandError::unavailable(message).hint("set OTEL_EXPORTER_OTLP_HEADERS to the collector's key")
        }
        CollectorError::Unreachable { .. } | CollectorError::TimedOut { .. } => {
            CommandError::unavailable(message).hint("nothing is lost: run the same command again")
        }
        CollectorError::Refused { .. } => CommandError::unavailable(message),
    }
}

impl From<OtelVariableError> for CommandError {
    fn from(error: OtelVariableError) -> Self {
        let hint = match &error {
            OtelVariableError::BadList { .. } | OtelVariableError::BadTimeout { .. } => None,
            OtelVariableError::Grpc { .. } => {
                Some("pass the HTTP address, often with port 4318, as `--endpoint`")
            }
        };
        let refused = Self::usage(error.to_string());
        match hint {
            Some(hint) => refused.hint(hint),
            None => refused,
        }
    }
}
