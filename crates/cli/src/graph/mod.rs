//! A workflow as a drawing: Mermaid, DOT and our own SVG, optionally with the path of a run.

mod layout;
mod render;
mod rows;

use std::collections::BTreeMap;

use saihai_model::{
    Activity, Alarm, By, Destination, Ending, Exit, Label, Millis, RuleCondition, Stage, StageId, Target,
    Topic, Turn, Verdict, Watch, Workflow,
};
use saihai_view::RunView;

use crate::report::short_command;

pub(crate) use render::{dot, mermaid, page_svg, svg};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkflowGraph {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) edges: Vec<GraphEdge>,
    /// True if the path of a run is shown.
    pub(crate) traced: bool,
    pub(crate) order: FlowOrder,
}

/// A stage or an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GraphNode {
    pub(crate) id: String,
    pub(crate) kind: NodeKind,
    pub(crate) description: Option<String>,
    /// Its turns, if there are several or one with a different name.
    pub(crate) turns: Vec<GraphTurn>,
    /// Visit count and total time of a run.
    pub(crate) figures: Option<String>,
    /// Number of visits by a run.
    pub(crate) visits: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GraphTurn {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Turn,
    Parallel,
    /// A program; no agent is asked.
    Program,
    Gate,
    Action,
    /// A monitor's judge, outside the flow.
    Aside,
    Complete,
    Abort,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GraphEdge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The conditions, one per line.
    pub(crate) labels: Vec<String>,
    pub(crate) kind: EdgeKind,
    /// Number of times a run took this edge.
    pub(crate) taken: u32,
}

/// The style of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    Forward,
    /// An edge back to an earlier stage.
    Loop,
    Monitor,
}

/// Returns true if the stage declares topics. Its author wrote it then, so it is not just a fallback.
fn is_written(workflow: &Workflow, id: &StageId) -> bool {
    let turns = workflow.stage(id).into_iter().flat_map(Stage::turns);
    turns.filter_map(|turn| turn.reads.directives.as_ref()).any(|directives| directives.declared.is_some())
}

pub(crate) const COMPLETE: &str = "COMPLETE";
pub(crate) const ABORT: &str = "ABORT";

impl WorkflowGraph {
    /// Creates the drawing of a workflow, with the path of a run if there is one.
    pub(crate) fn of(workflow: &Workflow, run: Option<&RunView>) -> Self {
        let mut graph = Self {
            title: workflow.name.clone(),
            description: None,
            nodes: workflow.stages.iter().map(|(id, stage)| GraphNode::of(id.as_str(), stage)).collect(),
            edges: Vec::new(),
            traced: run.is_some(),
            order: FlowOrder::default(),
        };
        graph
            .nodes
            .extend([GraphNode::new(COMPLETE, NodeKind::Complete), GraphNode::new(ABORT, NodeKind::Abort)]);
        add_edges(&mut graph, workflow);
        if let Some(run) = run {
            graph.trace(run);
        }
        // Omit the stage for unclaimed topics if no edge leads to it and its author did not write it.
        let fallback = workflow.topics.as_ref().map(|topics| &topics.otherwise);
        let fallback = fallback.filter(|id| **id != workflow.entry && !is_written(workflow, id));
        graph.drop_unreached(fallback.map(StageId::as_str));
        graph.drop_unreached([ABORT, COMPLETE]);
        graph.arranged(workflow.entry.as_str())
    }

