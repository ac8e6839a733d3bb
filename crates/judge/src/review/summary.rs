//! A review in numbers.

use saihai_model::{Millis, Usd};
use serde::{Deserialize, Serialize};

use super::{AgentResult, Reported, Severity};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub by_severity: Counts,
    pub findings: usize,
    /// Findings that count and are bad enough to fail the review.
    pub failing: usize,
    /// Worst severity; `None` exactly if there is no finding.
    pub max_severity: Option<Severity>,
    pub wall_ms: Millis,
    /// Known cost, in millionths of a dollar.
    #[serde(rename = "cost_usd", default, skip_serializing_if = "Option::is_none", with = "super::dollars")]
    pub cost: Option<Usd>,
    /// Number of agents that answered.
    pub delivered: usize,
    pub failed: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub critical: usize,
    pub important: usize,
    pub suggestion: usize,
    pub nitpick: usize,
}

impl Counts {
    /// Returns the count of a severity.
    pub fn of(&self, severity: Severity) -> usize {
        match severity {
            Severity::Critical => self.critical,
            Severity::Important => self.important,
            Severity::Suggestion => self.suggestion,
            Severity::Nitpick => self.nitpick,
        }
    }
}

impl Summary {
    pub(super) fn new(findings: &[Reported], results: &[AgentResult], failing: usize, wall: Millis) -> Self {
        let of = |severity| findings.iter().filter(|one| one.finding.severity == severity).count();
        let costs = results.iter().filter_map(|result| result.cost);
        let delivered = results.iter().filter(|result| result.status.has_delivered()).count();
        Self {
            by_severity: Counts {
                critical: of(Severity::Critical),
                important: of(Severity::Important),
                suggestion: of(Severity::Suggestion),
                nitpick: of(Severity::Nitpick),
            },
            findings: findings.len(),
            failing,
            max_severity: findings.iter().map(|one| one.finding.severity).min(),
            wall_ms: wall,
            cost: costs.reduce(|one, other| Usd(one.0.saturating_add(other.0))),
            delivered,
            failed: results.len() - delivered,
        }
    }
}
