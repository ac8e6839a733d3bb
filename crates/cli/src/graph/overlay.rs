//! What a run did, laid over the drawing of its workflow.

use std::collections::BTreeMap;

use saihai_model::{Decision, Destination, Ending, Entry, Millis, Moment, Record};

use super::{ABORT, COMPLETE, Graph};

/// How often a run was where, for how long, and which ways it went.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Overlay {
    visits: BTreeMap<String, u32>,
    time: BTreeMap<String, Millis>,
    ways: BTreeMap<(String, String), u32>,
    entered: Option<(String, Moment)>,
}

impl Overlay {
    /// Takes one record in.
    pub(crate) fn see(&mut self, record: &Record) {
        let Entry::Decision(decision) = &record.entry else { return };
        if let Decision::Entered { stage, .. } = decision {
            *self.visits.entry(stage.to_string()).or_insert(0) += 1;
            self.entered = Some((stage.to_string(), record.at));
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
                Destination::Complete | Destination::End(Ending::Completed(_)) => COMPLETE.to_owned(),
                Destination::End(_) => ABORT.to_owned(),
            };
            *self.ways.entry((stage.to_string(), to)).or_insert(0) += 1;
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
        for ((from, to), count) in &self.ways {
            let (Some(from), Some(to)) = (graph.index(from), graph.index(to)) else { continue };
            // A run can leave by a way that is no rule (no match, a limit): then the edge is drawn for it.
            if !graph.edges.iter().any(|edge| edge.from == from && edge.to == to) {
                graph.connect(from, to, "no rule matched".to_owned(), super::Way::Forward);
            }
            if let Some(edge) = graph.edges.iter_mut().find(|edge| edge.from == from && edge.to == to) {
                edge.taken = *count;
            }
            if matches!(graph.nodes[to].id.as_str(), COMPLETE | ABORT) {
                graph.nodes[to].visits = *count;
            }
        }
    }
}

fn seconds(time: Millis) -> String {
    match time.0 {
        ms if ms < 1_000 => format!("{ms} ms"),
        ms if ms < 60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}
