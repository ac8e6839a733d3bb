//! Drafts of prompts, and the values that pass from round to round into them.

use std::collections::BTreeMap;

use saihai_model::{
    Draft, Json, Prompt, PromptPart, PromptSection, PublishedEvent, Reading, ReplyBlock, RoundPosition,
    SectionCondition, Splice, Stage, StageId, Text, ValueForm, Variable, Workflow,
};
use serde::{Deserialize, Serialize};

use crate::run::{CallResult, CallState, Run};
use crate::verdict::DirectiveProblem;

/// The point in the run from which a prompt reads its values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DraftView {
    /// Place of the call that needs the prompt.
    pub(crate) place: RoundPosition,
    /// True if the session to continue is missing.
    pub(crate) new_session: bool,
}

/// Values available only to a note or a correction.
#[derive(Debug, Default, Clone, Copy)]
struct DraftContext<'a> {
    reasons: &'a [DirectiveProblem],
    tail: &'a str,
    violations: &'a [String],
    corrected: Option<&'a CallResult>,
}

impl Run {
    pub(crate) fn draft(&self, workflow: &Workflow, prompt: &Prompt, view: DraftView) -> Draft {
        self.draft_about(workflow, prompt, view, DraftContext::default())
    }

    /// Drafts the note about a reply for the next round.
    pub(crate) fn draft_note(
        &self,
        workflow: &Workflow,
        prompt: &Prompt,
        about: &CallResult,
        reasons: &[DirectiveProblem],
    ) -> Draft {
        let Reading { tail, violations, .. } = &about.reading;
        let about = DraftContext { reasons, tail, violations, corrected: None };
        self.draft_about(
            workflow,
            prompt,
            DraftView { place: RoundPosition::Main(0), new_session: false },
            about,
        )
    }

    pub(crate) fn draft_correction(
        &self,
        workflow: &Workflow,
        prompt: &Prompt,
        view: DraftView,
        call: &CallState,
    ) -> Draft {
        let first = call.first.as_deref();
        let violations = first.map_or(&[][..], |first| &first.reading.violations);
        // A correction of an answer corrects that answer, not the reply it is about.
        let is_work = matches!(view.place, RoundPosition::Main(_));
        let corrected = first.filter(|_| is_work);
        self.draft_about(
            workflow,
            prompt,
            view,
            DraftContext { violations, corrected, ..DraftContext::default() },
        )
    }

    fn draft_about(
        &self,
        workflow: &Workflow,
        prompt: &Prompt,
        view: DraftView,
        about: DraftContext<'_>,
    ) -> Draft {
        let shown = prompt.sections.iter().filter_map(|section| self.section(workflow, section, view, about));
        Draft { sections: shown.collect(), join: prompt.join }
    }

    fn section(
        &self,
        workflow: &Workflow,
        section: &PromptSection,
        view: DraftView,
        about: DraftContext<'_>,
    ) -> Option<Vec<Splice>> {
        let refuted = self.carry.refuted.as_ref().map(|(index, _)| *index);
        let appears = match section.when {
            SectionCondition::Always | SectionCondition::Filled => true,
            SectionCondition::NewSession => view.new_session,
            SectionCondition::Reasoned => !about.reasons.is_empty(),
            SectionCondition::Unrefuted => refuted.is_none(),
            SectionCondition::Refuted(index) => refuted == Some(index),
        };
        if !appears {
            return None;
        }
        let mut splices = Vec::new();
        let mut filled = false;
        for part in &section.body {
            match part {
                PromptPart::Fixed(text) => splices.push(Splice::Text(text.clone(), ValueForm::Plain)),
                PromptPart::Value(variable, form) => {
                    let value = self.value(workflow, variable, *form, view, about);
                    filled |= value.iter().any(has_content);
                    splices.extend(value);
                }
            }
        }
        (section.when != SectionCondition::Filled || filled).then_some(splices)
    }

