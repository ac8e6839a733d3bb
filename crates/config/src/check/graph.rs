//! Graph checks: unreachable or endless stages, cycles without a monitor, gates that a run can bypass.

use std::collections::{HashMap, HashSet, VecDeque};

use saihai_model::{
    Activity, Alarm, Completion, Ending, Exit, GateMode, InvalidOutputPolicy, Stage, StageId, Target, Watch,
    Workflow,
};

use super::{FindingProblem, Spot, WorkflowFinding};

/// Graph of the stages, numbered in the workflow's order.
#[derive(Debug, Default)]
pub(super) struct StageGraph {
    pub(super) next: Vec<Vec<usize>>,
    /// Stages where a run starts, or continues after the work is done.
    pub(super) roots: Vec<usize>,
    /// Stages from which a run can end.
    pub(super) ends: Vec<usize>,
}

pub(super) enum StageTarget<'a> {
    To(&'a StageId),
    ToAny,
    ToTheEnd,
}

impl StageGraph {
    /// Builds the graph from all transitions, including those of monitors.
    pub(super) fn of(workflow: &Workflow) -> Self {
        let mut graph = Self { next: vec![Vec::new(); workflow.stages.len()], ..Self::default() };
        for (index, stage) in workflow.stages.values().enumerate() {
            for leads in ways_out(workflow, stage) {
                graph.add(workflow, index, &leads);
            }
        }
        for monitor in &workflow.monitors {
            let Alarm::Go(target) = &monitor.then else { continue };
            for from in alarm_sources(workflow, &monitor.watches) {
                leads(target, &mut |leads| graph.add(workflow, from, &leads));
            }
        }
        for breaker in &workflow.breakers {
            let stages = breaker.stages.iter().filter_map(|id| workflow.stages.get_index_of(id));
            for from in stages {
                for judge in &breaker.judges {
                    graph.add(workflow, from, &StageTarget::To(&judge.stage));
                }
            }
        }
        let roots = [Some(&workflow.entry), workflow.afterwards.as_ref()];
        graph.roots.extend(roots.into_iter().flatten().filter_map(|id| workflow.stages.get_index_of(id)));
        graph
    }

    pub(super) fn add(&mut self, workflow: &Workflow, from: usize, leads: &StageTarget<'_>) {
        match leads {
            StageTarget::To(id) => self.next[from].extend(workflow.stages.get_index_of(*id)),
            StageTarget::ToAny => self.next[from].extend(0..workflow.stages.len()),
            StageTarget::ToTheEnd => self.ends.push(from),
        }
    }

    pub(super) fn reversed(&self) -> Self {
        let mut reversed = Self { next: vec![Vec::new(); self.next.len()], ..Self::default() };
        for (from, next) in self.next.iter().enumerate() {
            for to in next {
                reversed.next[*to].push(from);
            }
        }
        reversed
    }

    /// Returns, for each stage, true if a path from `from` reaches it.
    pub(super) fn reached_from(&self, from: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut reached = vec![false; self.next.len()];
        let mut open: Vec<usize> = from.into_iter().collect();
        while let Some(stage) = open.pop() {
            if !std::mem::replace(&mut reached[stage], true) {
                open.extend(&self.next[stage]);
            }
        }
        reached
    }

    /// Returns the number of the strongly connected component of each stage.
    pub(super) fn knots(&self) -> Vec<usize> {
        let reversed = self.reversed();
        let mut knot = vec![usize::MAX; self.next.len()];
        for start in self.finished(0..self.next.len()).into_iter().rev() {
            let mut open = vec![start];
            while let Some(stage) = open.pop() {
                if knot[stage] == usize::MAX {
                    knot[stage] = start;
                    open.extend(&reversed.next[stage]);
                }
            }
        }
        knot
    }

    /// Returns the stages in the postorder of a depth-first search.
    pub(super) fn finished(&self, starts: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut seen = vec![false; self.next.len()];
        let mut finished = Vec::with_capacity(self.next.len());
        for start in starts {
            let mut walk = Vec::new();
            if !std::mem::replace(&mut seen[start], true) {
                walk.push((start, 0));
            }
            while let Some((stage, step)) = walk.pop() {
                let Some(&to) = self.next[stage].get(step) else {
                    finished.push(stage);
                    continue;
                };
                walk.push((stage, step + 1));
                if !std::mem::replace(&mut seen[to], true) {
                    walk.push((to, 0));
                }
            }
        }
        finished
    }

    /// Returns the shortest path from a stage back to itself within its component.
    pub(super) fn round_trip(&self, start: usize, knots: &[usize]) -> Option<Vec<usize>> {
        let mut before: HashMap<usize, usize> = HashMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(stage) = open.pop_front() {
            if self.next[stage].contains(&start) {
                let mut way = vec![stage];
                while let Some(earlier) = before.get(&way[way.len() - 1]) {
                    way.push(*earlier);
                }
                way.reverse();
                return Some(way);
            }
            for &to in &self.next[stage] {
                if knots[to] == knots[start] && !before.contains_key(&to) {
                    before.insert(to, stage);
                    open.push_back(to);
                }
            }
        }
        None
    }
}

