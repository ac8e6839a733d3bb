//! The layout: positions of all nodes and edges.
//!
//! The flow is a column of boxes from top to bottom. An edge to the next stage runs straight down. Every other edge
//! between stages leaves to the left and runs in its own lane.
//!
//! Ends are on the right, as are the gates and judges of a stage. Their edges back run in lanes at the far right.
//! Every edge leaves its box at its own height, with its label above its first segment. So no edge crosses a label or
//! a box in any graph.

mod lanes;
mod rows;
mod wires;

use super::Graph;
use super::wrap::Wrapped;
use crate::terminal::width;
use rows::{Item, Row};

#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A placed node. An end can have several places.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed {
    pub(super) node: usize,
    pub(super) area: Area,
    pub(super) name: Vec<String>,
}

/// An edge with its corners and its label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wire {
    pub(super) edge: usize,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) words: Wrapped,
    /// Start or end of the label's first line.
    pub(super) at: (f64, f64),
    pub(super) anchor: Anchor,
}

/// The side of a point on which text is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    End,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    pub(super) boxes: Vec<Placed>,
    pub(super) wires: Vec<Wire>,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The entry point of a run.
    pub(super) entry: Option<(f64, f64)>,
}

/// Heights of a label line, of a box's name, and of a turn in a box.
pub(super) const WORDS: f64 = 14.0;
pub(super) const NAME: f64 = 17.0;
pub(super) const TURN: f64 = 24.0;
const END: (f64, f64) = (76.0, 24.0);
const MARGIN: f64 = 24.0;
const LANE: f64 = 13.0;
/// Height of the title above the drawing.
const TITLE: f64 = 56.0;
/// Maximum columns of a label and of a name.
const LABEL_COLUMNS: usize = 23;
const NAME_COLUMNS: usize = 20;

/// Returns the drawn width of a text. It includes a reserve, because fonts differ.
pub(super) fn text_width(text: &str, column: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "columns of a label")]
    let columns = width(text) as f64;
    columns * column
}

fn widest<'a>(lines: impl IntoIterator<Item = &'a String>, column: f64) -> f64 {
    lines.into_iter().map(|line| text_width(line, column)).fold(0.0, f64::max)
}

#[expect(clippy::cast_precision_loss, reason = "a few lines")]
fn lines_height(lines: usize, line: f64) -> f64 {
    lines as f64 * line
}

/// Widths of one column: labels at 12 pixels, names at 13 pixels and bold.
const WORD: f64 = 6.7;
const BOLD: f64 = 7.8;

/// Horizontal borders between the parts of the drawing, from left to right. Zero is the start of the left labels.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Columns {
    flow: (f64, f64),
    beside: (f64, f64),
    /// The ends of gates and judges.
    ends: (f64, f64),
}

pub(super) fn layout(graph: &Graph) -> Layout {
    let mut rows = Row::all(graph);
    let columns = columns(graph, &rows);
    let top = TITLE + if graph.description.is_some() { WORDS + 4.0 } else { 0.0 } + MARGIN;
    let bottom = Row::stand(&mut rows, top);
    let (boxes, wires, reach) = wires::draw(graph, &rows, columns);
    // Left lanes may exceed the margin, so shift everything.
    let shift = MARGIN - reach.0;
    let mut layout = Layout {
        boxes,
        wires,
        width: reach.1 + shift + MARGIN,
        height: bottom + MARGIN,
        entry: rows.first().map(|row| (f64::midpoint(columns.flow.0, columns.flow.1), row.top)),
    };
    layout.boxes.iter_mut().for_each(|placed| placed.area.x += shift);
    for wire in &mut layout.wires {
        wire.points.iter_mut().for_each(|point| point.0 += shift);
        wire.at.0 += shift;
    }
    layout.entry = layout.entry.map(|(x, y)| (x + shift, y));
    layout
}

/// Computes the width of each part from its labels.
fn columns(graph: &Graph, rows: &[Row]) -> Columns {
    let words = |edges: &mut dyn Iterator<Item = &rows::Stub>| {
        edges.map(|stub| widest(&stub.words.lines, WORD) + 34.0).fold(0.0, f64::max)
    };
    let left = words(&mut rows.iter().flat_map(|row| &row.left));
    let flow = rows.iter().map(|row| row.width(graph)).fold(110.0, f64::max);
    let items = || rows.iter().flat_map(|row| &row.right);
    let right = words(&mut items().flat_map(Item::entries)).max(20.0);
    let beside = items().map(|item| item.width(graph)).fold(0.0, f64::max);
    let exits = words(&mut items().flat_map(Item::exits));
    let ends = if items().flat_map(Item::exits).any(|stub| stub.ends) { END.0 } else { 0.0 };
    let at_flow = left;
    let at_beside = at_flow + flow + right;
    let at_ends = at_beside + beside + exits;
    Columns {
        flow: (at_flow, at_flow + flow),
        beside: (at_beside, at_beside + beside),
        ends: (at_ends, at_ends + ends),
    }
}
