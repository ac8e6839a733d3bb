//! Which stages a run has been in, and what they cost.

use saihai_model::{Cost, Decision, Destination, Entry, Fact, Moment, Record, StageId, Usage, Usd};

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
    pub fn see(&mut self, record: &Record) {
        match &record.entry {
            Entry::Decision(decision) => self.see_decision(record.at, decision),
            Entry::Fact(Fact::Replied(reply)) => self.spend(reply.cost, &reply.usage, 1),
            Entry::Fact(Fact::Failed(failed)) => self.spend(failed.cost, &failed.usage, 0),
            Entry::Fact(_) => {}
        }
    }

    /// All visits, in order.
    pub fn finish(self) -> Vec<StageTold> {
        self.told
    }

    fn see_decision(&mut self, at: Moment, decision: &Decision) {
        match (decision, self.told.last_mut()) {
            (Decision::Entered { stage, visit, .. }, _) => self.told.push(StageTold {
                stage: stage.clone(),
                visit: *visit,
                entered: at,
                left: None,
                rounds: 0,
                cost: Cost::default(),
            }),
            (Decision::Round { round, .. }, Some(told)) => told.rounds = *round,
            (Decision::Exited { verdict, .. }, Some(told)) if verdict.to != Destination::Again => {
                told.left = Some(at);
            }
            (
                Decision::Round { .. }
                | Decision::Exited { .. }
                | Decision::Called { .. }
                | Decision::Correct { .. }
                | Decision::Retry { .. }
                | Decision::Unfit { .. }
                | Decision::Repeated { .. }
                | Decision::Reports { .. }
                | Decision::Alarm { .. }
                | Decision::Refused { .. }
                | Decision::Remarked { .. }
                | Decision::Exhausted { .. }
                | Decision::Parked { .. }
                | Decision::Finished { .. },
                _,
            ) => {}
        }
    }

    fn spend(&mut self, usd: Option<Usd>, usage: &Usage, turns: u64) {
        if let Some(told) = self.told.last_mut() {
            let cost = Cost { usd: usd.unwrap_or_default(), tokens: usage.tokens(), turns };
            told.cost = told.cost.plus(cost);
        }
    }
}
