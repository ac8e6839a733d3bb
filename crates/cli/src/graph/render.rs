//! The text of a drawing: Mermaid for Markdown, DOT for Graphviz, and our own SVG. The SVG follows the reader's light or
//! dark theme and needs no scripts and no web fonts.

use std::fmt::Write as _;

use saihai_view::is_hidden;

use crate::graph::EdgeKind;
use crate::graph::NodeKind;
use crate::graph::WorkflowGraph;
use crate::graph::layout::EdgeWire;
use crate::graph::layout::GraphLayout;
use crate::graph::layout::LabelAnchor;
use crate::graph::layout::PlacedNode;
use crate::graph::layout::Rectangle;
use crate::graph::layout::{NAME, TURN, WORDS, layout, text_width};

/// Renders the graph as a Mermaid flowchart.
pub(crate) fn mermaid(graph: &WorkflowGraph) -> String {
    let mut text = String::from("flowchart TD\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let words = node.lines().map(escape_mermaid).collect::<Vec<_>>().join("<br/>");
        let (open, close) = match node.kind {
            NodeKind::Turn | NodeKind::Action => ("[", "]"),
            NodeKind::Parallel => ("[[", "]]"),
            NodeKind::Program => ("[/", "/]"),
            NodeKind::Gate => ("{", "}"),
            NodeKind::Aside => ("(", ")"),
            NodeKind::Complete | NodeKind::Abort => ("([", "])"),
        };
        let _ = writeln!(text, "    n{index}{open}\"{words}\"{close}");
    }
    for edge in &graph.edges {
        let arrow = match edge.kind {
            EdgeKind::Forward => "-->",
            EdgeKind::Loop => "==>",
            EdgeKind::Monitor => "-.->",
        };
        let mut words =
            edge.labels.iter().map(|label| escape_mermaid(label)).collect::<Vec<_>>().join("<br/>");
        if edge.taken > 0 {
            let _ = write!(words, " ×{}", edge.taken);
        }
        let label = if words.trim().is_empty() { String::new() } else { format!("|\"{}\"|", words.trim()) };
        let _ = writeln!(text, "    n{} {arrow}{label} n{}", edge.from, edge.to);
    }
    if graph.traced {
        let taken = graph.edges.iter().enumerate().filter(|(_, edge)| edge.taken > 0);
        let taken: Vec<String> = taken.map(|(index, _)| index.to_string()).collect();
        if !taken.is_empty() {
            let _ = writeln!(text, "    linkStyle {} stroke:#2563eb,stroke-width:3px", taken.join(","));
        }
    }
    text
}

/// Escapes quotes, angle brackets and `#`, which Mermaid interprets.
fn escape_mermaid(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => escaped.push_str("#quot;"),
            '<' => escaped.push_str("#lt;"),
            '>' => escaped.push_str("#gt;"),
            '#' => escaped.push_str("#35;"),
            character if is_hidden(character) => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

/// Renders the graph as a DOT digraph.
pub(crate) fn dot(graph: &WorkflowGraph) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&graph.title));
    text.push_str("    node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let words = node.lines().collect::<Vec<_>>().join("\n");
        let tooltip = node.tooltip().map(|text| format!(", tooltip={}", quoted(&text))).unwrap_or_default();
        let shape = match node.kind {
            NodeKind::Turn => "",
            NodeKind::Parallel => ", peripheries=2",
            NodeKind::Program => ", shape=parallelogram, style=solid",
            NodeKind::Gate => ", shape=diamond, style=solid",
            NodeKind::Action => ", shape=component",
            NodeKind::Aside => ", style=\"rounded,dashed\"",
            NodeKind::Complete | NodeKind::Abort => ", shape=oval",
        };
        let _ = writeln!(text, "    n{index} [label={}{shape}{tooltip}];", quoted(&words));
    }
    for edge in &graph.edges {
        let mut words = edge.labels.join("\n");
        if edge.taken > 0 {
            let _ = write!(words, " ×{}", edge.taken);
        }
        let style = match edge.kind {
            EdgeKind::Forward => "",
            EdgeKind::Loop => ", style=bold, constraint=false",
            EdgeKind::Monitor => ", style=dashed",
        };
        let colour = if edge.taken > 0 { ", color=\"#2563eb\", penwidth=2" } else { "" };
        let label = quoted(words.trim());
        let _ = writeln!(text, "    n{} -> n{} [label={label}{style}{colour}];", edge.from, edge.to);
    }
    text.push_str("}\n");
    text
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{}\"", text.chars().filter(|character| !character.is_control()).collect::<String>())
}

