//! Verdict of a round: its exit before anything is committed. Proofs change it, and monitors override it.

use std::collections::{BTreeMap, BTreeSet};

use saihai_judge::{LabelOutcome, RuleOutcome, TurnLabels};
use saihai_model::{
    Activity, Again, Alarm, By, Decision, Destination, Directives, Effect, EndWord, Ending, Exit,
    FailureReason, Hold, InvalidOutputPolicy, Json, Label, NearMiss, PassedStages, Proof, PublishedEvent,
    Reading, RefutedProofPolicy, Remark, RoundPosition, Stage, StageId, Target, Topic, Watch, Workflow,
};

use crate::advance::AdvanceStep;
use crate::run::{CallResult, Run};

#[derive(Debug, Clone)]
pub(crate) enum RoundVerdict {
    /// The exit needs its own question.
    AskExit,
    Ruling(Box<Ruling>),
}

impl RoundVerdict {
    fn ruling(ruling: Ruling) -> Self {
        Self::Ruling(Box::new(ruling))
    }
}

/// An exit that is not committed yet.
/// Reason why a directive of a reply has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DirectiveProblem {
    NearMiss(NearMiss),
    /// The topic of an event that the publisher may not publish.
    OutsideScope(Topic),
    /// A topic that a closing word still lacks.
    MissingEvent(Topic),
}