    /// Adds the visits, times and edges of a run.
    fn trace(&mut self, run: &RunView) {
        let mut times: BTreeMap<&str, Millis> = BTreeMap::new();
        let mut taken: BTreeMap<(&str, &str), (u32, &str)> = BTreeMap::new();
        for (index, visit) in run.visits.iter().enumerate() {
            let (stage, mut since) = (visit.stage.as_str(), visit.entered);
            if let Some(node) = self.index(stage) {
                self.nodes[node].visits += 1;
            }
            for exit in visit.rounds.iter().filter_map(|round| round.exit.as_ref()) {
                let to = match &exit.verdict.to {
                    Destination::Stage(id) => id.as_str(),
                    Destination::Again => stage,
                    // A gate or a delivery may follow the end of the definition.
                    Destination::Complete => {
                        run.visits.get(index + 1).map_or(COMPLETE, |next| next.stage.as_str())
                    }
                    Destination::End(Ending::Completed(_)) => COMPLETE,
                    Destination::End(_) => ABORT,
                };
                taken.entry((stage, to)).or_insert((0, exit_label(&exit.verdict))).0 += 1;
                let time = times.entry(stage).or_default();
                time.0 = time.0.saturating_add(exit.at.since(since).0);
                since = exit.at;
            }
            let time = times.entry(stage).or_default();
            time.0 = time.0.saturating_sub(visit.waited.0);
        }
        for node in self.nodes.iter_mut().filter(|node| node.visits > 0) {
            let time = times.get(node.id.as_str()).copied().unwrap_or_default();
            node.figures = Some(format!("×{} · {}", node.visits, seconds(time)));
        }
        for ((from, to), (count, label)) in taken {
            let (Some(from), Some(to)) = (self.index(from), self.index(to)) else { continue };
            let is_way = |edge: &GraphEdge| edge.from == from && edge.to == to;
            // A run can leave a stage without a rule: no match, a limit, or an undeclared topic. Draw an extra edge
            // for it.
            if !self.edges.iter().any(is_way) {
                self.connect(from, to, label.to_owned(), EdgeKind::Forward);
            }
            if let Some(edge) = self.edges.iter_mut().find(|edge| is_way(edge)) {
                edge.taken = count;
            }
            if matches!(self.nodes[to].id.as_str(), COMPLETE | ABORT) {
                self.nodes[to].visits = count;
            }
        }
    }

    /// Computes the order of the nodes and marks the loops.
    fn arranged(mut self, entry: &str) -> Self {
        self.order = FlowOrder::of(&self, entry);
        self.order.clone().mark_loops(&mut self);
        self
    }

    pub(crate) fn described(self, description: Option<String>) -> Self {
        Self { description, ..self }
    }

    pub(crate) fn index(&self, id: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == id)
    }

    /// Adds an edge. Two rules with the same target become one edge with two labels.
    pub(crate) fn connect(&mut self, from: usize, to: usize, label: String, kind: EdgeKind) {
        let present =
            self.edges.iter_mut().find(|edge| edge.from == from && edge.to == to && edge.kind == kind);
        let edge = match present {
            Some(edge) => edge,
            None => {
                self.edges.push(GraphEdge { from, to, labels: Vec::new(), kind, taken: 0 });
                self.edges.last_mut().expect("one was just added")
            }
        };
        if !label.is_empty() && !edge.labels.contains(&label) {
            edge.labels.push(label);
        }
    }

    /// Removes those of the given nodes that have no incoming edge, along with their outgoing edges.
    fn drop_unreached<'i>(&mut self, ids: impl IntoIterator<Item = &'i str>) {
        for id in ids {
            let Some(index) = self.index(id) else { continue };
            if self.edges.iter().any(|edge| edge.to == index && edge.from != index) {
                continue;
            }
            self.nodes.remove(index);
            self.edges.retain(|edge| edge.from != index);
            for edge in &mut self.edges {
                edge.from -= usize::from(edge.from > index);
                edge.to -= usize::from(edge.to > index);
            }
        }
    }
}

impl GraphNode {
    fn new(id: &str, kind: NodeKind) -> Self {
        let id = id.to_owned();
        Self { id, kind, description: None, turns: Vec::new(), figures: None, visits: 0 }
    }