const STYLE: &str = "\
svg{--ink:#1f2328;--soft:#59636e;--line:#818b98;--paper:#ffffff;--box:#f6f8fa;--part:#ffffff;--loop:#9a6700;--watch:#8250df;--path:#0969da;--good:#1a7f37;--bad:#d1242f}\
@media (prefers-color-scheme:dark){svg{--ink:#f0f6fc;--soft:#9198a1;--line:#6e7681;--paper:#0d1117;--box:#161b22;--part:#0d1117;--loop:#d29922;--watch:#ab7df8;--path:#4493f8;--good:#3fb950;--bad:#f85149}}\
text{font:12px ui-sans-serif,system-ui,-apple-system,'Segoe UI','Noto Sans CJK JP','Hiragino Sans',sans-serif;fill:var(--ink)}\
.title{font-weight:600;font-size:17px}.about{fill:var(--soft)}.name{font-weight:600;font-size:13px;text-anchor:middle}.soft{fill:var(--soft);text-anchor:middle}\
.box{fill:var(--box);stroke:var(--line);stroke-width:1.2}.part{fill:var(--part);stroke:var(--line)}\
.gate .box{stroke:var(--watch)}.aside .box{stroke:var(--watch);stroke-dasharray:5 4}\
.complete .box{stroke:var(--good);stroke-width:1.6}.abort .box{stroke:var(--bad);stroke-width:1.6}.complete .name{fill:var(--good);font-size:11px}.abort .name{fill:var(--bad);font-size:11px}\
.way{fill:none;stroke:var(--line);stroke-width:1.4}.loop .way{stroke:var(--loop)}.monitor .way{stroke:var(--watch);stroke-dasharray:5 4}\
.loop .label{fill:var(--loop)}.monitor .label{fill:var(--watch)}\
.head{fill:var(--line)}.head-loop{fill:var(--loop)}.head-monitor{fill:var(--watch)}.head-taken{fill:var(--path)}\
.untaken{opacity:.4}.taken .way{stroke:var(--path);stroke-width:2.6}.taken .label{fill:var(--path)}.taken .box{stroke:var(--path);stroke-width:2.2}\
.taken.complete .box{stroke:var(--good)}.taken.abort .box{stroke:var(--bad)}";

/// Renders the graph as an SVG document.
pub(crate) fn svg(graph: &WorkflowGraph) -> String {
    drawing(graph, false)
}

/// Renders the graph for the page, which has the styles itself and marks boxes and edges by their stages.
pub(crate) fn page_svg(graph: &WorkflowGraph) -> String {
    drawing(graph, true)
}

