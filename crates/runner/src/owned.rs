//! A run as its one owner has it: state, journal and lock together, and the one way a fact enters it.

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

/// A run as its one owner has it.
#[derive(Debug)]
pub(crate) struct Owned {
    directory: RunDirectory,
    lock: Lock,
    journal: Journal,
    run: Run,
    workflow: Workflow,
    start: Box<Start>,
    clock: Clock,
    /// What answers gates instead of a person.
    answers: Vec<ScriptAnswer>,
    secrets: Secrets,
}

/// Whether what the engine asks for will be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Asks are rendered and recorded with the fact that led to them, and then made.
    Drive {
        /// Gates that take yes or no are answered with yes.
        auto: bool,
    },
    /// Nothing is done: whoever resumes the run repeats it.
    Record,
}

/// What settling a fact came to. Everything in it stands synced in the journal.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(crate) records: Vec<Record>,
    pub(crate) todo: Vec<Todo>,
    pub(crate) warnings: Vec<Warning>,
}

/// Something to be done now.
#[derive(Debug)]
pub(crate) enum Todo {
    Ask(Box<Prepared>),
    Perform(Box<Performance>),
    Gate(Box<OpenGate>),
    Wake(Moment),
    Stop(CallId),
}

/// An ask whose prompt has been rendered.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) request: Request,
    pub(crate) prompt: String,
    pub(crate) persona: Option<String>,
}

/// Why a fact could not be settled. The state in memory is then ahead of the journal and must not be used any more.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The journal could not be written.
    Storage(journal::Failed),
    /// The lock was lost, or a blob is not what was written.
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
    /// A run whose directory has just been made and whose journal is empty.
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

    /// A run that was there: its history is folded and what was torn off its journal is cut.
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

    /// The same with a script that answers gates (C-75).
    pub(crate) fn answered_by(mut self, script: Option<&Script>) -> Self {
        self.answers = script.map(|script| script.answers.clone()).unwrap_or_default();
        self
    }

    /// The same with what is secret here; without it only what has the shape of a key is.
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

    /// A wait that was sat out is over, whatever the system's clock says by now.
    pub(crate) fn has_reached(&mut self, moment: Moment) {
        self.clock.not_before(moment);
    }

    /// Where the report directory is.
    pub(crate) fn report_directory(&self) -> &Path {
        Path::new(&self.start.report_directory)
    }

    /// The run as these facts would leave it; nothing is recorded.
    pub(crate) fn foresee(&self, facts: &[Fact]) -> Run {
        let mut run = self.run.clone();
        for fact in facts {
            drop(run.apply(&self.workflow, &Event { at: self.clock.now(), fact: fact.clone() }));
        }
        run
    }

    /// Folds facts into the run and appends them, with every decision they led to and every prompt that is now to be
    /// sent, in one batch. Only when this has succeeded may anything be done.
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

    /// What the script answers at a gate, if it has an answer that the gate takes.
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

    /// Renders an ask. Its prompt is the next fact of the batch; so is the reason where it cannot be rendered or kept.
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
        // A report, or a file of before, may hold what this environment keeps secret.
        Ok((self.secrets.text(prompt), persona.map(|persona| self.secrets.text(persona))))
    }

    /// What this run's drafts are rendered with.
    pub(crate) fn renderer<'a>(&'a self, blobs: &'a crate::blobs::Blobs) -> Renderer<'a> {
        Renderer {
            blobs,
            directory: &self.start.directory,
            head: self.start.head.as_deref(),
            report_directory: &self.start.report_directory,
        }
    }
}

/// A text exactly as it was kept: what is sent again is sent byte for byte.
fn whole(blobs: &crate::blobs::Blobs, text: &Text) -> Result<String, render::Failed> {
    blobs.read(text).map_err(|bad| render::Failed::Blob { text: text.clone(), why: bad.to_string() })
}

fn standing_yes(call: CallId) -> Answer {
    Answer { call, by: AnsweredBy::Auto, label: "yes".into(), text: None }
}

/// The fact that an attempt failed before or without its provider.
pub(crate) fn failed(call: CallId, failure: Failure) -> Fact {
    Fact::Failed(Box::new(CallFailed::new(call, failure)))
}