/// Returns every target of a stage's exit, limits and replies.
pub(super) fn ways_out<'a>(workflow: &'a Workflow, stage: &'a Stage) -> Vec<StageTarget<'a>> {
    let mut ways = Vec::new();
    let mut push = |way| ways.push(way);
    match &stage.exit {
        Exit::Rules { rules, otherwise, .. } => {
            rules.iter().for_each(|rule| leads(&rule.then, &mut push));
            // A failure because no rule matched is an accident, not an ending that the author wrote.
            if !matches!(otherwise, Target::End(Ending::Failed(_))) {
                leads(otherwise, &mut push);
            }
        }
        Exit::Topics { silent, .. } => {
            leads(&silent.exhausted, &mut push);
            if let Some(topics) = &workflow.topics {
                topics.routes.iter().for_each(|route| push(StageTarget::To(&route.to)));
                push(StageTarget::To(&topics.otherwise));
            }
        }
    }
    if let Some(instead) = stage.visits.as_ref().and_then(|limit| limit.once_instead.as_ref()) {
        push(StageTarget::To(instead));
    }
    if stage.rounds.max.is_some() {
        leads(&stage.rounds.too_many, &mut push);
    }
    for turn in stage.turns() {
        if let Some(InvalidOutputPolicy::Go(target)) =
            turn.reads.output.as_ref().map(|output| &output.still_wrong)
        {
            leads(target, &mut push);
        }
        let words = turn.reads.directives.iter().flat_map(|directives| &directives.words);
        words.for_each(|word| leads(&word.then, &mut push));
    }
    if !matches!(workflow.completion, Completion::Flow) {
        push(StageTarget::ToTheEnd);
    }
    ways
}

/// Returns every stage that the workflow names but does not define, once each, in order of use.
pub fn unknown_stages(workflow: &Workflow) -> Vec<StageId> {
    let mut named: Vec<&StageId> =
        Vec::from_iter([Some(&workflow.entry), workflow.afterwards.as_ref()].into_iter().flatten());
    for stage in workflow.stages.values() {
        let ways = ways_out(workflow, stage).into_iter();
        named.extend(ways.filter_map(|way| if let StageTarget::To(id) = way { Some(id) } else { None }));
    }
    for monitor in &workflow.monitors {
        if let Alarm::Go(target) = &monitor.then {
            leads(target, &mut |way| {
                if let StageTarget::To(id) = way {
                    named.push(id);
                }
            });
        }
    }
    let mut unknown: Vec<StageId> = Vec::new();
    for id in named {
        if !workflow.stages.contains_key(id) && !unknown.contains(id) {
            unknown.push(id.clone());
        }
    }
    unknown
}

fn leads<'a>(target: &'a Target, push: &mut impl FnMut(StageTarget<'a>)) {
    match target {
        Target::Stage(id) => push(StageTarget::To(id)),
        Target::NamedBy { .. } => push(StageTarget::ToAny),
        Target::ByPhase { stages } => stages.values().for_each(|id| push(StageTarget::To(id))),
        Target::Again(again) => leads(&again.exhausted, push),
        Target::Complete | Target::End(_) => push(StageTarget::ToTheEnd),
    }
}

/// Returns the stages after which a monitor can fire.
fn alarm_sources(workflow: &Workflow, watch: &Watch) -> Vec<usize> {
    match watch {
        Watch::Cycle { stages, .. } => {
            stages.last().and_then(|last| workflow.stages.get_index_of(last)).into_iter().collect()
        }
        Watch::Silent { .. } | Watch::Same { .. } | Watch::SelfEntries { .. } => {
            (0..workflow.stages.len()).collect()
        }
    }
}

pub(super) fn check_paths(workflow: &Workflow, graph: &StageGraph) -> Vec<WorkflowFinding> {
    let reached = graph.reached_from(graph.roots.iter().copied());
    let ending = graph.reversed().reached_from(graph.ends.iter().copied());
    let mut findings = Vec::new();
    for (index, id) in workflow.stages.keys().enumerate() {
        let problem = match (reached[index], ending[index]) {
            (false, _) => FindingProblem::Unreachable,
            (true, false) => FindingProblem::NoEnd,
            (true, true) => continue,
        };
        findings.push(WorkflowFinding { spot: Spot::Stage(id.clone()), problem });
    }
    findings.extend(unmonitored(workflow, &reached));
    findings
}

