mod build;
mod definitions;
mod faults;
mod flows;
mod laws;
mod replay;
mod scripts;
mod shapes;
mod values;

use saihai_model::{Decision, Destination, Verdict, Workflow};

use crate::rehearse::Rehearsal;
use crate::rehearse::{Rehearse, rehearse};

/// Summarises a rehearsal in a few lines: the path and the end of each run, and the exits not taken.
fn tour(workflow: &Workflow) -> String {
    let rehearsal = rehearse(workflow, Rehearse::default());
    let mut lines: Vec<_> =
        rehearsal.runs.iter().map(|run| format!("{} | {}", path(&run.decisions), run.end)).collect();
    lines.extend(rehearsal.untaken.iter().map(|untaken| format!("untaken {untaken}")));
    lines.join("\n")
}

/// Returns the taken exits in order.
fn path(decisions: &[Decision]) -> String {
    let exits = decisions.iter().filter_map(|decision| match decision {
        Decision::Exited { stage, verdict } => Some(format!("{stage}{}", exit(verdict))),
        Decision::Alarm { monitor, .. } => Some(format!("(alarm {monitor})")),
        Decision::Entered { .. }
        | Decision::Round { .. }
        | Decision::Called { .. }
        | Decision::Correct { .. }
        | Decision::Retry { .. }
        | Decision::Unfit { .. }
        | Decision::Repeated { .. }
        | Decision::Noted { .. }
        | Decision::Reports { .. }
        | Decision::Stalled { .. }
        | Decision::Refused { .. }
        | Decision::Remarked { .. }
        | Decision::Exhausted { .. }
        | Decision::Parked { .. }
        | Decision::Finished { .. } => None,
    });
    exits.collect::<Vec<_>>().join(" ")
}

fn exit(verdict: &Verdict) -> String {
    let again = if verdict.to == Destination::Again { "~" } else { "" };
    match (&verdict.rule, &verdict.topic) {
        (Some(rule), _) => format!("{again}:{rule}"),
        (None, Some(topic)) => format!("{again}:{topic}"),
        (None, None) => format!("{again}:{:?}", verdict.by).to_lowercase(),
    }
}

fn rehearsed(workflow: &Workflow) -> Rehearsal {
    rehearse(workflow, Rehearse::default())
}
