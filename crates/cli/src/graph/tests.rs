//! Drawings of one small piece, whole.

use std::path::Path;

use insta::assert_snapshot;
use saihai_config::{
    Diagnostics, MemorySource, Options, Places, Settings, SettingsFrom, Variables, find, load,
};
use saihai_model::{By, Decision, Destination, Entry, Moment, Record, Verdict, Workflow};

use super::{Graph, Kind, Overlay, Way, dot, mermaid, svg};

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
    let source = MemorySource::new([("/p/.saihai/pieces/fix.yaml", PIECE)]);
    let root = Path::new("/p").to_path_buf();
    let places = Places { root: root.clone(), user: None, home: None, current: root.clone() };
    let variables = Variables::new([]);
    let from = SettingsFrom {
        root: &root,
        user: None,
        current: &root,
        variables: &variables,
        flags: &[],
        trust_project: false,
    };
    let settings = Settings::load(&source, &from, &mut Diagnostics::new());
    let definition = find(&source, &places, "fix").expect("it is there");
    load(&source, &places, &definition, &Options::default(), &settings).workflow.expect("it is right")
}

fn run() -> Overlay {
    let mut overlay = Overlay::default();
    let mut seq = 0;
    let mut see = |at: u64, decision: Decision| {
        seq += 1;
        overlay.see(&Record { seq, at: Moment(at), entry: Entry::Decision(decision) });
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
    overlay
}

#[test]
fn mermaid_shows_every_way_once() {
    assert_snapshot!(mermaid(&Graph::of(&workflow(), None)), @r#"
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
        n0 -.->|"×3"| n2
    "#);
}

#[test]
fn a_run_is_marked_with_counts_and_times() {
    assert_snapshot!(dot(&Graph::of(&workflow(), Some(&run()))), @r##"
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
        n0 -> n2 [label="×3", style=dashed];
    }
    "##);
}

#[test]
fn loops_and_monitors_are_told_from_the_way_onwards() {
    let graph = Graph::of(&workflow(), None);
    let kind = |from: &str, to: &str| {
        let edge = graph
            .edges
            .iter()
            .find(|edge| graph.nodes[edge.from].id == from && graph.nodes[edge.to].id == to);
        edge.map(|edge| edge.kind)
    };
    assert_eq!(kind("repair", "review"), Some(Way::Forward));
    assert_eq!(kind("review", "repair"), Some(Way::Loop));
    assert_eq!(kind("repair", "judge(review, repair)"), Some(Way::Monitor));
    assert_eq!(graph.nodes[1].kind, Kind::Parallel);
}

#[test]
fn an_svg_is_well_formed_and_nothing_overlaps() {
    let graph = Graph::of(&workflow(), Some(&run()));
    let text = svg(&graph);
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
    assert!(text.contains("fix &lt;&quot;it&quot;&gt;"), "a title is data");
    let layout = super::layout::layout(&graph);
    for (index, one) in layout.nodes.iter().enumerate() {
        for other in &layout.nodes[index + 1..] {
            let apart_x = (one.x - other.x).abs() >= f64::midpoint(one.width, other.width);
            let apart_y = (one.y - other.y).abs() >= f64::midpoint(one.height, other.height);
            assert!(apart_x || apart_y, "{one:?} stands on {other:?}");
        }
    }
}
