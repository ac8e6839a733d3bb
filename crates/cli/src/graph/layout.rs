//! The layout: positions of all nodes and edges.
//!
//! The flow is a column of boxes from top to bottom. An edge to the next stage runs straight down. Every other edge
//! between stages leaves to the left and runs in its own lane.
//!
//! Ends are on the right, as are the gates and judges of a stage. Their edges back run in lanes at the far right.
//! Every edge leaves its box at its own height, with its label above its first segment. So no edge crosses a label or
//! a box in any graph.

use unicode_width::UnicodeWidthChar;

use crate::graph::WorkflowGraph;
use crate::graph::rows::EdgeStub;
use crate::graph::rows::GraphRow;
use crate::graph::rows::SideItem;
use crate::graph::rows::name;
use crate::terminal::{cut, width};

#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Rectangle {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A placed node. An end can have several places.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlacedNode {
    pub(super) node: usize,
    pub(super) area: Rectangle,
    pub(super) name: Vec<String>,
}

/// An edge with its corners and its label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EdgeWire {
    pub(super) edge: usize,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) words: WrappedText,
    /// Start or end of the label's first line.
    pub(super) at: (f64, f64),
    pub(super) anchor: LabelAnchor,
}

/// The side of a point on which text is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelAnchor {
    Start,
    End,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct GraphLayout {
    pub(super) boxes: Vec<PlacedNode>,
    pub(super) wires: Vec<EdgeWire>,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The entry point of a run.
    pub(super) entry: Option<(f64, f64)>,
}

/// Heights of a label line, of a box's name, and of a turn in a box.
pub(super) const WORDS: f64 = 14.0;
pub(super) const NAME: f64 = 17.0;
pub(super) const TURN: f64 = 24.0;
pub(super) const END: (f64, f64) = (76.0, 24.0);
const MARGIN: f64 = 24.0;
const LANE: f64 = 13.0;
/// Height of the title above the drawing.
const TITLE: f64 = 56.0;
/// Maximum columns of a label and of a name.
pub(super) const LABEL_COLUMNS: usize = 23;
pub(super) const NAME_COLUMNS: usize = 20;

/// Returns the drawn width of a text. It includes a reserve, because fonts differ.
pub(super) fn text_width(text: &str, column: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "columns of a label")]
    let columns = width(text) as f64;
    columns * column
}

pub(super) fn widest<'a>(lines: impl IntoIterator<Item = &'a String>, column: f64) -> f64 {
    lines.into_iter().map(|line| text_width(line, column)).fold(0.0, f64::max)
}

#[expect(clippy::cast_precision_loss, reason = "a few lines")]
pub(super) fn lines_height(lines: usize, line: f64) -> f64 {
    lines as f64 * line
}

/// Widths of one column: labels at 12 pixels, names at 13 pixels and bold.
pub(super) const WORD: f64 = 6.7;
pub(super) const BOLD: f64 = 7.8;

/// Horizontal borders between the parts of the drawing, from left to right. Zero is the start of the left labels.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LayoutColumns {
    flow: (f64, f64),
    beside: (f64, f64),
    /// The ends of gates and judges.
    ends: (f64, f64),
}

