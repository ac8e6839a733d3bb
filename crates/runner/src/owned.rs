//! A run in the hands of its one owner: state, journal and lock together. Every fact enters the run here.

use std::collections::VecDeque;
use std::path::Path;

use saihai_engine::Run;
use saihai_model::{
    Answer, AnsweredBy, CallFailed, CallId, Effect, Entry, Event, Fact, Failure, FailureClass, GateMode,
    Moment, OpenGate, Performance, Record, Request, Script, ScriptAnswer, Start, Text, Wants, Workflow,
};

use crate::history::History;
use crate::journal::{self, Journal};
use crate::lock::Lock;
use crate::render::{self, Renderer};
use crate::secrets::Secrets;
use crate::{Clock, Error, RunDirectory, Warning};

#[derive(Debug)]
pub(crate) struct Owned {
    directory: RunDirectory,
    lock: Lock,
    journal: Journal,
    run: Run,
    workflow: Workflow,
    start: Box<Start>,
    clock: Clock,
    /// Answers that the script gives to gates.
    answers: Vec<ScriptAnswer>,
    secrets: Secrets,
}

/// Selects between performing effects and only recording them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Renders and records asks together with the fact that led to them. The driver then makes them.
    Drive {
        /// Answers yes/no gates with yes.
        auto: bool,
    },
    /// Performs nothing. Resuming the run repeats the effects.
    Record,
}

/// Result of settling facts. The journal has everything in it, synced.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(crate) records: Vec<Record>,
    pub(crate) todo: Vec<Todo>,
    pub(crate) warnings: Vec<Warning>,
}

#[derive(Debug)]
pub(crate) enum Todo {
    Ask(Box<Prepared>),
    Perform(Box<Performance>),
    Gate(Box<OpenGate>),
    Wake(Moment),
    Stop(CallId),
}

#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) request: Request,
    pub(crate) prompt: String,
    pub(crate) persona: Option<String>,
}

/// Reason why facts could not be settled. The state in memory is then ahead of the journal and must not be
/// used any more.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The journal could not be written.
    Storage(journal::Failed),
    /// The lock was lost, or a blob differs from what was written.
    Error(Error),
}

struct Settling {
    at: Moment,
    way: Way,
    facts: VecDeque<Fact>,
    entries: Vec<(Moment, Entry)>,
    settled: Settled,
}

impl Owned {
    /// Wraps a run whose directory is new and whose journal is empty.
    pub(crate) fn new(
        directory: RunDirectory,
        lock: Lock,
        workflow: Workflow,
        start: Box<Start>,
        clock: Clock,
    ) -> Result<Self, Error> {
        let path = directory.journal();
        let journal = Journal::create(&path, directory.disk())?;
        directory.disk().sync_directory(directory.path()).map_err(Error::io("sync", directory.path()))?;
        Ok(Self {
            directory,
            lock,
            journal,
            run: Run::new(),
            workflow,
            start,
            clock,
            answers: Vec::new(),
            secrets: Secrets::default(),
        })
    }

    /// Wraps an existing run. It cuts the torn end off the journal.
    pub(crate) fn of_history(
        directory: RunDirectory,
        lock: Lock,
        history: History,
        mut clock: Clock,
    ) -> Result<Self, Error> {
        let torn = history.torn.is_some();
        let journal = Journal::reopen(&directory.journal(), directory.disk(), history.end, torn)?;
        clock.not_before(journal.last());
        let History { start, workflow, run, .. } = history;
        Ok(Self {
            directory,
            lock,
            journal,
            run,
            workflow,
            start,
            clock,
            answers: Vec::new(),
            secrets: Secrets::default(),
        })
    }

    /// Adds a script that answers gates (C-75).
    pub(crate) fn answered_by(mut self, script: Option<&Script>) -> Self {
        self.answers = script.map(|script| script.answers.clone()).unwrap_or_default();
        self
    }

