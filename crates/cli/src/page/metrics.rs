//! Figures of all runs in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::model::{PageRow, PageState};

/// Sums up the rows by definition.
pub(super) fn text(rows: &[PageRow]) -> String {
    let mut states: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut totals: BTreeMap<&str, DefinitionTotals> = BTreeMap::new();
    for row in rows {
        *states.entry((&row.definition, state_name(row.state))).or_default() += 1;
        let total = totals.entry(&row.definition).or_default();
        total.turns += row.turns;
        total.tokens += row.tokens;
        total.seconds += row.driven / 1000;
        if let Some(cost) = row.cost {
            total.cost += cost;
        }
    }
    let mut text = String::new();
    let _ = writeln!(text, "# HELP saihai_runs Runs by definition and state.\n# TYPE saihai_runs gauge");
    for ((definition, state), count) in states {
        let _ =
            writeln!(text, "saihai_runs{{definition=\"{}\",state=\"{state}\"}} {count}", label(definition));
    }
    let figures: [(&str, &str, Figure); 4] = [
        ("saihai_turns", "Turns of agents.", |total| total.turns.to_string()),
        ("saihai_tokens", "Tokens, as far as providers report them.", |total| total.tokens.to_string()),
        ("saihai_cost_usd", "Cost in US dollars, as far as it is known.", |total| total.cost.to_string()),
        ("saihai_driven_seconds", "Time in which a process drove a run.", |total| total.seconds.to_string()),
    ];
    for (name, help, value) in figures {
        // Runs can be deleted, so a sum can fall: it is a gauge and not a counter.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
        for (definition, total) in &totals {
            let _ = writeln!(text, "{name}{{definition=\"{}\"}} {}", label(definition), value(total));
        }
    }
    text
}

/// Returns a figure as Prometheus reads it.
type Figure = fn(&DefinitionTotals) -> String;

#[derive(Default)]
struct DefinitionTotals {
    turns: u64,
    tokens: u64,
    seconds: u64,
    cost: f64,
}

fn state_name(state: PageState) -> &'static str {
    match state {
        PageState::Waiting => "waiting",
        PageState::Running => "running",
        PageState::Interrupted => "interrupted",
        PageState::Answered => "answered",
        PageState::Parked => "parked",
        PageState::Completed => "completed",
        PageState::Failed => "failed",
        PageState::Declined => "declined",
        PageState::Cancelled => "cancelled",
        PageState::Broken => "broken",
    }
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
