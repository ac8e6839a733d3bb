//! Leaves a round and enters the next one. This is the only place that writes counters and carry.

use std::collections::BTreeMap;

use saihai_judge::JudgeAnswer;
use saihai_model::{
    Activity, Again, AnswerForm, By, CompletionReason, Decision, Destination, Draft, Effect, Ending,
    FailureReason, Hold, Json, LimitReason, OutputNames, Prompt, PromptPart, PromptSection, PublishedEvent,
    RoundPosition, SectionCondition, Splice, Stage, StageId, Target, Text, Topic, ValueForm, Variable,
    Verdict, VisitLimit, Wants, Watch, Workflow,
};

use crate::draft::{Carry, between};
use crate::run::{CallResult, Counts, Round, Run, Visit};
use crate::verdict::{DirectiveProblem, Ruling};

/// Next destination of a round, the method that decided it, and the reason if the work is done.
struct RoundExit {
    to: Destination,
    by: By,
    reason: CompletionReason,
}

/// Maximum number of stages in a row that ask no agent. More is an endless loop of gates and actions.
const CHAIN: u32 = 1_000;

impl Run {
    /// Returns the ruling for a visit that needs more rounds before its exit is asked.
    pub(crate) fn early() -> Ruling {
        let again = Again { note: None, at_most: None, exhausted: Target::Complete };
        Ruling { early: true, directive: true, ..Ruling::new(By::Only, Target::Again(Box::new(again))) }
    }

    pub(crate) fn leave(
        &mut self,
        workflow: &Workflow,
        stage: &Stage,
        ruling: Ruling,
        out: &mut Vec<Effect>,
    ) {
        self.count_checks(stage);
        if matches!(stage.does, Activity::Turns { .. }) {
            self.count_completion(workflow, stage);
        }
        let (to, again, limited) = self.destination(workflow, stage, &ruling.target);
        let by = if limited { By::Limit } else { ruling.by };
        let RoundExit { to, by, reason } = self.completing(workflow, stage, to, by);
        if !ruling.missing.is_empty() {
            out.push(Effect::Record(Decision::Refused { missing: ruling.missing.clone() }));
        }
        for (topic, remark) in &ruling.remarks {
            out.push(Effect::Record(Decision::Remarked { topic: topic.clone(), remark: *remark }));
        }
        let here = self.visit.as_ref().expect("only a visit is left").stage.clone();
        let verdict = Verdict {
            by,
            labels: ruling.labels.clone(),
            rule: ruling.rule,
            topic: ruling.event.as_ref().map(|event| event.topic.clone()),
            to: to.clone(),
        };
        out.push(Effect::Record(Decision::Exited { stage: here, verdict }));
        self.note_progress(workflow, stage, &to, ruling.stalled, out);
        let note = self.note(workflow, again, &ruling);
        if matches!(stage.exit, saihai_model::Exit::Topics { .. }) {
            self.watch_exit(workflow, &ruling, out);
        }
        self.write_carry(workflow, stage, &ruling);
        if let (Destination::Again, false, Some(visit)) = (&to, ruling.early, &mut self.visit) {
            let count = if ruling.refuted.is_some() { &mut visit.refutations } else { &mut visit.agains };
            *count = count.saturating_add(1);
        }
        self.carry.refuted = ruling.refuted;
        // Keep the note for the next agent: gates and actions do not read it.
        if note.is_some() || !stage.turns().is_empty() {
            self.carry.note = note;
        }
        self.go(workflow, to, reason, out);
    }

    /// Returns the final destination of a round, with the completion taken into account.
    fn completing(&self, workflow: &Workflow, stage: &Stage, to: Destination, by: By) -> RoundExit {
        let failed = |reason| Destination::End(Ending::Failed(reason));
        let way = |to, by| RoundExit { to, by, reason: CompletionReason::Complete };
        if !self.may_complete(stage) || matches!(to, Destination::End(_)) {
            return way(to, by);
        }
        if let Some(why) = self.broken_condition(workflow) {
            return way(failed(FailureReason::CompletionFailed { message: why }), By::Condition);
        }
        match (self.completed(workflow, to == Destination::Complete), to) {
            (Some(reason), Destination::Complete) => RoundExit { to: Destination::Complete, by, reason },
            (Some(reason), _) => RoundExit { to: Destination::Complete, by: By::Condition, reason },
            (None, Destination::Complete) => way(failed(FailureReason::FlowEnded), by),
            (None, to) => way(to, by),
        }
    }

