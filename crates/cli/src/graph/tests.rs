//! Complete drawings of one small piece.

use std::path::Path;

use insta::assert_snapshot;
use proptest::prelude::*;
use saihai_config::{
    Diagnostics, MemorySource, Options, ProjectPaths, Settings, SettingsFrom, Variables, find, load,
};
use saihai_model::{By, Decision, Destination, Fact, Moment, Record, RecordEntry, Verdict, Workflow};
use saihai_view::RunView;

use super::layout::{EdgeWire, LabelAnchor, Rectangle, WORDS, text_width};
use super::{EdgeKind, NodeKind, WorkflowGraph, dot, mermaid, svg};

const PIECE: &str = r#"
name: fix <"it">
movements:
  - name: repair
    rules: [{condition: mended, next: review}, {condition: hopeless, next: ABORT}]
  - name: review
    parallel:
      - {name: tests, rules: [{condition: ok}, {condition: not ok}]}
      - {name: reading, rules: [{condition: ok}, {condition: not ok}]}
    rules: [{condition: 'all("ok")', next: COMPLETE}, {condition: 'any("not ok")', next: repair}]
loop_monitors:
  - cycle: [review, repair]
    judge: {rules: [{condition: progress, next: review}, {condition: stuck, next: ABORT}]}
"#;

fn workflow() -> Workflow {
    named(&MemorySource::new([("/p/.saihai/pieces/fix.yaml", PIECE)]), "fix", "en")
}

fn named(source: &MemorySource, name: &str, language: &str) -> Workflow {
    let root = Path::new("/p").to_path_buf();
    let places = ProjectPaths { root: root.clone(), user: None, home: None, current: root.clone() };
    let variables = Variables::new([("SAIHAI_LANGUAGE".to_owned(), language.to_owned())]);
    let from = SettingsFrom {
        root: &root,
        user: None,
        current: &root,
        variables: &variables,
        flags: &[],
        trust_project: false,
    };
    let settings = Settings::load(source, &from, &mut Diagnostics::new());
    let definition = find(source, &places, name).expect("it is there");
    let options = Options { interactive: true, ..Options::default() };
    load(source, &places, &definition, &options, &settings).workflow.expect("it is right")
}

fn run() -> RunView {
    let started = RecordEntry::Fact(Fact::Started(saihai_model::testing::start()));
    let mut view = RunView::begin(&Record { seq: 1, at: Moment(0), entry: started }).expect("it starts");
    let mut seq = 1;
    let mut see = |at: u64, decision: Decision| {
        seq += 1;
        view.apply(Record { seq, at: Moment(at), entry: RecordEntry::Decision(decision) });
    };
    let entered = |stage: &str| Decision::Entered { stage: stage.into(), visit: 1, consecutive: 1 };
    let exited = |stage: &str, to: Destination| {
        let verdict = Verdict { by: By::Tag, labels: Vec::new(), rule: Some(0), topic: None, to };
        Decision::Exited { stage: stage.into(), verdict }
    };
    see(0, entered("repair"));
    see(1_500, exited("repair", Destination::Stage("review".into())));
    see(1_500, entered("review"));
    see(62_500, exited("review", Destination::Complete));
    view
}