fn drawing(graph: &WorkflowGraph, is_for_page: bool) -> String {
    let layout = layout(graph);
    let about = graph.description.as_deref().unwrap_or_default();
    let words = (text_width(&graph.title, 10.5)).max(text_width(about, 6.7));
    let (width, height) = (layout.width.max(words + 48.0).ceil(), layout.height.ceil());
    let title = escape_xml(&graph.title);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n"
    );
    if !is_for_page {
        let _ = writeln!(text, "<style>{STYLE}</style>");
    }
    text.push_str("<defs>\n");
    for class in ["head", "head-loop", "head-monitor", "head-taken"] {
        let _ = writeln!(
            text,
            "<marker id=\"{class}\" viewBox=\"0 0 10 10\" refX=\"9.5\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"{class}\" d=\"M0 0L10 5L0 10z\"/></marker>"
        );
    }
    let _ = writeln!(
        text,
        "</defs>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"var(--paper)\"/>\n<text class=\"title\" x=\"24\" y=\"34\">{title}</text>"
    );
    if !about.is_empty() {
        let _ = writeln!(text, "<text class=\"about\" x=\"24\" y=\"54\">{}</text>", escape_xml(about));
    }
    draw_entry(&mut text, &layout);
    // Draw the edges of the run on top of the others.
    let is_taken = |wire: &&EdgeWire| graph.edges[wire.edge].taken > 0;
    for wire in layout.wires.iter().filter(|wire| !is_taken(wire)).chain(layout.wires.iter().filter(is_taken))
    {
        draw_wire(&mut text, graph, wire, is_for_page);
    }
    for placed in &layout.boxes {
        draw_box(&mut text, graph, placed, is_for_page);
    }
    text.push_str("</svg>\n");
    text
}

/// Draws a dot and an arrow at the entry.
fn draw_entry(text: &mut String, layout: &GraphLayout) {
    let Some((x, y)) = layout.entry else { return };
    let _ = writeln!(
        text,
        "<g class=\"forward\"><circle class=\"head\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\"/><path class=\"way\" d=\"M{x:.1} {:.1}V{y:.1}\" marker-end=\"url(#head)\"/></g>",
        y - 18.0,
        y - 18.0
    );
}

fn trace(graph: &WorkflowGraph, times: u32) -> &'static str {
    match (graph.traced, times) {
        (false, _) => "",
        (true, 0) => " untaken",
        (true, _) => " taken",
    }
}

/// Draws an edge with its label above it.
fn draw_wire(text: &mut String, graph: &WorkflowGraph, wire: &EdgeWire, is_for_page: bool) {
    let edge = &graph.edges[wire.edge];
    let (kind, head) = match edge.kind {
        EdgeKind::Forward => ("forward", "head"),
        EdgeKind::Loop => ("loop", "head-loop"),
        EdgeKind::Monitor => ("monitor", "head-monitor"),
    };
    let head = if graph.traced && edge.taken > 0 { "head-taken" } else { head };
    let _ = write!(text, "<g class=\"{kind}{}\"", trace(graph, edge.taken));
    if is_for_page {
        let end = |node: usize| escape_xml(&graph.nodes[node].id);
        let _ = write!(text, " data-from=\"{}\" data-to=\"{}\"", end(edge.from), end(edge.to));
    }
    text.push('>');
    if wire.words.cut {
        let _ = write!(text, "<title>{}</title>", escape_xml(&edge.labels.join(" / ")));
    }
    let path = path(&wire.points);
    let _ = write!(text, "<path class=\"way\" d=\"{path}\" marker-end=\"url(#{head})\"/>");
    let anchor = match wire.anchor {
        LabelAnchor::Start => "start",
        LabelAnchor::End => "end",
    };
    let (x, mut y) = wire.at;
    for line in &wire.words.lines {
        let _ = write!(
            text,
            "<text class=\"label\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape_xml(line)
        );
        y += WORDS;
    }
    text.push_str("</g>\n");
}

/// Draws straight lines with rounded corners.
fn path(points: &[(f64, f64)]) -> String {
    const ROUND: f64 = 7.0;
    let Some(first) = points.first() else { return String::new() };
    let mut path = format!("M{:.1} {:.1}", first.0, first.1);
    for three in points.windows(3) {
        let (before, corner, after) = (three[0], three[1], three[2]);
        let near = |to: (f64, f64)| {
            let (dx, dy) = (to.0 - corner.0, to.1 - corner.1);
            let length = dx.hypot(dy).max(0.1);
            let round = ROUND.min(length / 2.0);
            (corner.0 + dx / length * round, corner.1 + dy / length * round)
        };
        let (start, end) = (near(before), near(after));
        let _ = write!(
            path,
            "L{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}",
            start.0, start.1, corner.0, corner.1, end.0, end.1
        );
    }
    if let [.., last] = points {
        let _ = write!(path, "L{:.1} {:.1}", last.0, last.1);
    }
    path
}