    /// Drafts the note for the next round: the reason for a repeat, or the missing events of a refused closing word.
    fn note(&self, workflow: &Workflow, again: Option<&Again>, ruling: &Ruling) -> Option<Draft> {
        let done = self.round().done(RoundPosition::Main(0))?;
        if let Some(note) = again.and_then(|again| again.note.as_ref()) {
            return Some(self.draft_note(workflow, note, done, &ruling.reasons));
        }
        let lacking = ruling.missing.iter().cloned();
        let lacking: Vec<_> = lacking.map(DirectiveProblem::MissingEvent).collect();
        let body = vec![PromptPart::Value(Variable::Reasons, ValueForm::Plain)];
        let note = Prompt {
            sections: vec![PromptSection { body, when: SectionCondition::Always }],
            ..Prompt::default()
        };
        let draft = (!lacking.is_empty()).then(|| self.draft_note(workflow, &note, done, &lacking))?;
        Some(without_leading_blank(draft))
    }

    pub(crate) fn go(
        &mut self,
        workflow: &Workflow,
        to: Destination,
        reason: CompletionReason,
        out: &mut Vec<Effect>,
    ) {
        match to {
            Destination::Again => {
                let visit = self.visit.as_mut().expect("only a visit goes round again");
                visit.round = Round::new(visit.round.number.saturating_add(1));
            }
            Destination::Stage(id) => self.enter(workflow, &id, out),
            Destination::Complete => match &workflow.afterwards {
                Some(next) if !self.delivering => {
                    self.delivering = true;
                    self.enter(workflow, next, out);
                }
                Some(_) | None => self.finish(Ending::Completed(reason), out),
            },
            Destination::End(ending) => self.finish(ending, out),
        }
    }

    /// Starts a visit, unless the stage has reached its visit limit.
    pub(crate) fn enter(&mut self, workflow: &Workflow, id: &StageId, out: &mut Vec<Effect>) {
        let Some(stage) = workflow.stage(id) else {
            return self.finish(Ending::Failed(FailureReason::UnknownStage), out);
        };
        let activations = self.counts.activations.get(id).copied().unwrap_or(0);
        if let Some(limit) = stage.visits.as_ref().filter(|limit| activations >= limit.max) {
            if let Some(other) = self.substitute(workflow, id, limit, out) {
                return self.enter(workflow, other, out);
            }
            self.set_hold(Hold::Limit(LimitReason::Exhausted));
            self.count_anew();
        }
        Counts::add(&mut self.counts.activations, id);
        self.enter_groups(workflow, id);
        let number = Counts::add(&mut self.counts.visits, id);
        let consecutive = self.count_entry(stage, id);
        out.push(Effect::Record(Decision::Entered { stage: id.clone(), visit: number, consecutive }));
        self.visit = Some(Visit::new(id.clone(), number));
        if self.counts.chain > CHAIN {
            return self.finish(Ending::Failed(FailureReason::EndlessChain), out);
        }
        self.watch_entry(workflow, consecutive, out);
    }

    /// Starts the counts of every group that this stage belongs to and the last stage of the flow does not.
    fn enter_groups(&mut self, workflow: &Workflow, id: &StageId) {
        let last = self.counts.last.clone();
        let inside = |group: &&Vec<StageId>| last.as_ref().is_some_and(|last| group.contains(last));
        for group in workflow.groups.iter().filter(|group| group.contains(id) && !inside(group)) {
            for member in group {
                let visits = self.counts.visits_of(member);
                self.counts.before_group.insert(member.clone(), visits);
            }
        }
    }

