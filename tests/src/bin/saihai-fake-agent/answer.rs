//! What the script says of one call.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::fault::Fault;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Answer {
    /// What is said in the end.
    pub(crate) text: String,
    /// Tools that are used before that.
    pub(crate) tools: Vec<Tool>,
    pub(crate) structured: Option<Value>,
    /// Files that it writes below its directory, whatever it may do.
    pub(crate) writes: BTreeMap<PathBuf, String>,
    /// What the API said instead of an answer.
    pub(crate) status: Option<u16>,
    /// What it says to have cost, in dollars, whatever that is; unless given, what it always costs.
    #[serde(deserialize_with = "also_null")]
    pub(crate) cost: Option<Value>,
    /// With which code it ends, whatever it has said.
    pub(crate) exit: Option<u8>,
    /// Its session is gone afterwards, as if somebody had cleaned up.
    pub(crate) forget: bool,
    /// It ends without saying how.
    pub(crate) no_end: bool,
    pub(crate) fault: Option<Fault>,
}

/// A tool that is used.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) output: String,
}

/// Null is something that can be said.
fn also_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
