//! Projections of a run for commands, made from its view and its texts.

mod changes;
mod expectation;
mod outcome;
mod recording;
mod run_result;
mod spending;

pub use outcome::{DecidedExit, RunOutcome, UnmatchedTurn};
pub use recording::Recording;
pub use run_result::{RunResult, ToldSummary, failure_words};
pub use spending::Spending;

#[cfg(test)]
mod tests;
