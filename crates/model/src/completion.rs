//! When the work is done.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ActionSpec, Json, Keyword};

/// When the work is done; asked at the end of every round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// An exit led to *complete*.
    Flow,
    Rounds(u32),
    Checks(u32),
    /// A word in a reply.
    Keyword(Keyword),
    /// So many blocks of a kind, with these fields (`None`: present).
    Signal {
        kind: String,
        fields: BTreeMap<String, Option<Json>>,
        times: u32,
        /// The field of the block whose text is the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A phase has been reached.
    Phase(Phases),
    /// An action whose label is `reached`. One that looks at a state is also asked before the first turn.
    Outside(ActionSpec),
    All(Vec<Completion>),
    Any(Vec<Completion>),
    /// In order, the first that holds.
    First(Vec<Completion>),
}

impl Completion {
    /// The outside conditions in it, in reading order.
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

/// A word that changes as blocks come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    pub start: String,
    /// The ways from one to the next; of several that fit a block the first is taken.
    pub steps: Vec<PhaseStep>,
    /// Those in which the work is done.
    pub terminal: Vec<String>,
}

/// A way from one phase to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseStep {
    pub from: String,
    /// a block of this `type`
    pub kind: String,
    /// that holds these fields (`None`: present)
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Option<Json>>,
    /// and, where this is given, only if the last block of another `type` fitted it,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastBlock>,
    pub to: String,
}

/// What the last block of a kind must have held, whenever it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastBlock {
    pub kind: String,
    /// What it must have held (`None`: present).
    pub fields: BTreeMap<String, Option<Json>>,
}
