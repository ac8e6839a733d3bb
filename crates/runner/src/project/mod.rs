//! What is said about a run afterwards: folds over its records, without any model call and without a second truth.

mod changes;
mod events;
mod expectation;
mod iterations;
mod outcome;
mod recording;
mod report_versions;
mod run_result;
mod spending;
mod stages;
mod transitions;

pub use events::{BusEvent, BusEvents, Fate, Source};
pub use expectation::expectation;
pub use iterations::{ActionResult, DetectedAction, IterationSummary, Iterations, ToldSummary, ToldTool};
pub use outcome::{Decided, Outcome, Unmatched};
pub use recording::Recording;
pub use report_versions::{ReportVersion, ReportVersions};
pub use run_result::{RunResult, failure_words};
pub use spending::Spending;
pub use stages::{StageTold, Stages};
pub use transitions::{Evidence, Transition, Transitions};

#[cfg(test)]
mod tests;
