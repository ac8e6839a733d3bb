//! The order of the stages in the flow, and the positions of side nodes.

use super::{Graph, Kind, Way};

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    /// The nodes of the flow, from top to bottom.
    pub(crate) flow: Vec<usize>,
    /// The row of each node. A side node has the row of its stage; ends have none.
    pub(crate) places: Vec<Option<usize>>,
}

impl Order {
    /// Returns the row of a node in the flow itself.
    pub(crate) fn in_flow(&self, node: usize) -> Option<usize> {
        self.places.get(node).copied().flatten().filter(|place| self.flow[*place] == node)
    }

    /// Computes the order of a graph. The order of the definition is kept if it reads from top to bottom. Otherwise
    /// the edges decide.
    pub(super) fn of(graph: &Graph, entry: &str) -> Self {
        let sources: Vec<Option<usize>> =
            (0..graph.nodes.len()).map(|node| beside(graph, node, entry)).collect();
        let is_end = |node: usize| matches!(graph.nodes[node].kind, Kind::Complete | Kind::Abort);
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
    pub(super) fn mark_loops(&self, graph: &mut Graph) {
        for edge in graph.edges.iter_mut().filter(|edge| edge.kind == Way::Forward) {
            let (Some(from), Some(to)) = (self.places[edge.from], self.in_flow(edge.to)) else { continue };
            if to <= from {
                edge.kind = Way::Loop;
            }
        }
    }
}

/// Returns the only stage of the flow that a gate or a judge belongs to.
fn beside(graph: &Graph, node: usize, entry: &str) -> Option<usize> {
    let is_aside = |node: usize| matches!(graph.nodes[node].kind, Kind::Gate | Kind::Aside);
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

/// Orders the nodes depth first from the entry. A source is above its target unless they form a cycle. Unreachable
/// nodes come last.
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