#[test]
fn mermaid_shows_every_way_once() {
    assert_snapshot!(mermaid(&WorkflowGraph::of(&workflow(), None)), @r#"
    flowchart TD
        n0["repair"]
        n1[["review<br/>tests<br/>reading"]]
        n2("judge(review, repair)")
        n3(["COMPLETE"])
        n4(["ABORT"])
        n0 -->|"mended"| n1
        n0 -->|"hopeless"| n4
        n1 -->|"all(#quot;ok#quot;)"| n3
        n1 ==>|"any(#quot;not ok#quot;)"| n0
        n2 -->|"progress"| n1
        n2 -->|"stuck"| n4
        n0 -.->|"after 3 rounds"| n2
    "#);
}

#[test]
fn a_run_is_marked_with_counts_and_times() {
    assert_snapshot!(dot(&WorkflowGraph::of(&workflow(), Some(&run()))), @r##"
    digraph "fix <\"it\">" {
        node [shape=box, style=rounded, fontname="sans-serif"];
        n0 [label="repair\n×1 · 1.5 s"];
        n1 [label="review\ntests\nreading\n×1 · 1 min 1 s", peripheries=2];
        n2 [label="judge(review, repair)", style="rounded,dashed"];
        n3 [label="COMPLETE", shape=oval];
        n4 [label="ABORT", shape=oval];
        n0 -> n1 [label="mended ×1", color="#2563eb", penwidth=2];
        n0 -> n4 [label="hopeless"];
        n1 -> n3 [label="all(\"ok\") ×1", color="#2563eb", penwidth=2];
        n1 -> n0 [label="any(\"not ok\")", style=bold, constraint=false];
        n2 -> n1 [label="progress"];
        n2 -> n4 [label="stuck"];
        n0 -> n2 [label="after 3 rounds", style=dashed];
    }
    "##);
}

#[test]
fn loops_and_monitors_are_told_from_the_way_onwards() {
    let graph = WorkflowGraph::of(&workflow(), None);
    let kind = |from: &str, to: &str| {
        let edge = graph
            .edges
            .iter()
            .find(|edge| graph.nodes[edge.from].id == from && graph.nodes[edge.to].id == to);
        edge.map(|edge| edge.kind)
    };
    assert_eq!(kind("repair", "review"), Some(EdgeKind::Forward));
    assert_eq!(kind("review", "repair"), Some(EdgeKind::Loop));
    assert_eq!(kind("repair", "judge(review, repair)"), Some(EdgeKind::Monitor));
    assert_eq!(graph.nodes[1].kind, NodeKind::Parallel);
}

#[test]
fn an_svg_is_well_formed_and_nothing_overlaps() {
    let graph = WorkflowGraph::of(&workflow(), Some(&run()));
    let text = svg(&graph);
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
    assert!(text.contains("fix &lt;&quot;it&quot;&gt;"), "a title is data");
    check_apart(&graph);
}

/// Checks that boxes do not overlap, and that labels and edges do not cross boxes or other labels.
fn check_apart(graph: &WorkflowGraph) {
    let layout = super::layout::layout(graph);
    let boxes: Vec<Rectangle> = layout.boxes.iter().map(|placed| placed.area).collect();
    let words: Vec<(usize, Rectangle)> =
        layout.wires.iter().enumerate().map(|(index, wire)| (index, words_of(wire))).collect();
    for (index, one) in boxes.iter().enumerate() {
        for other in &boxes[index + 1..] {
            assert!(!meet(*one, *other), "{one:?} stands on {other:?}");
        }
        for (wire, area) in &words {
            let said = &layout.wires[*wire].words.lines;
            assert!(!meet(*one, *area), "{said:?} stand on {one:?}");
        }
    }
    for (index, wire) in layout.wires.iter().enumerate() {
        for segment in wire.points.windows(2).map(between) {
            for area in &boxes {
                assert!(!meet(segment, smaller(*area)), "{segment:?} runs through {area:?}");
            }
            for (other, area) in words.iter().filter(|(other, _)| *other != index) {
                let said = &layout.wires[*other].words.lines;
                assert!(!meet(segment, *area), "{segment:?} of {:?} runs through {said:?}", wire.words.lines);
            }
        }
    }
    for area in boxes.iter().chain(words.iter().map(|(_, area)| area)) {
        let inside =
            area.x >= 0.0 && area.x + area.width <= layout.width && area.y + area.height <= layout.height;
        assert!(inside, "{area:?} is cut off");
    }
}

fn words_of(wire: &EdgeWire) -> Rectangle {
    #[expect(clippy::cast_precision_loss, reason = "a few lines")]
    let height = (wire.words.lines.len() as f64) * WORDS;
    let width = wire.words.lines.iter().map(|line| text_width(line, 6.4)).fold(0.0, f64::max);
    let x = match wire.anchor {
        LabelAnchor::Start => wire.at.0,
        LabelAnchor::End => wire.at.0 - width,
    };
    Rectangle { x, y: wire.at.1 - 11.0, width, height: (height - 2.0).max(0.0) }
}

fn between(points: &[(f64, f64)]) -> Rectangle {
    let (one, other) = (points[0], points[1]);
    let (x, y) = (one.0.min(other.0), one.1.min(other.1));
    Rectangle { x, y, width: (one.0 - other.0).abs(), height: (one.1 - other.1).abs() }
}

/// Shrinks a box by its border, which edges may touch.
fn smaller(area: Rectangle) -> Rectangle {
    Rectangle { x: area.x + 1.0, y: area.y + 1.0, width: area.width - 2.0, height: area.height - 2.0 }
}

fn meet(one: Rectangle, other: Rectangle) -> bool {
    let apart = |at: f64, length: f64, other: f64, its: f64| at + length <= other || other + its <= at;
    let apart_x = apart(one.x, one.width, other.x, other.width);
    !(apart_x || apart(one.y, one.height, other.y, other.height))
}

const BUILT_IN: [&str; 9] =
    ["default", "minimal", "test-first", "debug", "review", "review-fix", "specialists", "docs", "research"];

#[test]
fn no_built_in_piece_is_drawn_with_anything_over_anything() {
    for language in ["en", "ja"] {
        for name in BUILT_IN {
            check_apart(&WorkflowGraph::of(&named(&MemorySource::new([]), name, language), None));
        }
    }
}

const DESCRIBED: &str = r#"
name: described
initial_movement: begin
movements:
  - {name: end, rules: [{condition: over, next: COMPLETE}]}
  - name: both
    description: Two <sides> at once
    parallel:
      - {name: a, description: Looks for holes, rules: [{condition: ok}]}
      - {name: b, rules: [{condition: ok}]}
    rules: [{condition: 'all("ok")', next: end}]
  - {name: begin, description: Makes a start, rules: [{condition: begun, next: both}]}
"#;

fn described() -> WorkflowGraph {
    let source = MemorySource::new([("/p/.saihai/pieces/it.yaml", DESCRIBED)]);
    WorkflowGraph::of(&named(&source, "it", "en"), None)
}

// P-10: `description`
#[test]
fn what_a_movement_is_for_is_the_tooltip_of_its_box() {
    let drawn = svg(&described());
    for title in
        ["<title>Makes a start</title>", "<title>Two &lt;sides&gt; at once\na: Looks for holes</title>"]
    {
        assert!(drawn.contains(title), "{title}\n{drawn}");
    }
    assert_snapshot!(dot(&described()), @r#"
    digraph "described" {
        node [shape=box, style=rounded, fontname="sans-serif"];
        n0 [label="end"];
        n1 [label="both\na\nb", peripheries=2, tooltip="Two <sides> at once\na: Looks for holes"];
        n2 [label="begin", tooltip="Makes a start"];
        n3 [label="COMPLETE", shape=oval];
        n0 -> n3 [label="over"];
        n1 -> n0 [label="all(\"ok\")"];
        n2 -> n1 [label="begun"];
    }
    "#);
}

#[test]
fn a_definition_that_is_not_written_from_top_to_bottom_is_drawn_so() {
    let graph = described();
    let flow: Vec<&str> = graph.order.flow.iter().map(|node| graph.nodes[*node].id.as_str()).collect();
    assert_eq!(flow, ["begin", "both", "end"]);
    assert!(graph.edges.iter().all(|edge| edge.kind == EdgeKind::Forward));
}

fn any_graph() -> impl Strategy<Value = WorkflowGraph> {
    let kinds = [NodeKind::Turn, NodeKind::Parallel, NodeKind::Gate, NodeKind::Action, NodeKind::Aside];
    let node = (prop::sample::select(kinds.to_vec()), 0usize..4, "[a-zあ-ん ]{1,30}");
    let way = prop::sample::select(vec![EdgeKind::Forward, EdgeKind::Monitor]);
    let edges = prop::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[a-zあ-ん、 ]{0,80}", way, 0u32..3),
        0..24,
    );
    (prop::collection::vec(node, 1..9), edges, any::<bool>()).prop_map(|(nodes, edges, traced)| {
        let mut graph = WorkflowGraph {
            title: "any".to_owned(),
            description: None,
            nodes: nodes
                .into_iter()
                .enumerate()
                .map(|(index, (kind, turns, name))| any_node(index, kind, turns, &name))
                .collect(),
            edges: Vec::new(),
            traced,
            order: super::FlowOrder::default(),
        };
        let stages = graph.nodes.len();
        graph.nodes.extend([
            super::GraphNode::new(super::COMPLETE, NodeKind::Complete),
            super::GraphNode::new(super::ABORT, NodeKind::Abort),
        ]);
        for (from, to, label, kind, taken) in edges {
            graph.connect(from.index(stages), to.index(stages + 2), label.trim().to_owned(), kind);
            graph.edges.last_mut().expect("one was just added").taken = taken;
        }
        graph.drop_unreached([super::ABORT, super::COMPLETE]);
        graph.arranged("0")
    })
}

fn any_node(index: usize, kind: NodeKind, turns: usize, name: &str) -> super::GraphNode {
    let id = if index == 0 { "0".to_owned() } else { format!("{index} {name}") };
    let turns = if kind == NodeKind::Parallel { turns } else { 0 };
    let part = |turn: usize| super::GraphTurn { name: format!("turn {turn}"), description: None };
    super::GraphNode { turns: (0..turns).map(part).collect(), ..super::GraphNode::new(&id, kind) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_stands_on_or_runs_through_anything_whatever_the_graph(graph in any_graph()) {
        check_apart(&graph);
        let flow: std::collections::BTreeSet<usize> = graph.order.flow.iter().copied().collect();
        prop_assert_eq!(flow.len(), graph.order.flow.len(), "every stage stands once");
    }
}
