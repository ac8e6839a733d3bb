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
    /// So many rounds.
    Rounds(u32),
    /// So many answered checks.
    Checks(u32),
    /// A word in a reply.
    Keyword(Keyword),
    /// So many blocks of a kind, with these fields (`None`: present).
    Signal {
        /// The block's `type`.
        kind: String,
        /// What it must hold.
        fields: BTreeMap<String, Option<Json>>,
        /// How many.
        times: u32,
    },
    /// An action whose label is `reached`.
    Outside(ActionSpec),
    /// All of them.
    All(Vec<Completion>),
    /// Any of them.
    Any(Vec<Completion>),
    /// In order, the first that holds.
    First(Vec<Completion>),
}
