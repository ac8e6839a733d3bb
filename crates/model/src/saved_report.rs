//! Saved reports, as recorded by the action that saves them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{How, Json, Text};

/// A saved report, recorded under its file's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedReport {
    pub how: How,
    pub sha256: String,
    pub bytes: u64,
    /// First byte of its content in the reply; the content ends before `end`.
    pub start: u64,
    pub end: u64,
    /// Content of a file that the agent wrote itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Text>,
    /// Content that the agent had written before a block replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_own: Option<Text>,
}

impl SavedReport {
    /// Returns the reports in the recorded output of an action, by file.
    pub fn all(output: &BTreeMap<String, Json>) -> impl Iterator<Item = (&String, Self)> {
        output.iter().filter_map(|(file, json)| Some((file, serde_json::from_value(json.clone()).ok()?)))
    }
}
