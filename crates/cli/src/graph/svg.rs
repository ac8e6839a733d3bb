//! Our own drawing: light or dark as the reader's screen is, no scripts, no fonts fetched.

use std::fmt::Write as _;

use super::layout::{LINE, Layout, Place, layout, text_width};
use super::{Edge, Graph, Kind, Node, Way};

const STYLE: &str = "\
svg{--ink:#1f2937;--soft:#6b7280;--line:#9ca3af;--paper:#ffffff;--box:#f8fafc;--loop:#b45309;--watch:#7c3aed;--path:#2563eb;--good:#15803d;--bad:#b91c1c}\
@media (prefers-color-scheme:dark){svg{--ink:#e5e7eb;--soft:#9ca3af;--line:#6b7280;--paper:#0f172a;--box:#1e293b;--loop:#f59e0b;--watch:#a78bfa;--path:#60a5fa;--good:#4ade80;--bad:#f87171}}\
text{font:13px ui-sans-serif,system-ui,'Noto Sans CJK JP',sans-serif;fill:var(--ink)}\
.title{font-weight:600;font-size:16px}.name{font-weight:600}.soft{fill:var(--soft);font-size:12px}\
.box{fill:var(--box);stroke:var(--line);stroke-width:1.2}.turn{fill:none;stroke:var(--line);stroke-width:.8}\
.gate .box{stroke:var(--watch)}.aside .box{stroke:var(--watch);stroke-dasharray:5 4}\
.complete .box{stroke:var(--good);stroke-width:2}.abort .box{stroke:var(--bad);stroke-width:2}\
.way{fill:none;stroke:var(--line);stroke-width:1.4}.loop .way{stroke:var(--loop)}\
.monitor .way{stroke:var(--watch);stroke-dasharray:5 4}.taken .way{stroke:var(--path);stroke-width:2.6}\
.taken .box{stroke:var(--path);stroke-width:2.4}.untaken{opacity:.45}\
.label{font-size:12px;paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}\
.loop .label{fill:var(--loop)}.monitor .label{fill:var(--watch)}.taken .label{fill:var(--path)}\
.head{fill:var(--line)}.head-loop{fill:var(--loop)}.head-monitor{fill:var(--watch)}.head-taken{fill:var(--path)}";

/// The drawing as an SVG document.
pub(crate) fn svg(graph: &Graph) -> String {
    let layout = layout(graph);
    let width = layout.width.max(text_width(&graph.title) * 1.3 + 64.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {:.0}\" width=\"{width:.0}\" height=\"{:.0}\" role=\"img\" aria-label=\"{}\">\n<style>{STYLE}</style>\n<defs>\n",
        layout.height,
        layout.height,
        escape(&graph.title)
    );
    for class in ["head", "head-loop", "head-monitor", "head-taken"] {
        let _ = writeln!(
            text,
            "<marker id=\"{class}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"{class}\" d=\"M0 0L10 5L0 10z\"/></marker>"
        );
    }
    let _ = writeln!(
        text,
        "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>\n<text class=\"title\" x=\"32\" y=\"30\">{}</text>",
        escape(&graph.title)
    );
    for (edge, points) in graph.edges.iter().zip(&layout.edges) {
        draw_way(&mut text, graph, edge, points);
    }
    for (node, place) in graph.nodes.iter().zip(&layout.nodes) {
        draw_node(&mut text, graph, node, place);
    }
    draw_labels(&mut text, graph, &layout);
    text.push_str("</svg>\n");
    text
}

fn classes(graph: &Graph, edge: &Edge) -> String {
    let kind = match edge.kind {
        Way::Forward => "forward",
        Way::Loop => "loop",
        Way::Monitor => "monitor",
    };
    let trace = match (graph.traced, edge.taken) {
        (false, _) => "",
        (true, 0) => " untaken",
        (true, _) => " taken",
    };
    format!("{kind}{trace}")
}

fn draw_way(text: &mut String, graph: &Graph, edge: &Edge, points: &[(f64, f64)]) {
    let head = match (edge.taken > 0 && graph.traced, edge.kind) {
        (true, _) => "head-taken",
        (false, Way::Forward) => "head",
        (false, Way::Loop) => "head-loop",
        (false, Way::Monitor) => "head-monitor",
    };
    let _ = writeln!(
        text,
        "<g class=\"{}\"><path class=\"way\" d=\"{}\" marker-end=\"url(#{head})\"/></g>",
        classes(graph, edge),
        curve(edge, points)
    );
}

