//! Reports that prompts show but no turn writes.

use std::collections::{BTreeSet, HashSet};

use saihai_model::{Part, Prompt, Turn, Variable, Workflow};

use super::{Finding, Problem, Spot};

/// Reports each turn that shows a report which no turn of the workflow writes.
pub(super) fn check(workflow: &Workflow) -> Vec<Finding> {
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
            findings.extend(missing.map(|file| Finding {
                spot: Spot::Turn(id.clone(), turn.id.clone()),
                problem: Problem::UnknownReport(file.to_owned()),
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
        Part::Value(Variable::ReportFile(file), _) => Some(file.as_str()),
        Part::Value(..) | Part::Fixed(_) => None,
    })
}
