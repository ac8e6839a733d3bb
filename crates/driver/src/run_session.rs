//! A run in the hands of one process: its state with everything that its calls need, and for its owner the journal and
//! the lock.

use std::convert::Infallible;
use std::path::Path;

use saihai_engine::Run;
use saihai_model::{
    Answer, AnsweredBy, CallFailed, CallId, Effect, Event, Fact, Failure, FailureClass, GateMode, Moment,
    OpenGate, Record, RecordEntry, Request, Script, ScriptAnswer, Start, Text, Wants, Workflow,
};
use saihai_view::RunView;

use crate::durable::{DurableContext, PreparedEffect, settle};
use crate::journal::{self, Journal};
use crate::lock::Lock;
use crate::prompts::{PromptError, PromptRenderer};
use crate::replay::ReplayedParts;
use crate::secrets::SecretRedactor;
use crate::{Clock, DriverError, DriverWarning, RunDirectory};

/// The state of a run and everything that its calls need. It records nothing.
#[derive(Debug)]
pub(crate) struct HeldRun {
    pub(crate) directory: RunDirectory,
    pub(crate) workflow: Workflow,
    pub(crate) start: Box<Start>,
    pub(crate) run: Run,
    /// The recorded part of the run, as people see it; `None` before its first record.
    pub(crate) view: Option<RunView>,
    pub(crate) clock: Clock,
    pub(crate) secrets: SecretRedactor,
}

/// A held run with its journal and its lock: the one owner.
#[derive(Debug)]
pub(crate) struct RunSession {
    held: HeldRun,
    lock: Lock,
    journal: Journal,
    /// Answers that the script gives to gates.
    answers: Vec<ScriptAnswer>,
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

impl HeldRun {
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

    pub(crate) fn report_directory(&self) -> &Path {
        Path::new(&self.start.report_directory)
    }

    /// Adds a record to the view.
    pub(crate) fn note_record(&mut self, record: &Record) {
        match &mut self.view {
            Some(view) => view.apply(record.clone()),
            None => self.view = RunView::begin(record),
        }
    }

    /// Renders an ask. The fact is its prompt, or the reason why it failed.
    pub(crate) fn prepare_ask(
        &self,
        request: Request,
        warnings: &mut Vec<DriverWarning>,
    ) -> Result<(Fact, Option<PreparedAsk>), DriverError> {
        let (call, attempt) = (request.call.clone(), request.attempt);
        let (prompt, persona) = match self.render_ask(&request, warnings) {
            Ok(words) => words,
            Err(PromptError::Blob { text, why }) => return Err(self.directory.bad_text(&text, &why).into()),
            Err(PromptError::Changes(error)) => {
                let message = format!("cannot determine the changes: {error}");
                return Ok((failed(call, Failure::new(FailureClass::BadRequest, message)), None));
            }
            Err(PromptError::Report { file, source }) => {
                let message = format!("cannot read report `{file}`: {source}");
                return Ok((failed(call, Failure::new(FailureClass::Crashed, message)), None));
            }
        };
        let kept = match &request.draft {
            None => Ok(None),
            Some(_) => self.directory.blobs().keep(prompt.clone()).map(Some),
        };
        Ok(match kept {
            Ok(prompt_text) => {
                let asked = Fact::Asked { call, attempt, prompt: prompt_text };
                (asked, Some(PreparedAsk { request, prompt, persona }))
            }
            Err((path, source)) => {
                let (path, message) = (path.display().to_string(), source.to_string());
                (Fact::StorageFailed { call: Some(call), path, message }, None)
            }
        })
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
        let (run, view, secrets) = (Run::new(), None, SecretRedactor::default());
        let held = HeldRun { directory, workflow, start, run, view, clock, secrets };
        Ok(Self { held, lock, journal, answers: Vec::new() })
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
        let (start, view, secrets) = (view.start.clone(), Some(view), SecretRedactor::default());
        let held = HeldRun { directory, workflow, start, run, view, clock, secrets };
        Ok(Self { held, lock, journal, answers: Vec::new() })
    }

    /// Adds the script that answers gates (C-75) and secrets to redact, in addition to strings like keys.
    pub(crate) fn with(mut self, script: Option<&Script>, secrets: SecretRedactor) -> Self {
        self.answers = script.map(|script| script.answers.clone()).unwrap_or_default();
        self.held.secrets = secrets;
        self
    }

    pub(crate) fn held(&self) -> &HeldRun {
        &self.held
    }