/// A smooth line through the points: vertical where it leaves and enters a box.
fn curve(edge: &Edge, points: &[(f64, f64)]) -> String {
    let Some(first) = points.first() else { return String::new() };
    let mut path = format!("M{:.1} {:.1}", first.0, first.1);
    if let ([_, a, b, end], true) = (points, edge.from == edge.to) {
        let _ = write!(path, "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}", a.0, a.1, b.0, b.1, end.0, end.1);
        return path;
    }
    for pair in points.windows(2) {
        let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
        if (y2 - y1).abs() < 1.0 {
            let _ = write!(path, "L{x2:.1} {y2:.1}");
            continue;
        }
        let half = (y2 - y1) / 2.0;
        let _ = write!(path, "C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}", y1 + half, y2 - half);
    }
    path
}

fn draw_node(text: &mut String, graph: &Graph, node: &Node, place: &Place) {
    let kind = match node.kind {
        Kind::Turn => "turns",
        Kind::Parallel => "parallel",
        Kind::Gate => "gate",
        Kind::Action => "action",
        Kind::Aside => "aside",
        Kind::Complete => "complete",
        Kind::Abort => "abort",
    };
    let trace = match (graph.traced, node.visits) {
        (false, _) => "",
        (true, 0) => " untaken",
        (true, _) => " taken",
    };
    let (left, top) = (place.x - place.width / 2.0, place.y - place.height / 2.0);
    let round = match node.kind {
        Kind::Complete | Kind::Abort => place.height / 2.0,
        Kind::Turn | Kind::Parallel | Kind::Gate | Kind::Action | Kind::Aside => 8.0,
    };
    let _ = write!(text, "<g class=\"{kind}{trace}\">");
    if node.kind == Kind::Parallel {
        let _ = write!(
            text,
            "<rect class=\"box\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"8\"/>",
            left + 5.0,
            top - 5.0,
            place.width,
            place.height
        );
    }
    let _ = write!(
        text,
        "<rect class=\"box\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{round:.1}\"/>",
        place.width, place.height
    );
    let name = match node.kind {
        Kind::Gate => format!("? {}", node.id),
        Kind::Turn | Kind::Parallel | Kind::Action | Kind::Aside | Kind::Complete | Kind::Abort => {
            node.id.clone()
        }
    };
    let _ = write!(
        text,
        "<text class=\"name\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        place.x,
        top + 23.0,
        escape(&name)
    );
    let mut y = top + 23.0;
    for line in &node.lines {
        y += LINE;
        let _ = write!(
            text,
            "<text class=\"soft\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            place.x,
            escape(line)
        );
    }
    text.push_str("</g>\n");
}

/// Words stand over lines and boxes, so they are drawn last.
fn draw_labels(text: &mut String, graph: &Graph, layout: &Layout) {
    for (edge, points) in graph.edges.iter().zip(&layout.edges) {
        let mut lines: Vec<String> = edge.labels.iter().map(|label| cut(label)).collect();
        if edge.taken > 0 && graph.traced {
            lines.push(format!("×{}", edge.taken));
        }
        let Some((x, y)) = words_at(edge, points).filter(|_| !lines.is_empty()) else { continue };
        #[expect(clippy::cast_precision_loss, reason = "a few lines")]
        let mut y = y - (lines.len() as f64 - 1.0) * LINE / 2.0 + 4.0;
        let _ = write!(text, "<g class=\"{}\">", classes(graph, edge));
        for line in lines {
            let anchor = if edge.from == edge.to { "start" } else { "middle" };
            let _ = write!(
                text,
                "<text class=\"label\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
                escape(&line)
            );
            y += LINE - 3.0;
        }
        text.push_str("</g>\n");
    }
}

/// On the first point behind the box it comes from.
fn words_at(edge: &Edge, points: &[(f64, f64)]) -> Option<(f64, f64)> {
    if edge.from == edge.to {
        return points.get(1).map(|(x, y)| (x + 2.0, y + 16.0));
    }
    match points {
        [] | [_] => None,
        [start, end] => Some((f64::midpoint(start.0, end.0), f64::midpoint(start.1, end.1))),
        [_, first, ..] => Some(*first),
    }
}

/// A condition may be a sentence; the drawing shows its beginning.
fn cut(label: &str) -> String {
    const MOST: usize = 28;
    if label.chars().count() <= MOST {
        return label.to_owned();
    }
    label.chars().take(MOST - 1).chain(['…']).collect()
}

fn escape(text: &str) -> String {
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