pub(super) fn layout(graph: &WorkflowGraph) -> GraphLayout {
    let mut rows = GraphRow::all(graph);
    let columns = columns(graph, &rows);
    let top = TITLE + if graph.description.is_some() { WORDS + 4.0 } else { 0.0 } + MARGIN;
    let bottom = GraphRow::stand(&mut rows, top);
    let (boxes, wires, reach) = draw_wires(graph, &rows, columns);
    // Left lanes may exceed the margin, so shift everything.
    let shift = MARGIN - reach.0;
    let mut layout = GraphLayout {
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
fn columns(graph: &WorkflowGraph, rows: &[GraphRow]) -> LayoutColumns {
    let words = |edges: &mut dyn Iterator<Item = &EdgeStub>| {
        edges.map(|stub| widest(&stub.words.lines, WORD) + 34.0).fold(0.0, f64::max)
    };
    let left = words(&mut rows.iter().flat_map(|row| &row.left));
    let flow = rows.iter().map(|row| row.width(graph)).fold(110.0, f64::max);
    let items = || rows.iter().flat_map(|row| &row.right);
    let right = words(&mut items().flat_map(SideItem::entries)).max(20.0);
    let beside = items().map(|item| item.width(graph)).fold(0.0, f64::max);
    let exits = words(&mut items().flat_map(SideItem::exits));
    let ends = if items().flat_map(SideItem::exits).any(|stub| stub.ends) { END.0 } else { 0.0 };
    let at_flow = left;
    let at_beside = at_flow + flow + right;
    let at_ends = at_beside + beside + exits;
    LayoutColumns {
        flow: (at_flow, at_flow + flow),
        beside: (at_beside, at_beside + beside),
        ends: (at_ends, at_ends + ends),
    }
}

/// The leftmost and the rightmost point.
type Reach = (f64, f64);

fn draw_wires(
    graph: &WorkflowGraph,
    rows: &[GraphRow],
    columns: LayoutColumns,
) -> (Vec<PlacedNode>, Vec<EdgeWire>, Reach) {
    let mut drawing = WireDrawing { graph, rows, columns, boxes: Vec::new(), wires: Vec::new() };
    for place in 0..rows.len() {
        drawing.row(place);
    }
    let left = drawing.left_ways();
    let right = drawing.right_ways();
    (drawing.boxes, drawing.wires, (left, right))
}

struct WireDrawing<'a> {
    graph: &'a WorkflowGraph,
    rows: &'a [GraphRow],
    columns: LayoutColumns,
    boxes: Vec<PlacedNode>,
    wires: Vec<EdgeWire>,
}

impl WireDrawing<'_> {
    /// Draws a stage, its side nodes, and the edges down and to the right.
    fn row(&mut self, place: usize) {
        let rows = self.rows;
        let row = &rows[place];
        let (left, right) = self.columns.flow;
        let area = Rectangle { x: left, y: row.top, width: right - left, height: row.height };
        self.put(row.node, area);
        if let (Some(down), Some(next)) = (&row.down, rows.get(place + 1)) {
            let (x, y) = (f64::midpoint(left, right), row.top + row.height);
            let middle = f64::midpoint(y, next.top) - 3.0;
            let first = middle - lines_height(down.words.lines.len(), WORDS) / 2.0 + 10.0;
            let points = vec![(x, y), (x, next.top)];
            self.wire(down, points, (x + 9.0, first), LabelAnchor::Start);
        }
        for item in &row.right {
            self.item(row, item);
        }
    }

    fn item(&mut self, row: &GraphRow, item: &SideItem) {
        let (start, end) = (self.columns.flow.1, self.columns.beside.0);
        for stub in item.entries() {
            let y = row.top + stub.y;
            self.wire(stub, vec![(start, y), (end, y)], (start + 9.0, above(stub, y)), LabelAnchor::Start);
        }
        match item {
            SideItem::End(stub) => self.end(stub, end, row.top + stub.y),
            SideItem::Beside { node, exits, span, .. } => {
                let width = self.columns.beside.1 - end;
                self.put(*node, Rectangle { x: end, y: row.top + span.0, width, height: span.1 });
                for stub in exits.iter().filter(|stub| stub.ends) {
                    let (y, from, to) = (row.top + stub.y, self.columns.beside.1, self.columns.ends.0);
                    self.wire(
                        stub,
                        vec![(from, y), (to, y)],
                        (from + 9.0, above(stub, y)),
                        LabelAnchor::Start,
                    );
                    self.end(stub, to, y);
                }
            }
        }
    }

    /// Draws edges between stages that are not neighbours. Returns the leftmost point.
    fn left_ways(&mut self) -> f64 {
        let rows = self.rows;
        let stubs: Vec<(&GraphRow, &EdgeStub)> =
            rows.iter().flat_map(|row| row.left.iter().map(move |stub| (row, stub))).collect();
        let buses = self.buses(&stubs);
        let lanes = lanes(&buses);
        let border = self.columns.flow.0;
        let mut reach: f64 = 0.0;
        for (row, stub) in stubs {
            let Some((to, track)) = self.target(stub) else { continue };
            let lane = buses.iter().position(|bus| bus.to == to).map_or(0, |bus| lanes[bus]);
            let x = -lines_height(lane, LANE);
            reach = reach.min(x);
            let y = row.top + stub.y;
            let points = vec![(border, y), (x, y), (x, track), (border, track)];
            self.wire(stub, points, (border - 9.0, above(stub, y)), LabelAnchor::End);
        }
        reach
    }

    /// Draws edges from side nodes back into the flow. Returns the rightmost point.
    fn right_ways(&mut self) -> f64 {
        let rows = self.rows;
        let exits = |row: &'_ GraphRow| -> Vec<EdgeStub> {
            row.right.iter().flat_map(SideItem::exits).filter(|stub| !stub.ends).cloned().collect()
        };
        let all: Vec<(&GraphRow, Vec<EdgeStub>)> = rows.iter().map(|row| (row, exits(row))).collect();
        let stubs: Vec<(&GraphRow, &EdgeStub)> =
            all.iter().flat_map(|(row, exits)| exits.iter().map(move |stub| (*row, stub))).collect();
        let buses = self.buses(&stubs);
        let lanes = lanes(&buses);
        let (start, edge) = (self.columns.beside.1, self.columns.ends.1);
        let mut reach = self
            .wires
            .iter()
            .filter(|wire| wire.anchor == LabelAnchor::Start)
            .fold(edge, |reach, wire| reach.max(wire.at.0 + widest(&wire.words.lines, WORD)));
        for (row, stub) in stubs {
            let Some((to, track)) = self.target(stub) else { continue };
            let lane = buses.iter().position(|bus| bus.to == to).map_or(0, |bus| lanes[bus]);
            let x = edge + 12.0 + lines_height(lane, LANE);
            reach = reach.max(x);
            let y = row.top + stub.y;
            let points = vec![(start, y), (x, y), (x, track), (self.columns.flow.1, track)];
            self.wire(stub, points, (start + 9.0, above(stub, y)), LabelAnchor::Start);
        }
        reach
    }

    fn buses(&self, stubs: &[(&GraphRow, &EdgeStub)]) -> Vec<LaneBus> {
        let mut buses = Vec::new();
        for (row, stub) in stubs {
            if let Some((to, track)) = self.target(stub) {
                LaneBus::join(&mut buses, to, row.top + stub.y, track);
            }
        }
        buses
    }

    /// Returns the target row of an edge from a lane, and its entry height.
    fn target(&self, stub: &EdgeStub) -> Option<(usize, f64)> {
        let edge = &self.graph.edges[stub.edge];
        let to = self.graph.order.in_flow(edge.to)?;
        let (left, right) = self.rows[to].comes_in;
        let track = if self.graph.order.in_flow(edge.from).is_some() { left } else { right };
        track.map(|track| (to, self.rows[to].top + track))
    }

    fn end(&mut self, stub: &EdgeStub, x: f64, y: f64) {
        let node = self.graph.edges[stub.edge].to;
        self.put(node, Rectangle { x, y: y - END.1 / 2.0, width: END.0, height: END.1 });
    }

    fn put(&mut self, node: usize, area: Rectangle) {
        self.boxes.push(PlacedNode { node, area, name: name(self.graph, node) });
    }

    fn wire(&mut self, stub: &EdgeStub, points: Vec<(f64, f64)>, at: (f64, f64), anchor: LabelAnchor) {
        self.wires.push(EdgeWire { edge: stub.edge, points, words: stub.words.clone(), at, anchor });
    }
}

