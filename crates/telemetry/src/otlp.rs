//! The part of OTLP/JSON that Saihai writes.
//!
//! As the OTLP specification demands, keys are in camel case, ids are hexadecimal, 64-bit integers are strings, and
//! enums are numbers.

use saihai_model::{Millis, Moment};
use serde::{Serialize, Serializer};

use crate::{SpanId, TraceId};

/// The body of a request to `/v1/traces`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtlpTraces {
    resource_spans: [OtlpResourceSpans; 1],
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct OtlpResourceSpans {
    resource: OtlpResource,
    scope_spans: [OtlpScopeSpans; 1],
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct OtlpScopeSpans {
    scope: OtlpScope,
    spans: Vec<OtlpSpan>,
}

impl OtlpTraces {
    pub fn new(resource: OtlpResource, spans: Vec<OtlpSpan>) -> Self {
        let scope_spans = [OtlpScopeSpans { scope: OtlpScope::OURS, spans }];
        Self { resource_spans: [OtlpResourceSpans { resource, scope_spans }] }
    }

    /// Splits spans into requests whose spans are at most `most` bytes. A larger span gets a request of its own.
    pub fn batches(resource: &OtlpResource, spans: Vec<OtlpSpan>, most: usize) -> Vec<Self> {
        let mut batches = Vec::new();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for span in spans {
            let length = serde_json::to_vec(&span).map_or(0, |span| span.len());
            if !batch.is_empty() && bytes + length > most {
                batches.push(Self::new(resource.clone(), std::mem::take(&mut batch)));
                bytes = 0;
            }
            bytes += length;
            batch.push(span);
        }
        if !batch.is_empty() {
            batches.push(Self::new(resource.clone(), batch));
        }
        batches
    }

    pub fn spans(&self) -> &[OtlpSpan] {
        let [resource] = &self.resource_spans;
        let [scope] = &resource.scope_spans;
        &scope.spans
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtlpResource {
    pub attributes: Vec<OtlpAttribute>,
}

/// The library that made the telemetry.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct OtlpScope {
    name: &'static str,
    version: &'static str,
}

impl OtlpScope {
    const OURS: Self = Self { name: "saihai", version: env!("CARGO_PKG_VERSION") };
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtlpSpan {
    pub trace_id: TraceId,
    pub span_id: SpanId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<SpanId>,
    pub name: String,
    pub(crate) kind: OtlpSpanKind,
    pub(crate) start_time_unix_nano: UnixNano,
    pub(crate) end_time_unix_nano: UnixNano,
    pub attributes: Vec<OtlpAttribute>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<OtlpEvent>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<OtlpLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<OtlpStatus>,
    /// True if it had no end yet when it was exported.
    #[serde(skip)]
    pub is_unfinished: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtlpSpanKind {
    Internal,
    /// A request to another program or service.
    Client,
}

impl Serialize for OtlpSpanKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(match self {
            Self::Internal => 1,
            Self::Client => 3,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtlpEvent {
    pub(crate) time_unix_nano: UnixNano,
    pub name: &'static str,
    pub attributes: Vec<OtlpAttribute>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtlpLink {
    pub trace_id: TraceId,
    pub span_id: SpanId,
    pub attributes: Vec<OtlpAttribute>,
}

/// The status of a failed span; other spans have none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtlpStatus {
    code: u8,
    message: String,
}

impl OtlpStatus {
    pub(crate) fn error(reason: &str) -> Self {
        Self { code: 2, message: reason.to_owned() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtlpAttribute {
    pub key: String,
    pub value: OtlpValue,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum OtlpValue {
    #[serde(rename = "stringValue")]
    String(String),
    #[serde(rename = "boolValue")]
    Bool(bool),
    #[serde(rename = "intValue")]
    Int(DecimalText),
    #[serde(rename = "doubleValue")]
    Double(f64),
    #[serde(rename = "arrayValue")]
    Array { values: Vec<OtlpValue> },
}

/// A 64-bit integer, written as a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecimalText(i64);

impl Serialize for DecimalText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl From<u64> for DecimalText {
    fn from(number: u64) -> Self {
        Self(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// Nanoseconds since 1970, written as a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnixNano(u64);

impl From<Moment> for UnixNano {
    fn from(moment: Moment) -> Self {
        Self(moment.0.saturating_mul(1_000_000))
    }
}

impl Serialize for UnixNano {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl From<&str> for OtlpValue {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for OtlpValue {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for OtlpValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for OtlpValue {
    fn from(number: u64) -> Self {
        Self::Int(number.into())
    }
}

impl From<u32> for OtlpValue {
    fn from(number: u32) -> Self {
        u64::from(number).into()
    }
}

impl From<i32> for OtlpValue {
    fn from(number: i32) -> Self {
        Self::Int(DecimalText(number.into()))
    }
}

impl From<f64> for OtlpValue {
    fn from(number: f64) -> Self {
        Self::Double(number)
    }
}

impl From<Vec<String>> for OtlpValue {
    fn from(texts: Vec<String>) -> Self {
        Self::Array { values: texts.into_iter().map(Self::String).collect() }
    }
}

/// Attributes in the order in which they were added. An unknown value is left out.
#[derive(Debug, Clone, Default)]
pub(crate) struct AttributeList(pub(crate) Vec<OtlpAttribute>);

impl AttributeList {
    #[must_use]
    pub(crate) fn with(mut self, key: &str, value: impl Into<OtlpValue>) -> Self {
        self.add(key, value);
        self
    }

    #[must_use]
    pub(crate) fn with_known<V: Into<OtlpValue>>(self, key: &str, value: Option<V>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    pub(crate) fn add(&mut self, key: &str, value: impl Into<OtlpValue>) {
        self.0.push(OtlpAttribute { key: key.to_owned(), value: value.into() });
    }
}

/// The body of a request to `/v1/metrics`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtlpMetrics {
    resource_metrics: [OtlpResourceMetrics; 1],
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct OtlpResourceMetrics {
    resource: OtlpResource,
    scope_metrics: [OtlpScopeMetrics; 1],
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct OtlpScopeMetrics {
    scope: OtlpScope,
    metrics: Vec<OtlpMetric>,
}

impl OtlpMetrics {
    pub fn new(resource: OtlpResource, metrics: Vec<OtlpMetric>) -> Self {
        let scope_metrics = [OtlpScopeMetrics { scope: OtlpScope::OURS, metrics }];
        Self { resource_metrics: [OtlpResourceMetrics { resource, scope_metrics }] }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtlpMetric {
    pub name: &'static str,
    pub description: &'static str,
    pub unit: &'static str,
    #[serde(flatten)]
    pub(crate) data: OtlpMetricData,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) enum OtlpMetricData {
    #[serde(rename = "gauge")]
    Gauge {
        #[serde(rename = "dataPoints")]
        data_points: Vec<OtlpPoint>,
    },
    /// A total that only grows, counted from the start of the run.
    #[serde(rename = "sum")]
    Sum {
        #[serde(rename = "dataPoints")]
        data_points: Vec<OtlpPoint>,
        #[serde(rename = "aggregationTemporality")]
        aggregation_temporality: u8,
        #[serde(rename = "isMonotonic")]
        is_monotonic: bool,
    },
}

impl OtlpMetricData {
    /// Returns a total with the temporality `cumulative`.
    pub(crate) fn sum(data_points: Vec<OtlpPoint>) -> Self {
        Self::Sum { data_points, aggregation_temporality: 2, is_monotonic: true }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OtlpPoint {
    pub(crate) attributes: Vec<OtlpAttribute>,
    pub(crate) start_time_unix_nano: UnixNano,
    pub(crate) time_unix_nano: UnixNano,
    #[serde(flatten)]
    pub(crate) value: OtlpNumber,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) enum OtlpNumber {
    #[serde(rename = "asInt")]
    Int(DecimalText),
    #[serde(rename = "asDouble")]
    Double(f64),
}

impl From<u64> for OtlpNumber {
    fn from(number: u64) -> Self {
        Self::Int(number.into())
    }
}

impl From<Millis> for OtlpNumber {
    /// Converts a duration to seconds.
    #[expect(clippy::cast_precision_loss, reason = "durations are far below 2^53 milliseconds")]
    fn from(length: Millis) -> Self {
        Self::Double(length.0 as f64 / 1e3)
    }
}
