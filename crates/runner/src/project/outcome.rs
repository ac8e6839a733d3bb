//! The result of a run, so far or for good.

use saihai_model::{Moment, Usage, Usd};

use crate::{Error, RunDirectory};

/// The result of a run, so far or for good: the result object of the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The run.
    pub run: String,
    /// The definition's name as it was asked for.
    pub definition: String,
    /// Its dialect.
    pub dialect: String,
    /// `completed`, `failed`, `declined`, `cancelled`, `parked`, `running` or `interrupted`.
    pub outcome: String,
    /// The word for why.
    pub reason: Option<String>,
    /// The exit code that goes with it.
    pub exit: u8,
    /// The last failure, where it is why the run waits; what was said last, where no rule matched it.
    pub error: Option<String>,
    /// Rounds.
    pub iterations: u32,
    /// Prompts answered.
    pub turns: u64,
    /// Tokens of all of them.
    pub usage: Usage,
    /// What they cost; absent where no provider said so.
    pub cost: Option<Usd>,
    /// Report files, in the order they were first saved.
    pub reports: Vec<String>,
    /// The last output of the flow.
    pub output: Option<String>,
    /// Whether no agent was really asked.
    pub rehearsal: bool,
    /// Whether it can be resumed.
    pub resumable: bool,
    /// When it can go on, where that is known.
    pub until: Option<Moment>,
}

impl Outcome {
    /// The result of a run as it stands.
    ///
    /// # Errors
    /// The run cannot be read or is damaged.
    pub fn of(_directory: &RunDirectory) -> Result<Self, Error> {
        Err(Error::NotBuilt("the result of a run"))
    }
}
