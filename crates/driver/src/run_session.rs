//! A run in the hands of its one owner: state, journal and lock together. Every fact enters the run here.

use std::collections::VecDeque;
use std::path::Path;

use saihai_engine::Run;
use saihai_model::{
    Answer, AnsweredBy, CallFailed, CallId, Effect, Event, Fact, Failure, FailureClass, GateMode, Moment,
    OpenGate, Performance, Record, RecordEntry, Request, Script, ScriptAnswer, Start, Text, Wants, Workflow,
};
use saihai_view::RunView;

use crate::journal::{self, Journal};
use crate::lock::Lock;
use crate::prompts::{PromptError, PromptRenderer};
use crate::replay::ReplayedParts;
use crate::secrets::SecretRedactor;
use crate::{Clock, DriverError, DriverWarning, RunDirectory};

#[derive(Debug)]
pub(crate) struct RunSession {
    directory: RunDirectory,
    lock: Lock,
    journal: Journal,
    run: Run,
    /// The recorded part of the run, as people see it.
    view: Option<RunView>,
    workflow: Workflow,
    start: Box<Start>,
    clock: Clock,
    /// Answers that the script gives to gates.
    answers: Vec<ScriptAnswer>,
    secrets: SecretRedactor,
}

/// Selects between performing effects and only recording them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EffectMode {
    /// Renders and records asks together with the fact that led to them. The driver then makes them.
    Perform {
        /// Answers yes/no gates with yes.
        auto: bool,
    },
    /// Performs nothing. Resuming the run repeats the effects.
    RecordOnly,
}

/// Result of settling facts. The journal has everything in it, synced.
#[derive(Debug, Default)]
pub(crate) struct SettledFacts {
    pub(crate) records: Vec<Record>,
    pub(crate) todo: Vec<PendingEffect>,
    pub(crate) warnings: Vec<DriverWarning>,
}

#[derive(Debug)]
pub(crate) enum PendingEffect {
    Ask(Box<PreparedAsk>),
    Perform(Box<Performance>),
    Gate(Box<OpenGate>),
    Wake(Moment),
    Stop(CallId),
}

#[derive(Debug)]
pub(crate) struct PreparedAsk {
    pub(crate) request: Request,
    pub(crate) prompt: String,
    pub(crate) persona: Option<String>,
}

/// Reason why facts were not settled. The state in memory is then ahead of the journal: do not use it.
#[derive(Debug)]
pub(crate) enum SessionFailure {
    /// The journal could not be written.
    Storage(journal::JournalWriteError),
    /// The lock was lost, or a blob differs from what was written.
    Error(DriverError),
}

struct FactBatch {
    at: Moment,
    mode: EffectMode,
    facts: VecDeque<Fact>,
    entries: Vec<(Moment, RecordEntry)>,
    settled: SettledFacts,
}

impl RunSession {
    /// Wraps a run whose directory is new and whose journal is empty.
    pub(crate) fn new(
        directory: RunDirectory,
        lock: Lock,
        workflow: Workflow,
        start: Box<Start>,
        clock: Clock,
    ) -> Result<Self, DriverError> {
        let journal = Journal::create(&directory.journal(), directory.disk())?;
        let synced = directory.disk().sync_directory(directory.path());
        synced.map_err(DriverError::io("sync", directory.path()))?;
        let (answers, secrets) = (Vec::new(), SecretRedactor::default());
        let (run, view) = (Run::new(), None);
        Ok(Self { directory, lock, journal, run, view, workflow, start, clock, answers, secrets })
    }

    /// Wraps an existing run. It cuts the torn end off the journal.
    pub(crate) fn of_replay(
        replayed: ReplayedParts,
        lock: Lock,
        mut clock: Clock,
    ) -> Result<Self, DriverError> {
        let ReplayedParts { directory, workflow, run, end, torn, view, .. } = replayed;
        let journal = Journal::reopen(&directory.journal(), directory.disk(), end, torn.is_some())?;
        clock.not_before(journal.last());
        let (answers, secrets) = (Vec::new(), SecretRedactor::default());
        let (start, view) = (view.start.clone(), Some(view));
        Ok(Self { directory, lock, journal, run, view, workflow, start, clock, answers, secrets })
    }

