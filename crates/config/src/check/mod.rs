//! What can be said of a workflow before it runs: stages nothing leads to, gates that can be walked around, rules that
//! never hold, reports nobody writes, the most calls it can make and the most they can cost.
//!
//! The analysis knows the model alone and no dialect. A workflow carries no places in files, so a finding names
//! the stage, turn or rule it is about, and whoever lowered the definition knows where that was written.

mod bound;
mod finding;
mod gates;
mod graph;
mod money;
mod paths;
mod reports;
mod rules;

use saihai_model::Workflow;

use graph::Graph;

pub use bound::most_calls;
pub use finding::{Dead, Finding, Problem, Spot};
pub use graph::unknown_stages;
pub use money::{Charge, Money, most_money};

/// Everything worth knowing, in the order of the stages.
pub fn check(workflow: &Workflow) -> Vec<Finding> {
    let graph = Graph::of(workflow);
    let mut findings = paths::check(workflow, &graph);
    findings.extend(gates::check(workflow, &graph));
    findings.extend(rules::check(workflow));
    findings.extend(reports::check(workflow));
    findings
}

#[cfg(test)]
mod tests;
