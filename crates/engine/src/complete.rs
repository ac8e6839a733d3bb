//! When the work is done.

use std::collections::BTreeMap;

use saihai_model::{
    ActionSpec, Activity, Block, Completion, Destination, Json, Keyword, Place, Stage, Workflow,
};

use crate::advance::Step;
use crate::verdict::Ruling;
use crate::{Call, Run, Slot};

impl Run {
    /// The outside conditions of the completion, asked once the verdict is known and before it is committed.
    pub(crate) fn lack_outside(
        &mut self,
        workflow: &Workflow,
        stage: &Stage,
        ruling: &Ruling,
    ) -> Option<Step> {
        if !self.may_complete(stage)
            || matches!(self.destination(workflow, stage, &ruling.target).0, Destination::End(_))
        {
            return None;
        }
        let count = outside(&workflow.completion).len();
        let next = (0..count).find(|index| self.round().done(Place::Outside(*index)).is_none())?;
        let place = Place::Outside(next);
        if self.round().slot(place).is_some() {
            return Some(Step::Rest);
        }
        let call = Call::new(self.next_call(), None);
        self.put(place, Slot::Waiting { call, until: None });
        Some(Step::Go)
    }

    /// Whether the end of this round can be the end of the work.
    pub(crate) fn may_complete(&self, stage: &Stage) -> bool {
        matches!(stage.does, Activity::Turns { .. }) && !stage.aside && !self.delivering
    }

    /// Notes what of the completion this round has met.
    pub(crate) fn count_completion(&mut self, workflow: &Workflow, stage: &Stage) {
        let mut found = Vec::new();
        for index in 0..stage.turns().len() {
            let Some(done) = self.round().done(Place::Main(index)) else { continue };
            let reading = &done.reading;
            visit_leaves(&workflow.completion, &mut |number, leaf| {
                let times = match leaf {
                    Completion::Keyword(keyword) => u32::from(said(keyword, &reading.keywords)),
                    Completion::Signal { kind, fields, .. } => signals(&reading.blocks, kind, fields),
                    Completion::Flow
                    | Completion::Rounds(_)
                    | Completion::Checks(_)
                    | Completion::Outside(_)
                    | Completion::All(_)
                    | Completion::Any(_)
                    | Completion::First(_) => 0,
                };
                if times > 0 {
                    found.push((number.to_string(), times));
                }
            });
            for block in reading.blocks.clone() {
                let count = self.counts.signals.entry(block.kind).or_insert(0);
                *count = count.saturating_add(1);
            }
        }
        for (leaf, times) in found {
            let count = self.counts.met.entry(leaf).or_insert(0);
            *count = count.saturating_add(times);
        }
    }

    /// The reason if the work is done; `flow` says whether the exit led to *complete*.
    pub(crate) fn completed(&self, workflow: &Workflow, flow: bool) -> Option<String> {
        let mut leaf = 0;
        let mut outside = 0;
        self.holds(&workflow.completion, flow, &mut leaf, &mut outside)
    }

    fn holds(
        &self,
        completion: &Completion,
        flow: bool,
        leaf: &mut usize,
        outside: &mut usize,
    ) -> Option<String> {
        let mut all = |parts: &[Completion]| -> Vec<Option<String>> {
            parts.iter().map(|part| self.holds(part, flow, leaf, outside)).collect()
        };
        match completion {
            Completion::All(parts) => {
                let reasons: Option<Vec<String>> = all(parts).into_iter().collect();
                return reasons.map(|reasons| reasons.join("; "));
            }
            Completion::Any(parts) => {
                let reasons: Vec<String> = all(parts).into_iter().flatten().collect();
                return (!reasons.is_empty()).then(|| reasons.join("; "));
            }
            Completion::First(parts) => return all(parts).into_iter().flatten().next(),
            Completion::Flow
            | Completion::Rounds(_)
            | Completion::Checks(_)
            | Completion::Keyword(_)
            | Completion::Signal { .. }
            | Completion::Outside(_) => {}
        }
        let met = self.counts.met.get(&leaf.to_string()).copied().unwrap_or(0);
        *leaf += 1;
        match completion {
            Completion::Rounds(rounds) => {
                (self.counts.iteration >= *rounds).then(|| format!("rounds {rounds}"))
            }
            Completion::Checks(checks) => (self.counts.checks >= *checks).then(|| format!("checks {checks}")),
            Completion::Keyword(keyword) => (met > 0).then(|| format!("keyword {}", keyword.word)),
            Completion::Signal { kind, times, .. } => {
                (met >= (*times).max(1)).then(|| format!("signal {kind}"))
            }
            Completion::Outside(_) => {
                let done = self.visit.as_ref().and_then(|visit| visit.round.done(Place::Outside(*outside)));
                *outside += 1;
                let label = done.and_then(|done| done.label.as_ref());
                (label.is_some_and(|label| label.as_str() == "reached")).then(|| "reached".to_owned())
            }
            Completion::Flow | Completion::All(_) | Completion::Any(_) | Completion::First(_) => {
                flow.then(|| "complete".to_owned())
            }
        }
    }
}

/// The outside conditions of a completion, in reading order.
pub(crate) fn outside(completion: &Completion) -> Vec<&ActionSpec> {
    let mut found = Vec::new();
    visit_leaves(completion, &mut |_, leaf| {
        if let Completion::Outside(action) = leaf {
            found.push(action);
        }
    });
    found
}

fn visit_leaves<'a>(completion: &'a Completion, found: &mut impl FnMut(usize, &'a Completion)) {
    fn walk<'a>(part: &'a Completion, number: &mut usize, found: &mut impl FnMut(usize, &'a Completion)) {
        match part {
            Completion::All(parts) | Completion::Any(parts) | Completion::First(parts) => {
                for part in parts {
                    walk(part, number, found);
                }
            }
            Completion::Flow
            | Completion::Rounds(_)
            | Completion::Checks(_)
            | Completion::Keyword(_)
            | Completion::Signal { .. }
            | Completion::Outside(_) => {
                found(*number, part);
                *number += 1;
            }
        }
    }
    walk(completion, &mut 0, found);
}

fn said(keyword: &Keyword, keywords: &[String]) -> bool {
    keywords.contains(&keyword.word)
}

fn signals(blocks: &[Block], kind: &str, fields: &BTreeMap<String, Option<Json>>) -> u32 {
    let has = |block: &Block| {
        block.kind == kind
            && fields.iter().all(|(key, wanted)| match (block.value.get(key), wanted) {
                (Some(value), Some(wanted)) => value == wanted,
                (Some(_), None) => true,
                (None, _) => false,
            })
    };
    u32::try_from(blocks.iter().filter(|block| has(block)).count()).unwrap_or(u32::MAX)
}