    /// Adds the script that answers gates (C-75) and secrets to redact, in addition to strings like keys.
    pub(crate) fn with(mut self, script: Option<&Script>, secrets: SecretRedactor) -> Self {
        self.answers = script.map(|script| script.answers.clone()).unwrap_or_default();
        self.secrets = secrets;
        self
    }

    pub(crate) fn secrets(&self) -> &SecretRedactor {
        &self.secrets
    }

    pub(crate) fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the view of the recorded part of the run; `None` before its first record.
    pub(crate) fn view(&self) -> Option<&RunView> {
        self.view.as_ref()
    }

    pub(crate) fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    pub(crate) fn start(&self) -> &Start {
        &self.start
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Ends a wait that was sat out, even if the system clock disagrees.
    pub(crate) fn has_reached(&mut self, moment: Moment) {
        self.clock.not_before(moment);
    }

    pub(crate) fn report_directory(&self) -> &Path {
        Path::new(&self.start.report_directory)
    }

    /// Returns the run as these facts would leave it. Records nothing.
    pub(crate) fn foresee(&self, facts: &[Fact]) -> Run {
        let mut run = self.run.clone();
        for fact in facts {
            drop(run.apply(&self.workflow, &Event { at: self.clock.now(), fact: fact.clone() }));
        }
        run
    }

    /// Folds facts into the run and appends them in one batch, with every decision they led to and every
    /// prompt to send. The caller may perform effects only after this has succeeded.
    pub(crate) fn settle(
        &mut self,
        facts: Vec<Fact>,
        mode: EffectMode,
    ) -> Result<SettledFacts, SessionFailure> {
        self.still_ours()?;
        let mut batch = FactBatch {
            at: self.clock.now(),
            mode,
            facts: facts.into(),
            entries: Vec::new(),
            settled: SettledFacts::default(),
        };
        while let Some(fact) = batch.facts.pop_front() {
            let event = Event { at: batch.at, fact: self.secrets.fact(fact) };
            let effects = self.run.apply(&self.workflow, &event);
            batch.entries.push((batch.at, RecordEntry::Fact(event.fact)));
            for effect in effects {
                self.collect_effect(effect, &mut batch)?;
            }
        }
        let mut settled = batch.settled;
        settled.records = self.journal.append(batch.entries).map_err(SessionFailure::Storage)?;
        for record in &settled.records {
            match &mut self.view {
                Some(view) => view.apply(record.clone()),
                None => self.view = RunView::begin(record),
            }
        }
        self.still_ours()?;
        Ok(settled)
    }

    fn still_ours(&self) -> Result<(), SessionFailure> {
        if self.lock.is_held() { Ok(()) } else { Err(SessionFailure::Error(self.lock.lost().into())) }
    }

    fn collect_effect(&self, effect: Effect, batch: &mut FactBatch) -> Result<(), SessionFailure> {
        let todo = match (effect, batch.mode) {
            (Effect::Record(decision), _) => {
                batch.entries.push((batch.at, RecordEntry::Decision(decision)));
                return Ok(());
            }
            (_, EffectMode::RecordOnly) => return Ok(()),
            (Effect::Ask(request), EffectMode::Perform { .. }) => return self.prepare(*request, batch),
            (Effect::OpenGate(gate), EffectMode::Perform { auto }) => {
                let is_standing = match gate.mode {
                    GateMode::Auto => true,
                    GateMode::Person => auto && gate.wants == Wants::YesNo,
                    GateMode::Insists => false,
                };
                if is_standing {
                    batch.facts.push_back(Fact::Answered(standing_yes(gate.call)));
                    return Ok(());
                }
                if let Some(answer) = self.scripted(&gate) {
                    batch.facts.push_back(Fact::Answered(answer));
                    return Ok(());
                }
                PendingEffect::Gate(gate)
            }
            (Effect::Perform(performance), EffectMode::Perform { .. }) => PendingEffect::Perform(performance),
            (Effect::Wake { at }, EffectMode::Perform { .. }) => PendingEffect::Wake(at),
            (Effect::Stop { call }, EffectMode::Perform { .. }) => PendingEffect::Stop(call),
        };
        batch.settled.todo.push(todo);
        Ok(())
    }

    /// Returns the script's answer to a gate, if the gate accepts it.
    fn scripted(&self, gate: &OpenGate) -> Option<Answer> {
        let is_for = |answer: &&ScriptAnswer| answer.is_for(&gate.call.stage, gate.call.visit);
        let answer = self.answers.iter().find(is_for)?;
        let fits = match gate.wants {
            Wants::YesNo => matches!(answer.label.as_str(), "yes" | "no"),
            Wants::Text { .. } => answer.label.as_str() == "answered",
        };
        let (call, by) = (gate.call.clone(), AnsweredBy::Script);
        fits.then(|| Answer { call, by, label: answer.label.clone(), text: answer.text.clone() })
    }

    /// Renders an ask. The next fact of the batch is the prompt, or the reason why it failed.
    fn prepare(&self, request: Request, batch: &mut FactBatch) -> Result<(), SessionFailure> {
        let (call, attempt) = (request.call.clone(), request.attempt);
        let (prompt, persona) = match self.render_ask(&request, &mut batch.settled.warnings) {
            Ok(words) => words,
            Err(PromptError::Blob { text, why }) => {
                return Err(SessionFailure::Error(self.directory.bad_text(&text, &why).into()));
            }
            Err(PromptError::Changes(error)) => {
                let message = format!("cannot determine the changes: {error}");
                batch.facts.push_back(failed(call, Failure::new(FailureClass::BadRequest, message)));
                return Ok(());
            }
            Err(PromptError::Report { file, source }) => {
                let message = format!("cannot read report `{file}`: {source}");
                batch.facts.push_back(failed(call, Failure::new(FailureClass::Crashed, message)));
                return Ok(());
            }
        };
        let kept = match &request.draft {
            None => Ok(None),
            Some(_) => self.directory.blobs().keep(prompt.clone()).map(Some),
        };
        batch.facts.push_back(match kept {
            Ok(kept) => {
                batch.settled.todo.push(PendingEffect::Ask(Box::new(PreparedAsk {
                    request,
                    prompt,
                    persona,
                })));
                Fact::Asked { call, attempt, prompt: kept }
            }
            Err((path, source)) => Fact::StorageFailed {
                call: Some(call),
                path: path.display().to_string(),
                message: source.to_string(),
            },
        });
        Ok(())
    }

    fn render_ask(
        &self,
        request: &Request,
        warnings: &mut Vec<DriverWarning>,
    ) -> Result<(String, Option<String>), PromptError> {
        let blobs = self.directory.blobs();
        let renderer = self.renderer(&blobs);
        let prompt = match (&request.draft, &request.prompt) {
            (Some(draft), _) => {
                let rendered = renderer.render(draft)?;
                warnings.extend(rendered.warnings);
                rendered.text
            }
            (None, Some(prompt)) => whole(&blobs, prompt)?,
            (None, None) => String::new(),
        };
        let persona = request.persona.as_ref().map(|persona| whole(&blobs, persona)).transpose()?;
        // A report or an older file may contain a secret of this environment.
        Ok((self.secrets.text(prompt), persona.map(|persona| self.secrets.text(persona))))
    }

    pub(crate) fn renderer<'a>(&'a self, blobs: &'a crate::blobs::Blobs) -> PromptRenderer<'a> {
        PromptRenderer {
            blobs,
            directory: &self.start.directory,
            head: self.start.head.as_deref(),
            report_directory: &self.start.report_directory,
        }
    }
}

/// Reads a text exactly as it was stored, because a repeated ask is sent byte for byte.
fn whole(blobs: &crate::blobs::Blobs, text: &Text) -> Result<String, PromptError> {
    blobs.read(text).map_err(|bad| PromptError::Blob { text: text.clone(), why: bad.to_string() })
}

fn standing_yes(call: CallId) -> Answer {
    Answer { call, by: AnsweredBy::Auto, label: "yes".into(), text: None }
}

/// Builds the fact of an attempt that failed before or without its provider.
pub(crate) fn failed(call: CallId, failure: Failure) -> Fact {
    Fact::Failed(Box::new(CallFailed::new(call, failure)))
}

impl SessionFailure {
    /// Converts to an error, for callers that cannot park a run.
    pub(crate) fn into_error(self) -> DriverError {
        match self {
            Self::Error(error) => error,
            Self::Storage(failed) => DriverError::io("append to", &failed.path)(failed.source),
        }
    }
}