impl DirectiveProblem {
    /// Says the problem in the workflow's words, where `{}` marks the subject. Without a word, the code says it.
    pub(crate) fn said(&self, workflow: &Workflow) -> String {
        let (code, subject) = match self {
            Self::NearMiss(NearMiss::Line { reason, line }) => (reason.code(), line.as_str()),
            Self::NearMiss(NearMiss::Unknown(text)) => return text.clone(),
            Self::OutsideScope(topic) => ("outside_scope", topic.as_str()),
            Self::MissingEvent(topic) => ("missing_event", topic.as_str()),
        };
        match workflow.words.get(code) {
            Some(word) => word.replacen("{}", subject, 1),
            None => format!("{code}: {subject}"),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Ruling {
    pub(crate) by: By,
    pub(crate) labels: Vec<Option<Label>>,
    pub(crate) rule: Option<usize>,
    pub(crate) event: Option<PublishedEvent>,
    pub(crate) target: Target,
    /// Index of the failed proof, and the actual result.
    pub(crate) refuted: Option<(usize, String)>,
    /// Reasons for a repeat of the same stage, for its note.
    pub(crate) reasons: Vec<DirectiveProblem>,
    pub(crate) remarks: Vec<(Topic, Remark)>,
    /// Topics that a closing word still lacks.
    pub(crate) missing: Vec<Topic>,
    /// True if the visit needs more rounds before its exit is asked.
    pub(crate) early: bool,
    /// True if the agent itself published an event or a closing word.
    pub(crate) directive: bool,
    /// True if a rule about a stalled cycle decided.
    pub(crate) stalled: bool,
}

impl Ruling {
    pub(crate) fn new(by: By, target: Target) -> Self {
        Self {
            by,
            labels: Vec::new(),
            rule: None,
            event: None,
            target,
            refuted: None,
            reasons: Vec::new(),
            remarks: Vec::new(),
            missing: Vec::new(),
            early: false,
            directive: false,
            stalled: false,
        }
    }
}

/// Maximum number of exits that lead to another exit.
const HOPS: u32 = 16;

impl Run {
    pub(crate) fn verdict(&self, workflow: &Workflow, stage: &Stage) -> RoundVerdict {
        if let Some(target) = self.wrong_output(stage) {
            return RoundVerdict::ruling(Ruling::new(By::Output, target.clone()));
        }
        match &stage.exit {
            Exit::Rules { rules, otherwise, .. } => {
                let (labels, by) = self.labels(stage);
                let answer = self.round().done(RoundPosition::Exit).map(|done| &done.label);
                match saihai_judge::rules(rules, TurnLabels { labels: &labels, by, answer }) {
                    RuleOutcome::Ask if self.round().slot(RoundPosition::Exit).is_none() => {
                        RoundVerdict::AskExit
                    }
                    RuleOutcome::Rule(index, by) => {
                        let target = rules.get(index).map_or(otherwise, |rule| &rule.then).clone();
                        RoundVerdict::ruling(Ruling { labels, rule: Some(index), ..Ruling::new(by, target) })
                    }
                    RuleOutcome::Ask if self.round().done(RoundPosition::Exit).is_none() => {
                        RoundVerdict::AskExit
                    }
                    RuleOutcome::Ask | RuleOutcome::NoMatch => {
                        RoundVerdict::ruling(Ruling { labels, ..Ruling::new(By::NoMatch, otherwise.clone()) })
                    }
                }
            }
            Exit::Topics { silent, default } => {
                RoundVerdict::ruling(self.directed(workflow, stage, silent, default.as_ref()))
            }
        }
    }

    /// Returns the target for a turn whose output stayed invalid, if that decides the exit.
    pub(crate) fn wrong_output<'w>(&self, stage: &'w Stage) -> Option<&'w Target> {
        stage.turns().iter().enumerate().find_map(|(index, turn)| {
            let output = turn.reads.output.as_ref()?;
            let done = self.round().done(RoundPosition::Main(index))?;
            match &output.still_wrong {
                _ if done.reading.violations.is_empty() => None,
                InvalidOutputPolicy::Go(target) => Some(target),
                InvalidOutputPolicy::KeepValidItems => output.names.as_ref().map(|names| &names.collided),
            }
        })
    }

    /// Returns true if the visit needs another round before its exit is asked.
    pub(crate) fn repeats_before_exit(&self, stage: &Stage) -> bool {
        matches!(stage.does, Activity::Turns { .. })
            && self.round().number < stage.rounds.min
            && self.wrong_output(stage).is_none()
    }

    /// Resolves a target with the counters taken into account. Also returns the note of an "again" target.
    pub(crate) fn destination<'t>(
        &self,
        workflow: &Workflow,
        stage: &'t Stage,
        target: &'t Target,
    ) -> (Destination, Option<&'t Again>, bool) {
        let mut target = target;
        let mut limited = false;
        for _ in 0..HOPS {
            match target {
                Target::Stage(id) => return (Destination::Stage(id.clone()), None, limited),
                Target::Complete => return (Destination::Complete, None, limited),
                Target::End(ending) => return (Destination::End(ending.clone()), None, limited),
                Target::NamedBy { pointer } => return (self.named(workflow, pointer), None, limited),
                Target::ByPhase { stages } => return (self.in_phase(workflow, stages), None, limited),
                Target::Again(again) => {
                    let visit = self.visit.as_ref().expect("an exit is only judged during a visit");
                    let exhausted = again.at_most.is_some_and(|most| visit.agains >= most);
                    let full = stage.rounds.max.is_some_and(|max| visit.round.number >= max);
                    if !exhausted && !full {
                        return (Destination::Again, Some(again), limited);
                    }
                    limited = true;
                    target = if exhausted { &again.exhausted } else { &stage.rounds.too_many };
                }
            }
        }
        (Destination::End(Ending::Failed(FailureReason::EndlessExit)), None, limited)
    }

    fn in_phase(&self, workflow: &Workflow, stages: &BTreeMap<String, StageId>) -> Destination {
        let here = self.visit.as_ref().map(|visit| &visit.stage);
        match self.phase_of(workflow).and_then(|phase| stages.get(phase)) {
            Some(id) if here != Some(id) => Destination::Stage(id.clone()),
            // A terminal phase has no stage.
            Some(_) | None => Destination::Again,
        }
    }

