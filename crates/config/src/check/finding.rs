//! Findings of the check, and their diagnostics.

use saihai_model::{Label, StageId, TurnId};

use crate::{Area, Diagnostic, Severity, quoted};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub spot: Spot,
    pub problem: Problem,
}

/// Part of a workflow that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Spot {
    Stage(StageId),
    Turn(StageId, TurnId),
    /// Rule of a stage, counted from 0.
    Rule(StageId, usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// No path leads to the stage.
    Unreachable,
    /// No path from the stage ends the run; only a limit does.
    NoEnd,
    DeadRule(Dead),
    /// No rule covers this combination of turn results.
    NotExhaustive(Vec<(TurnId, Option<Label>)>),
    /// Evaluating the rule costs an extra call.
    ExtraCall,
    /// The turn shows a report that no turn writes.
    UnknownReport(String),
    /// These stages can repeat forever and no monitor watches them.
    UnmonitoredCycle(Vec<StageId>),
    /// A path reaches a stage behind a gate without passing the gate.
    GateBypass {
        /// Path through the gate: the stage before it, the gate, the stage behind it.
        asked: Vec<StageId>,
        /// Shortest path from the start to the stage without any gate.
        around: Vec<StageId>,
    },
}

/// Reason why a rule can never hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dead {
    /// The number of labels differs from the number of turns.
    Count { labels: usize, turns: usize },
    /// This turn never produces the label.
    Turn {
        turn: TurnId,
        label: Label,
        /// Similar label that the turn does produce.
        meant: Option<Label>,
    },
    /// No turn ever produces the label.
    Nobody {
        label: Label,
        /// Similar label that some turn does produce.
        meant: Option<Label>,
    },
    /// The rule needs the answer to a question that is never asked.
    NeverAsked,
}

impl Finding {
    /// Returns the finding as a diagnostic without a location. `noun` is the definition's word for a stage.
    pub fn diagnostic(&self, noun: &str) -> Diagnostic {
        let (severity, slug, message) = self.sentence(noun);
        let code = Area::Workflow.code(slug);
        let diagnostic = match severity {
            Severity::Error => Diagnostic::error(code, message),
            Severity::Warning => Diagnostic::warning(code, message),
            Severity::Note => Diagnostic::note(code, message),
        };
        let diagnostic = diagnostic.maybe_hint(self.hint());
        match &self.problem {
            Problem::GateBypass { .. } => diagnostic.label("nobody is asked on this way"),
            Problem::Unreachable
            | Problem::NoEnd
            | Problem::DeadRule(_)
            | Problem::NotExhaustive(_)
            | Problem::ExtraCall
            | Problem::UnknownReport(_)
            | Problem::UnmonitoredCycle(_) => diagnostic,
        }
    }

    fn sentence(&self, noun: &str) -> (Severity, &'static str, String) {
        let stage = quoted(self.stage().as_str());
        match &self.problem {
            Problem::Unreachable => {
                (Severity::Warning, "unreachable", format!("nothing leads to {noun} {stage}"))
            }
            Problem::NoEnd => (
                Severity::Warning,
                "no-end",
                format!("no way leads from {noun} {stage} to an end of the run"),
            ),
            Problem::DeadRule(dead) => (Severity::Error, "dead-rule", dead.sentence()),
            Problem::NotExhaustive(results) => (
                Severity::Warning,
                "not-exhaustive",
                format!("no rule of {noun} {stage} covers the results {}", combination(results)),
            ),
            Problem::ExtraCall => (
                Severity::Warning,
                "extra-call",
                format!("this rule of {noun} {stage} is decided by one more question to a judging agent"),
            ),
            Problem::UnknownReport(file) => {
                (Severity::Warning, "unknown-report", format!("no {noun} writes the report {}", quoted(file)))
            }
            Problem::UnmonitoredCycle(stages) => {
                let message = format!("{} can repeat until the iteration limit", way(stages));
                (Severity::Note, "unmonitored-cycle", message)
            }
            Problem::GateBypass { asked, around } => {
                let behind = asked.last().map(|stage| quoted(stage.as_str())).unwrap_or_default();
                let (asked, around) = (way(asked), way(around));
                let message = format!(
                    "a person is asked before {noun} {behind} on the way {asked}, but nobody on the way {around}"
                );
                (Severity::Warning, "gate-bypass", message)
            }
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match &self.problem {
            Problem::DeadRule(Dead::Turn { meant, .. } | Dead::Nobody { meant, .. }) => {
                return meant.as_ref().map(|label| format!("did you mean `{label}`?"));
            }
            Problem::GateBypass { asked, .. } => {
                let asks = asked.first().map(|stage| quoted(stage.as_str())).unwrap_or_default();
                return Some(format!("ask on this way too, or let it lead through {asks}"));
            }
            Problem::NotExhaustive(_) => "the run would fail there: add a rule for what is left",
            Problem::NoEnd => "without one the run ends only at its iteration limit",
            Problem::DeadRule(Dead::Count { .. }) => "name one label for all, or one for each in order",
            Problem::DeadRule(Dead::NeverAsked) => "use `all(…)` or `any(…)`, or set `judge_fallback = true`",
            Problem::ExtraCall => "`all(…)` and `any(…)` need none",
            Problem::Unreachable | Problem::UnknownReport(_) | Problem::UnmonitoredCycle(_) => return None,
        };
        Some(hint.to_owned())
    }

    pub fn stage(&self) -> &StageId {
        match &self.spot {
            Spot::Stage(stage) | Spot::Turn(stage, _) | Spot::Rule(stage, _) => stage,
        }
    }
}

impl Dead {
    fn sentence(&self) -> String {
        match self {
            Self::Count { labels, turns } => {
                format!("this rule can never hold: it names {labels} results, but there are {turns} turns")
            }
            Self::Turn { turn, label, .. } => format!(
                "this rule can never hold: {} is no result of {}",
                quoted(label.as_str()),
                quoted(turn.as_str())
            ),
            Self::Nobody { label, .. } => {
                format!("this rule can never hold: nothing has the result {}", quoted(label.as_str()))
            }
            Self::NeverAsked => {
                "this rule can never hold: its question is never asked, because `judge_fallback` is off"
                    .to_owned()
            }
        }
    }
}

/// Maximum number of stages to print. Longer paths show only their two ends.
const NAMED: usize = 8;

/// Formats a path as `a` → `b` → `c`.
fn way(stages: &[StageId]) -> String {
    let quote = |stage: &StageId| quoted(stage.as_str());
    let mut names: Vec<String> = stages.iter().map(quote).collect();
    if names.len() > NAMED {
        names.splice(NAMED / 2..names.len() - NAMED / 2, ["…".to_owned()]);
    }
    names.join(" → ")
}

fn combination(results: &[(TurnId, Option<Label>)]) -> String {
    let each: Vec<String> = results
        .iter()
        .map(|(turn, label)| match label {
            Some(label) => format!("{} {}", quoted(turn.as_str()), quoted(label.as_str())),
            None => format!("{} without a result", quoted(turn.as_str())),
        })
        .collect();
    each.join(", ")
}
