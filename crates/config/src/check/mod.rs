//! Static analysis of a workflow, before it runs. It finds:
//!
//! - stages that no path reaches
//! - gates that a path can bypass
//! - rules that never hold
//! - reports that no turn writes
//! - the maximum number of calls and their maximum cost
//!
//! The analysis works on the model only and knows no dialect. A workflow has no file locations, so a finding
//! names the stage, turn or rule. The code that lowered the definition maps it back to a location.

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

/// Returns all findings, in the order of the stages.
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
