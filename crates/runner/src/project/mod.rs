//! What is said about a run afterwards: folds over its records, without any model call and without a second truth.

mod changes;
mod expectation;
mod outcome;
mod recording;
mod report_versions;
mod spending;
mod stages;
mod transitions;

pub use expectation::expectation;
pub use outcome::{Decided, Outcome, Unmatched};
pub use recording::Recording;
pub use report_versions::{ReportVersion, ReportVersions};
pub use spending::Spending;
pub use stages::{StageTold, Stages};
pub use transitions::{Evidence, Transition, Transitions};

#[cfg(test)]
mod tests;
