//! Gates that a run can bypass.
//!
//! A gate guards the stage it leads to: a person must answer before the run enters that stage. If another
//! path reaches the stage without any gate, the run can avoid the question. That is rarely intended. Two
//! cases look similar but are correct, so the check does not report them:
//!
//! - The only path to the gate leads through the stage behind it. The person reviews the work of the stage,
//!   and the run enters it again with the answer.
//! - A stage has a rule with a gate and a rule without one, both to the same stage. The agent then decides if
//!   a person is needed, and the definition says so in one place.
//!
//! Only paths from the start count. A stage that the run enters again after a gate was answered is behind
//! that gate.

use saihai_model::{Activity, Exit, GateMode, Stage, StageId, Target, Workflow};

use super::graph::Graph;
use super::{Finding, Problem, Spot};

/// Reports each stage behind a gate that some path reaches without passing any gate.
pub(super) fn check(workflow: &Workflow, graph: &Graph) -> Vec<Finding> {
    let gates: Vec<bool> = workflow.stages.values().map(asks_a_person).collect();
    if !gates.contains(&true) {
        return Vec::new();
    }
    let around = Around::walk(workflow, graph, &gates);
    let dominators = Dominators::of(graph);
    let before = graph.reversed();
    let mut reported = vec![false; gates.len()];
    let mut findings = Vec::new();
    for gate in (0..gates.len()).filter(|index| gates[*index]) {
        for &stage in &graph.next[gate] {
            if gates[stage] || reported[stage] || !around.reaches(stage) {
                continue;
            }
            let guarded_after = |from: &&usize| {
                dominators.reaches(**from)
                    && !dominators.dominates(stage, **from)
                    && !graph.next[**from].contains(&stage)
            };
            if let Some(&from) = before.next[gate].iter().find(guarded_after) {
                reported[stage] = true;
                findings.push(finding(workflow, [from, gate, stage], &around.way_to(stage)));
            }
        }
    }
    findings
}

fn asks_a_person(stage: &Stage) -> bool {
    match &stage.does {
        Activity::Gate(gate) => gate.mode == GateMode::Person,
        Activity::Turns { .. } | Activity::Action(_) => false,
    }
}

fn finding(workflow: &Workflow, asked: [usize; 3], around: &[usize]) -> Finding {
    let name = |index: &usize| workflow.stages.get_index(*index).map(|(id, _)| id.clone());
    let asked: Vec<StageId> = asked.iter().filter_map(name).collect();
    let around: Vec<StageId> = around.iter().filter_map(name).collect();
    let spot = spot(workflow, &around);
    Finding { spot, problem: Problem::GateBypass { asked, around } }
}

/// Returns the rule that makes the last step of the bypass, or else the stage it leads to.
fn spot(workflow: &Workflow, around: &[StageId]) -> Spot {
    let stage = around.last().expect("a way ends with the stage it leads to");
    let rule = around.iter().rev().nth(1).and_then(|before| {
        let Exit::Rules { rules, .. } = &workflow.stage(before)?.exit else { return None };
        let leads = |then: &Target| matches!(then, Target::Stage(to) if to == stage);
        rules.iter().position(|rule| leads(&rule.then)).map(|rule| Spot::Rule(before.clone(), rule))
    });
    rule.unwrap_or_else(|| Spot::Stage(stage.clone()))
}

/// Shortest paths from the start that pass no gate.
struct Around {
    /// Predecessor of each stage on its path. The start is its own predecessor.
    before: Vec<Option<usize>>,
}

impl Around {
    fn walk(workflow: &Workflow, graph: &Graph, gates: &[bool]) -> Self {
        let mut around = Self { before: vec![None; gates.len()] };
        let entry = workflow.stages.get_index_of(&workflow.entry);
        around.walk_on(graph, gates, entry.map(|entry| (entry, entry)));
        // The run enters the `afterwards` stage from a stage that ends the work.
        let done = graph.ends.iter().copied().find(|end| around.reaches(*end));
        let afterwards = workflow.afterwards.as_ref().and_then(|id| workflow.stages.get_index_of(id));
        around.walk_on(graph, gates, afterwards.zip(done));
        around
    }

    fn walk_on(&mut self, graph: &Graph, gates: &[bool], start: Option<(usize, usize)>) {
        let mut open = std::collections::VecDeque::from_iter(start);
        while let Some((stage, from)) = open.pop_front() {
            if !gates[stage] && self.before[stage].is_none() {
                self.before[stage] = Some(from);
                open.extend(graph.next[stage].iter().map(|next| (*next, stage)));
            }
        }
    }

    fn reaches(&self, stage: usize) -> bool {
        self.before[stage].is_some()
    }

    fn way_to(&self, stage: usize) -> Vec<usize> {
        let mut way = vec![stage];
        let mut at = stage;
        while let Some(before) = self.before[at].filter(|before| *before != at) {
            way.push(before);
            at = before;
        }
        way.reverse();
        way
    }
}

/// Dominator tree: the stages that every path from the start to a stage passes.
struct Dominators {
    /// Immediate dominator of each stage, or the stage itself if there is none. `None` means unreachable.
    nearest: Vec<Option<usize>>,
}

impl Dominators {
    /// Iterates over the stages in reverse postorder until nothing changes. Real workflows need only a few
    /// passes.
    fn of(graph: &Graph) -> Self {
        let order = graph.finished(graph.roots.iter().copied());
        let mut rank = vec![0; graph.next.len()];
        for (at, stage) in order.iter().enumerate() {
            rank[*stage] = at;
        }
        let before = graph.reversed();
        let mut nearest: Vec<Option<usize>> = vec![None; graph.next.len()];
        for root in &graph.roots {
            nearest[*root] = Some(*root);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &stage in order.iter().rev().filter(|stage| !graph.roots.contains(stage)) {
                let known = before.next[stage].iter().copied().filter(|from| nearest[*from].is_some());
                let common = known.map(Some).reduce(|one, other| meet(&nearest, &rank, one?, other?));
                // The paths share no stage, so nothing but the stage itself dominates it.
                let now = common.map(|common| common.unwrap_or(stage));
                changed |= now != nearest[stage];
                nearest[stage] = now;
            }
        }
        Self { nearest }
    }

    fn reaches(&self, stage: usize) -> bool {
        self.nearest[stage].is_some()
    }

    fn dominates(&self, stage: usize, of: usize) -> bool {
        let mut at = of;
        loop {
            if at == stage {
                return true;
            }
            match self.nearest[at] {
                Some(next) if next != at => at = next,
                Some(_) | None => return false,
            }
        }
    }
}

/// Returns the last stage that all paths to both stages share, or `None` if there is none.
fn meet(nearest: &[Option<usize>], rank: &[usize], one: usize, other: usize) -> Option<usize> {
    let (mut one, mut other) = (one, other);
    while one != other {
        let lower = if rank[one] < rank[other] { &mut one } else { &mut other };
        let next = nearest[*lower]?;
        if next == *lower {
            return None;
        }
        *lower = next;
    }
    Some(one)
}
