//! What an agent said about the whole.

use serde::{Deserialize, Serialize};

use super::Severity;

/// What an agent said about the whole, or one side of it: a score or a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    pub agent: String,
    pub name: String,
    /// From 0 to 10, more is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// How much is at stake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Severity>,
    pub description: Option<String>,
}
