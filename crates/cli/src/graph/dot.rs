//! DOT, for Graphviz.

use std::fmt::Write as _;

use super::{Graph, Kind, Way};

/// Renders the graph as a DOT digraph.
pub(crate) fn dot(graph: &Graph) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&graph.title));
    text.push_str("    node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let words = node.lines().collect::<Vec<_>>().join("\n");
        let tooltip = node.tooltip().map(|text| format!(", tooltip={}", quoted(&text))).unwrap_or_default();
        let shape = match node.kind {
            Kind::Turn => "",
            Kind::Parallel => ", peripheries=2",
            Kind::Gate => ", shape=diamond, style=solid",
            Kind::Action => ", shape=component",
            Kind::Aside => ", style=\"rounded,dashed\"",
            Kind::Complete | Kind::Abort => ", shape=oval",
        };
        let _ = writeln!(text, "    n{index} [label={}{shape}{tooltip}];", quoted(&words));
    }
    for edge in &graph.edges {
        let mut words = edge.labels.join("\n");
        if edge.taken > 0 {
            let _ = write!(words, " ×{}", edge.taken);
        }
        let style = match edge.kind {
            Way::Forward => "",
            Way::Loop => ", style=bold, constraint=false",
            Way::Monitor => ", style=dashed",
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