    /// Returns the substitute of a stage at its visit limit. The substitute and its event are used only once.
    fn substitute<'w>(
        &mut self,
        workflow: &Workflow,
        id: &StageId,
        limit: &'w VisitLimit,
        out: &mut Vec<Effect>,
    ) -> Option<&'w StageId> {
        if !self.counts.substituted.insert(id.clone()) {
            return None;
        }
        let instead = limit.once_instead.as_ref();
        if let Some(topic) = &limit.publishes {
            self.remember(workflow, topic);
            let (stage, instead) = (id.clone(), instead.cloned());
            out.push(Effect::Record(Decision::Exhausted { stage, topic: topic.clone(), instead }));
        }
        // Without a substitute the run is held and keeps its event, so that a resume continues with it.
        if let (Some(topic), Some(_)) = (&limit.publishes, instead) {
            let replaced = self.carry.event.take().map(|event| event.topic.to_string());
            self.carry.event = Some(PublishedEvent { topic: topic.clone(), message: replaced, line: 0 });
            self.carry.source = None;
        }
        instead
    }

    /// Counts consecutive entries of this stage. Gates, actions and stages aside neither count nor reset.
    fn count_entry(&mut self, stage: &Stage, id: &StageId) -> u32 {
        if !matches!(stage.does, Activity::Turns { .. }) {
            self.counts.chain = self.counts.chain.saturating_add(1);
            return 1;
        }
        if stage.aside {
            return 1;
        }
        let again = self.counts.last.as_ref() == Some(id);
        self.counts.consecutive = if again { self.counts.consecutive.saturating_add(1) } else { 1 };
        self.counts.last = Some(id.clone());
        self.counts.consecutive
    }

    fn watch_entry(&mut self, workflow: &Workflow, consecutive: u32, out: &mut Vec<Effect>) {
        for (index, monitor) in workflow.monitors.iter().enumerate() {
            let Watch::SelfEntries { times } = &monitor.watches else { continue };
            // The first entry came from elsewhere and is not a repeat.
            let count = consecutive.saturating_sub(1);
            if count <= *times {
                continue;
            }
            out.push(Effect::Record(Decision::Alarm { monitor: index, count, overrode: None }));
            self.counts.consecutive = 0;
            match &monitor.then {
                saihai_model::Alarm::Hold(word) => self.set_hold(Hold::Limit(word.clone())),
                saihai_model::Alarm::Go(Target::End(ending)) => return self.finish(ending.clone(), out),
                saihai_model::Alarm::Go(Target::Complete) => {
                    return self.finish(Ending::Completed(CompletionReason::Complete), out);
                }
                saihai_model::Alarm::Go(Target::Stage(id)) => return self.enter(workflow, id, out),
                saihai_model::Alarm::Go(
                    Target::NamedBy { .. } | Target::ByPhase { .. } | Target::Again(_),
                ) => {}
            }
        }
    }

    fn count_checks(&mut self, stage: &Stage) {
        let forms = (0..stage.turns().len()).filter(|index| {
            let question = stage.turns().get(*index).and_then(|turn| turn.reads.choice.as_ref()?.question());
            question.is_some_and(|question| matches!(question.answer, AnswerForm::Form { .. }))
                && self.round().done(RoundPosition::Check(*index)).is_some()
        });
        let count = u32::try_from(forms.count()).unwrap_or(u32::MAX);
        self.counts.checks = self.counts.checks.saturating_add(count);
    }

    /// Writes the values of this round that the next round may use.
    fn write_carry(&mut self, workflow: &Workflow, stage: &Stage, ruling: &Ruling) {
        match &stage.does {
            Activity::Turns { .. } if stage.aside => {}
            Activity::Turns { .. } => self.carry_turns(workflow, stage),
            Activity::Gate(gate) => self.carry_answer(gate.wants),
            Activity::Action(_) => {
                let output = self
                    .round()
                    .done(RoundPosition::Main(0))
                    .map(|done| done.output.clone())
                    .unwrap_or_default();
                self.carry_output(output);
            }
        }
        if let Some(event) = &ruling.event {
            let by_agent = |_: &&Visit| ruling.directive;
            self.carry.source = self.visit.as_ref().filter(by_agent).map(|visit| visit.stage.clone());
            self.carry.event = Some(event.clone());
        }
        self.publish(workflow, stage, ruling.event.as_ref().filter(|_| !ruling.directive));
    }

    /// Returns the carry as if the current round ended now.
    pub fn carry_after_round(&self, workflow: &Workflow) -> Carry {
        let mut run = self.clone();
        if let Some(stage) = self.stage(workflow).filter(|stage| !stage.aside && !stage.turns().is_empty()) {
            run.carry_turns(workflow, stage);
        }
        run.carry
    }

    fn carry_turns(&mut self, workflow: &Workflow, stage: &Stage) {
        let said = self.outputs(stage);
        if said.iter().any(|(_, text)| !text.is_empty()) {
            self.carry.previous = said;
            self.carry.between = between(stage).to_owned();
        }
        self.carry.check_message = self.check_message(workflow);
        let Some(done) = self.visit.as_ref().and_then(|visit| visit.round.done(RoundPosition::Main(0)))
        else {
            return;
        };
        self.carry.note_round(&done.tools, &done.reading.blocks);
        if !done.reading.violations.is_empty() {
            return;
        }
        let output = done.reading.output.as_ref().and_then(|output| output.as_object().cloned());
        let looked_for = stage.turns().first().is_some_and(|turn| turn.reads.output.is_some());
        if output.is_some() || looked_for {
            self.carry_output(output.unwrap_or_default().into_iter().collect());
        }
    }

    fn check_message(&self, workflow: &Workflow) -> Option<String> {
        let visit = self.visit.as_ref()?;
        let saihai_model::ExpectedReply::Answer(choice, question) =
            workflow.wanted(&visit.stage, RoundPosition::Check(0))?
        else {
            return None;
        };
        let AnswerForm::Form { message, .. } = &question.answer else { return None };
        let answer: &CallResult = visit.round.done(RoundPosition::Check(0))?;
        if saihai_judge::answered(choice, question, &answer.reading) == JudgeAnswer::Unreadable {
            return workflow.words.get("check-unreadable").cloned();
        }
        answer.reading.output.as_ref()?.get(message)?.as_str().map(str::to_owned)
    }

    fn carry_answer(&mut self, wants: Wants) {
        let output =
            self.round().done(RoundPosition::Main(0)).map(|done| done.output.clone()).unwrap_or_default();
        let text = output.get("answer").and_then(saihai_model::Json::as_str).map(str::to_owned);
        match (wants, text) {
            (Wants::Text { .. }, Some(text)) => self.carry.inputs.push(text),
            (Wants::YesNo, Some(text)) => {
                if let Some(event) = &mut self.carry.event {
                    let before = event.message.take();
                    event.message = Some(before.map_or(text.clone(), |before| format!("{before}\n{text}")));
                }
            }
            (Wants::Text { .. } | Wants::YesNo, None) => {}
        }
        self.carry_output(output);
    }

    fn carry_output(&mut self, output: BTreeMap<String, saihai_model::Json>) {
        let Some(visit) = &self.visit else { return };
        if output.is_empty() {
            self.carry.outputs.remove(&visit.stage);
        } else {
            self.carry.outputs.insert(visit.stage.clone(), output);
        }
    }

    /// Records the topics that this round published.
    fn publish(&mut self, workflow: &Workflow, stage: &Stage, by_engine: Option<&PublishedEvent>) {
        if stage.turns().is_empty() {
            return;
        }
        let events = self
            .round()
            .done(RoundPosition::Main(0))
            .map(|done| done.reading.events.clone())
            .unwrap_or_default();
        let directives = stage.turns().first().and_then(|turn| turn.reads.directives.as_ref());
        let said = events.iter().filter(|event| !crate::verdict::out_of_scope(directives, event));
        for event in said.chain(by_engine) {
            self.remember(workflow, &event.topic);
        }
    }

    /// Remembers a published topic that some closing word requires. Ignores all others, so that the list stays bounded.
    pub(crate) fn remember(&mut self, workflow: &Workflow, topic: &Topic) {
        let turns = workflow.stages.values().flat_map(Stage::turns);
        let mut words =
            turns.filter_map(|turn| turn.reads.directives.as_ref()).flat_map(|known| &known.words);
        if words.any(|word| word.requires.contains(topic)) {
            self.counts.published.insert(topic.clone());
        }
    }
}