    fn of(id: &str, stage: &Stage) -> Self {
        let (kind, turns) = match &stage.does {
            _ if stage.aside => (NodeKind::Aside, &[][..]),
            Activity::Turns { turns, .. } if turns.len() > 1 => (NodeKind::Parallel, turns.as_slice()),
            Activity::Turns { turns, .. } if stage.runs_only_programs() => {
                (NodeKind::Program, turns.as_slice())
            }
            // Most stages have the same name as their only turn.
            Activity::Turns { turns, .. } if turns.iter().any(|turn| turn.id.as_str() != id) => {
                (NodeKind::Turn, turns.as_slice())
            }
            Activity::Turns { .. } => (NodeKind::Turn, &[][..]),
            Activity::Gate(_) => (NodeKind::Gate, &[][..]),
            Activity::Action(_) => (NodeKind::Action, &[][..]),
        };
        let part = |turn: &Turn| {
            let command = turn.program.as_ref().map(|program| short_command(&program.typed(), COMMAND));
            let name = match command {
                Some(command) if kind == NodeKind::Program => format!("$ {command}"),
                Some(command) => format!("{} $ {command}", turn.id),
                None => turn.id.to_string(),
            };
            GraphTurn { name, description: turn.description.clone() }
        };
        Self {
            description: stage.description.clone(),
            turns: turns.iter().map(part).collect(),
            ..Self::new(id, kind)
        }
    }