    pub(crate) fn state(&mut self) -> (&mut Run, &Workflow) {
        (&mut self.held.run, &self.held.workflow)
    }

    /// Ends a wait that was sat out, even if the system clock disagrees.
    pub(crate) fn has_reached(&mut self, moment: Moment) {
        self.held.clock.not_before(moment);
    }

    /// Returns the run as these facts would leave it. Records nothing.
    pub(crate) fn foresee(&self, facts: &[Fact]) -> Run {
        let mut run = self.held.run.clone();
        for fact in facts {
            let event = Event { at: self.held.clock.now(), fact: fact.clone() };
            drop(run.apply(&self.held.workflow, &event));
        }
        run
    }

    /// Appends entries in one synced batch and returns their records.
    pub(crate) fn append(
        &mut self,
        entries: Vec<(Moment, RecordEntry)>,
    ) -> Result<Vec<Record>, SessionFailure> {
        self.still_ours()?;
        let records = self.journal.append(entries).map_err(SessionFailure::Storage)?;
        for record in &records {
            self.held.note_record(record);
        }
        self.still_ours()?;
        Ok(records)
    }

    /// Records facts and their decisions without performing any effect. Resuming the run repeats the effects.
    pub(crate) fn record_only(&mut self, facts: Vec<Fact>) -> Result<(), DriverError> {
        settle(&mut RecordOnly(self), facts).map_err(SessionFailure::into_error)
    }

    fn still_ours(&self) -> Result<(), SessionFailure> {
        if self.lock.is_held() { Ok(()) } else { Err(SessionFailure::Error(self.lock.lost().into())) }
    }

    /// Returns the answer that a gate gets without a person.
    pub(crate) fn answer_without_person(&self, gate: &OpenGate, auto: bool) -> Option<Answer> {
        answer_without_person(&self.answers, gate, auto)
    }
}

/// Returns the answer that a gate gets without a person: a standing yes, or the script's answer.
pub fn answer_without_person(answers: &[ScriptAnswer], gate: &OpenGate, auto: bool) -> Option<Answer> {
    let is_standing = match gate.mode {
        GateMode::Auto => true,
        GateMode::Person => auto && gate.wants == Wants::YesNo,
        GateMode::Insists => false,
    };
    if is_standing {
        let (call, by) = (gate.call.clone(), AnsweredBy::Auto);
        return Some(Answer { call, by, label: "yes".into(), text: None });
    }
    scripted_answer(answers, gate)
}

/// Returns the script's answer to a gate, if the gate accepts it.
pub(crate) fn scripted_answer(answers: &[ScriptAnswer], gate: &OpenGate) -> Option<Answer> {
    let is_for = |answer: &&ScriptAnswer| answer.is_for(&gate.call.stage, gate.call.visit);
    let answer = answers.iter().find(is_for)?;
    let fits = match gate.wants {
        Wants::YesNo => matches!(answer.label.as_str(), "yes" | "no"),
        Wants::Text { .. } => answer.label.as_str() == "answered",
    };
    let (call, by) = (gate.call.clone(), AnsweredBy::Script);
    fits.then(|| Answer { call, by, label: answer.label.clone(), text: answer.text.clone() })
}

/// A context that performs nothing.
struct RecordOnly<'a>(&'a mut RunSession);

impl DurableContext for RecordOnly<'_> {
    type Task = Infallible;
    type Failure = SessionFailure;

    fn state(&mut self) -> (&mut Run, &Workflow) {
        self.0.state()
    }

    fn now(&self) -> Moment {
        self.0.held.clock.now()
    }

    fn redact(&self, fact: Fact) -> Fact {
        self.0.held.secrets.fact(fact)
    }

    fn prepare(&mut self, _: Effect) -> Result<PreparedEffect<Infallible>, SessionFailure> {
        Ok(PreparedEffect::facts([]))
    }

    fn commit(&mut self, entries: Vec<(Moment, RecordEntry)>) -> Result<(), SessionFailure> {
        self.0.append(entries).map(drop)
    }

    fn perform(&mut self, task: Infallible) -> Result<Option<Fact>, SessionFailure> {
        match task {}
    }

    async fn next(&mut self) -> Result<Option<Vec<Fact>>, SessionFailure> {
        Ok(None)
    }
}

/// Reads a text exactly as it was stored, because a repeated ask is sent byte for byte.
fn whole(blobs: &crate::blobs::Blobs, text: &Text) -> Result<String, PromptError> {
    blobs.read(text).map_err(|bad| PromptError::Blob { text: text.clone(), why: bad.to_string() })
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
