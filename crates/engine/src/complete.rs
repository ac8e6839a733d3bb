//! Decides when the work is done.

use std::collections::BTreeMap;

use saihai_model::{
    Activity, By, Completion, CompletionReason, Decision, Destination, Effect, Json, Keyword, Phases,
    ReplyBlock, RoundPosition, Stage, Verdict, Workflow,
};

use crate::advance::AdvanceStep;
use crate::run::CallResult;
use crate::run::Run;
use crate::verdict::Ruling;

/// Maximum length of a reason that comes from outside, in characters.
const REASON: usize = 1_000;

impl Run {
    /// Asks the outside conditions of the completion once the verdict is known, before the engine commits it.
    pub(crate) fn next_outside(
        &mut self,
        workflow: &Workflow,
        stage: &Stage,
        ruling: &Ruling,
    ) -> Option<AdvanceStep> {
        if !self.may_complete(stage)
            || matches!(self.destination(workflow, stage, &ruling.target).0, Destination::End(_))
        {
            return None;
        }
        let count = workflow.completion.actions().len();
        let next = (0..count).find(|index| self.round().done(RoundPosition::Outside(*index)).is_none())?;
        Some(self.queue(RoundPosition::Outside(next), None))
    }

    /// Checks outside states once before the first round, because the work may already be done.
    pub(crate) fn check_completion_first(
        &mut self,
        workflow: &Workflow,
        out: &mut Vec<Effect>,
    ) -> Option<AdvanceStep> {
        if self.counts.looked || self.counts.iteration > 0 {
            return None;
        }
        let conditions = workflow.completion.actions().into_iter().enumerate();
        let states = conditions.filter(|(_, action)| action.does.is_state()).map(|(index, _)| index);
        let states = states.collect::<Vec<_>>();
        let next = states.iter().find(|index| self.round().done(RoundPosition::Outside(**index)).is_none());
        if let Some(next) = next {
            return Some(self.queue(RoundPosition::Outside(*next), None));
        }
        self.counts.looked = true;
        if states.is_empty() {
            return None;
        }
        let reason = self.completed(workflow, false);
        let visit = self.visit.as_mut().expect("a step is only taken during a visit");
        visit.round.slots.retain(|(place, _)| !matches!(place, RoundPosition::Outside(_)));
        if let Some(reason) = reason {
            let (by, to, stage) = (By::Condition, Destination::Complete, visit.stage.clone());
            let verdict = Verdict { by, labels: Vec::new(), rule: None, topic: None, to };
            out.push(Effect::Record(Decision::Exited { stage, verdict }));
            self.go(workflow, Destination::Complete, reason, out);
        }
        Some(AdvanceStep::Go)
    }

    /// Returns the error of an outside condition that could not tell if it holds.
    pub(crate) fn broken_condition(&self, workflow: &Workflow) -> Option<String> {
        let count = workflow.completion.actions().len();
        let mut done = (0..count).filter_map(|index| self.round().done(RoundPosition::Outside(index)));
        let broken = done.find(|done| done.label.as_ref().is_some_and(|label| label.as_str() == "broken"))?;
        Some(told(broken, "error").unwrap_or_default())
    }

    /// Returns true if the work can be done at the end of this round.
    pub(crate) fn may_complete(&self, stage: &Stage) -> bool {
        matches!(stage.does, Activity::Turns { .. }) && !stage.aside && !self.delivering
    }

    /// Records the parts of the completion that this round met.
    pub(crate) fn count_completion(&mut self, workflow: &Workflow, stage: &Stage) {
        for index in 0..stage.turns().len() {
            let Some(done) = self.round().done(RoundPosition::Main(index)) else { continue };
            let (blocks, keywords) = (done.reading.blocks.clone(), done.reading.keywords.clone());
            visit_leaves(&workflow.completion, &mut |number, leaf| {
                self.meet(number, leaf, &blocks, &keywords)
            });
            for block in blocks {
                let count = self.counts.signals.entry(block.kind).or_insert(0);
                *count = count.saturating_add(1);
            }
        }
    }

    fn meet(&mut self, number: usize, leaf: &Completion, blocks: &[ReplyBlock], keywords: &[String]) {
        let times = match leaf {
            Completion::Keyword(keyword) => u32::from(said(keyword, keywords)),
            Completion::Signal { kind, fields, reason, .. } => {
                let signals: Vec<_> = blocks.iter().filter(|block| is_signal(block, kind, fields)).collect();
                let reason = reason.as_ref().and_then(|field| text(signals.last()?.value.get(field)?));
                if let Some(reason) = reason {
                    self.counts.reasons.insert(number.to_string(), reason);
                }
                u32::try_from(signals.len()).unwrap_or(u32::MAX)
            }
            Completion::Phase(phases) => {
                blocks.iter().for_each(|block| self.advance_phase(phases, block));
                0
            }
            Completion::Flow
            | Completion::Rounds(_)
            | Completion::Checks(_)
            | Completion::Outside(_)
            | Completion::All(_)
            | Completion::Any(_)
            | Completion::First(_) => 0,
        };
        if times > 0 {
            let count = self.counts.met.entry(number.to_string()).or_insert(0);
            *count = count.saturating_add(times);
        }
    }

    fn advance_phase(&mut self, phases: &Phases, block: &ReplyBlock) {
        for (number, step) in phases.steps.iter().enumerate() {
            if let Some(last) = step.last.as_ref().filter(|last| last.kind == block.kind) {
                let fitted = is_signal(block, &last.kind, &last.fields);
                self.counts.remembered.insert(number.to_string(), fitted);
            }
        }
        let now = self.counts.phase.as_ref().unwrap_or(&phases.start);
        let remembers = |number: usize| self.counts.remembered.get(&number.to_string()) == Some(&true);
        let mut steps = phases.steps.iter().enumerate();
        let step = steps.find(|(number, step)| {
            step.from == *now
                && is_signal(block, &step.kind, &step.fields)
                && (step.last.is_none() || remembers(*number))
        });
        if let Some((_, step)) = step {
            self.counts.phase = Some(step.to.clone());
        }
    }

