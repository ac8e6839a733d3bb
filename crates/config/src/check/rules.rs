//! Rules that never hold, results that no rule covers, rules that cost an extra call, and unknown reports.

use std::collections::{BTreeSet, HashSet};

use indexmap::IndexMap;
use saihai_model::{
    Ending, Exit, ExitCodeLabel, ExitRule, Label, Method, ProgramExit, Prompt, PromptPart, RuleCondition,
    Stage, StageId, Target, Turn, Variable, Workflow,
};

use super::{DeadRuleReason, FindingProblem, Spot, WorkflowFinding};
use crate::nearest;

pub(super) fn check_rules(workflow: &Workflow) -> Vec<WorkflowFinding> {
    workflow.stages.iter().flat_map(|(id, stage)| of_stage(id, stage)).collect()
}

/// Maximum number of findings per stage that get a suggestion. Each suggestion compares with every label, and
/// few people read a longer list.
const SUGGESTIONS: usize = 20;

fn of_stage(id: &StageId, stage: &Stage) -> Vec<WorkflowFinding> {
    let Exit::Rules { rules, otherwise, .. } = &stage.exit else { return Vec::new() };
    if stage.turns().is_empty() {
        return Vec::new();
    }
    let known = KnownLabels::of(stage);
    let mut findings = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let spot = || Spot::Rule(id.clone(), index);
        if let Some(dead) = known.dead(&rule.when, findings.len() < SUGGESTIONS) {
            findings.push(WorkflowFinding { spot: spot(), problem: FindingProblem::DeadRule(dead) });
        } else if matches!(rule.when, RuleCondition::Answered(_)) {
            findings.push(WorkflowFinding { spot: spot(), problem: FindingProblem::ExtraCall });
        }
    }
    findings.extend(hidden_exits(id, stage));
    // Broken rules would produce misleading findings about uncovered results.
    let fails = matches!(otherwise, Target::End(Ending::Failed(_)));
    let sound = !findings.iter().any(|finding| matches!(finding.problem, FindingProblem::DeadRule(_)));
    if let Some(results) = (fails && sound).then(|| uncovered(stage.turns(), rules)).flatten() {
        let named = stage.turns().iter().map(|turn| turn.id.clone()).zip(results).collect();
        findings.push(WorkflowFinding {
            spot: Spot::Stage(id.clone()),
            problem: FindingProblem::NotExhaustive(named),
        });
    }
    for turn in stage.turns().iter().filter(|_| fails && sound) {
        if let Some(exit) = uncovered_exit(turn) {
            let problem = FindingProblem::UncoveredExit { turn: turn.id.clone(), exit };
            findings.push(WorkflowFinding { spot: Spot::Stage(id.clone()), problem });
        }
    }
    findings
}

/// Returns the exit codes that the rules of a program name.
fn exit_labels(turn: &Turn) -> Vec<&ExitCodeLabel> {
    let methods = turn.reads.choice.iter().flat_map(|choice| &choice.found_by);
    let codes = methods.filter_map(|method| match method {
        Method::ExitCode(labels) => Some(labels),
        Method::Tool
        | Method::Tag
        | Method::NonceTag
        | Method::Field(_)
        | Method::Findings(_)
        | Method::Only
        | Method::Ask(_) => None,
    });
    codes.flatten().collect()
}

/// All ends of a program that a rule can tell apart. Signals count as exit codes.
fn all_exits() -> impl Iterator<Item = ProgramExit> {
    (0..=255).map(ProgramExit::Code).chain([ProgramExit::Timeout])
}

/// Returns the first end of a program that no rule covers.
fn uncovered_exit(turn: &Turn) -> Option<ProgramExit> {
    turn.program.as_ref()?;
    let labels = exit_labels(turn);
    all_exits().find(|exit| !labels.iter().any(|one| one.exits.contains(*exit)))
}