    fn named(&self, workflow: &Workflow, pointer: &str) -> Destination {
        let named = self
            .round()
            .done(RoundPosition::Main(0))
            .and_then(|done: &CallResult| done.reading.output.as_ref());
        let value = named.and_then(|output| output.pointer(pointer));
        // Read the value as `judge` does: the name of a step may be a number.
        let name = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        match name.and_then(|name| workflow.stages.get_key_value(name.as_str())) {
            Some((id, _)) => Destination::Stage(id.clone()),
            None => Destination::End(Ending::Failed(FailureReason::UnknownStage)),
        }
    }
}

impl Run {
    /// A closing word takes precedence over an event, and an event over silence.
    pub(crate) fn directed(
        &self,
        workflow: &Workflow,
        stage: &Stage,
        silent: &Again,
        default: Option<&Topic>,
    ) -> Ruling {
        let again = Target::Again(Box::new(silent.clone()));
        let Some(done) = self.round().done(RoundPosition::Main(0)) else {
            return Ruling::new(By::Directive, again);
        };
        let directives = stage.turns().first().and_then(|turn| turn.reads.directives.as_ref());
        let misses = done.reading.near_misses.iter().cloned();
        let mut reasons: Vec<DirectiveProblem> = misses.map(DirectiveProblem::NearMiss).collect();
        let mut missing = Vec::new();
        if let Some(word) = closing(directives, &done.reading) {
            missing = self.lacking(word, directives, &done.reading);
            if missing.is_empty() {
                return Ruling { directive: true, ..Ruling::new(By::Directive, word.then.clone()) };
            }
            reasons.extend(missing.iter().cloned().map(DirectiveProblem::MissingEvent));
        }
        let ruling = match done.reading.events.last() {
            Some(event) if out_of_scope(directives, event) => {
                reasons.push(DirectiveProblem::OutsideScope(event.topic.clone()));
                let remarks = vec![(event.topic.clone(), Remark::OutOfScope)];
                Ruling { remarks, ..Ruling::new(By::Directive, again) }
            }
            Some(event) => {
                let ruling = routed(workflow, event.clone());
                let undeclared = is_undeclared(directives, event);
                let undeclared = undeclared.then(|| (event.topic.clone(), Remark::Undeclared));
                let remarks = undeclared.into_iter().chain(ruling.remarks).collect();
                Ruling { directive: true, remarks, ..ruling }
            }
            None => match (default, self.visit.as_ref()) {
                // A second silent round, after a reminder, publishes the stage's default topic. That topic proves
                // nothing.
                (Some(topic), Some(visit)) if visit.agains > 0 => {
                    let closing =
                        directives.and_then(|own| own.words.iter().find(|end| end.word == topic.as_str()));
                    missing =
                        closing.map(|word| self.lacking(word, directives, &done.reading)).unwrap_or_default();
                    reasons.extend(missing.iter().cloned().map(DirectiveProblem::MissingEvent));
                    match closing {
                        Some(word) if missing.is_empty() => Ruling::new(By::Directive, word.then.clone()),
                        Some(_) => Ruling::new(By::Directive, again),
                        None => {
                            routed(workflow, PublishedEvent { topic: topic.clone(), message: None, line: 0 })
                        }
                    }
                }
                (Some(_) | None, _) => Ruling::new(By::Directive, again),
            },
        };
        Ruling { reasons, missing, ..ruling }
    }

    /// Returns the missing events of a closing word. Events outside the publisher's scope do not count.
    fn lacking(&self, word: &EndWord, directives: Option<&Directives>, reading: &Reading) -> Vec<Topic> {
        let counted = reading.events.iter().filter(|event| !out_of_scope(directives, event));
        let now: BTreeSet<&Topic> = counted.map(|event| &event.topic).collect();
        let lacking = word
            .requires
            .iter()
            .filter(|topic| !self.counts.published.contains(*topic) && !now.contains(topic));
        lacking.cloned().collect()
    }
}

fn closing<'a>(directives: Option<&'a Directives>, reading: &Reading) -> Option<&'a EndWord> {
    let said = reading.end_word.as_deref()?;
    directives?.words.iter().find(|word| word.word == said)
}

