//! Counters of a run. The workflow bounds each of them.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{StageId, Topic};
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    pub iteration: u32,
    pub turns: u64,
    /// Visits by stage; never reset.
    pub visits: BTreeMap<StageId, u32>,
    /// Visits by stage that count towards a visit limit.
    pub activations: BTreeMap<StageId, u32>,
    /// Stages that have already used their substitute.
    pub substituted: BTreeSet<StageId>,
    /// Last stage of the flow. `consecutive` counts its entries in a row.
    pub last: Option<StageId>,
    pub consecutive: u32,
    /// Most recent stages, as many as the longest watched cycle has.
    pub history: Vec<StageId>,
    pub checks: u32,
    /// Rounds in a row that published nothing.
    pub silent: u32,
    /// Last published topic and message, with the number of repeats in a row.
    pub same: Option<(String, u32)>,
    /// Published topics that some closing word requires.
    pub published: BTreeSet<Topic>,
    /// Number of times each leaf of the completion was met, keyed by its number in reading order.
    pub met: BTreeMap<String, u32>,
    /// Reason that each leaf of the completion gave, keyed by the same number.
    pub reasons: BTreeMap<String, String>,
    /// Current phase of the completion; none before the first step.
    pub phase: Option<String>,
    /// True if the last block of a kind matched a phase step that remembers it, keyed by the step's number.
    #[serde(default)]
    pub remembered: BTreeMap<String, bool>,
    /// True once the outside conditions were checked before the first round.
    pub looked: bool,
    pub signals: BTreeMap<String, u32>,
    /// Stages entered in a row that asked no agent.
    pub chain: u32,
}

impl Counts {
    /// Increments a stage's count and returns the new count.
    pub(crate) fn add(map: &mut BTreeMap<StageId, u32>, stage: &StageId) -> u32 {
        let count = map.entry(stage.clone()).or_insert(0);
        *count = count.saturating_add(1);
        *count
    }

    /// Returns the number of visits of a stage so far.
    pub fn visits_of(&self, stage: &StageId) -> u32 {
        self.visits.get(stage).copied().unwrap_or(0)
    }
}
