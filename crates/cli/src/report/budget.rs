//! A budget, for people and for programs.

use saihai_model::{Budget, Usd};
use serde::Serialize;

use super::numbers::count;
use crate::time;

#[derive(Debug, Serialize)]
pub(crate) struct BudgetObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ms: Option<u64>,
}

impl BudgetObject {
    /// Returns nothing if nothing is bounded.
    pub(crate) fn new(budget: &Budget) -> Option<Self> {
        (!budget.is_unlimited()).then(|| Self {
            usd: budget.usd.map(Usd::dollars),
            tokens: budget.tokens,
            turns: budget.turns,
            time_ms: budget.time.map(|time| time.0),
        })
    }
}

/// Formats a budget: `$5.0000, 2,000,000 tokens`. Returns nothing if nothing is bounded.
pub(crate) fn budget_words(budget: &Budget) -> Option<String> {
    let Budget { usd, tokens, turns, time: driven } = budget;
    let mut parts = Vec::new();
    parts.extend(usd.map(|usd| usd.to_string()));
    parts.extend(tokens.map(|tokens| count(tokens, "token")));
    parts.extend(turns.map(|turns| count(turns, "turn")));
    parts.extend(driven.map(time::length));
    (!parts.is_empty()).then(|| parts.join(", "))
}