    fn value(
        &self,
        workflow: &Workflow,
        variable: &Variable,
        form: ValueForm,
        view: DraftView,
        about: DraftContext<'_>,
    ) -> Vec<Splice> {
        let text = |text: &Text| vec![Splice::Text(text.clone(), form)];
        let words = |words: &str| vec![Splice::Text(words.into(), form)];
        match variable {
            Variable::Task => text(&self.carry.task),
            Variable::Previous => joined(&self.carry.previous, &self.carry.between, form),
            Variable::Combined => match about.corrected {
                Some(reply) => reply.text.as_ref().map(text).unwrap_or_default(),
                None => self.combined(workflow, view.place, form),
            },
            Variable::Inputs => listed(&self.carry.inputs, form),
            Variable::Reasons => listed(&reasons(workflow, about.reasons, form), form),
            Variable::Violations => listed(about.violations, form),
            Variable::ReplyTail => words(about.tail),
            Variable::Note => self.carry.note.as_ref().map(flat).unwrap_or_default(),
            Variable::CheckMessage => words(self.carry.check_message.as_deref().unwrap_or_default()),
            Variable::EventTopic => words(self.carry.event.as_ref().map_or("", |event| event.topic.as_str())),
            Variable::EventSource => words(self.carry.source.as_ref().map_or("", |source| source.as_str())),
            Variable::EventMessage => words(
                self.carry.event.as_ref().and_then(|event| event.message.as_deref()).unwrap_or_default(),
            ),
            Variable::EventText(texts) => {
                let topic = self.carry.event.as_ref().map(|event| &event.topic);
                topic.and_then(|topic| texts.get(topic)).map(text).unwrap_or_default()
            }
            Variable::Output { stage, key, otherwise } => {
                let carried = || self.carry.outputs.get(stage).and_then(|outputs| outputs.get(key));
                let value = self.fresh_output(stage, key, view.place).or_else(carried);
                match (value.filter(|value| !value.is_null()), otherwise) {
                    (Some(value), _) => shown(value, form),
                    (None, Some(otherwise)) => text(otherwise),
                    (None, None) => Vec::new(),
                }
            }
            Variable::Context => match self.context(view.place, about) {
                known if known.is_empty() => Vec::new(),
                known => words(&Json::from_iter(known).to_string()),
            },
            Variable::Nonce => words(&self.nonce_at(view.place).unwrap_or_default()),
            Variable::Word(key) => words(workflow.words.get(key).map_or("", String::as_str)),
            Variable::Subject(name) => self.carry.subject.get(name).map(text).unwrap_or_default(),
            Variable::ReportFile(file) => {
                let missing = workflow.words.get("report-missing").cloned().unwrap_or_default();
                vec![Splice::ReportFile { file: file.clone(), missing }]
            }
            Variable::ReportDirectory => vec![Splice::ReportDirectory],
            Variable::WorkingDirectory => vec![Splice::WorkingDirectory],
            Variable::Changes(changes) => vec![Splice::Changes(changes.clone())],
            Variable::Iteration
            | Variable::MaxIterations
            | Variable::CompletedIterations
            | Variable::RemainingIterations
            | Variable::Visits
            | Variable::Round
            | Variable::Cycles
            | Variable::Checks
            | Variable::Phase { .. } => self.counted(variable).map(|value| words(&value)).unwrap_or_default(),
            Variable::Refutation => words(self.carry.refuted.as_ref().map_or("", |(_, found)| found)),
            Variable::CurrentPhase => self.phase_of(workflow).map(words).unwrap_or_default(),
        }
    }

    fn counted(&self, variable: &Variable) -> Option<String> {
        let rounds = match (self.limits.rounds, self.limits.hard_rounds) {
            (Some(rounds), Some(hard)) => Some(rounds.min(hard)),
            (rounds, hard) => rounds.or(hard),
        };
        let counts = &self.counts;
        let number = match variable {
            Variable::Iteration => counts.iteration,
            Variable::MaxIterations => rounds?,
            Variable::CompletedIterations => counts.iteration.saturating_sub(1),
            Variable::RemainingIterations => rounds?.saturating_sub(counts.iteration),
            Variable::Visits => {
                let visit = self.visit.as_ref()?;
                visit.number.saturating_sub(counts.before_group.get(&visit.stage).copied().unwrap_or(0))
            }
            Variable::Round => self.visit.as_ref()?.round.number,
            Variable::Cycles => self.carry.cycles,
            Variable::Checks => counts.checks,
            Variable::Phase { signal, names } => {
                let seen = counts.signals.get(signal).copied().unwrap_or(0) as usize;
                return names.get(seen).or(names.last()).cloned();
            }
            Variable::Task
            | Variable::Previous
            | Variable::Combined
            | Variable::Inputs
            | Variable::EventTopic
            | Variable::EventSource
            | Variable::EventMessage
            | Variable::EventText(_)
            | Variable::Note
            | Variable::Reasons
            | Variable::ReplyTail
            | Variable::CheckMessage
            | Variable::Violations
            | Variable::Output { .. }
            | Variable::CurrentPhase
            | Variable::Refutation
            | Variable::Context
            | Variable::Nonce
            | Variable::Word(_)
            | Variable::ReportFile(_)
            | Variable::ReportDirectory
            | Variable::WorkingDirectory
            | Variable::Subject(_)
            | Variable::Changes(_) => return None,
        };
        Some(number.to_string())
    }

