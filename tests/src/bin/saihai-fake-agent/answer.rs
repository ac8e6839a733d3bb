//! Scripted answer of one call.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::fault::Fault;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// Tools used before the text.
    pub(crate) tools: Vec<Tool>,
    /// Inputs of calls of the verdict tool, after the tools.
    pub(crate) verdicts: Vec<Value>,
    pub(crate) structured: Option<Value>,
    /// Files to write below the working directory, even without permission.
    pub(crate) writes: BTreeMap<PathBuf, String>,
    /// HTTP status of the API instead of an answer.
    pub(crate) status: Option<u16>,
    /// Reported cost in dollars, as any JSON value; the usual price by default.
    #[serde(deserialize_with = "also_null")]
    pub(crate) cost: Option<Value>,
    /// Exit code, independent of the output.
    pub(crate) exit: Option<u8>,
    /// Delete the session afterwards, as a clean-up by the user would.
    pub(crate) forget: bool,
    pub(crate) no_end: bool,
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) output: String,
}

/// Distinguishes null from an absent value.
fn also_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