/// Finds rules of a program whose exit codes the rules before them cover.
fn hidden_exits(id: &StageId, stage: &Stage) -> Vec<WorkflowFinding> {
    let [turn] = stage.turns() else { return Vec::new() };
    let labels = exit_labels(turn);
    let mut findings = Vec::new();
    for (index, own) in labels.iter().enumerate() {
        let mut exits = all_exits().filter(|exit| own.exits.contains(*exit));
        let is_taken = |exit| labels[..index].iter().any(|before| before.exits.contains(exit));
        let options = turn.reads.choice.iter().flat_map(|choice| &choice.options);
        let number = options.into_iter().find(|offer| offer.label == own.label).map(|offer| offer.number);
        if let Some(number) = number.filter(|_| exits.all(is_taken)) {
            let problem = FindingProblem::DeadRule(DeadRuleReason::Covered { label: own.label.clone() });
            findings.push(WorkflowFinding { spot: Spot::Rule(id.clone(), number), problem });
        }
    }
    findings
}

/// Labels that the turns of a stage can produce.
struct KnownLabels<'a> {
    turns: Vec<(&'a Turn, HashSet<&'a Label>)>,
    /// Number of turns that can produce each label, in order of first use.
    counts: IndexMap<&'a Label, usize>,
    /// Possible answers to the exit's own question.
    answers: HashSet<&'a Label>,
}

impl<'a> KnownLabels<'a> {
    fn of(stage: &'a Stage) -> Self {
        let turns: Vec<_> = stage.turns().iter().map(|turn| (turn, labels(turn).collect())).collect();
        let mut counts = IndexMap::new();
        for label in stage.turns().iter().flat_map(labels) {
            *counts.entry(label).or_default() += 1;
        }
        let asked = stage.exit.question().filter(|choice| choice.question().is_some());
        let answers =
            asked.into_iter().flat_map(|choice| &choice.options).map(|offer| &offer.label).collect();
        Self { turns, counts, answers }
    }

    /// Returns the reason why a rule can never hold, if there is one.
    fn dead(&self, when: &RuleCondition, suggest: bool) -> Option<DeadRuleReason> {
        match when {
            RuleCondition::Always | RuleCondition::Stalled(_) => None,
            RuleCondition::Is(label) => self.missing_somewhere(label, suggest),
            RuleCondition::All(labels) => match labels.as_slice() {
                [label] => self.missing_somewhere(label, suggest),
                labels if labels.len() != self.turns.len() => {
                    Some(DeadRuleReason::Count { labels: labels.len(), turns: self.turns.len() })
                }
                labels => {
                    let mut pairs = self.turns.iter().zip(labels);
                    let ((turn, _), label) = pairs.find(|((_, own), label)| !own.contains(label))?;
                    Some(lacks(turn, label, suggest))
                }
            },
            RuleCondition::Any(labels) => {
                let label = labels.iter().find(|label| !self.counts.contains_key(label))?;
                let meant = suggest.then(|| meant(label, self.counts.keys().copied())).flatten();
                Some(DeadRuleReason::Nobody { label: label.clone(), meant })
            }
            RuleCondition::Answered(label) => {
                (!self.answers.contains(label)).then_some(DeadRuleReason::NeverAsked)
            }
        }
    }

    fn missing_somewhere(&self, label: &Label, suggest: bool) -> Option<DeadRuleReason> {
        if self.counts.get(label) == Some(&self.turns.len()) {
            return None;
        }
        let (turn, _) = self.turns.iter().find(|(_, own)| !own.contains(label))?;
        Some(lacks(turn, label, suggest))
    }
}

fn lacks(turn: &Turn, label: &Label, suggest: bool) -> DeadRuleReason {
    let meant = suggest.then(|| meant(label, labels(turn))).flatten();
    DeadRuleReason::Turn { turn: turn.id.clone(), label: label.clone(), meant }
}

fn meant<'a>(label: &Label, known: impl Iterator<Item = &'a Label>) -> Option<Label> {
    nearest(label.as_str(), known.map(Label::as_str)).map(Label::from)
}