/// Returns the height of the first label line above an edge.
fn above(stub: &EdgeStub, y: f64) -> f64 {
    y - 5.0 - lines_height(stub.words.lines.len().saturating_sub(1), WORDS)
}

/// The edges to one target. They share a lane.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LaneBus {
    pub(super) to: usize,
    top: f64,
    bottom: f64,
}

impl LaneBus {
    /// Adds an edge between two heights to the bus of its target.
    pub(super) fn join(buses: &mut Vec<Self>, to: usize, from_y: f64, to_y: f64) {
        let (top, bottom) = (from_y.min(to_y), from_y.max(to_y));
        match buses.iter_mut().find(|bus| bus.to == to) {
            Some(bus) => {
                bus.top = bus.top.min(top);
                bus.bottom = bus.bottom.max(bottom);
            }
            None => buses.push(Self { to, top, bottom }),
        }
    }

    fn length(&self) -> f64 {
        self.bottom - self.top
    }

    fn meets(&self, other: &Self) -> bool {
        const APART: f64 = 8.0;
        self.top < other.bottom + APART && other.top < self.bottom + APART
    }
}

/// Assigns a lane to each bus, from the flow outwards. Short edges come first, so that few lanes cross.
pub(super) fn lanes(buses: &[LaneBus]) -> Vec<usize> {
    let mut by_length: Vec<usize> = (0..buses.len()).collect();
    by_length.sort_by(|one, other| buses[*one].length().total_cmp(&buses[*other].length()));
    let mut taken: Vec<Vec<usize>> = Vec::new();
    let mut lanes = vec![0; buses.len()];
    for bus in by_length {
        let free = taken.iter().position(|lane| lane.iter().all(|other| !buses[*other].meets(&buses[bus])));
        let lane = free.unwrap_or(taken.len());
        if lane == taken.len() {
            taken.push(Vec::new());
        }
        taken[lane].push(bus);
        lanes[bus] = lane;
    }
    lanes
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct WrappedText {
    pub(super) lines: Vec<String>,
    /// True if the end is cut off.
    pub(super) cut: bool,
}

/// Wraps a text into at most `most` lines of at most `columns` columns.
pub(super) fn wrap(text: &str, columns: usize, most: usize) -> WrappedText {
    let mut lines = vec![String::new()];
    for piece in pieces(text) {
        let line = lines.last_mut().expect("there is always a line");
        if width(line) + width(piece.trim_end()) <= columns {
            line.push_str(piece);
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        for character in piece.chars() {
            let line = lines.last_mut().expect("there is always a line");
            // Break a word that is longer than a line.
            if !line.is_empty() && width(line) + character.width().unwrap_or(0) > columns && character != ' '
            {
                lines.push(String::new());
            }
            lines.last_mut().expect("there is always a line").push(character);
        }
    }
    let mut lines: Vec<String> =
        lines.iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    let is_cut = lines.len() > most;
    if is_cut {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(cut(&rest, columns).into_owned());
    }
    WrappedText { lines, cut: is_cut }
}

/// Splits a text into unbreakable pieces: a word with its trailing space, or a wide character with its marks.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    let mut before: Option<char> = None;
    for (at, character) in text.char_indices() {
        let breaks = before.is_some_and(|before| {
            let is_wide = |one: char| one.width().unwrap_or(0) > 1;
            !CLOSING.contains(character)
                && !OPENING.contains(before)
                && (before == ' ' && character != ' '
                    || is_wide(before)
                    || is_wide(character) && before != ' ')
        });
        if breaks {
            pieces.push(&text[start..at]);
            start = at;
        }
        before = Some(character);
    }
    pieces.push(&text[start..]);
    pieces
}

/// Characters that must not start a line.
const CLOSING: &str = "、。，．・：；？！）」』】〉》ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ),.;:!?\"'」 ";
/// Characters that must not end a line.
const OPENING: &str = "（「『【〈《(";

#[cfg(test)]
mod lanes_tests {
    use super::*;

    #[test]
    fn ways_that_meet_have_lanes_of_their_own_and_the_short_one_is_inside() {
        let mut buses = Vec::new();
        for (to, from_y, to_y) in [(0, 300.0, 0.0), (1, 200.0, 100.0), (2, 500.0, 400.0), (1, 250.0, 100.0)] {
            LaneBus::join(&mut buses, to, from_y, to_y);
        }
        assert_eq!(lanes(&buses), [1, 0, 0]);
    }
}

#[cfg(test)]
mod wrap_tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &[&str]) {
        assert_eq!(wrap(text, columns, 3).lines, expected);
    }

    #[test]
    fn words_stay_whole_and_nothing_is_cut_that_fits() {
        check("Nothing has to be changed", 12, &["Nothing has", "to be", "changed"]);
        check("all(\"Nothing has to be changed\")", 22, &["all(\"Nothing has to be", "changed\")"]);
        check("short", 12, &["short"]);
        check("", 12, &[]);
    }

    #[test]
    fn a_long_word_is_broken_and_a_long_text_cut_where_it_shows() {
        check("aaaaaaaaaaaaaaa bb", 6, &["aaaaaa", "aaaaaa", "aaa bb"]);
        check("one two three four five six", 5, &["one", "two", "thre…"]);
        assert!(wrap("one two three four five six", 5, 3).cut);
    }

    #[test]
    fn japanese_is_broken_between_characters_but_never_before_a_closing_mark() {
        check("計画を実行し、検査に通った", 12, &["計画を実行", "し、検査に", "通った"]);
        check("判断が「必要」", 8, &["判断が", "「必要」"]);
    }

    proptest! {
        #[test]
        fn every_line_fits(text in "[a-zあ-ん漢字、。 (]{0,60}", columns in 4usize..30) {
            for line in wrap(&text, columns, 3).lines {
                prop_assert!(width(&line) <= columns + 4, "{line}");
            }
        }
    }
}
