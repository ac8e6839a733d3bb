//! Where everything stands: ranks from top to bottom, long edges bent around what stands between.
//!
//! Ranks are longest paths over the edges that lead onwards; between two ranks of nodes lies one for words. An edge gets
//! a point in each rank it crosses; points and nodes of a rank are ordered and spread together, so that no edge runs
//! through a node or another edge's words.

use super::{Graph, Way};
use crate::terminal::width;

/// A node's box, by its centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The whole drawing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    pub(super) nodes: Vec<Place>,
    /// The points each edge passes, from one box's border to the other's.
    pub(super) edges: Vec<Vec<(f64, f64)>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Something that takes up room in a rank: a node, or the point of a long edge.
#[derive(Debug, Clone)]
struct Item {
    rank: usize,
    width: f64,
    x: f64,
    /// Neighbours in the rank above and below.
    above: Vec<usize>,
    below: Vec<usize>,
}

pub(super) const LINE: f64 = 18.0;
const CHARACTER: f64 = 7.6;
const BETWEEN: f64 = 36.0;
const BETWEEN_RANKS: f64 = 20.0;
const BETWEEN_POINTS: f64 = 26.0;
const MARGIN: f64 = 32.0;

pub(super) fn text_width(text: &str) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "columns of a label")]
    let columns = width(text) as f64;
    columns * CHARACTER
}

pub(super) fn layout(graph: &Graph) -> Layout {
    let ranks = ranks(graph);
    let mut items: Vec<Item> = Vec::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        let longest = std::iter::once(&node.id).chain(&node.lines).map(|line| text_width(line));
        let width = longest.fold(60.0, f64::max) + 32.0;
        items.push(Item { rank: ranks[index] * 2, width, x: 0.0, above: Vec::new(), below: Vec::new() });
    }
    let chains: Vec<Vec<usize>> =
        graph.edges.iter().map(|edge| chain(&mut items, edge.from, edge.to, &edge.labels)).collect();
    let mut rows = rows(&items);
    for _ in 0..8 {
        sort_rows(&mut items, &mut rows);
    }
    for _ in 0..12 {
        spread(&mut items, &rows);
    }
    settle(graph, items, &rows, &chains)
}