    /// Returns its name, turns and figures, one per line.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        let turns = self.turns.iter().map(|turn| turn.name.as_str());
        std::iter::once(self.id.as_str()).chain(turns).chain(self.figures.as_deref())
    }

    /// Returns the descriptions of the node and its turns.
    pub(crate) fn tooltip(&self) -> Option<String> {
        let of_turn = |turn: &GraphTurn| Some(format!("{}: {}", turn.name, turn.description.as_ref()?));
        let lines: Vec<String> =
            self.description.iter().cloned().chain(self.turns.iter().filter_map(of_turn)).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Maximum characters of a command line in a node.
const COMMAND: usize = 36;

/// Adds every edge of a workflow.
fn add_edges(graph: &mut WorkflowGraph, workflow: &Workflow) {
    for (from, stage) in workflow.stages.values().enumerate() {
        match &stage.exit {
            Exit::Rules { rules, .. } => {
                for rule in rules {
                    lead(graph, from, &rule.then, condition(&rule.when), EdgeKind::Forward);
                }
            }
            Exit::Topics { default, .. } => topics(graph, from, (stage, default.as_ref()), workflow),
        }
        substitute(graph, from, stage);
    }
    monitors(graph, workflow);
    if let Some(next) = workflow.afterwards.as_ref().and_then(|id| graph.index(id.as_str())) {
        lead_on(graph, next);
    }
}

/// Redirects completion to the next stage, such as a report or delivery. Later stages keep their edges.
fn lead_on(graph: &mut WorkflowGraph, next: usize) {
    let Some(complete) = graph.index(COMPLETE) else { return };
    let mut there = vec![next];
    while let Some(more) =
        graph.edges.iter().find(|edge| there.contains(&edge.from) && !there.contains(&edge.to))
    {
        there.push(more.to);
    }
    let is_done = |edge: &&mut GraphEdge| edge.to == complete && !there.contains(&edge.from);
    graph.edges.iter_mut().filter(is_done).for_each(|edge| edge.to = next);
}

fn lead(graph: &mut WorkflowGraph, from: usize, target: &Target, label: String, kind: EdgeKind) {
    let to = match target {
        Target::Stage(id) => graph.index(id.as_str()),
        Target::Complete => graph.index(COMPLETE),
        Target::End(Ending::Completed(_)) => graph.index(COMPLETE),
        Target::End(_) => graph.index(ABORT),
        Target::Again(again) => {
            // A loop without a limit is never exhausted.
            if again.at_most.is_some() && !matches!(again.exhausted, Target::Again(_)) {
                lead(graph, from, &again.exhausted, "exhausted".to_owned(), kind);
            }
            Some(from)
        }
        Target::NamedBy { .. } => None,
        Target::ByPhase { stages } => {
            for (phase, id) in stages {
                if let Some(to) = graph.index(id.as_str()) {
                    graph.connect(from, to, format!("phase {phase}"), kind);
                }
            }
            None
        }
    };
    if let Some(to) = to {
        graph.connect(from, to, label, kind);
    }
}

fn condition(when: &RuleCondition) -> String {
    let quoted =
        |labels: &[Label]| labels.iter().map(|label| format!("\"{label}\"")).collect::<Vec<_>>().join(", ");
    match when {
        RuleCondition::Always => String::new(),
        RuleCondition::Is(label) | RuleCondition::Answered(label) => label.to_string(),
        RuleCondition::All(labels) => format!("all({})", quoted(labels)),
        RuleCondition::Any(labels) => format!("any({})", quoted(labels)),
        RuleCondition::Stalled(_) => when.stalled_text(),
    }
}

/// Adds the edge to the substitute for a stage that accepts no more visits.
fn substitute(graph: &mut WorkflowGraph, from: usize, stage: &Stage) {
    let Some(limit) = &stage.visits else { return };
    let to = limit.once_instead.as_ref().and_then(|id| graph.index(id.as_str()));
    if let Some(to) = to {
        let label = limit.publishes.as_ref().map(ToString::to_string);
        graph.connect(from, to, label.unwrap_or_else(|| "exhausted".to_owned()), EdgeKind::Forward);
    }
}

fn topics(
    graph: &mut WorkflowGraph,
    from: usize,
    (stage, default): (&Stage, Option<&Topic>),
    workflow: &Workflow,
) {
    let directives = stage.turns().first().and_then(|turn| turn.reads.directives.as_ref());
    let (Some(directives), Some(table)) = (directives, workflow.topics.as_ref()) else { return };
    for topic in directives.declared.iter().flatten().chain(default) {
        let (to, _) = saihai_judge::route(table, topic);
        if let Some(to) = graph.index(to.as_str()) {
            graph.connect(from, to, topic.to_string(), EdgeKind::Forward);
        }
    }
    for word in directives.words.iter().filter(|word| !word.quiet) {
        // After completion the definition may continue with a gate or delivery.
        let afterwards = workflow.afterwards.clone().filter(|_| word.then == Target::Complete);
        let then = afterwards.map_or_else(|| word.then.clone(), Target::Stage);
        lead(graph, from, &then, word.word.clone(), EdgeKind::Forward);
    }
}

/// Adds each monitor's alarm as an edge from the last stage of its cycle.
fn monitors(graph: &mut WorkflowGraph, workflow: &Workflow) {
    for monitor in &workflow.monitors {
        let (Watch::Cycle { stages, times, .. }, Alarm::Go(target)) = (&monitor.watches, &monitor.then)
        else {
            continue;
        };
        let Some(from) = stages.last().and_then(|stage| graph.index(stage.as_str())) else { continue };
        let rounds = if *times == 1 { "round" } else { "rounds" };
        lead(graph, from, target, format!("after {times} {rounds}"), EdgeKind::Monitor);
    }
    for breaker in &workflow.breakers {
        let Some(from) = breaker.stages.last().and_then(|stage| graph.index(stage.as_str())) else {
            continue;
        };
        for judge in &breaker.judges {
            let label = RuleCondition::Stalled(judge.kinds.clone()).stalled_text();
            lead(graph, from, &Target::Stage(judge.stage.clone()), label, EdgeKind::Monitor);
        }
    }
}

/// Returns the reason for leaving a stage, as the label of an edge that no rule draws.
fn exit_label(verdict: &Verdict) -> &str {
    match (&verdict.topic, verdict.by, &verdict.to) {
        (Some(topic), _, _) => topic.as_str(),
        (None, By::Directive, Destination::Again) => "nothing reported",
        (None, By::Directive, _) => "closing word",
        (None, _, _) => "no rule matched",
    }
}

fn seconds(time: Millis) -> String {
    match time.0 {
        ms if ms < 1_000 => format!("{ms} ms"),
        ms if ms < 60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct FlowOrder {
    /// The nodes of the flow, from top to bottom.
    pub(crate) flow: Vec<usize>,
    /// The row of each node. A side node has the row of its stage; ends have none.
    pub(crate) places: Vec<Option<usize>>,
}

impl FlowOrder {
    /// Returns the row of a node in the flow itself.
    pub(crate) fn in_flow(&self, node: usize) -> Option<usize> {
        self.places.get(node).copied().flatten().filter(|place| self.flow[*place] == node)
    }

    /// Computes the order: that of the definition if it reads from top to bottom, otherwise by the edges.
    pub(super) fn of(graph: &WorkflowGraph, entry: &str) -> Self {
        let sources: Vec<Option<usize>> =
            (0..graph.nodes.len()).map(|node| beside(graph, node, entry)).collect();
        let is_end = |node: usize| matches!(graph.nodes[node].kind, NodeKind::Complete | NodeKind::Abort);
        let written: Vec<usize> =
            (0..graph.nodes.len()).filter(|node| sources[*node].is_none() && !is_end(*node)).collect();
        let entry = graph.index(entry).unwrap_or(0);
        let leads: Vec<(usize, usize)> = graph
            .edges
            .iter()
            .filter(|edge| sources[edge.to].is_none() && !is_end(edge.to))
            .map(|edge| (sources[edge.from].unwrap_or(edge.from), edge.to))
            .collect();
        let flow = if reads_downwards(&written, entry, &leads) {
            written
        } else {
            by_edges(&written, entry, &leads, graph.nodes.len())
        };
        let mut places = vec![None; graph.nodes.len()];
        for (place, node) in flow.iter().enumerate() {
            places[*node] = Some(place);
        }
        for (node, source) in sources.iter().enumerate() {
            if let Some(source) = source {
                places[node] = places[*source];
            }
        }
        Self { flow, places }
    }

    /// Marks edges that lead upwards or to their own source as loops.
    pub(super) fn mark_loops(&self, graph: &mut WorkflowGraph) {
        for edge in graph.edges.iter_mut().filter(|edge| edge.kind == EdgeKind::Forward) {
            let (Some(from), Some(to)) = (self.places[edge.from], self.in_flow(edge.to)) else { continue };
            if to <= from {
                edge.kind = EdgeKind::Loop;
            }
        }
    }
}

/// Returns the only stage of the flow that a gate or a judge belongs to.
fn beside(graph: &WorkflowGraph, node: usize, entry: &str) -> Option<usize> {
    let is_aside = |node: usize| matches!(graph.nodes[node].kind, NodeKind::Gate | NodeKind::Aside);
    if !is_aside(node) || graph.nodes[node].id == entry {
        return None;
    }
    let mut sources = graph.edges.iter().filter(|edge| edge.to == node).map(|edge| edge.from);
    let first = sources.next()?;
    (!is_aside(first) && sources.all(|source| source == first)).then_some(first)
}

/// Returns true if the entry is first, and each other stage is below one that leads to it.
fn reads_downwards(written: &[usize], entry: usize, leads: &[(usize, usize)]) -> bool {
    let [first, others @ ..] = written else { return true };
    *first == entry && others.iter().all(|node| leads.iter().any(|(from, to)| to == node && from < node))
}

/// Orders nodes depth first from the entry: sources above targets except in cycles, unreachable ones last.
fn by_edges(written: &[usize], entry: usize, leads: &[(usize, usize)], count: usize) -> Vec<usize> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in leads {
        next[*from].push(*to);
    }
    let (mut seen, mut flow) = (vec![false; count], Vec::new());
    for root in std::iter::once(entry).chain(written.iter().copied()) {
        let mut left = Vec::new();
        walk(root, &next, &mut seen, &mut left);
        flow.extend(left.into_iter().rev());
    }
    flow
}

/// Lists nodes in postorder. It avoids recursion, because a definition may have thousands of stages.
fn walk(root: usize, next: &[Vec<usize>], seen: &mut [bool], left: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[root], true) {
        return;
    }
    // The first rule is visited last, so that its target is placed directly below.
    let mut stack = vec![(root, next[root].len())];
    while let Some((node, rest)) = stack.pop() {
        let Some(index) = rest.checked_sub(1) else {
            left.push(node);
            continue;
        };
        stack.push((node, index));
        let to = next[node][index];
        if !std::mem::replace(&mut seen[to], true) {
            stack.push((to, next[to].len()));
        }
    }
}

#[cfg(test)]
mod tests;
