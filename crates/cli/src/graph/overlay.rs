//! The path of a run, shown on the drawing of its workflow.

use std::collections::BTreeMap;

use saihai_model::{By, Destination, Ending, Millis, Verdict};
use saihai_view::RunView;

use super::{ABORT, COMPLETE, Graph};

/// Visits, times and edges of a run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Overlay {
    visits: BTreeMap<String, u32>,
    time: BTreeMap<String, Millis>,
    ways: BTreeMap<(String, String), Way>,
}

/// An edge that a run took.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Way {
    taken: u32,
    /// The reason for its first use, as a label for edges that no rule draws.
    by: String,
}

impl Overlay {
    pub(crate) fn of(run: &RunView) -> Self {
        let mut overlay = Self::default();
        for (index, visit) in run.visits.iter().enumerate() {
            let stage = visit.stage.to_string();
            *overlay.visits.entry(stage.clone()).or_insert(0) += 1;
            let exits = visit.rounds.iter().filter_map(|round| round.exit.as_ref());
            for exit in exits {
                let to = match &exit.verdict.to {
                    Destination::Stage(id) => id.to_string(),
                    Destination::Again => stage.clone(),
                    // A gate or a delivery may follow the end of the definition.
                    Destination::Complete => match run.visits.get(index + 1) {
                        Some(next) => next.stage.to_string(),
                        None => COMPLETE.to_owned(),
                    },
                    Destination::End(Ending::Completed(_)) => COMPLETE.to_owned(),
                    Destination::End(_) => ABORT.to_owned(),
                };
                count(&mut overlay.ways, stage.clone(), to, by(&exit.verdict).to_owned());
                let last = overlay.time.entry(stage.clone()).or_default();
                let began = visit
                    .rounds
                    .iter()
                    .rev()
                    .filter_map(|round| round.exit.as_ref())
                    .find(|one| one.seq < exit.seq);
                let began = began.map_or(visit.entered, |before| before.at);
                last.0 = last.0.saturating_add(exit.at.since(began).0);
            }
        }
        overlay
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
        for ((from, to), way) in self.ways.clone() {
            let (Some(from), Some(to)) = (graph.index(&from), graph.index(&to)) else { continue };
            // A run can leave a stage without a rule: no match, a limit, or an undeclared topic. Draw an extra edge
            // for it.
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

/// Returns the reason for leaving a stage.
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