/// Longest paths over the edges that lead onwards; ends stand last.
fn ranks(graph: &Graph) -> Vec<usize> {
    let count = graph.nodes.len();
    let mut ranks = vec![0_usize; count];
    for _ in 0..count {
        let mut changed = false;
        for edge in graph.edges.iter().filter(|edge| edge.kind != Way::Loop && edge.from != edge.to) {
            let wanted = ranks[edge.from] + 1;
            if ranks[edge.to] < wanted && wanted < count {
                ranks[edge.to] = wanted;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let last = ranks.iter().copied().max().unwrap_or(0);
    for (index, node) in graph.nodes.iter().enumerate() {
        let leads_on = graph.edges.iter().any(|edge| edge.from == index);
        if !leads_on && matches!(node.kind, super::Kind::Complete | super::Kind::Abort) {
            ranks[index] = last.max(1);
        }
    }
    ranks
}

/// The items an edge passes, with new points for the ranks it crosses. Always listed from the edge's start.
fn chain(items: &mut Vec<Item>, from: usize, to: usize, labels: &[String]) -> Vec<usize> {
    let (top, bottom) = if items[from].rank <= items[to].rank { (from, to) } else { (to, from) };
    let mut list = vec![top];
    let label = labels.iter().map(|label| text_width(label)).fold(0.0, f64::max);
    for rank in items[top].rank + 1..items[bottom].rank {
        // The words stand on the first point after the edge's beginning.
        let begins = if top == from { items[top].rank + 1 } else { items[bottom].rank - 1 };
        let width = if rank == begins { label.min(220.0) + 12.0 } else { 12.0 };
        items.push(Item { rank, width, x: 0.0, above: Vec::new(), below: Vec::new() });
        list.push(items.len() - 1);
    }
    if top != bottom {
        list.push(bottom);
    }
    for pair in list.windows(2) {
        if items[pair[0]].rank != items[pair[1]].rank {
            items[pair[0]].below.push(pair[1]);
            items[pair[1]].above.push(pair[0]);
        }
    }
    if top != from {
        list.reverse();
    }
    list
}

fn rows(items: &[Item]) -> Vec<Vec<usize>> {
    let count = items.iter().map(|item| item.rank + 1).max().unwrap_or(0);
    let mut rows = vec![Vec::new(); count];
    for (index, item) in items.iter().enumerate() {
        rows[item.rank].push(index);
    }
    rows
}

/// Orders each rank by where its neighbours stand, downwards and back up again.
fn sort_rows(items: &mut [Item], rows: &mut [Vec<usize>]) {
    let count = rows.len();
    for step in 0..count * 2 {
        let (row, down) = if step < count { (step, true) } else { (count * 2 - 1 - step, false) };
        let mean = |index: &usize| {
            let near = if down { &items[*index].above } else { &items[*index].below };
            mean_of(near.iter().map(|other| items[*other].x))
        };
        let mut keyed: Vec<(f64, usize)> =
            rows[row].iter().map(|index| (mean(index).unwrap_or(items[*index].x), *index)).collect();
        keyed.sort_by(|left, right| left.0.total_cmp(&right.0));
        rows[row] = keyed.into_iter().map(|(_, index)| index).collect();
        line_up(items, &rows[row]);
    }
}

/// Stands a row side by side around the middle.
fn line_up(items: &mut [Item], row: &[usize]) {
    let mut x = 0.0;
    for (position, index) in row.iter().enumerate() {
        if position > 0 {
            x += gap(items, row[position - 1], *index);
        }
        items[*index].x = x;
    }
    let middle = x / 2.0;
    for index in row {
        items[*index].x -= middle;
    }
}

fn gap(items: &[Item], left: usize, right: usize) -> f64 {
    let between =
        if items[left].width < 30.0 || items[right].width < 30.0 { BETWEEN_POINTS } else { BETWEEN };
    f64::midpoint(items[left].width, items[right].width) + between
}

/// Moves every item towards its neighbours as far as the order of its row allows.
fn spread(items: &mut [Item], rows: &[Vec<usize>]) {
    for row in rows {
        let wanted: Vec<f64> = row
            .iter()
            .map(|index| {
                let item = &items[*index];
                let near = item.above.iter().chain(&item.below).map(|other| items[*other].x);
                mean_of(near).unwrap_or(item.x)
            })
            .collect();
        // Pushed apart to the right, pushed apart to the left, and the middle of both: nothing drifts.
        let (mut right, mut left) = (wanted.clone(), wanted);
        for position in 1..row.len() {
            right[position] =
                right[position].max(right[position - 1] + gap(items, row[position - 1], row[position]));
        }
        for position in (1..row.len()).rev() {
            left[position - 1] =
                left[position - 1].min(left[position] - gap(items, row[position - 1], row[position]));
        }
        for (position, index) in row.iter().enumerate() {
            items[*index].x = f64::midpoint(right[position], left[position]);
        }
    }
}

fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}

/// Heights, and the points where edges touch boxes.
fn settle(graph: &Graph, mut items: Vec<Item>, rows: &[Vec<usize>], chains: &[Vec<usize>]) -> Layout {
    let left = items.iter().map(|item| item.x - item.width / 2.0).fold(f64::MAX, f64::min);
    let mut right: f64 = 0.0;
    for item in &mut items {
        item.x += MARGIN - left;
        right = right.max(item.x + item.width / 2.0);
    }
    let (tops, heights, bottom) = heights(graph, rows);
    let nodes: Vec<Place> = graph
        .nodes
        .iter()
        .enumerate()
        .map(|(index, node)| Place {
            x: items[index].x,
            y: tops[items[index].rank] + heights[items[index].rank] / 2.0,
            width: items[index].width,
            height: box_height(node),
        })
        .collect();
    let middle = |index: usize| tops[items[index].rank] + heights[items[index].rank] / 2.0;
    let edges = graph.edges.iter().zip(chains).map(|(edge, chain)| {
        let mut points: Vec<(f64, f64)> =
            chain.iter().map(|index| (items[*index].x, middle(*index))).collect();
        if edge.from == edge.to {
            return own_loop(&nodes[edge.from]);
        }
        if let (Some(first), Some(second)) = (points.first().copied(), points.get(1).copied()) {
            points[0] = touch(&nodes[edge.from], first, second);
        }
        let count = points.len();
        if count >= 2 {
            points[count - 1] = touch(&nodes[edge.to], points[count - 1], points[count - 2]);
        }
        points
    });
    let edges: Vec<Vec<(f64, f64)>> = edges.collect();
    let reach = edges.iter().flatten().map(|(x, _)| *x).fold(right, f64::max);
    Layout { nodes, edges, width: reach + MARGIN, height: bottom + MARGIN }
}

fn box_height(node: &super::Node) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few lines")]
    let lines = node.lines.len() as f64;
    36.0 + lines * LINE
}

/// The top and height of every rank, and where the last one ends. A rank of words is as high as its longest label.
fn heights(graph: &Graph, rows: &[Vec<usize>]) -> (Vec<f64>, Vec<f64>, f64) {
    let most = graph.edges.iter().map(|edge| edge.labels.len() + usize::from(edge.taken > 0)).max();
    #[expect(clippy::cast_precision_loss, reason = "at most four")]
    let words = LINE * most.unwrap_or(1).clamp(1, 4) as f64;
    let (mut tops, mut heights, mut y) = (Vec::new(), Vec::new(), MARGIN + 30.0);
    for row in rows {
        let boxes = row.iter().filter_map(|index| graph.nodes.get(*index)).map(box_height);
        let height = boxes.fold(words, f64::max);
        tops.push(y);
        heights.push(height);
        y += height + BETWEEN_RANKS;
    }
    (tops, heights, y - BETWEEN_RANKS)
}

/// Where the line from a box's centre to a point leaves the box: at its top or bottom, or at its side within a rank.
fn touch(place: &Place, centre: (f64, f64), towards: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (towards.0 - centre.0, towards.1 - centre.1);
    if dy.abs() < 1.0 {
        return (centre.0 + (place.width / 2.0).copysign(dx), centre.1);
    }
    let lean = (dx / dy.abs() * place.height / 2.0).clamp(-place.width / 2.5, place.width / 2.5);
    (centre.0 + lean, centre.1 + (place.height / 2.0).copysign(dy))
}

fn own_loop(place: &Place) -> Vec<(f64, f64)> {
    let (right, y) = (place.x + place.width / 2.0, place.y);
    vec![(right, y - 9.0), (right + 34.0, y - 16.0), (right + 34.0, y + 16.0), (right, y + 9.0)]
}
