//! What a run did, laid over the drawing of its workflow.

use std::collections::BTreeMap;

use saihai_model::{By, Decision, Destination, Ending, Entry, Millis, Moment, Record, Verdict};

use super::{ABORT, COMPLETE, Graph};

/// How often a run was where, for how long, and which ways it went.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Overlay {
    visits: BTreeMap<String, u32>,
    time: BTreeMap<String, Millis>,
    ways: BTreeMap<(String, String), Way>,
    entered: Option<(String, Moment)>,
    /// The stage whose work completed, until it is known whether something follows: a gate, a delivery.
    completed: Option<(String, String)>,
}

/// A way that a run went.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Way {
    taken: u32,
    /// By what it went there first, for ways that no rule draws.
    by: String,
}

impl Overlay {
    /// Takes one record in.
    pub(crate) fn see(&mut self, record: &Record) {
        let Entry::Decision(decision) = &record.entry else { return };
        if let Decision::Entered { stage, .. } = decision {
            *self.visits.entry(stage.to_string()).or_insert(0) += 1;
            self.entered = Some((stage.to_string(), record.at));
            if let Some((from, by)) = self.completed.take() {
                count(&mut self.ways, from, stage.to_string(), by);
            }
        }
        if let Decision::Exited { stage, verdict } = decision {
            if let Some((_, since)) = self.entered.take_if(|(entered, _)| entered == stage.as_str()) {
                let spent = self.time.entry(stage.to_string()).or_default();
                spent.0 = spent.0.saturating_add(record.at.since(since).0);
            }
            let to = match &verdict.to {
                Destination::Stage(id) => id.to_string(),
                Destination::Again => {
                    self.entered = Some((stage.to_string(), record.at));
                    stage.to_string()
                }
                Destination::Complete => {
                    self.completed = Some((stage.to_string(), by(verdict).to_owned()));
                    return;
                }
                Destination::End(Ending::Completed(_)) => COMPLETE.to_owned(),
                Destination::End(_) => ABORT.to_owned(),
            };
            count(&mut self.ways, stage.to_string(), to, by(verdict).to_owned());
        }
    }

    pub(super) fn lay_over(&self, graph: &mut Graph) {
        for node in &mut graph.nodes {
            node.visits = self.visits.get(&node.id).copied().unwrap_or(0);
            if node.visits == 0 {
                continue;
            }
            let time = self.time.get(&node.id).copied().unwrap_or_default();
            node.figures = Some(format!("×{} · {}", node.visits, seconds(time)));
        }
        let mut ways = self.ways.clone();
        if let Some((from, by)) = self.completed.clone() {
            count(&mut ways, from, COMPLETE.to_owned(), by);
        }
        for ((from, to), way) in ways {
            let (Some(from), Some(to)) = (graph.index(&from), graph.index(&to)) else { continue };
            // A run can leave by a way that no rule draws (no match, a limit, a topic nobody declared): then the edge is
            // drawn for it.
            if !graph.edges.iter().any(|edge| edge.from == from && edge.to == to) {
                graph.connect(from, to, way.by, super::Way::Forward);
            }
            if let Some(edge) = graph.edges.iter_mut().find(|edge| edge.from == from && edge.to == to) {
                edge.taken = way.taken;
            }
            if matches!(graph.nodes[to].id.as_str(), COMPLETE | ABORT) {
                graph.nodes[to].visits = way.taken;
            }
        }
    }
}

fn count(ways: &mut BTreeMap<(String, String), Way>, from: String, to: String, by: String) {
    let way = ways.entry((from, to)).or_insert(Way { taken: 0, by });
    way.taken = way.taken.saturating_add(1);
}

/// By what a stage was left.
fn by(verdict: &Verdict) -> &str {
    match (&verdict.topic, verdict.by, &verdict.to) {
        (Some(topic), _, _) => topic.as_str(),
        (None, By::Directive, Destination::Again) => "nothing reported",
        (None, By::Directive, _) => "closing word",
        (None, _, _) => "no rule matched",
    }
}

fn seconds(time: Millis) -> String {
    match time.0 {
        ms if ms < 1_000 => format!("{ms} ms"),
        ms if ms < 60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}