/// Reports each group of stages that can repeat without a person and without a monitor.
fn unmonitored(workflow: &Workflow, reached: &[bool]) -> Vec<WorkflowFinding> {
    let mut watched = vec![false; workflow.stages.len()];
    for monitor in &workflow.monitors {
        let Watch::Cycle { stages, .. } = &monitor.watches else { return Vec::new() };
        for index in stages.iter().filter_map(|id| workflow.stages.get_index_of(id)) {
            watched[index] = true;
        }
    }
    let broken = workflow.breakers.iter().flat_map(|breaker| &breaker.stages);
    for index in broken.filter_map(|id| workflow.stages.get_index_of(id)) {
        watched[index] = true;
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
        findings.extend(
            spot.map(|spot| WorkflowFinding { spot, problem: FindingProblem::UnmonitoredCycle(stages) }),
        );
    }
    findings
}

/// Returns the stages of each cycle that needs no person, in the workflow's order.
pub(crate) fn unattended_cycles(workflow: &Workflow) -> Vec<Vec<StageId>> {
    let graph = StageGraph::of(workflow);
    let graph = unattended(workflow, &graph.reached_from(graph.roots.iter().copied()));
    let knots = graph.knots();
    let mut cycles: Vec<Vec<usize>> = Vec::new();
    for stage in 0..workflow.stages.len() {
        match cycles.iter_mut().find(|cycle| knots[cycle[0]] == knots[stage]) {
            Some(cycle) => cycle.push(stage),
            None => cycles.push(vec![stage]),
        }
    }
    cycles.retain(|cycle| cycle.len() > 1 || graph.next[cycle[0]].contains(&cycle[0]));
    let named = |index: usize| workflow.stages.get_index(index).map(|(id, _)| id.clone());
    cycles.into_iter().map(|cycle| cycle.into_iter().filter_map(named).collect()).collect()
}

/// Returns the transitions that need neither a person nor a judge.
fn unattended(workflow: &Workflow, reached: &[bool]) -> StageGraph {
    let takes_part = |index: usize| {
        workflow.stages.get_index(index).is_some_and(|(_, stage)| {
            reached[index] && !stage.aside && !matches!(stage.does, Activity::Gate(_))
        })
    };
    let mut graph = StageGraph { next: vec![Vec::new(); workflow.stages.len()], ..StageGraph::default() };
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

/// Reports each stage behind a gate that some path reaches without passing any gate.
///
/// A gate guards the stage it leads to: a person must answer before the run enters that stage. If another
/// path reaches the stage without any gate, the run can avoid the question. That is rarely intended. Two
/// cases look similar but are correct, so the check does not report them:
///
/// - The only path to the gate leads through the stage behind it. The person reviews the work of the stage,
///   and the run enters it again with the answer.
/// - A stage has a rule with a gate and a rule without one, both to the same stage. The agent then decides if
///   a person is needed, and the definition says so in one place.
///
/// Only paths from the start count. A stage that is entered again after a gate's answer is behind it.
pub(super) fn check_gates(workflow: &Workflow, graph: &StageGraph) -> Vec<WorkflowFinding> {
    let gates: Vec<bool> = workflow.stages.values().map(asks_a_person).collect();
    if !gates.contains(&true) {
        return Vec::new();
    }
    let around = GatelessPaths::walk(workflow, graph, &gates);
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

fn finding(workflow: &Workflow, asked: [usize; 3], around: &[usize]) -> WorkflowFinding {
    let name = |index: &usize| workflow.stages.get_index(*index).map(|(id, _)| id.clone());
    let asked: Vec<StageId> = asked.iter().filter_map(name).collect();
    let around: Vec<StageId> = around.iter().filter_map(name).collect();
    let spot = spot(workflow, &around);
    WorkflowFinding { spot, problem: FindingProblem::GateBypass { asked, around } }
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
struct GatelessPaths {
    /// Predecessor of each stage on its path. The start is its own predecessor.
    before: Vec<Option<usize>>,
}

impl GatelessPaths {
    fn walk(workflow: &Workflow, graph: &StageGraph, gates: &[bool]) -> Self {
        let mut around = Self { before: vec![None; gates.len()] };
        let entry = workflow.stages.get_index_of(&workflow.entry);
        around.walk_on(graph, gates, entry.map(|entry| (entry, entry)));
        // The run enters the `afterwards` stage from a stage that ends the work.
        let done = graph.ends.iter().copied().find(|end| around.reaches(*end));
        let afterwards = workflow.afterwards.as_ref().and_then(|id| workflow.stages.get_index_of(id));
        around.walk_on(graph, gates, afterwards.zip(done));
        around
    }

    fn walk_on(&mut self, graph: &StageGraph, gates: &[bool], start: Option<(usize, usize)>) {
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
    /// Iterates in reverse postorder until nothing changes. Real workflows need only a few passes.
    fn of(graph: &StageGraph) -> Self {
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
