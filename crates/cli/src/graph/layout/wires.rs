//! The boxes, and the corners of every edge.

use super::super::Graph;
use super::lanes::{Bus, lanes};
use super::rows::{Item, Row, Stub, name};
use super::{Anchor, Area, Columns, END, LANE, Placed, WORDS, Wire, lines_height};

/// The leftmost and the rightmost point.
type Reach = (f64, f64);

pub(super) fn draw(graph: &Graph, rows: &[Row], columns: Columns) -> (Vec<Placed>, Vec<Wire>, Reach) {
    let mut drawing = Drawing { graph, rows, columns, boxes: Vec::new(), wires: Vec::new() };
    for place in 0..rows.len() {
        drawing.row(place);
    }
    let left = drawing.left_ways();
    let right = drawing.right_ways();
    (drawing.boxes, drawing.wires, (left, right))
}

struct Drawing<'a> {
    graph: &'a Graph,
    rows: &'a [Row],
    columns: Columns,
    boxes: Vec<Placed>,
    wires: Vec<Wire>,
}

impl Drawing<'_> {
    /// Draws a stage, its side nodes, and the edges down and to the right.
    fn row(&mut self, place: usize) {
        let rows = self.rows;
        let row = &rows[place];
        let (left, right) = self.columns.flow;
        let area = Area { x: left, y: row.top, width: right - left, height: row.height };
        self.put(row.node, area);
        if let (Some(down), Some(next)) = (&row.down, rows.get(place + 1)) {
            let (x, y) = (f64::midpoint(left, right), row.top + row.height);
            let middle = f64::midpoint(y, next.top) - 3.0;
            let first = middle - lines_height(down.words.lines.len(), WORDS) / 2.0 + 10.0;
            let points = vec![(x, y), (x, next.top)];
            self.wire(down, points, (x + 9.0, first), Anchor::Start);
        }
        for item in &row.right {
            self.item(row, item);
        }
    }

    fn item(&mut self, row: &Row, item: &Item) {
        let (start, end) = (self.columns.flow.1, self.columns.beside.0);
        for stub in item.entries() {
            let y = row.top + stub.y;
            self.wire(stub, vec![(start, y), (end, y)], (start + 9.0, above(stub, y)), Anchor::Start);
        }
        match item {
            Item::End(stub) => self.end(stub, end, row.top + stub.y),
            Item::Beside { node, exits, span, .. } => {
                let width = self.columns.beside.1 - end;
                self.put(*node, Area { x: end, y: row.top + span.0, width, height: span.1 });
                for stub in exits.iter().filter(|stub| stub.ends) {
                    let (y, from, to) = (row.top + stub.y, self.columns.beside.1, self.columns.ends.0);
                    self.wire(stub, vec![(from, y), (to, y)], (from + 9.0, above(stub, y)), Anchor::Start);
                    self.end(stub, to, y);
                }
            }
        }
    }

    /// Draws edges between stages that are not neighbours. Returns the leftmost point.
    fn left_ways(&mut self) -> f64 {
        let rows = self.rows;
        let stubs: Vec<(&Row, &Stub)> =
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
            self.wire(stub, points, (border - 9.0, above(stub, y)), Anchor::End);
        }
        reach
    }

    /// Draws edges from side nodes back into the flow. Returns the rightmost point.
    fn right_ways(&mut self) -> f64 {
        let rows = self.rows;
        let exits = |row: &'_ Row| -> Vec<Stub> {
            row.right.iter().flat_map(Item::exits).filter(|stub| !stub.ends).cloned().collect()
        };
        let all: Vec<(&Row, Vec<Stub>)> = rows.iter().map(|row| (row, exits(row))).collect();
        let stubs: Vec<(&Row, &Stub)> =
            all.iter().flat_map(|(row, exits)| exits.iter().map(move |stub| (*row, stub))).collect();
        let buses = self.buses(&stubs);
        let lanes = lanes(&buses);
        let (start, edge) = (self.columns.beside.1, self.columns.ends.1);
        let mut reach =
            self.wires.iter().filter(|wire| wire.anchor == Anchor::Start).fold(edge, |reach, wire| {
                reach.max(wire.at.0 + super::widest(&wire.words.lines, super::WORD))
            });
        for (row, stub) in stubs {
            let Some((to, track)) = self.target(stub) else { continue };
            let lane = buses.iter().position(|bus| bus.to == to).map_or(0, |bus| lanes[bus]);
            let x = edge + 12.0 + lines_height(lane, LANE);
            reach = reach.max(x);
            let y = row.top + stub.y;
            let points = vec![(start, y), (x, y), (x, track), (self.columns.flow.1, track)];
            self.wire(stub, points, (start + 9.0, above(stub, y)), Anchor::Start);
        }
        reach
    }

    fn buses(&self, stubs: &[(&Row, &Stub)]) -> Vec<Bus> {
        let mut buses = Vec::new();
        for (row, stub) in stubs {
            if let Some((to, track)) = self.target(stub) {
                Bus::join(&mut buses, to, row.top + stub.y, track);
            }
        }
        buses
    }

    /// Returns the target row of an edge from a lane, and its entry height.
    fn target(&self, stub: &Stub) -> Option<(usize, f64)> {
        let edge = &self.graph.edges[stub.edge];
        let to = self.graph.order.in_flow(edge.to)?;
        let (left, right) = self.rows[to].comes_in;
        let track = if self.graph.order.in_flow(edge.from).is_some() { left } else { right };
        track.map(|track| (to, self.rows[to].top + track))
    }

    fn end(&mut self, stub: &Stub, x: f64, y: f64) {
        let node = self.graph.edges[stub.edge].to;
        self.put(node, Area { x, y: y - END.1 / 2.0, width: END.0, height: END.1 });
    }

    fn put(&mut self, node: usize, area: Area) {
        self.boxes.push(Placed { node, area, name: name(self.graph, node) });
    }

    fn wire(&mut self, stub: &Stub, points: Vec<(f64, f64)>, at: (f64, f64), anchor: Anchor) {
        self.wires.push(Wire { edge: stub.edge, points, words: stub.words.clone(), at, anchor });
    }
}

/// Returns the height of the first label line above an edge.
fn above(stub: &Stub, y: f64) -> f64 {
    y - 5.0 - lines_height(stub.words.lines.len().saturating_sub(1), WORDS)
}