fn has_near_miss(ruling: &Ruling) -> bool {
    ruling.reasons.iter().any(|reason| matches!(reason, DirectiveProblem::NearMiss(_)))
}

pub(crate) fn out_of_scope(directives: Option<&Directives>, event: &PublishedEvent) -> bool {
    directives.is_some_and(|directives| directives.enforce) && is_undeclared(directives, event)
}

fn is_undeclared(directives: Option<&Directives>, event: &PublishedEvent) -> bool {
    let declared = directives.and_then(|directives| directives.declared.as_ref());
    declared.is_some_and(|declared| !declared.contains(&event.topic))
}

fn routed(workflow: &Workflow, event: PublishedEvent) -> Ruling {
    let Some(topics) = &workflow.topics else {
        return Ruling::new(By::Directive, Target::failed(FailureReason::NoTopics));
    };
    let (to, taken) = saihai_judge::route(topics, &event.topic);
    let orphaned = !taken && topics.has_orphans();
    let remarks = orphaned.then(|| (event.topic.clone(), Remark::Orphaned)).into_iter().collect();
    Ruling { event: Some(event), remarks, ..Ruling::new(By::Directive, Target::Stage(to.clone())) }
}

impl Run {
    /// Requests the next proof of a ruling, in order. A failed proof ends the search, unless it only adds a remark.
    pub(crate) fn next_proof(&mut self, stage: &Stage, ruling: &Ruling) -> Option<AdvanceStep> {
        let (index, _) = proofs(stage, ruling).find(|(index, proof)| match self.shown(*index) {
            None => true,
            Some(shown) => !shown && proof.refuted != RefutedProofPolicy::Remarked,
        })?;
        match self.shown(index) {
            None => Some(self.queue(RoundPosition::Proof(index), None)),
            Some(_) => None,
        }
    }

    /// Changes a ruling if one of its proofs fails.
    pub(crate) fn proved(&self, stage: &Stage, ruling: Ruling) -> Ruling {
        let mut refuted = proofs(stage, &ruling).filter(|(index, _)| self.shown(*index) == Some(false));
        let Some((index, proof)) = refuted.find(|(_, proof)| proof.refuted != RefutedProofPolicy::Remarked)
        else {
            return ruling;
        };
        let (by, labels) = (By::Result, ruling.labels.clone());
        match &proof.refuted {
            RefutedProofPolicy::Go(target) => Ruling { labels, ..Ruling::new(by, target.clone()) },
            RefutedProofPolicy::Again { at_most, exhausted } => {
                let spent = self.visit.as_ref().is_some_and(|visit| visit.refutations >= *at_most);
                if spent {
                    return Ruling { labels, ..Ruling::new(By::Limit, exhausted.clone()) };
                }
                let again = Again { note: None, at_most: None, exhausted: exhausted.clone() };
                let target = Target::Again(Box::new(again));
                let refuted = Some((index, self.found(index)));
                Ruling { labels, refuted, ..Ruling::new(by, target) }
            }
            RefutedProofPolicy::Remarked => ruling,
        }
    }

    /// Returns the result of a proof, once it was checked.
    fn shown(&self, index: usize) -> Option<bool> {
        let done: &CallResult = self.round().done(RoundPosition::Proof(index))?;
        Some(done.label.as_ref().is_some_and(|label| label.as_str() == "ok"))
    }

    /// Returns the actual result of a failed proof.
    fn found(&self, index: usize) -> String {
        let done = self.round().done(RoundPosition::Proof(index));
        let said = |key: &str| done.and_then(|done| done.output.get(key)).and_then(Json::as_str);
        let output = said("output").filter(|output| !output.is_empty());
        // A program that prints nothing still ended in some way.
        output.or_else(|| said("end")).unwrap_or_default().to_owned()
    }
}

