//! Mermaid, for Markdown that renders it.

use std::fmt::Write as _;

use super::{Graph, Kind, Way};

/// Renders the graph as a Mermaid flowchart.
pub(crate) fn mermaid(graph: &Graph) -> String {
    let mut text = String::from("flowchart TD\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let words = node.lines().map(escape).collect::<Vec<_>>().join("<br/>");
        let (open, close) = match node.kind {
            Kind::Turn | Kind::Action => ("[", "]"),
            Kind::Parallel => ("[[", "]]"),
            Kind::Gate => ("{", "}"),
            Kind::Aside => ("(", ")"),
            Kind::Complete | Kind::Abort => ("([", "])"),
        };
        let _ = writeln!(text, "    n{index}{open}\"{words}\"{close}");
    }
    for edge in &graph.edges {
        let arrow = match edge.kind {
            Way::Forward => "-->",
            Way::Loop => "==>",
            Way::Monitor => "-.->",
        };
        let mut words = edge.labels.iter().map(|label| escape(label)).collect::<Vec<_>>().join("<br/>");
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
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => escaped.push_str("#quot;"),
            '<' => escaped.push_str("#lt;"),
            '>' => escaped.push_str("#gt;"),
            '#' => escaped.push_str("#35;"),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}
