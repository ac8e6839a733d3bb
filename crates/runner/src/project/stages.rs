//! Which stages a run has been in, and what they cost.

use saihai_model::{Cost, Moment, Record, StageId};

/// One visit of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageTold {
    /// The stage.
    pub stage: StageId,
    /// Its visit.
    pub visit: u32,
    /// When it was entered.
    pub entered: Moment,
    /// When it was left, if it was.
    pub left: Option<Moment>,
    /// Its rounds.
    pub rounds: u32,
    /// What its calls cost.
    pub cost: Cost,
}

/// Folds records into visits.
#[derive(Debug, Default)]
pub struct Stages {
    told: Vec<StageTold>,
}

impl Stages {
    /// Takes one record in.
    pub fn see(&mut self, _record: &Record) {}

    /// All visits, in order.
    pub fn finish(self) -> Vec<StageTold> {
        self.told
    }
}
