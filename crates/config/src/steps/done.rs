//! Lowering of completion conditions, and their messages (S-60, S-61, S-63).

use std::collections::BTreeMap;

use indexmap::IndexMap;
use saihai_model::{
    Action, ActionSpec, Completion as Done, Json, Keyword, LastBlock, Millis, Once, PhaseStep, Phases, Told,
};
use serde_json::json;

use super::actions::SIGNALS;
use super::completion::{Completion, Condition, Operator};
use super::lower::Lowering;

/// Phases of the work, in order. `again` follows a review that did not pass.
pub(super) const PHASES: [&str; 4] = ["preparation", "processing", "review", "again"];

/// Time limit of a custom completion program (S-62).
const HANDLER: Millis = Millis(60_000);

pub(super) fn completion(lowering: &Lowering<'_>) -> Done {
    let own = lowering.agent.completion.as_ref();
    own.map_or(Done::Flow, |own| lower(&own.condition, lowering))
}

/// Returns the keywords of all completion conditions.
pub(super) fn keywords(completion: Option<&Completion>) -> Vec<Keyword> {
    let mut found = Vec::new();
    for condition in completion.into_iter().flat_map(Completion::all) {
        if let Condition::Keyword { word, whole_line } = condition {
            found.push(Keyword { word: word.clone(), whole_line: *whole_line });
        }
    }
    found
}

/// Returns the engine's messages about a run, which are always English.
pub(super) fn words() -> IndexMap<String, String> {
    let words = [
        ("stage", "step"),
        ("check-unreadable", "unreadable check reply"),
        ("completed-flow", "Flow completed at {}"),
        ("completed-rounds", "Reached {}"),
        ("completed-checks", "Reached {} checks"),
        ("completed-keyword", "Keyword found: {}"),
        ("completed-signal", "Signal received: {}"),
        ("completed-phase", "Phase reached: {}"),
        ("completed-outside", "State reached"),
    ];
    words.into_iter().map(|(key, word)| (key.to_owned(), word.to_owned())).collect()
}

fn lower(condition: &Condition, lowering: &Lowering<'_>) -> Done {
    match condition {
        Condition::Flow { .. } => forced(None, lowering),
        Condition::Iterations(count) => {
            forced(Some(Done::Rounds(lowering.options.max_iterations.unwrap_or(count.value))), lowering)
        }
        Condition::Keyword { word, whole_line } => {
            let keyword = Keyword { word: word.clone(), whole_line: *whole_line };
            forced(Some(Done::Keyword(keyword)), lowering)
        }
        Condition::Checks(count) => forced(Some(Done::Checks(*count)), lowering),
        Condition::Signal { kind, fields } => {
            let (kind, fields) = (kind.clone(), fields.clone());
            forced(Some(Done::Signal { kind, fields, times: 1, reason: None }), lowering)
        }
        Condition::Phase(terminal) => forced(Some(Done::Phase(phases(terminal))), lowering),
        // The end of the flow does not close the issue, so it counts only if `closing` just sets labels
        // (S-61).
        Condition::Issue => match &lowering.agent.closure {
            Some(closure) if !closure.close => Done::First(vec![outside(Action::IssueState), Done::Flow]),
            Some(_) | None => outside(Action::IssueState),
        },
        Condition::File { path, absent } => {
            outside(Action::FileState { path: path.clone(), absent: *absent })
        }
        Condition::Custom(handler) => forced(Some(custom(&handler.value, lowering)), lowering),
        Condition::Composite(operator, parts) => {
            let parts = parts.iter().map(|part| lower(part, lowering)).collect();
            match operator {
                Operator::And => Done::All(parts),
                Operator::Or => Done::Any(parts),
                Operator::First => Done::First(parts),
            }
        }
    }
}

/// Adds two alternatives to a condition: the end of the flow, and the signal `complete`.
fn forced(condition: Option<Done>, lowering: &Lowering<'_>) -> Done {
    let signal = lowering.agent.actions.signals("complete").then(|| Done::Signal {
        kind: "complete".to_owned(),
        fields: Default::default(),
        times: 1,
        reason: Some("content".to_owned()),
    });
    let mut parts: Vec<Done> = condition.into_iter().chain(signal).collect();
    if parts.is_empty() {
        return Done::Flow;
    }
    parts.push(Done::Flow);
    Done::First(parts)
}

fn outside(does: Action) -> Done {
    Done::Outside(ActionSpec { does, inputs: Vec::new(), once: Once::ReadOnly, poll: None })
}

fn custom(handler: &str, lowering: &Lowering<'_>) -> Done {
    let program = lowering.directory.join(handler).display().to_string();
    let input = json!({"agent": lowering.agent.name.value, "parameters": lowering.parameters});
    outside(Action::Command {
        argv: vec![program],
        timeout: HANDLER,
        input,
        told: Told::ByAnswer,
        written: None,
    })
}

/// S-63: preparation, processing, review, and again until a review passes.
fn phases(terminal: &[String]) -> Phases {
    let step = |from: &str, kind: &str, to: &str| PhaseStep {
        from: from.to_owned(),
        kind: kind.to_owned(),
        fields: Default::default(),
        last: None,
        to: to.to_owned(),
    };
    let passed: BTreeMap<String, Option<Json>> = [("passed".to_owned(), Some(json!(true)))].into();
    let [plan, review, advance, _] = SIGNALS;
    Phases {
        start: "preparation".to_owned(),
        steps: vec![
            step("preparation", plan, "processing"),
            step("preparation", advance, "processing"),
            step("processing", advance, "review"),
            PhaseStep { fields: passed.clone(), ..step("review", review, "complete") },
            step("review", review, "again"),
            // A review may come before its phase, so the engine remembers the last result.
            PhaseStep {
                last: Some(LastBlock { kind: review.to_owned(), fields: passed }),
                ..step("review", advance, "complete")
            },
            step("review", advance, "again"),
            step("again", advance, "review"),
        ],
        terminal: terminal.to_vec(),
    }
}
