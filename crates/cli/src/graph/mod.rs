//! A workflow as a drawing: Mermaid, DOT and our own SVG, optionally with the path of a run.

mod dot;
mod edges;
mod layout;
mod mermaid;
mod order;
mod overlay;
mod svg;
mod wrap;

use saihai_model::{Activity, Stage, StageId, Turn, Workflow};

pub(crate) use dot::dot;
pub(crate) use mermaid::mermaid;
use order::Order;
pub(crate) use overlay::Overlay;
pub(crate) use svg::svg;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    /// True if the path of a run is shown.
    pub(crate) traced: bool,
    pub(crate) order: Order,
}

/// A stage or an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) description: Option<String>,
    /// Its turns, if there are several or one with a different name.
    pub(crate) turns: Vec<Part>,
    /// Visit count and total time of a run.
    pub(crate) figures: Option<String>,
    /// Number of visits by a run.
    pub(crate) visits: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Turn,
    Parallel,
    Gate,
    Action,
    /// A monitor's judge, outside the flow.
    Aside,
    Complete,
    Abort,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The conditions, one per line.
    pub(crate) labels: Vec<String>,
    pub(crate) kind: Way,
    /// Number of times a run took this edge.
    pub(crate) taken: u32,
}

/// The style of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
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

impl Graph {
    /// Creates the drawing of a workflow.
    pub(crate) fn of(workflow: &Workflow, overlay: Option<&Overlay>) -> Self {
        let mut graph = Self {
            title: workflow.name.clone(),
            description: None,
            nodes: workflow.stages.iter().map(|(id, stage)| Node::of(id.as_str(), stage)).collect(),
            edges: Vec::new(),
            traced: overlay.is_some(),
            order: Order::default(),
        };
        graph.nodes.extend([Node::new(COMPLETE, Kind::Complete), Node::new(ABORT, Kind::Abort)]);
        edges::draw(&mut graph, workflow);
        if let Some(overlay) = overlay {
            overlay.lay_over(&mut graph);
        }
        // Omit the stage for unclaimed topics if no edge leads to it and its author did not write it.
        let fallback = workflow.topics.as_ref().map(|topics| &topics.otherwise);
        let fallback = fallback.filter(|id| **id != workflow.entry && !is_written(workflow, id));
        graph.drop_unreached(fallback.map(StageId::as_str));
        graph.drop_unreached_ends();
        graph.arranged(workflow.entry.as_str())
    }

    /// Computes the order of the nodes and marks the loops.
    fn arranged(mut self, entry: &str) -> Self {
        self.order = Order::of(&self, entry);
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
    pub(crate) fn connect(&mut self, from: usize, to: usize, label: String, kind: Way) {
        let present =
            self.edges.iter_mut().find(|edge| edge.from == from && edge.to == to && edge.kind == kind);
        let edge = match present {
            Some(edge) => edge,
            None => {
                self.edges.push(Edge { from, to, labels: Vec::new(), kind, taken: 0 });
                self.edges.last_mut().expect("one was just added")
            }
        };
        if !label.is_empty() && !edge.labels.contains(&label) {
            edge.labels.push(label);
        }
    }

    /// Removes ends without an incoming edge.
    fn drop_unreached_ends(&mut self) {
        self.drop_unreached([ABORT, COMPLETE]);
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

impl Node {
    fn new(id: &str, kind: Kind) -> Self {
        let id = id.to_owned();
        Self { id, kind, description: None, turns: Vec::new(), figures: None, visits: 0 }
    }

    fn of(id: &str, stage: &Stage) -> Self {
        let (kind, turns) = match &stage.does {
            _ if stage.aside => (Kind::Aside, &[][..]),
            Activity::Turns { turns, .. } if turns.len() > 1 => (Kind::Parallel, turns.as_slice()),
            // Most stages have the same name as their only turn.
            Activity::Turns { turns, .. } if turns.iter().any(|turn| turn.id.as_str() != id) => {
                (Kind::Turn, turns.as_slice())
            }
            Activity::Turns { .. } => (Kind::Turn, &[][..]),
            Activity::Gate(_) => (Kind::Gate, &[][..]),
            Activity::Action(_) => (Kind::Action, &[][..]),
        };
        let part = |turn: &Turn| Part { name: turn.id.to_string(), description: turn.description.clone() };
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
        let of_turn = |turn: &Part| Some(format!("{}: {}", turn.name, turn.description.as_ref()?));
        let lines: Vec<String> =
            self.description.iter().cloned().chain(self.turns.iter().filter_map(of_turn)).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

#[cfg(test)]
mod tests;
