//! A line of the journal, without its framing.

use serde::{Deserialize, Serialize};

use crate::{Decision, Fact, Moment};

/// A fact or a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// What happened.
    Fact(Fact),
    /// What the engine concluded from it.
    Decision(Decision),
}

/// An entry with its place and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number, from 1.
    pub seq: u64,
    /// When it was recorded.
    pub at: Moment,
    /// What it says.
    pub entry: Entry,
}
