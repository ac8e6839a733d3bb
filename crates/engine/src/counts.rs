//! The counters of a run, each bounded by the workflow.

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
    /// Stages whose substitute has already been used.
    pub substituted: BTreeSet<StageId>,
    /// The last stage of the flow, and how often in a row.
    pub last: Option<StageId>,
    pub consecutive: u32,
    /// The end of the history of stages, as long as the longest watched cycle.
    pub history: Vec<StageId>,
    pub checks: u32,
    /// Rounds in a row that published nothing.
    pub silent: u32,
    /// What was last published and said, and how often in a row.
    pub same: Option<(String, u32)>,
    /// Topics published, of those that some closing word requires.
    pub published: BTreeSet<Topic>,
    /// How often each leaf of the completion has been met, by its number in reading order.
    pub met: BTreeMap<String, u32>,
    /// What a leaf of the completion gave as its reason, by the same number.
    pub reasons: BTreeMap<String, String>,
    /// The phase the completion has come to; none before the first step.
    pub phase: Option<String>,
    /// Whether the last block of a kind fitted what a step of the phases remembers of it, by the step's number.
    #[serde(default)]
    pub remembered: BTreeMap<String, bool>,
    /// States outside have been looked at before the first round.
    pub looked: bool,
    pub signals: BTreeMap<String, u32>,
    /// Stages entered in a row that asked no agent.
    pub chain: u32,
}

impl Counts {
    /// Adds one to a stage's count and says the new one.
    pub(crate) fn add(map: &mut BTreeMap<StageId, u32>, stage: &StageId) -> u32 {
        let count = map.entry(stage.clone()).or_insert(0);
        *count = count.saturating_add(1);
        *count
    }

    /// Visits of a stage so far.
    pub fn visits_of(&self, stage: &StageId) -> u32 {
        self.visits.get(stage).copied().unwrap_or(0)
    }
}
