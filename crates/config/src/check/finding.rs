//! What was found, and what it is about.

use saihai_model::{Label, StageId, TurnId};

use crate::{Area, Diagnostic, Severity, quoted};

/// Something worth knowing about a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub spot: Spot,
    pub problem: Problem,
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Spot {
    Stage(StageId),
    /// A turn of a stage.
    Turn(StageId, TurnId),
    /// A rule of a stage, from 0.
    Rule(StageId, usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Nothing leads to the stage.
    Unreachable,
    /// The run can never end from the stage, except by a limit.
    NoEnd,
    /// The rule can never hold.
    DeadRule(Dead),
    /// No rule holds for these results of the turns.
    NotExhaustive(Vec<(TurnId, Option<Label>)>),
    /// The rule costs a further call.
    ExtraCall,
    /// The turn shows a report that no turn writes.
    UnknownReport(String),
    /// These stages can go round for ever, and nothing watches them.
    UnmonitoredCycle(Vec<StageId>),
    /// A stage behind a gate can also be entered without anybody being asked.
    GateBypass {
        /// The way through the gate: the stage before it, the gate, the stage behind it.
        asked: Vec<StageId>,
        /// The shortest way from the start to the stage that passes no gate.
        around: Vec<StageId>,
    },
}

/// Why a rule can never hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dead {
    /// It names so many labels for so many turns.
    Count { labels: usize, turns: usize },
    /// This turn never has the label.
    Turn {
        turn: TurnId,
        label: Label,
        /// One it has and that was perhaps meant.
        meant: Option<Label>,
    },
    /// No turn ever has the label.
    Nobody {
        label: Label,
        /// One that some turn has and that was perhaps meant.
        meant: Option<Label>,
    },
    /// It needs the answer to a question that is never asked.
    NeverAsked,
}

impl Finding {
    /// The finding as a diagnostic without a place. `noun` is what the definition calls a stage.
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

    /// The stage it is about.
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

/// The most stages of a way that are named; of a longer one its ends.
const NAMED: usize = 8;

/// `a` → `b` → `c`.
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
