//! The budget and the spending of a run.

use saihai_model::{Budget, Cost, Millis};

use crate::history::{Check, History};
use crate::{Error, RunDirectory};

/// The budget and the spending of a run, as its budget counts them. A turn of unknown cost counts with the
/// amount reserved for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spending {
    /// The budget after the last raise.
    pub budget: Budget,
    /// The cost, failed attempts included.
    pub spent: Cost,
    pub driven: Millis,
}

impl Spending {
    pub fn of(directory: &RunDirectory) -> Result<Self, Error> {
        let run = History::read(directory, Check::Length, &mut |_| Ok(()))?.run;
        let budget = run.limits().budget.clone();
        Ok(Self { budget, spent: run.spent(), driven: run.driven() })
    }
}
