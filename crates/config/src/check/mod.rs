//! Static analysis of a workflow, before it runs. It finds:
//!
//! - stages that no path reaches
//! - gates that a path can bypass
//! - rules that never hold
//! - reports that no turn writes
//! - the maximum number of calls and their maximum cost
//!
//! The analysis works on the model only and knows no dialect. A workflow has no file locations, so a finding
//! names the stage, turn or rule. The code that lowered the definition maps it back to a location.

mod cost;
mod graph;
mod rules;

use std::ops::Deref;

use saihai_model::{Label, ProgramExit, ProgramExitRange, StageId, TurnId, Workflow};

pub use self::cost::{Charge, Money, most_calls, most_money};
use self::graph::StageGraph;
pub(crate) use self::graph::unattended_cycles;
pub use self::graph::unknown_stages;
use crate::{Area, Diagnostic, quoted};

/// Returns all findings, in the order of the stages.
pub fn check(workflow: &Workflow) -> Vec<WorkflowFinding> {
    let graph = StageGraph::of(workflow);
    let mut findings = graph::check_paths(workflow, &graph);
    findings.extend(graph::check_gates(workflow, &graph));
    findings.extend(rules::check_rules(workflow));
    findings.extend(rules::check_reports(workflow));
    findings
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowFinding {
    pub spot: Spot,
    pub problem: FindingProblem,
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
pub enum FindingProblem {
    /// No path leads to the stage.
    Unreachable,
    /// No path from the stage ends the run; only a limit does.
    NoEnd,
    DeadRule(DeadRuleReason),
    /// No rule covers this combination of turn results.
    NotExhaustive(Vec<(TurnId, Option<Label>)>),
    /// No rule covers this end of a program.
    UncoveredExit {
        turn: TurnId,
        exit: ProgramExit,
    },
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
pub enum DeadRuleReason {
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
    /// The rules before it cover all its exit codes.
    Covered { label: Label },
    /// The rule needs the answer to a question that is never asked.
    NeverAsked,
}

impl WorkflowFinding {
    /// Returns the finding as a diagnostic without a location. `noun` is the definition's word for a stage.
    pub fn diagnostic(&self, noun: &str) -> Diagnostic {
        let stage = quoted(self.stage().as_str());
        match &self.problem {
            FindingProblem::Unreachable => {
                let message = format!("nothing leads to {noun} {stage}");
                Diagnostic::warning(Area::Workflow.code("unreachable"), message)
            }
            FindingProblem::NoEnd => {
                let message = format!("no path leads from {noun} {stage} to an end of the run");
                Diagnostic::warning(Area::Workflow.code("no-end"), message)
                    .hint("without one the run ends only at its iteration limit")
            }
            FindingProblem::DeadRule(reason) => reason.diagnostic(),
            FindingProblem::NotExhaustive(results) => {
                let message =
                    format!("no rule of {noun} {stage} covers the results {}", combination(results));
                Diagnostic::warning(Area::Workflow.code("not-exhaustive"), message)
                    .hint("the run would fail there: add a rule for the remaining results")
            }
            FindingProblem::UncoveredExit { turn, exit } => {
                let program = match turn.as_str() == self.stage().as_str() {
                    true => String::new(),
                    false => format!(" of {}", quoted(turn.as_str())),
                };
                let message = format!("no rule of {noun} {stage} covers {exit}{program}");
                let rule = ProgramExitRange::Codes { first: exit.code(), last: None };
                Diagnostic::warning(Area::Workflow.code("not-exhaustive"), message)
                    .hint(format!("the run would fail there: add a rule such as `{rule}`"))
            }
            FindingProblem::ExtraCall => {
                let message =
                    format!("this rule of {noun} {stage} is decided by one more question to a judging agent");
                Diagnostic::warning(Area::Workflow.code("extra-call"), message)
                    .hint("`all(…)` and `any(…)` need none")
            }
            FindingProblem::UnknownReport(file) => {
                let message = format!("no {noun} writes the report {}", quoted(file));
                Diagnostic::warning(Area::Workflow.code("unknown-report"), message)
            }
            FindingProblem::UnmonitoredCycle(stages) => {
                let message = format!("{} can repeat until the iteration limit", way(stages));
                Diagnostic::note(Area::Workflow.code("unmonitored-cycle"), message)
            }
            FindingProblem::GateBypass { asked, around } => {
                let [first, behind] = [asked.first(), asked.last()]
                    .map(|stage| stage.map_or(String::new(), |id| quoted(id.as_str())));
                let message = format!(
                    "a gate protects {noun} {behind} on the path {}, but not on the path {}",
                    way(asked),
                    way(around)
                );
                Diagnostic::warning(Area::Workflow.code("gate-bypass"), message)
                    .label("no gate on this path")
                    .hint(format!("add a gate on this path too, or route it through {first}"))
            }
        }
    }

    pub fn stage(&self) -> &StageId {
        match &self.spot {
            Spot::Stage(stage) | Spot::Turn(stage, _) | Spot::Rule(stage, _) => stage,
        }
    }
}

impl DeadRuleReason {
    fn diagnostic(&self) -> Diagnostic {
        let did_you_mean =
            |meant: &Option<Label>| meant.as_ref().map(|label| format!("did you mean `{label}`?"));
        let (why, hint) = match self {
            Self::Count { labels, turns } => (
                format!("it names {labels} results, but there are {turns} turns"),
                Some("name one label for all, or one for each in order".to_owned()),
            ),
            Self::Turn { turn, label, meant } => (
                format!("{} is not a result of {}", quoted(label.as_str()), quoted(turn.as_str())),
                did_you_mean(meant),
            ),
            Self::Nobody { label, meant } => {
                (format!("nothing has the result {}", quoted(label.as_str())), did_you_mean(meant))
            }
            Self::Covered { label } => {
                (format!("rules before it cover {}", quoted(label.as_str())), Some("move it up".to_owned()))
            }
            Self::NeverAsked => (
                "its question is never asked, because `judge_fallback` is off".to_owned(),
                Some("use `all(…)` or `any(…)`, or set `judge_fallback = true`".to_owned()),
            ),
        };
        let message = format!("this rule can never match: {why}");
        Diagnostic::error(Area::Workflow.code("dead-rule"), message).maybe_hint(hint)
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

/// A workflow in which every stage name exists. Every run starts from one (S-20), and only validation
/// creates one:
///
/// ```
/// fn begin(workflow: saihai_model::Workflow) -> Result<saihai_config::ValidatedDefinition, saihai_config::Unsound> {
///     saihai_config::ValidatedDefinition::validate(workflow)
/// }
/// ```
///
/// The field is private, so no other code can build one:
///
/// ```compile_fail,E0451
/// fn begin(workflow: saihai_model::Workflow) -> saihai_config::ValidatedDefinition {
///     saihai_config::ValidatedDefinition { workflow }
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ValidatedDefinition {
    workflow: Workflow,
}

/// Reason why a workflow cannot run: it names stages that do not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the workflow names stages that do not exist: {}", listed(.0))]
pub struct Unsound(pub Vec<StageId>);

impl ValidatedDefinition {
    /// Checks that every named stage exists.
    pub fn validate(workflow: Workflow) -> Result<Self, Unsound> {
        let unknown = unknown_stages(&workflow);
        if unknown.is_empty() { Ok(Self { workflow }) } else { Err(Unsound(unknown)) }
    }

    pub fn into_workflow(self) -> Workflow {
        self.workflow
    }
}

impl Deref for ValidatedDefinition {
    type Target = Workflow;

    fn deref(&self) -> &Workflow {
        &self.workflow
    }
}

fn listed(stages: &[StageId]) -> String {
    crate::list_of(stages.iter().map(StageId::as_str), "and")
}

#[cfg(test)]
mod tests;