    /// Returns the current phase of the completion, if it has phases.
    pub(crate) fn phase_of<'a>(&'a self, workflow: &'a Workflow) -> Option<&'a str> {
        let mut start = None;
        visit_leaves(&workflow.completion, &mut |_, leaf| {
            if let Completion::Phase(phases) = leaf {
                start = start.or(Some(phases.start.as_str()));
            }
        });
        start.map(|start| self.counts.phase.as_deref().unwrap_or(start))
    }

    /// Returns the reason if the work is done. `flow` is true if the exit led to *complete*.
    pub(crate) fn completed(&self, workflow: &Workflow, flow: bool) -> Option<CompletionReason> {
        let mut look = CompletionCheck { run: self, workflow, flow, leaf: 0, outside: 0 };
        look.holds(&workflow.completion).map(CompletionReason::from)
    }
}

/// Evaluation of the completion, leaf by leaf in reading order.
struct CompletionCheck<'a> {
    run: &'a Run,
    workflow: &'a Workflow,
    flow: bool,
    leaf: usize,
    outside: usize,
}

impl CompletionCheck<'_> {
    fn holds(&mut self, completion: &Completion) -> Option<String> {
        match completion {
            Completion::All(parts) => {
                let reasons: Option<Vec<String>> = self.all(parts).into_iter().collect();
                reasons.map(|reasons| reasons.join("; "))
            }
            Completion::Any(parts) => {
                let reasons: Vec<String> = self.all(parts).into_iter().flatten().collect();
                (!reasons.is_empty()).then(|| reasons.join("; "))
            }
            Completion::First(parts) => self.all(parts).into_iter().flatten().next(),
            Completion::Flow
            | Completion::Rounds(_)
            | Completion::Checks(_)
            | Completion::Keyword(_)
            | Completion::Signal { .. }
            | Completion::Phase(_)
            | Completion::Outside(_) => self.leaf_holds(completion),
        }
    }

    /// Evaluates every part without stopping early, because evaluation numbers the leaves.
    fn all(&mut self, parts: &[Completion]) -> Vec<Option<String>> {
        parts.iter().map(|part| self.holds(part)).collect()
    }

    fn leaf_holds(&mut self, leaf: &Completion) -> Option<String> {
        let counts = &self.run.counts;
        let number = self.leaf.to_string();
        self.leaf += 1;
        let met = counts.met.get(&number).copied().unwrap_or(0);
        match leaf {
            Completion::Rounds(rounds) => {
                (counts.iteration >= *rounds).then(|| self.reason("rounds", &rounds.to_string()))
            }
            Completion::Checks(checks) => {
                (counts.checks >= *checks).then(|| self.reason("checks", &checks.to_string()))
            }
            Completion::Keyword(keyword) => (met > 0).then(|| self.reason("keyword", &keyword.word)),
            Completion::Signal { kind, times, .. } => (met >= (*times).max(1)).then(|| {
                let given = counts.reasons.get(&number).cloned();
                given.unwrap_or_else(|| self.reason("signal", kind))
            }),
            Completion::Phase(phases) => {
                let now = counts.phase.as_ref().unwrap_or(&phases.start);
                // Before the first round, only outside state counts (S-34).
                let ended = counts.iteration > 0 && phases.terminal.contains(now);
                ended.then(|| self.reason("phase", now))
            }
            Completion::Outside(_) => self.reached(),
            Completion::Flow | Completion::All(_) | Completion::Any(_) | Completion::First(_) => {
                let stage = self.run.visit.as_ref().map_or("", |visit| visit.stage.as_str());
                self.flow.then(|| self.worded("flow", stage).unwrap_or_else(|| "complete".to_owned()))
            }
        }
    }

    fn reached(&mut self) -> Option<String> {
        let place = RoundPosition::Outside(self.outside);
        self.outside += 1;
        let done = self.run.round().done(place)?;
        let reached = done.label.as_ref().is_some_and(|label| label.as_str() == "reached");
        let said = || told(done, "reason").or_else(|| self.worded("outside", ""));
        reached.then(|| said().unwrap_or_else(|| "reached".to_owned()))
    }

    /// Returns a reason in the workflow's words. Falls back to the code and its subject.
    fn reason(&self, code: &str, about: &str) -> String {
        self.worded(code, about).unwrap_or_else(|| format!("{code} {about}"))
    }

    /// Returns the word `completed-CODE` with `{}` filled in.
    fn worded(&self, code: &str, about: &str) -> Option<String> {
        let word = self.workflow.words.get(&format!("completed-{code}"))?;
        Some(word.replacen("{}", about, 1))
    }
}

/// Returns a named text from an outside condition, unless it is blank.
fn told(done: &CallResult, name: &str) -> Option<String> {
    text(done.output.get(name)?)
}

/// Returns the text, cut to the maximum length, unless it is blank.
fn text(value: &Json) -> Option<String> {
    let text: String = value.as_str()?.trim().chars().take(REASON).collect();
    (!text.is_empty()).then_some(text)
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
            | Completion::Phase(_)
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

fn is_signal(block: &ReplyBlock, kind: &str, fields: &BTreeMap<String, Option<Json>>) -> bool {
    block.kind == kind
        && fields.iter().all(|(key, wanted)| match (block.value.get(key), wanted) {
            (Some(value), Some(wanted)) => value == wanted,
            (Some(_), None) => true,
            (None, _) => false,
        })
}
