//! The OpenTelemetry form of a run.
//!
//! A run is not instrumented. Its trace is a projection of its journal: [`TelemetryRun::spans`] turns a
//! [`saihai_view::RunView`] into spans, and [`TelemetryRun::metrics`] into metrics. Ids are hashes, so every export of a
//! run has the same spans, and an export of an old run is as complete as one of a new run.
//!
//! The attributes follow the semantic conventions for generative AI; attributes of our own begin with `saihai.`.
//! Prompts, replies and messages are content. They are left out unless the caller passes a reader of texts.

mod environment;
mod ids;
mod metrics;
mod otlp;
mod spans;

#[cfg(test)]
mod tests;

pub use environment::{OtelEnvironment, OtelSignal, OtelVariableError, SignalTarget};
pub use ids::{SpanId, TraceId, traceparent};
pub use otlp::{
    OtlpAttribute, OtlpEvent, OtlpLink, OtlpMetric, OtlpMetrics, OtlpResource, OtlpSpan, OtlpStatus,
    OtlpTraces, OtlpValue,
};
pub use spans::{TelemetryRun, TextReader};
