//! Unreachable stages, stages without an end, and cycles without a monitor.

use std::collections::HashSet;

use saihai_model::{Activity, StageId, Watch, Workflow};

use super::graph::{Graph, ways_out};
use super::{Finding, Problem, Spot};

pub(super) fn check(workflow: &Workflow, graph: &Graph) -> Vec<Finding> {
    let reached = graph.reached_from(graph.roots.iter().copied());
    let ending = graph.reversed().reached_from(graph.ends.iter().copied());
    let mut findings = Vec::new();
    for (index, id) in workflow.stages.keys().enumerate() {
        let problem = match (reached[index], ending[index]) {
            (false, _) => Problem::Unreachable,
            (true, false) => Problem::NoEnd,
            (true, true) => continue,
        };
        findings.push(Finding { spot: Spot::Stage(id.clone()), problem });
    }
    findings.extend(unmonitored(workflow, &reached));
    findings
}

/// Reports each group of stages that can repeat without a person and without a monitor.
fn unmonitored(workflow: &Workflow, reached: &[bool]) -> Vec<Finding> {
    let mut watched = vec![false; workflow.stages.len()];
    for monitor in &workflow.monitors {
        let Watch::Cycle { stages, .. } = &monitor.watches else { return Vec::new() };
        for index in stages.iter().filter_map(|id| workflow.stages.get_index_of(id)) {
            watched[index] = true;
        }
    }
    let graph = unattended(workflow, reached);
    let knots = graph.knots();
    let mut done: HashSet<usize> = (0..watched.len()).filter(|i| watched[*i]).map(|i| knots[i]).collect();
    let mut findings = Vec::new();
    for start in 0..workflow.stages.len() {
        if !done.insert(knots[start]) {
            continue;
        }
        let Some(way) = graph.round_trip(start, &knots) else { continue };
        let name = |index: usize| workflow.stages.get_index(index).map(|(id, _)| id.clone());
        let stages: Vec<StageId> = way.into_iter().filter_map(name).collect();
        let spot = stages.first().cloned().map(Spot::Stage);
        findings.extend(spot.map(|spot| Finding { spot, problem: Problem::UnmonitoredCycle(stages) }));
    }
    findings
}

/// Returns the transitions that need neither a person nor a judge.
fn unattended(workflow: &Workflow, reached: &[bool]) -> Graph {
    let takes_part = |index: usize| {
        workflow.stages.get_index(index).is_some_and(|(_, stage)| {
            reached[index] && !stage.aside && !matches!(stage.does, Activity::Gate(_))
        })
    };
    let mut graph = Graph { next: vec![Vec::new(); workflow.stages.len()], ..Graph::default() };
    for (index, stage) in workflow.stages.values().enumerate() {
        if takes_part(index) {
            for way in ways_out(workflow, stage) {
                graph.add(workflow, index, &way);
            }
            graph.next[index].retain(|to| takes_part(*to));
        }
    }
    graph
}