    /// Returns the facts other than replies. A prompt about a reply of this round also gets that reply's facts.
    fn context(&self, place: RoundPosition, about: DraftContext<'_>) -> BTreeMap<String, Json> {
        let asked_about = match place {
            RoundPosition::Check(index) => self.round().done(RoundPosition::Main(index)),
            RoundPosition::Main(_)
            | RoundPosition::Report(_)
            | RoundPosition::Block(_)
            | RoundPosition::Exit
            | RoundPosition::Proof(_)
            | RoundPosition::Outside(_) => about.corrected,
        };
        let mut carry = Carry { context: self.carry.context.clone(), ..Carry::default() };
        if let Some(reply) = asked_about {
            carry.note_round(&reply.tools, &reply.reading.blocks);
        }
        carry.context
    }

    /// Returns an output of this round for a question about it. Carry gets the output only when the round ends.
    fn fresh_output(&self, stage: &StageId, key: &str, place: RoundPosition) -> Option<&Json> {
        let about = match place {
            RoundPosition::Check(index) => index,
            RoundPosition::Exit => 0,
            RoundPosition::Main(_)
            | RoundPosition::Report(_)
            | RoundPosition::Block(_)
            | RoundPosition::Proof(_)
            | RoundPosition::Outside(_) => {
                return None;
            }
        };
        let visit = self.visit.as_ref().filter(|visit| visit.stage == *stage)?;
        let reading = &visit.round.done(RoundPosition::Main(about))?.reading;
        reading.output.as_ref().filter(|_| reading.violations.is_empty())?.get(key)
    }

    /// Returns the replies of this round: one turn's reply if a turn is judged, otherwise all of them.
    fn combined(&self, workflow: &Workflow, place: RoundPosition, form: ValueForm) -> Vec<Splice> {
        let Some(visit) = &self.visit else { return Vec::new() };
        if let RoundPosition::Check(index) = place {
            let said = visit.round.done(RoundPosition::Main(index)).and_then(|done| done.text.clone());
            return said.map(|text| vec![Splice::Text(text, form)]).unwrap_or_default();
        }
        let Some(stage) = workflow.stage(&visit.stage) else { return Vec::new() };
        joined(&self.outputs(stage), between(stage), form)
    }

    /// Returns the outputs of this round's turns in order, each with its heading.
    pub(crate) fn outputs(&self, stage: &Stage) -> Vec<(String, Text)> {
        let Some(visit) = &self.visit else { return Vec::new() };
        let turns = stage.turns().iter().enumerate();
        let said = turns.filter_map(|(index, turn)| {
            let text = visit.round.done(RoundPosition::Main(index))?.text.clone()?;
            Some((turn.heading.clone(), text))
        });
        said.collect()
    }
}

pub(crate) fn between(stage: &Stage) -> &str {
    match &stage.does {
        saihai_model::Activity::Turns { between, .. } => between,
        saihai_model::Activity::Gate(_) | saihai_model::Activity::Action(_) => "",
    }
}

fn joined(outputs: &[(String, Text)], between: &str, form: ValueForm) -> Vec<Splice> {
    let mut splices = Vec::new();
    for (index, (heading, text)) in outputs.iter().enumerate() {
        if index > 0 {
            splices.push(Splice::Text(between.into(), ValueForm::Plain));
        }
        if !heading.is_empty() {
            splices.push(Splice::Text(heading.as_str().into(), ValueForm::Plain));
        }
        splices.push(Splice::Text(text.clone(), form));
    }
    splices
}

/// Says reasons in the workflow's words, each once. Running text is one item: it contains the spaces.
fn reasons(workflow: &Workflow, problems: &[DirectiveProblem], form: ValueForm) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for words in problems.iter().map(|problem| problem.said(workflow)) {
        if !said.contains(&words) {
            said.push(words);
        }
    }
    if form == ValueForm::Plain { vec![said.concat()] } else { said }
}