fn draw_box(text: &mut String, graph: &WorkflowGraph, placed: &PlacedNode, is_for_page: bool) {
    let node = &graph.nodes[placed.node];
    let (kind, round) = match node.kind {
        NodeKind::Turn => ("turns", 6.0),
        NodeKind::Parallel => ("parallel", 6.0),
        NodeKind::Program => ("program", 0.0),
        NodeKind::Gate => ("gate", 6.0),
        NodeKind::Action => ("action", 0.0),
        NodeKind::Aside => ("aside", 6.0),
        NodeKind::Complete => ("complete", placed.area.height / 2.0),
        NodeKind::Abort => ("abort", placed.area.height / 2.0),
    };
    let _ = write!(text, "<g class=\"{kind}{}\"", trace(graph, node.visits));
    if is_for_page {
        let _ = write!(text, " data-stage=\"{}\"", escape_xml(&node.id));
    }
    text.push('>');
    if let Some(tooltip) = node.tooltip() {
        let _ = write!(text, "<title>{}</title>", escape_lines(&tooltip));
    }
    match node.kind {
        NodeKind::Program => slanted(text, "box", placed.area),
        _ => rectangle(text, "box", placed.area, round),
    }
    let turns = as_number(node.turns.len()) * TURN;
    let figures = if node.figures.is_some() { WORDS + 3.0 } else { 0.0 };
    let content = as_number(placed.name.len()) * NAME + turns + figures;
    let middle = placed.area.x + placed.area.width / 2.0;
    let mut y = placed.area.y + (placed.area.height - content) / 2.0;
    for line in &placed.name {
        y += NAME;
        say(text, "name", (middle, y - 4.5), line);
    }
    for turn in &node.turns {
        let area = Rectangle {
            x: placed.area.x + 10.0,
            y: y + 3.0,
            width: placed.area.width - 20.0,
            height: TURN - 4.0,
        };
        match node.kind {
            NodeKind::Program => {}
            _ => rectangle(text, "part", area, 4.0),
        }
        y += TURN;
        say(text, "soft", (middle, y - 7.0), &turn.name);
    }
    if let Some(figures) = &node.figures {
        say(text, "soft", (middle, y + WORDS), figures);
    }
    text.push_str("</g>\n");
}

#[expect(clippy::cast_precision_loss, reason = "a few lines")]
fn as_number(count: usize) -> f64 {
    count as f64
}

fn rectangle(text: &mut String, class: &str, area: Rectangle, round: f64) {
    let Rectangle { x, y, width, height } = area;
    let _ = write!(
        text,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round:.1}\"/>"
    );
}

/// Draws the box of a program.
fn slanted(text: &mut String, class: &str, area: Rectangle) {
    const SLANT: f64 = 8.0;
    let Rectangle { x, y, width, height } = area;
    let (right, bottom) = (x + width, y + height);
    let _ = write!(
        text,
        "<path class=\"{class}\" d=\"M{:.1} {y:.1}H{right:.1}L{:.1} {bottom:.1}H{x:.1}z\"/>",
        x + SLANT,
        right - SLANT
    );
}

fn say(text: &mut String, class: &str, at: (f64, f64), words: &str) {
    let _ = write!(
        text,
        "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        at.0,
        at.1,
        escape_xml(words)
    );
}

/// Escapes a text and keeps its line breaks.
fn escape_lines(text: &str) -> String {
    text.lines().map(escape_xml).collect::<Vec<_>>().join("\n")
}

fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}