fn labels(turn: &Turn) -> impl Iterator<Item = &Label> {
    let offered = turn.reads.choice.iter().flat_map(|choice| &choice.options).map(|offer| &offer.label);
    offered.chain(&turn.reads.failed)
}

/// Returns a combination of turn results that no rule covers.
///
/// It first removes the labels of every `Any` rule from all turns. Each rule over all turns then covers
/// exactly one remaining combination. Checking one more combination than there are rules is therefore enough,
/// even if there are very many.
fn uncovered(turns: &[Turn], rules: &[ExitRule]) -> Option<Vec<Option<Label>>> {
    let mut taken: HashSet<&Label> = HashSet::new();
    let mut covered: HashSet<Vec<Option<&Label>>> = HashSet::new();
    for rule in rules {
        match &rule.when {
            RuleCondition::Always | RuleCondition::Answered(_) => return None,
            RuleCondition::Any(labels) => taken.extend(labels),
            // It holds only in addition to another rule.
            RuleCondition::Stalled(_) => {}
            RuleCondition::Is(label) => {
                covered.insert(vec![Some(label); turns.len()]);
            }
            RuleCondition::All(labels) => match labels.as_slice() {
                [label] => {
                    covered.insert(vec![Some(label); turns.len()]);
                }
                labels => {
                    covered.insert(labels.iter().map(Some).collect());
                }
            },
        }
    }
    let left: Vec<Vec<Option<&Label>>> = turns.iter().map(|turn| results(turn, &taken)).collect();
    if left.iter().any(Vec::is_empty) {
        return None;
    }
    let mut at = vec![0; left.len()];
    loop {
        let combination: Vec<Option<&Label>> = left.iter().zip(&at).map(|(options, i)| options[*i]).collect();
        if !covered.contains(&combination) {
            return Some(combination.into_iter().map(Option::<&Label>::cloned).collect());
        }
        advance(&mut at, &left)?;
    }
}

/// Returns the possible results of a turn without the labels in `taken`; without a choice, no label.
fn results<'a>(turn: &'a Turn, taken: &HashSet<&Label>) -> Vec<Option<&'a Label>> {
    match &turn.reads.choice {
        None => vec![None],
        Some(_) => labels(turn).filter(|label| !taken.contains(label)).map(Some).collect(),
    }
}

/// Advances to the next combination, like an odometer.
fn advance<T>(at: &mut [usize], left: &[Vec<T>]) -> Option<()> {
    for (index, options) in at.iter_mut().zip(left).rev() {
        *index += 1;
        if *index < options.len() {
            return Some(());
        }
        *index = 0;
    }
    None
}

/// Reports each turn that shows a report which no turn of the workflow writes.
pub(super) fn check_reports(workflow: &Workflow) -> Vec<WorkflowFinding> {
    let written: HashSet<&str> = workflow
        .stages
        .values()
        .flat_map(|stage| stage.turns())
        .flat_map(|turn| &turn.reads.reports)
        .map(|report| report.file.as_str())
        .collect();
    let mut findings = Vec::new();
    for (id, stage) in &workflow.stages {
        for turn in stage.turns() {
            let missing = shown(turn).into_iter().filter(|file| !written.contains(file));
            findings.extend(missing.map(|file| WorkflowFinding {
                spot: Spot::Turn(id.clone(), turn.id.clone()),
                problem: FindingProblem::UnknownReport(file.to_owned()),
            }));
        }
    }
    findings
}

/// Returns every report that a turn's prompts show.
fn shown(turn: &Turn) -> BTreeSet<&str> {
    let question = turn.reads.choice.as_ref().and_then(|choice| choice.question());
    let prompts = std::iter::once(&turn.prompt).chain(question.map(|question| &question.prompt));
    prompts.flat_map(files).collect()
}

fn files(prompt: &Prompt) -> impl Iterator<Item = &str> {
    prompt.sections.iter().flat_map(|section| &section.body).filter_map(|part| match part {
        PromptPart::Value(Variable::ReportFile(file), _) => Some(file.as_str()),
        PromptPart::Value(..) | PromptPart::Fixed(_) => None,
    })
}
