//! Rules that never hold, results that no rule covers, and rules that cost an extra call.

use std::collections::HashSet;

use indexmap::IndexMap;
use saihai_model::{Ending, Exit, Holds, Label, Rule, Stage, StageId, Target, Turn, Workflow};

use super::{Dead, Finding, Problem, Spot};
use crate::nearest;

pub(super) fn check(workflow: &Workflow) -> Vec<Finding> {
    workflow.stages.iter().flat_map(|(id, stage)| of_stage(id, stage)).collect()
}

/// Maximum number of findings per stage that get a suggestion. Each suggestion compares with every label, and
/// few people read a longer list.
const SUGGESTIONS: usize = 20;

fn of_stage(id: &StageId, stage: &Stage) -> Vec<Finding> {
    let Exit::Rules { rules, otherwise, .. } = &stage.exit else { return Vec::new() };
    if stage.turns().is_empty() {
        return Vec::new();
    }
    let known = Known::of(stage);
    let mut findings = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let spot = || Spot::Rule(id.clone(), index);
        if let Some(dead) = known.dead(&rule.when, findings.len() < SUGGESTIONS) {
            findings.push(Finding { spot: spot(), problem: Problem::DeadRule(dead) });
        } else if matches!(rule.when, Holds::Answered(_)) {
            findings.push(Finding { spot: spot(), problem: Problem::ExtraCall });
        }
    }
    // Broken rules would produce misleading findings about uncovered results.
    let fails = matches!(otherwise, Target::End(Ending::Failed(_)));
    let sound = !findings.iter().any(|finding| matches!(finding.problem, Problem::DeadRule(_)));
    if let Some(results) = (fails && sound).then(|| uncovered(stage.turns(), rules)).flatten() {
        let named = stage.turns().iter().map(|turn| turn.id.clone()).zip(results).collect();
        findings.push(Finding { spot: Spot::Stage(id.clone()), problem: Problem::NotExhaustive(named) });
    }
    findings
}

/// Labels that the turns of a stage can produce.
struct Known<'a> {
    turns: Vec<(&'a Turn, HashSet<&'a Label>)>,
    /// Number of turns that can produce each label, in order of first use.
    counts: IndexMap<&'a Label, usize>,
    /// Possible answers to the exit's own question.
    answers: HashSet<&'a Label>,
}

impl<'a> Known<'a> {
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
    fn dead(&self, when: &Holds, suggest: bool) -> Option<Dead> {
        match when {
            Holds::Always => None,
            Holds::Is(label) => self.missing_somewhere(label, suggest),
            Holds::All(labels) => match labels.as_slice() {
                [label] => self.missing_somewhere(label, suggest),
                labels if labels.len() != self.turns.len() => {
                    Some(Dead::Count { labels: labels.len(), turns: self.turns.len() })
                }
                labels => {
                    let mut pairs = self.turns.iter().zip(labels);
                    let ((turn, _), label) = pairs.find(|((_, own), label)| !own.contains(label))?;
                    Some(lacks(turn, label, suggest))
                }
            },
            Holds::Any(labels) => {
                let label = labels.iter().find(|label| !self.counts.contains_key(label))?;
                let meant = suggest.then(|| meant(label, self.counts.keys().copied())).flatten();
                Some(Dead::Nobody { label: label.clone(), meant })
            }
            Holds::Answered(label) => (!self.answers.contains(label)).then_some(Dead::NeverAsked),
        }
    }

    fn missing_somewhere(&self, label: &Label, suggest: bool) -> Option<Dead> {
        if self.counts.get(label) == Some(&self.turns.len()) {
            return None;
        }
        let (turn, _) = self.turns.iter().find(|(_, own)| !own.contains(label))?;
        Some(lacks(turn, label, suggest))
    }
}

fn lacks(turn: &Turn, label: &Label, suggest: bool) -> Dead {
    let meant = suggest.then(|| meant(label, labels(turn))).flatten();
    Dead::Turn { turn: turn.id.clone(), label: label.clone(), meant }
}

fn meant<'a>(label: &Label, known: impl Iterator<Item = &'a Label>) -> Option<Label> {
    nearest(label.as_str(), known.map(Label::as_str)).map(Label::from)
}

fn labels(turn: &Turn) -> impl Iterator<Item = &Label> {
    turn.reads.choice.iter().flat_map(|choice| &choice.options).map(|offer| &offer.label)
}

/// Returns a combination of turn results that no rule covers.
///
/// It first removes the labels of every `Any` rule from all turns. Each rule over all turns then covers
/// exactly one remaining combination. Checking one more combination than there are rules is therefore enough,
/// even if there are very many.
fn uncovered(turns: &[Turn], rules: &[Rule]) -> Option<Vec<Option<Label>>> {
    let mut taken: HashSet<&Label> = HashSet::new();
    let mut covered: HashSet<Vec<Option<&Label>>> = HashSet::new();
    for rule in rules {
        match &rule.when {
            Holds::Always | Holds::Answered(_) => return None,
            Holds::Any(labels) => taken.extend(labels),
            Holds::Is(label) => {
                covered.insert(vec![Some(label); turns.len()]);
            }
            Holds::All(labels) => match labels.as_slice() {
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

/// Returns the possible results of a turn without the labels in `taken`. A turn without a choice has no
/// label.
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
