//! Completion: the condition for finished work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ActionSpec, Json, Keyword};

/// Condition for finished work, evaluated at the end of every round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// An exit led to *complete*.
    Flow,
    Rounds(u32),
    Checks(u32),
    /// A word in a reply.
    Keyword(Keyword),
    /// A number of blocks of a kind with these fields (`None`: present).
    Signal {
        kind: String,
        fields: BTreeMap<String, Option<Json>>,
        times: u32,
        /// Block field whose text becomes the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Phase(Phases),
    /// An action whose label is `reached`. An action that checks a state also runs before the first turn.
    Outside(ActionSpec),
    All(Vec<Completion>),
    Any(Vec<Completion>),
    /// The first that holds, in order.
    First(Vec<Completion>),
}

impl Completion {
    /// Returns its outside conditions in reading order.
    pub fn actions(&self) -> Vec<&ActionSpec> {
        match self {
            Self::Outside(action) => vec![action],
            Self::All(parts) | Self::Any(parts) | Self::First(parts) => {
                parts.iter().flat_map(Self::actions).collect()
            }
            Self::Flow
            | Self::Rounds(_)
            | Self::Checks(_)
            | Self::Keyword(_)
            | Self::Signal { .. }
            | Self::Phase(_) => Vec::new(),
        }
    }
}

/// A state machine that blocks in replies drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    pub start: String,
    /// Transitions; the first one that matches a block applies.
    pub steps: Vec<PhaseStep>,
    /// Phases in which the work is done.
    pub terminal: Vec<String>,
}

/// Transition from one phase to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseStep {
    pub from: String,
    /// Required `type` of the block.
    pub kind: String,
    /// Required fields of the block (`None`: present).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Option<Json>>,
    /// Condition on the last block of another `type`, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastBlock>,
    pub to: String,
}

/// Condition on the last block of a kind, at any earlier time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastBlock {
    pub kind: String,
    pub fields: BTreeMap<String, Option<Json>>,
}