fn listed(items: &[String], form: ValueForm) -> Vec<Splice> {
    let mut splices = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            splices.push(Splice::Text("\n".into(), ValueForm::Plain));
        }
        splices.push(Splice::Text(item.as_str().into(), form));
    }
    splices
}

/// Flattens a drafted note into another prompt, with a blank line between its sections.
fn flat(draft: &Draft) -> Vec<Splice> {
    let mut splices = Vec::new();
    for (index, section) in draft.sections.iter().enumerate() {
        if index > 0 {
            splices.push(Splice::Text("\n\n".into(), ValueForm::Plain));
        }
        splices.extend(section.iter().cloned());
    }
    splices
}

/// Formats a value: text unchanged, null as nothing, everything else as compact JSON. Text that is already
/// JSON is not encoded again.
fn shown(value: &Json, form: ValueForm) -> Vec<Splice> {
    match (value, form) {
        (Json::Null, _) => Vec::new(),
        (_, ValueForm::Json) => vec![Splice::Text(value.to_string().into(), ValueForm::Plain)],
        (Json::String(text), _) => vec![Splice::Text(text.as_str().into(), form)],
        (Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_), _) => {
            vec![Splice::Text(value.to_string().into(), form)]
        }
    }
}

fn has_content(splice: &Splice) -> bool {
    match splice {
        Splice::Text(text, _) => !text.is_empty(),
        Splice::ReportFile { .. }
        | Splice::ReportDirectory
        | Splice::WorkingDirectory
        | Splice::Changes(_) => true,
    }
}

/// Values that pass from round to round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carry {
    pub task: Text,
    /// Outputs of the previous stage, each with its heading.
    pub previous: Vec<(String, Text)>,
    pub between: String,
    /// Event that led to this stage.
    pub event: Option<PublishedEvent>,
    pub source: Option<StageId>,
    /// Note for the next round.
    pub note: Option<Draft>,
    /// Index of the failed proof of the previous round, and the actual result.
    #[serde(default)]
    pub refuted: Option<(usize, String)>,
    /// Message of the last check.
    pub check_message: Option<String>,
    pub inputs: Vec<String>,
    /// Outputs by stage and key.
    pub outputs: BTreeMap<StageId, BTreeMap<String, Json>>,
    /// Facts about earlier rounds other than their replies, such as the tools they used.
    pub context: BTreeMap<String, Json>,
    /// Number of repeats of the watched cycle.
    pub cycles: u32,
    /// Named texts given at the start.
    pub subject: BTreeMap<String, Text>,
}

impl Default for Carry {
    fn default() -> Self {
        Self {
            task: Text::from(""),
            previous: Vec::new(),
            between: String::new(),
            event: None,
            source: None,
            note: None,
            refuted: None,
            check_message: None,
            inputs: Vec::new(),
            outputs: BTreeMap::new(),
            context: BTreeMap::new(),
            cycles: 0,
            subject: BTreeMap::new(),
        }
    }
}

impl Carry {
    /// Appends the tools and blocks of a round, in order and with repeats. Other entries stay.
    pub(crate) fn note_round(&mut self, tools: &[String], blocks: &[ReplyBlock]) {
        let actions = blocks.iter().take(CallResult::TOOLS).map(|block| Json::from(block.kind.as_str()));
        let tools = tools.iter().map(|tool| Json::from(tool.as_str()));
        self.context.insert("lastToolsUsed".to_owned(), tools.collect());
        self.context.insert("lastActions".to_owned(), actions.collect());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S-54, case 32
    #[test]
    fn what_a_round_used_joins_what_is_known_and_the_old_value_stays_as_it_was() {
        let old = Carry { context: [("x".to_owned(), json!(1))].into(), ..Carry::default() };
        let mut carry = old.clone();
        carry.note_round(&["Read", "Bash", "Read"].map(str::to_owned), &[]);
        assert_eq!(
            json!(carry.context),
            json!({"x": 1, "lastToolsUsed": ["Read", "Bash", "Read"], "lastActions": []})
        );
        assert_eq!(json!(old.context), json!({"x": 1}));
        let block = ReplyBlock { kind: "note".to_owned(), value: json!({"type": "note"}) };
        carry.note_round(&[], &[block.clone(), block]);
        assert_eq!(
            json!(carry.context),
            json!({"x": 1, "lastToolsUsed": [], "lastActions": ["note", "note"]})
        );
    }
}
