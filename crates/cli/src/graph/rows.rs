//! The rows of a drawing: one stage of the flow each, with its edges and its side nodes.

use crate::graph::EdgeKind;
use crate::graph::GraphEdge;
use crate::graph::NodeKind;
use crate::graph::WorkflowGraph;
use crate::graph::layout::WrappedText;
use crate::graph::layout::{
    BOLD, END, LABEL_COLUMNS, NAME, NAME_COLUMNS, TURN, WORD, WORDS, lines_height, text_width, widest, wrap,
};

/// The part of an edge at its box.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EdgeStub {
    pub(super) edge: usize,
    pub(super) words: WrappedText,
    /// True if it leads to an end.
    pub(super) ends: bool,
    /// Its height, relative to the top of the row's box.
    pub(super) y: f64,
}

/// An element to the right of a stage.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SideItem {
    End(EdgeStub),
    /// A gate or a judge, with its incoming and outgoing edges.
    Beside {
        node: usize,
        entries: Vec<EdgeStub>,
        exits: Vec<EdgeStub>,
        /// Its top, relative to the top of the row's box, and its height.
        span: (f64, f64),
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct GraphRow {
    pub(super) node: usize,
    /// Edges to stages other than the next one.
    pub(super) left: Vec<EdgeStub>,
    pub(super) right: Vec<SideItem>,
    /// The edge to the next row.
    pub(super) down: Option<EdgeStub>,
    /// Entry heights of edges from the lanes, relative to the top of the box.
    pub(super) comes_in: (Option<f64>, Option<f64>),
    pub(super) top: f64,
    pub(super) height: f64,
}

/// Space between the box's border and its first edge, and between two elements.
const PADDING: f64 = 9.0;
const GAP: f64 = 7.0;
/// Entry height of edges from a lane.
const TRACK: f64 = 12.0;

impl EdgeStub {
    fn new(graph: &WorkflowGraph, index: usize, columns: usize) -> Self {
        let edge = &graph.edges[index];
        let ends = matches!(graph.nodes[edge.to].kind, NodeKind::Complete | NodeKind::Abort);
        Self { edge: index, words: words(graph, edge, columns), ends, y: 0.0 }
    }

    /// Returns the height of the label above its line.
    fn above(&self) -> f64 {
        (lines_height(self.words.lines.len(), WORDS) + 5.0).max(12.0)
    }

    /// Returns the space below its line.
    fn below(&self) -> f64 {
        if self.ends { END.1 / 2.0 + 2.0 } else { 6.0 }
    }
}

/// Wraps the labels of an edge and adds its visit count.
fn words(graph: &WorkflowGraph, edge: &GraphEdge, columns: usize) -> WrappedText {
    let mut all = WrappedText::default();
    for label in &edge.labels {
        let wrapped = wrap(label, columns, 3);
        all.cut |= wrapped.cut;
        all.lines.extend(wrapped.lines);
    }
    if graph.traced && edge.taken > 0 {
        all.lines.push(format!("×{}", edge.taken));
    }
    all
}

impl SideItem {
    pub(super) fn entries(&self) -> &[EdgeStub] {
        match self {
            Self::End(stub) => std::slice::from_ref(stub),
            Self::Beside { entries, .. } => entries,
        }
    }

    pub(super) fn exits(&self) -> &[EdgeStub] {
        match self {
            Self::End(_) => &[],
            Self::Beside { exits, .. } => exits,
        }
    }

    pub(super) fn width(&self, graph: &WorkflowGraph) -> f64 {
        match self {
            Self::End(_) => END.0,
            Self::Beside { node, .. } => box_width(graph, *node),
        }
    }

    /// Places it below `top` and returns its lower end.
    fn stand(&mut self, graph_height: impl Fn(usize) -> f64, top: f64) -> f64 {
        match self {
            Self::End(stub) => {
                stub.y = top + stub.above().max(END.1 / 2.0);
                stub.y + stub.below()
            }
            Self::Beside { node, entries, exits, span } => {
                let leaving: f64 = exits.iter().map(|stub| stub.above() + stub.below()).sum();
                let coming: f64 = match entries.as_slice() {
                    // A single edge enters at the middle.
                    [one] => one.above() * 2.0,
                    several => several.iter().map(|stub| stub.above() + stub.below()).sum(),
                };
                let height = (leaving + 8.0).max(coming).max(graph_height(*node));
                *span = (top, height);
                let mut y = top + (height - leaving) / 2.0;
                for stub in exits {
                    stub.y = y + stub.above();
                    y = stub.y + stub.below();
                }
                let mut y = top + (height - coming) / 2.0;
                for stub in entries {
                    stub.y = y + stub.above();
                    y = stub.y + stub.below();
                }
                top + height
            }
        }
    }
}

impl GraphRow {
    /// Creates the rows of a graph. If the last stage can complete, its completion is a row too.
    pub(super) fn all(graph: &WorkflowGraph) -> Vec<Self> {
        let mut nodes = graph.order.flow.clone();
        let last = nodes.last().copied();
        let completes = graph.edges.iter().find(|edge| {
            Some(edge.from) == last
                && edge.kind == EdgeKind::Forward
                && graph.nodes[edge.to].kind == NodeKind::Complete
        });
        nodes.extend(completes.map(|edge| edge.to));
        let mut rows: Vec<Self> = (0..nodes.len())
            .map(|place| Self::new(graph, nodes[place], nodes.get(place + 1).copied()))
            .collect();
        for index in 0..graph.edges.len() {
            let edge = &graph.edges[index];
            let Some(to) = graph.order.in_flow(edge.to) else { continue };
            let is_down = rows.iter().any(|row| row.down.as_ref().is_some_and(|down| down.edge == index));
            if !is_down {
                let from_flow = graph.order.in_flow(edge.from).is_some();
                let side = if from_flow { &mut rows[to].comes_in.0 } else { &mut rows[to].comes_in.1 };
                *side = Some(TRACK);
            }
        }
        rows.iter_mut().for_each(|row| row.measure(graph));
        rows
    }

    fn new(graph: &WorkflowGraph, node: usize, next: Option<usize>) -> Self {
        let mut row = Self {
            node,
            left: Vec::new(),
            right: Vec::new(),
            down: None,
            comes_in: (None, None),
            top: 0.0,
            height: 0.0,
        };
        for (index, edge) in graph.edges.iter().enumerate().filter(|(_, edge)| edge.from == node) {
            let stub = EdgeStub::new(graph, index, LABEL_COLUMNS);
            let beside = |item: &SideItem| matches!(item, SideItem::Beside { node, .. } if *node == edge.to);
            if Some(edge.to) == next && edge.kind == EdgeKind::Forward && row.down.is_none() {
                row.down = Some(EdgeStub::new(graph, index, LABEL_COLUMNS + 7));
            } else if graph.order.in_flow(edge.to).is_some() {
                row.left.push(stub);
            } else if stub.ends {
                row.right.push(SideItem::End(stub));
            } else if let Some(SideItem::Beside { entries, .. }) =
                row.right.iter_mut().find(|item| beside(item))
            {
                entries.push(stub);
            } else {
                let exits = graph.edges.iter().enumerate().filter(|(_, exit)| exit.from == edge.to);
                let exits = exits.map(|(index, _)| EdgeStub::new(graph, index, LABEL_COLUMNS)).collect();
                row.right.push(SideItem::Beside {
                    node: edge.to,
                    entries: vec![stub],
                    exits,
                    span: (0.0, 0.0),
                });
            }
        }
        row
    }

    /// Assigns a height to every edge, and computes the height of the box.
    fn measure(&mut self, graph: &WorkflowGraph) {
        let mut left = PADDING + self.comes_in.0.map_or(0.0, |track| track);
        for stub in &mut self.left {
            stub.y = left + stub.above();
            left = stub.y + stub.below();
        }
        let mut right = PADDING + self.comes_in.1.map_or(0.0, |track| track);
        for item in &mut self.right {
            right = item.stand(|node| box_height(graph, node), right) + GAP;
        }
        let wanted = (left + PADDING).max(right - GAP + PADDING);
        self.height = box_height(graph, self.node).max(if self.is_plain() { 0.0 } else { wanted });
    }

    fn is_plain(&self) -> bool {
        self.left.is_empty() && self.right.is_empty()
    }

    pub(super) fn width(&self, graph: &WorkflowGraph) -> f64 {
        box_width(graph, self.node)
    }

    /// Stacks the rows and returns the lower end of the last one.
    pub(super) fn stand(rows: &mut [Self], top: f64) -> f64 {
        let mut y = top;
        for row in rows {
            row.top = y;
            let words = row.down.as_ref().map_or(0, |down| down.words.lines.len());
            y += row.height + (lines_height(words, WORDS) + 18.0).max(30.0);
        }
        y - 30.0
    }
}

/// Wraps the name of a node.
pub(super) fn name(graph: &WorkflowGraph, node: usize) -> Vec<String> {
    let node = &graph.nodes[node];
    let name = match node.kind {
        NodeKind::Gate => format!("? {}", node.id),
        NodeKind::Turn
        | NodeKind::Program
        | NodeKind::Parallel
        | NodeKind::Action
        | NodeKind::Aside
        | NodeKind::Complete
        | NodeKind::Abort => node.id.clone(),
    };
    wrap(&name, NAME_COLUMNS, 4).lines
}

fn box_width(graph: &WorkflowGraph, index: usize) -> f64 {
    let node = &graph.nodes[index];
    let turns = node.turns.iter().map(|turn| text_width(&turn.name, WORD) + 20.0).fold(0.0, f64::max);
    let figures = node.figures.as_ref().map_or(0.0, |figures| text_width(figures, WORD));
    widest(&name(graph, index), BOLD).max(turns).max(figures) + 26.0
}

fn box_height(graph: &WorkflowGraph, index: usize) -> f64 {
    let node = &graph.nodes[index];
    let turns = lines_height(node.turns.len(), TURN);
    let figures = if node.figures.is_some() { WORDS + 3.0 } else { 0.0 };
    lines_height(name(graph, index).len(), NAME) + turns + figures + 20.0
}
