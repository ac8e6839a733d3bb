//! An agent's assessment of the whole subject.

use serde::{Deserialize, Serialize};

use super::Severity;

/// Assessment of the whole subject, or of one aspect: a score or a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    pub agent: String,
    pub name: String,
    /// From 0 to 10; higher is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Severity>,
    pub description: Option<String>,
}