/// Returns the proofs of a ruling, each with its index in the stage.
fn proofs<'s>(stage: &'s Stage, ruling: &Ruling) -> impl Iterator<Item = (usize, &'s Proof)> + use<'s> {
    let labels = ruling.labels.clone();
    let rule = ruling.rule;
    let all = stage.proofs().enumerate();
    all.filter(move |(_, proof)| match rule {
        Some(rule) if !proof.rules.is_empty() => proof.rules.contains(&rule),
        Some(_) => labels.iter().flatten().any(|label| *label == proof.of),
        None => false,
    })
}

impl Run {
    /// Adds the round to the history. The first monitor whose cycle is complete redirects the run.
    pub(crate) fn watch(&mut self, workflow: &Workflow, stage: &Stage, out: &mut Vec<Effect>) -> AdvanceStep {
        let visit = self.visit.as_mut().expect("a step is only taken during a visit");
        visit.round.watched = true;
        if stage.aside || !matches!(stage.does, Activity::Turns { .. }) {
            return AdvanceStep::Go;
        }
        let here = visit.stage.clone();
        self.counts.history.push(here);
        let keep = workflow.monitors.iter().map(|monitor| longest(&monitor.watches)).max().unwrap_or(0);
        let surplus = self.counts.history.len().saturating_sub(keep);
        self.counts.history.drain(..surplus);
        for (index, monitor) in workflow.monitors.iter().enumerate() {
            let Watch::Cycle { stages, times, returning: false, passed } = &monitor.watches else { continue };
            let count = repeats(&counted(&self.counts.history, passed), stages);
            if count >= (*times).max(1) {
                self.counts.history.clear();
                self.carry.cycles = count;
                let overrode = self.tag_label(stage);
                out.push(Effect::Record(Decision::Alarm { monitor: index, count, overrode }));
                self.sound(workflow, stage, &monitor.then, out);
                break;
            }
        }
        AdvanceStep::Go
    }

    /// Replaces an exit that leads back into a watched cycle. An exit that leaves the cycle passes its monitor.
    pub(crate) fn redirected(
        &mut self,
        workflow: &Workflow,
        stage: &Stage,
        ruling: Ruling,
        out: &mut Vec<Effect>,
    ) -> Ruling {
        if let Some(routed) = self.routed_by_stall(workflow, stage, &ruling) {
            return routed;
        }
        let Target::Stage(next) = &ruling.target else { return ruling };
        if stage.aside {
            return ruling;
        }
        for (index, monitor) in workflow.monitors.iter().enumerate() {
            let Watch::Cycle { stages, times, returning: true, passed } = &monitor.watches else { continue };
            let Alarm::Go(target) = &monitor.then else { continue };
            // Inside a group nothing leads back into the cycle.
            let group = passed.group(next);
            let here = self.visit.as_ref().map(|visit| &visit.stage);
            if group.is_some() && here.and_then(|here| passed.group(here)) == group {
                continue;
            }
            let next = group.and_then(<[StageId]>::first).unwrap_or(next);
            let count = repeats(&counted(&self.counts.history, passed), stages);
            if count >= (*times).max(1) && stages.contains(next) {
                self.counts.history.clear();
                self.carry.cycles = count;
                let overrode = ruling.labels.first().cloned().flatten().filter(|_| ruling.labels.len() == 1);
                out.push(Effect::Record(Decision::Alarm { monitor: index, count, overrode }));
                return Ruling::new(By::Monitor, target.clone());
            }
        }
        ruling
    }

    fn sound(&mut self, workflow: &Workflow, stage: &Stage, alarm: &Alarm, out: &mut Vec<Effect>) {
        match alarm {
            Alarm::Go(target) => self.leave(workflow, stage, Ruling::new(By::Monitor, target.clone()), out),
            Alarm::Hold(word) => self.set_hold(Hold::Limit(word.clone())),
        }
    }

    /// Returns the exit's label, if it is known without a question.
    fn tag_label(&self, stage: &Stage) -> Option<Label> {
        match self.labelled(stage, 0) {
            LabelOutcome::Found(label, _) if stage.turns().len() == 1 => Some(label),
            LabelOutcome::Found(..) | LabelOutcome::Missing | LabelOutcome::Ask => None,
        }
    }

    /// Counts silent and identical rounds, and holds the run if there are too many in a row. The counts restart, so
    /// that a resume allows the full number again.
    pub(crate) fn watch_exit(&mut self, workflow: &Workflow, ruling: &Ruling, out: &mut Vec<Effect>) {
        if workflow.topics.is_none() {
            return;
        }
        self.counts.silent = if ruling.directive { 0 } else { self.counts.silent.saturating_add(1) };
        self.count_same(ruling);
        for (index, monitor) in workflow.monitors.iter().enumerate() {
            let (count, times) = match &monitor.watches {
                // A near miss is corrected once before it counts: the agent may only have the form wrong.
                Watch::Silent { times } if has_near_miss(ruling) => (self.counts.silent, (*times).max(2)),
                Watch::Silent { times } => (self.counts.silent, *times),
                Watch::Same { times } => (self.counts.same.as_ref().map_or(0, |(_, count)| *count), *times),
                Watch::Cycle { .. } | Watch::SelfEntries { .. } => continue,
            };
            if let (true, Alarm::Hold(word)) = (count >= times.max(1), &monitor.then) {
                out.push(Effect::Record(Decision::Alarm { monitor: index, count, overrode: None }));
                self.set_hold(Hold::Limit(word.clone()));
                self.count_anew();
            }
        }
    }

    /// Resets every counter that can hold a looping run, so a resume allows the full number (H-49, H-52).
    pub(crate) fn count_anew(&mut self) {
        self.counts.silent = 0;
        self.counts.same = None;
        self.counts.activations.clear();
    }

    fn count_same(&mut self, ruling: &Ruling) {
        let said = ruling.event.as_ref().and_then(|event| {
            let visit = self.visit.as_ref()?;
            let digest = &visit.round.done(RoundPosition::Main(0))?.reading.digest;
            let message = event.message.as_deref().unwrap_or_default();
            Some(format!("{}\n{}\n{message}\n{digest}", visit.stage, event.topic))
        });
        self.counts.same = said.map(|said| match self.counts.same.take() {
            Some((before, count)) if before == said => (said, count.saturating_add(1)),
            Some(_) | None => (said, 1),
        });
    }
}

fn longest(watch: &Watch) -> usize {
    match watch {
        Watch::Cycle { stages, times, passed, .. } => {
            let passed = if passed.is_none() { 1 } else { PASSED };
            stages.len().saturating_mul((*times).max(1) as usize).saturating_mul(passed)
        }
        Watch::Silent { .. } | Watch::Same { .. } | Watch::SelfEntries { .. } => 0,
    }
}

/// Maximum number of stages of the history for each stage of a cycle that may pass others.
const PASSED: usize = 16;

/// Returns the history as a monitor counts it: without ignored stages, and groups as one stage.
fn counted(history: &[StageId], passed: &PassedStages) -> Vec<StageId> {
    let mut counted: Vec<StageId> = Vec::with_capacity(history.len());
    let mut last: Option<&[StageId]> = None;
    for stage in history.iter().filter(|stage| !passed.ignored.contains(stage)) {
        let group = passed.group(stage);
        if group.is_none() || group != last {
            counted.push(group.and_then(<[StageId]>::first).unwrap_or(stage).clone());
        }
        last = group;
    }
    counted
}

/// Returns how many times in a row the history ends with a cycle.
fn repeats(history: &[StageId], cycle: &[StageId]) -> u32 {
    if cycle.is_empty() {
        return 0;
    }
    let whole = history.rchunks_exact(cycle.len()).take_while(|chunk| *chunk == cycle).count();
    u32::try_from(whole).unwrap_or(u32::MAX)
}
