//! A line of the journal, without its framing.

use serde::{Deserialize, Serialize};

use crate::{Decision, Fact, Moment};

/// A fact or a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordEntry {
    Fact(Fact),
    /// A conclusion of the engine from the fact.
    Decision(Decision),
}

/// An entry with its number and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub seq: u64,
    pub at: Moment,
    pub entry: RecordEntry,
}
