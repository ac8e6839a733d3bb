//! Gates that can be walked around.
//!
//! A gate guards the stage it leads to: somebody wanted a person to answer before it is entered. If a run can come to
//! that stage without passing any gate, the answer can be avoided, which is seldom meant. Two things look like it and
//! are no mistake, and neither is reported:
//!
//! - A gate that can be reached only through the stage it leads to. A person is asked about what the stage did, and it
//!   is entered once more with the answer.
//! - A gate on one rule of a stage, and a rule without one beside it to the same stage. Whoever answers there decides
//!   whether a person is needed, and the definition says so in one place.
//!
//! What is entered again after a gate was answered is behind that gate: only ways from the start count.

use saihai_model::{Activity, Exit, GateMode, Stage, StageId, Target, Workflow};

use super::graph::Graph;
use super::{Finding, Problem, Spot};

/// One finding for each stage behind a gate that can be entered around every gate.
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

/// The rule that makes the last step around the gate, where it is one; else the stage it leads to.
fn spot(workflow: &Workflow, around: &[StageId]) -> Spot {
    let stage = around.last().expect("a way ends with the stage it leads to");
    let rule = around.iter().rev().nth(1).and_then(|before| {
        let Exit::Rules { rules, .. } = &workflow.stage(before)?.exit else { return None };
        let leads = |then: &Target| matches!(then, Target::Stage(to) if to == stage);
        rules.iter().position(|rule| leads(&rule.then)).map(|rule| Spot::Rule(before.clone(), rule))
    });
    rule.unwrap_or_else(|| Spot::Stage(stage.clone()))
}

/// The shortest ways from the start that pass no gate.
struct Around {
    /// The stage before each one on its way; its own number at the start.
    before: Vec<Option<usize>>,
}

impl Around {
    fn walk(workflow: &Workflow, graph: &Graph, gates: &[bool]) -> Self {
        let mut around = Self { before: vec![None; gates.len()] };
        let entry = workflow.stages.get_index_of(&workflow.entry);
        around.walk_on(graph, gates, entry.map(|entry| (entry, entry)));
        // What comes afterwards is entered from where the work is done.
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

/// Which stages every way from the start to a stage passes.
struct Dominators {
    /// The last such stage before each one; its own number where there is none. Absent: nothing leads there.
    nearest: Vec<Option<usize>>,
}

impl Dominators {
    /// By going over the stages in the order of a walk until nothing changes, which on what people write is soon.
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
                // No stage in common but the start, which is none: nothing dominates it but itself.
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

/// The last stage that two have on all their ways; none where they begin apart.
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
