//! Ids of traces and spans: hashes, so that every export of a run has the same ones.

use std::fmt;

use saihai_model::CallId;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId([u8; 16]);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpanId([u8; 8]);

impl TraceId {
    /// Returns the trace of a run. Two projects can have runs with the same id; their random seeds differ. A fork keeps
    /// the seed of its original, so it can name the original's trace.
    pub fn of_run(run: &str, seed: u64) -> Self {
        Self(first_bytes(&[run.as_bytes(), &seed.to_be_bytes()]))
    }
}

impl SpanId {
    /// Returns the span at a path that is unique in its trace.
    pub fn of_path(trace: TraceId, path: &str) -> Self {
        Self(first_bytes(&[&trace.0, path.as_bytes()]))
    }
}

/// Returns the path of an attempt's span; `attempt` counts from 1.
pub(crate) fn attempt_path(call: &CallId, attempt: u64) -> String {
    format!("call/{call}/{attempt}")
}

/// Returns the W3C trace context of an attempt, which names its span as the parent of others.
pub fn traceparent(run: &str, seed: u64, call: &CallId, attempt: u32) -> String {
    let trace = TraceId::of_run(run, seed);
    let span = SpanId::of_path(trace, &attempt_path(call, attempt.into()));
    format!("00-{trace}-{span}-01")
}

/// Returns the first bytes of the SHA-256 of the parts, with their lengths, so that no two lists of parts are alike.
fn first_bytes<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    std::array::from_fn(|index| digest[index])
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for SpanId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
