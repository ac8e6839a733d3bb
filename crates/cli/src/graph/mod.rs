//! A workflow as a drawing: Mermaid, DOT and our own SVG, with or without the path a run took.

mod dot;
mod edges;
mod layout;
mod mermaid;
mod overlay;
mod svg;

use saihai_model::{Activity, Workflow};

pub(crate) use dot::dot;
pub(crate) use mermaid::mermaid;
pub(crate) use overlay::Overlay;
pub(crate) use svg::svg;

/// A workflow as nodes and edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) title: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    /// Whether a run's path is drawn in.
    pub(crate) traced: bool,
}

/// A stage, or an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    /// What is written below its name: its turns, its visits.
    pub(crate) lines: Vec<String>,
    /// How often a run was here.
    pub(crate) visits: u32,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One turn.
    Turn,
    /// Several turns at once.
    Parallel,
    /// A person.
    Gate,
    /// Something done outside.
    Action,
    /// Beside the flow: a monitor's judge.
    Aside,
    /// The end in success.
    Complete,
    /// The end in failure.
    Abort,
}

/// A way from one node to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The conditions, one a line.
    pub(crate) labels: Vec<String>,
    pub(crate) kind: Way,
    /// How often a run went this way.
    pub(crate) taken: u32,
}

/// How an edge is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Onwards.
    Forward,
    /// Back to where the work has been before.
    Loop,
    /// Taken by a monitor.
    Monitor,
}

pub(crate) const COMPLETE: &str = "COMPLETE";
pub(crate) const ABORT: &str = "ABORT";

impl Graph {
    /// The drawing of a workflow.
    pub(crate) fn of(workflow: &Workflow, overlay: Option<&Overlay>) -> Self {
        let mut graph = Self {
            title: workflow.name.clone(),
            nodes: Vec::new(),
            edges: Vec::new(),
            traced: overlay.is_some(),
        };
        for (id, stage) in &workflow.stages {
            let (kind, lines) = match &stage.does {
                _ if stage.aside => (Kind::Aside, Vec::new()),
                Activity::Turns { turns, .. } if turns.len() > 1 => {
                    (Kind::Parallel, turns.iter().map(|turn| turn.id.to_string()).collect())
                }
                Activity::Turns { .. } => (Kind::Turn, Vec::new()),
                Activity::Gate(_) => (Kind::Gate, Vec::new()),
                Activity::Action(_) => (Kind::Action, Vec::new()),
            };
            graph.nodes.push(Node { id: id.to_string(), kind, lines, visits: 0 });
        }
        graph.nodes.push(Node {
            id: COMPLETE.to_owned(),
            kind: Kind::Complete,
            lines: Vec::new(),
            visits: 0,
        });
        graph.nodes.push(Node { id: ABORT.to_owned(), kind: Kind::Abort, lines: Vec::new(), visits: 0 });
        edges::draw(&mut graph, workflow);
        if let Some(overlay) = overlay {
            overlay.lay_over(&mut graph);
        }
        graph.drop_unreached_ends();
        graph
    }

    pub(crate) fn index(&self, id: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == id)
    }

    /// Adds a way; two rules that lead the same way are one edge with two labels.
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

    /// An end that no edge leads to is left out.
    fn drop_unreached_ends(&mut self) {
        for id in [ABORT, COMPLETE] {
            let Some(index) = self.index(id) else { continue };
            if self.edges.iter().any(|edge| edge.to == index) {
                continue;
            }
            self.nodes.remove(index);
            for edge in &mut self.edges {
                edge.from -= usize::from(edge.from > index);
                edge.to -= usize::from(edge.to > index);
            }
        }
    }
}

#[cfg(test)]
mod tests;
