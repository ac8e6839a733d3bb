//! What can be said of a workflow before it runs: stages nothing leads to, rules that never hold, reports nobody
//! writes, the most calls it can make.
//!
//! The analysis knows the model alone and no dialect. A workflow carries no places in files, so a finding names
//! the stage, turn or rule it is about, and whoever lowered the definition knows where that was written.

mod bound;
mod finding;
mod paths;
mod reports;
mod rules;

use saihai_model::Workflow;

pub use bound::most_calls;
pub use finding::{Dead, Finding, Problem, Spot};

/// Everything worth knowing, in the order of the stages.
pub fn check(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = paths::check(workflow);
    findings.extend(rules::check(workflow));
    findings.extend(reports::check(workflow));
    findings
}

#[cfg(test)]
mod tests;
