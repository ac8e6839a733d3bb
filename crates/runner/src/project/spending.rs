//! What a run may spend and has spent.

use saihai_model::{Budget, Cost, Millis};

use crate::history::{Check, History};
use crate::{Error, RunDirectory};

/// What a run may spend and has spent, as its own budget counts it: where nobody said what a turn cost, what was set
/// aside for it stands for that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spending {
    /// The budget, as last raised.
    pub budget: Budget,
    /// What was spent of it, failed attempts included.
    pub spent: Cost,
    /// How long the run was driven.
    pub driven: Millis,
}

impl Spending {
    /// What a run has spent so far.
    pub fn of(directory: &RunDirectory) -> Result<Self, Error> {
        let run = History::read(directory, Check::Length, &mut |_| Ok(()))?.run;
        let budget = run.limits().budget.clone();
        Ok(Self { budget, spent: run.spent(), driven: run.driven() })
    }
}