    /// Adds the secrets to redact. Without it, only strings in the shape of a key are redacted.
    pub(crate) fn without(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    pub(crate) fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
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
    pub(crate) fn settle(&mut self, facts: Vec<Fact>, way: Way) -> Result<Settled, Broken> {
        self.still_ours()?;
        let mut settling = Settling {
            at: self.clock.now(),
            way,
            facts: facts.into(),
            entries: Vec::new(),
            settled: Settled::default(),
        };
        while let Some(fact) = settling.facts.pop_front() {
            let event = Event { at: settling.at, fact: self.secrets.fact(fact) };
            let effects = self.run.apply(&self.workflow, &event);
            settling.entries.push((settling.at, Entry::Fact(event.fact)));
            for effect in effects {
                self.consider(effect, &mut settling)?;
            }
        }
        let mut settled = settling.settled;
        settled.records = self.journal.append(settling.entries).map_err(Broken::Storage)?;
        self.still_ours()?;
        Ok(settled)
    }

    fn still_ours(&self) -> Result<(), Broken> {
        if self.lock.is_held() { Ok(()) } else { Err(Broken::Error(self.lock.lost().into())) }
    }

    fn consider(&self, effect: Effect, settling: &mut Settling) -> Result<(), Broken> {
        let todo = match (effect, settling.way) {
            (Effect::Record(decision), _) => {
                settling.entries.push((settling.at, Entry::Decision(decision)));
                return Ok(());
            }
            (_, Way::Record) => return Ok(()),
            (Effect::Ask(request), Way::Drive { .. }) => return self.prepare(*request, settling),
            (Effect::OpenGate(gate), Way::Drive { auto }) => {
                let is_standing = match gate.mode {
                    GateMode::Auto => true,
                    GateMode::Person => auto && gate.wants == Wants::YesNo,
                    GateMode::Insists => false,
                };
                if is_standing {
                    settling.facts.push_back(Fact::Answered(standing_yes(gate.call)));
                    return Ok(());
                }
                if let Some(answer) = self.scripted(&gate) {
                    settling.facts.push_back(Fact::Answered(answer));
                    return Ok(());
                }
                Todo::Gate(gate)
            }
            (Effect::Perform(performance), Way::Drive { .. }) => Todo::Perform(performance),
            (Effect::Wake { at }, Way::Drive { .. }) => Todo::Wake(at),
            (Effect::Stop { call }, Way::Drive { .. }) => Todo::Stop(call),
        };
        settling.settled.todo.push(todo);
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

    /// Renders an ask. The prompt becomes the next fact of the batch. If rendering or storing fails, the
    /// reason becomes that fact.
    fn prepare(&self, request: Request, settling: &mut Settling) -> Result<(), Broken> {
        let (call, attempt) = (request.call.clone(), request.attempt);
        let (prompt, persona) = match self.words(&request, &mut settling.settled.warnings) {
            Ok(words) => words,
            Err(render::Failed::Blob { text, why }) => {
                return Err(Broken::Error(self.directory.bad_text(&text, &why).into()));
            }
            Err(render::Failed::Changes(error)) => {
                let message = format!("cannot tell what has changed: {error}");
                settling.facts.push_back(failed(call, Failure::new(FailureClass::BadRequest, message)));
                return Ok(());
            }
            Err(render::Failed::Report { file, source }) => {
                let message = format!("cannot read report `{file}`: {source}");
                settling.facts.push_back(failed(call, Failure::new(FailureClass::Crashed, message)));
                return Ok(());
            }
        };
        let kept = match &request.draft {
            None => Ok(None),
            Some(_) => self.directory.blobs().keep(prompt.clone()).map(Some),
        };
        settling.facts.push_back(match kept {
            Ok(kept) => {
                settling.settled.todo.push(Todo::Ask(Box::new(Prepared { request, prompt, persona })));
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

    fn words(
        &self,
        request: &Request,
        warnings: &mut Vec<Warning>,
    ) -> Result<(String, Option<String>), render::Failed> {
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

    pub(crate) fn renderer<'a>(&'a self, blobs: &'a crate::blobs::Blobs) -> Renderer<'a> {
        Renderer {
            blobs,
            directory: &self.start.directory,
            head: self.start.head.as_deref(),
            report_directory: &self.start.report_directory,
        }
    }
}

/// Reads a text exactly as it was stored, because a repeated ask is sent byte for byte.
fn whole(blobs: &crate::blobs::Blobs, text: &Text) -> Result<String, render::Failed> {
    blobs.read(text).map_err(|bad| render::Failed::Blob { text: text.clone(), why: bad.to_string() })
}

fn standing_yes(call: CallId) -> Answer {
    Answer { call, by: AnsweredBy::Auto, label: "yes".into(), text: None }
}

/// Builds the fact of an attempt that failed before or without its provider.
pub(crate) fn failed(call: CallId, failure: Failure) -> Fact {
    Fact::Failed(Box::new(CallFailed::new(call, failure)))
}
