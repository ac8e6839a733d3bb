//! What is said about a run afterwards: folds over its records, without any model call and without a second truth.

mod outcome;
mod report_versions;
mod stages;
mod transitions;

pub use outcome::{Decided, Outcome, Unmatched};
pub use report_versions::{ReportVersion, ReportVersions};
pub use stages::{StageTold, Stages};
pub use transitions::{Evidence, Transition, Transitions};

#[cfg(test)]
mod tests;
