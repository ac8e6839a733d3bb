//! Saved reports, as the action that saves them records it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{How, Json, Text};

/// One saved report; it is recorded under its file's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedReport {
    pub how: How,
    pub sha256: String,
    pub bytes: u64,
    /// Where its content lies in the reply: from byte `start` to `end`.
    pub start: u64,
    pub end: u64,
    /// The content of a file that the agent wrote itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Text>,
    /// What the agent had written into the file before a block replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_own: Option<Text>,
}

impl SavedReport {
    /// The reports in the recorded output of an action, by file.
    pub fn all(output: &BTreeMap<String, Json>) -> impl Iterator<Item = (&String, Self)> {
        output.iter().filter_map(|(file, json)| Some((file, serde_json::from_value(json.clone()).ok()?)))
    }
}