/// Removes the leading space that words contain as a separator: at the start there is nothing to separate.
fn without_leading_blank(mut draft: Draft) -> Draft {
    if let Some(Splice::Text(Text::Inline(words), _)) =
        draft.sections.first_mut().and_then(|it| it.first_mut())
    {
        *words = words.trim_start().into();
    }
    draft
}

impl Run {
    /// Returns the name conflicts between an output of a stage and all values known now.
    pub fn collisions(&self, workflow: &Workflow, stage: &StageId, output: &Json) -> Vec<String> {
        let Some(names) = names(workflow, stage) else { return Vec::new() };
        let values = output.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let collided = values.filter_map(|(key, _)| {
            let name = names.of(key);
            let taken = names.taken.get(key).cloned();
            let other = taken.or_else(|| self.who_has(workflow, stage, &name))?;
            Some(format!("`{key}` would be a second source of `{name}`, which is {other}"))
        });
        collided.collect()
    }

    /// Returns the output of another stage that has this name.
    fn who_has(&self, workflow: &Workflow, but: &StageId, name: &str) -> Option<String> {
        let others = self.carry.outputs.iter().filter(|(stage, _)| *stage != but);
        others.into_iter().find_map(|(stage, outputs)| {
            let names = names(workflow, stage)?;
            let mut values = outputs.iter().filter(|(_, value)| !value.is_null());
            let (key, _) = values.find(|(key, _)| names.of(key) == name)?;
            Some(format!("the output `{key}` of `{stage}`"))
        })
    }
}

fn names<'w>(workflow: &'w Workflow, stage: &StageId) -> Option<&'w OutputNames> {
    let turns = workflow.stage(stage)?.turns();
    turns.first()?.reads.output.as_ref()?.names.as_deref()
}
