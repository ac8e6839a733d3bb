//! A run, rebuilt from its journal in one pass.

use std::collections::HashSet;

use saihai_engine::{Replay, Run};
use saihai_model::{
    CallId, Effect, Fact, Failure, OpenGate, Outcome, ProviderName, Record, RecordEntry, Request,
    RoundPosition, SavedReport, Start, Text, TurnId, Workflow,
};
use saihai_store::damaged;
use saihai_view::{RunState, RunView};
use serde::{Deserialize, Serialize};

use crate::blobs::Blobs;
use crate::driver::{SessionMeters, session_meter};
use crate::journal::{JournalEnd, JournalReader, TornBatch};
use crate::{DriverError, RunDirectory};

/// A run folded from its journal: the engine's state and the view of people. It keeps the journal open, so that a later
/// owner reads only the records appended since ([`Self::catch_up`]).
#[derive(Debug)]
pub struct ReplayedRun {
    directory: RunDirectory,
    workflow: Workflow,
    view: RunView,
    replay: Replay,
    /// The last gate that was opened.
    gate: Option<Box<OpenGate>>,
    calls: CallHistory,
    blobs: BlobChecker,
    reader: JournalReader,
}

/// The check of the blobs that a journal names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlobCheck {
    /// They exist and have the right length.
    Length,
    /// Their content matches their hash.
    Content,
}

impl ReplayedRun {
    /// Reads and folds a journal, with one batch in memory at a time. Checks the content of every blob.
    pub fn read(directory: &RunDirectory) -> Result<Self, DriverError> {
        Self::read_checking(directory, BlobCheck::Content)
    }

    pub(crate) fn read_checking(directory: &RunDirectory, check: BlobCheck) -> Result<Self, DriverError> {
        let mut reader = directory.open_journal()?;
        let first = reader.next_records()?.unwrap_or_default();
        let view = first.first().and_then(RunView::begin).ok_or_else(|| directory.unborn())?;
        let mut run = Self {
            workflow: directory.frozen_workflow(&view.start)?,
            view,
            replay: Replay::new(),
            gate: None,
            calls: CallHistory::default(),
            blobs: BlobChecker { blobs: directory.blobs(), check, known: HashSet::new() },
            directory: directory.clone(),
            reader,
        };
        first.into_iter().try_for_each(|record| run.take(record))?;
        run.take_rest()?;
        Ok(run)
    }

    /// Reads and folds the records that were appended since the last read.
    pub(crate) fn catch_up(&mut self) -> Result<(), DriverError> {
        self.reader.catch_up()?;
        self.take_rest()
    }

    pub fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    pub fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    pub fn view(&self) -> &RunView {
        &self.view
    }

    pub fn start(&self) -> &Start {
        &self.view.start
    }

    pub fn state(&self) -> RunState {
        self.view.state(self.directory.owner())
    }

    pub(crate) fn run(&self) -> &Run {
        self.replay.run()
    }

    /// Returns the open gate as the engine opened it.
    pub(crate) fn open_gate(&self) -> Option<&OpenGate> {
        self.gate.as_deref().filter(|gate| self.run().open_gate() == Some(&gate.call))
    }

    /// Returns everything that a session continues with.
    pub(crate) fn into_parts(self) -> Result<ReplayedParts, DriverError> {
        let run =
            self.replay.finish().map_err(|diverged| DriverError::diverged(&self.directory, &diverged))?;
        Ok(ReplayedParts {
            directory: self.directory,
            workflow: self.workflow,
            run,
            end: self.reader.end(),
            torn: self.reader.torn(),
            calls: self.calls,
            view: self.view,
        })
    }

    fn take_rest(&mut self) -> Result<(), DriverError> {
        while let Some(batch) = self.reader.next_records()? {
            batch.into_iter().try_for_each(|record| self.take(record))?;
        }
        Ok(())
    }

    fn take(&mut self, record: Record) -> Result<(), DriverError> {
        self.directory.remember_start(&record);
        if let RecordEntry::Fact(fact) = &record.entry {
            self.blobs.check(record.seq, fact)?;
            self.calls.see(fact);
        }
        let effects = self.replay.take(&self.workflow, &record);
        let effects = effects.map_err(|diverged| DriverError::diverged(&self.directory, &diverged))?;
        for effect in effects {
            match effect {
                Effect::OpenGate(gate) => self.gate = Some(gate),
                Effect::Ask(request) => self.calls.request(*request),
                _ => {}
            }
        }
        // The view begins with the first record.
        if record.seq > self.view.last_seq {
            self.view.apply(record);
        }
        Ok(())
    }
}

/// The parts of a [`ReplayedRun`].
#[derive(Debug)]
pub(crate) struct ReplayedParts {
    pub(crate) directory: RunDirectory,
    pub(crate) workflow: Workflow,
    pub(crate) run: Run,
    /// The end of the intact part of the journal.
    pub(crate) end: JournalEnd,
    pub(crate) torn: Option<TornBatch>,
    pub(crate) calls: CallHistory,
    pub(crate) view: RunView,
}

impl ReplayedParts {
    /// Folds the records of a journal that was just written.
    pub(crate) fn of_records(
        directory: &RunDirectory,
        workflow: Workflow,
        batches: Vec<Vec<Record>>,
        end: JournalEnd,
    ) -> Result<Self, DriverError> {
        let (mut replay, mut view) = (Replay::new(), None::<RunView>);
        for record in batches.into_iter().flatten() {
            let taken = replay.take(&workflow, &record);
            taken.map_err(|diverged| DriverError::diverged(directory, &diverged))?;
            match &mut view {
                Some(view) => view.apply(record),
                None => view = RunView::begin(&record),
            }
        }
        let run = replay.finish().map_err(|diverged| DriverError::diverged(directory, &diverged))?;
        let view = view.ok_or_else(|| directory.unborn())?;
        let (directory, calls) = (directory.clone(), CallHistory::default());
        Ok(Self { directory, workflow, run, end, torn: None, calls, view })
    }
}

/// The earlier calls of a run, as the providers of a resumed run need them.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct CallHistory {
    pub(crate) events: Vec<EarlierCall>,
    pub(crate) meters: SessionMeters,
    /// The last request of each call without a reply. It holds no more than the calls under way at once.
    requests: Vec<Request>,
    /// Places in `events` of the calls under way whose prompt is not known yet.
    without_prompt: Vec<usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum EarlierCall {
    Asked(EarlierAsk),
    Ended { call: CallId, failure: Option<Failure> },
}

impl EarlierCall {
    fn is_ask_of(&self, call: &CallId) -> bool {
        matches!(self, Self::Asked(ask) if ask.call == *call)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EarlierAsk {
    pub(crate) call: CallId,
    pub(crate) provider: ProviderName,
    pub(crate) turn: Option<TurnId>,
    pub(crate) place: RoundPosition,
    pub(crate) role: Option<String>,
    pub(crate) prompt: Option<Text>,
    pub(crate) is_program: bool,
}

impl CallHistory {
    /// Notes a request before the fact that it was sent.
    pub fn request(&mut self, request: Request) {
        self.requests.retain(|before| before.call != request.call);
        self.requests.push(request);
    }

    /// Returns the part that one call needs: the counters of its session, and all earlier calls for a script, which
    /// counts them.
    pub fn of_call(&self, session: Option<&str>, is_scripted: bool) -> Self {
        let events = if is_scripted { self.events.clone() } else { Vec::new() };
        Self { events, meters: self.meters.only(session), ..Self::default() }
    }

    pub fn see(&mut self, fact: &Fact) {
        match fact {
            Fact::Asked { call, prompt, .. } => {
                if prompt.is_some() && self.fill_prompt(call, prompt) {
                    return;
                }
                let request = self.requests.iter().find(|request| request.call == *call);
                let asked = request.map(|request| EarlierAsk {
                    call: call.clone(),
                    provider: request.provider.clone(),
                    turn: request.turn.clone(),
                    place: request.place,
                    role: request.role.clone(),
                    prompt: prompt.clone().or_else(|| request.prompt.clone()),
                    is_program: request.program.is_some(),
                });
                if asked.as_ref().is_some_and(|ask| ask.prompt.is_none()) {
                    self.without_prompt.push(self.events.len());
                }
                self.events.extend(asked.map(EarlierCall::Asked));
            }
            Fact::Replied(reply) => {
                self.note_meter(&reply.call, fact);
                self.requests.retain(|request| request.call != reply.call);
                self.end(&reply.call, None);
            }
            Fact::Failed(failed) => {
                self.note_meter(&failed.call, fact);
                self.end(&failed.call, Some(failed.failure.clone()));
            }
            _ => {}
        }
    }

    fn end(&mut self, call: &CallId, failure: Option<Failure>) {
        let events = &self.events;
        self.without_prompt.retain(|place| !events[*place].is_ask_of(call));
        self.events.push(EarlierCall::Ended { call: call.clone(), failure });
    }

    /// Fills in the prompt of a call on another machine, which arrives with its result. Returns false for other calls.
    fn fill_prompt(&mut self, call: &CallId, prompt: &Option<Text>) -> bool {
        let Self { events, without_prompt, .. } = self;
        let Some(found) = without_prompt.iter().position(|place| events[*place].is_ask_of(call)) else {
            return false;
        };
        if let EarlierCall::Asked(ask) = &mut events[without_prompt.remove(found)] {
            ask.prompt.clone_from(prompt);
        }
        true
    }

    fn note_meter(&mut self, call: &CallId, fact: &Fact) {
        let request = self.requests.iter().find(|request| request.call == *call);
        let asked = request.and_then(|request| request.session.as_deref());
        if let Some((session, meter)) = session_meter(fact) {
            self.meters.note(asked, session.as_deref(), Some(&meter));
        }
    }
}

/// Checks each blob once.
#[derive(Debug)]
struct BlobChecker {
    blobs: Blobs,
    check: BlobCheck,
    known: HashSet<String>,
}

impl BlobChecker {
    fn check(&mut self, seq: u64, fact: &Fact) -> Result<(), DriverError> {
        let Self { blobs, known, check } = self;
        for_each_blob(fact, &mut |hash, bytes| {
            if !known.insert(hash.to_owned()) {
                return Ok(());
            }
            let looked = match check {
                BlobCheck::Length => blobs.look(hash, bytes),
                BlobCheck::Content => blobs.verify(hash, bytes),
            };
            looked.map_err(|bad| damaged(&blobs.path(hash), seq, &bad.to_string()).into())
        })
    }
}

/// Calls the visitor with every blob that a fact names.
pub(crate) fn for_each_blob(
    fact: &Fact,
    see: &mut dyn FnMut(&str, u64) -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    let mut look = |text: &Text| match text {
        Text::Inline(_) => Ok(()),
        Text::Blob { hash, bytes } => see(hash, *bytes),
    };
    match fact {
        Fact::Started(start) => {
            look(&start.task)?;
            start.subject.values().try_for_each(look)
        }
        Fact::Asked { prompt, .. } => prompt.iter().try_for_each(look),
        Fact::Replied(reply) => {
            look(&reply.text)?;
            let tools = reply.tools_used.iter();
            let long = tools.flat_map(|tool| tool.long_input.iter().chain(&tool.long_output));
            reply.spoken.iter().chain(&reply.so_far).chain(long).try_for_each(look)
        }
        Fact::Performed { outcome: Outcome::Done { output, .. }, .. } => SavedReport::all(output)
            .try_for_each(|(_, saved)| saved.content.iter().chain(&saved.agents_own).try_for_each(&mut look)),
        _ => Ok(()),
    }
}

impl DriverError {
    pub(crate) fn diverged(run: &RunDirectory, diverged: &saihai_engine::Diverged) -> Self {
        let shown = |decision: &Option<saihai_model::Decision>| match decision {
            Some(decision) => serde_json::to_string(decision).unwrap_or_default(),
            None => "nothing".to_owned(),
        };
        Self::Diverged {
            run: run.id().to_owned(),
            seq: diverged.seq,
            recorded: shown(&diverged.recorded),
            now: shown(&diverged.now),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // A fork copies exactly these blobs.
    #[test]
    fn all_texts_of_a_reply_are_visited() {
        let blob = |name: &str| Text::Blob { hash: name.to_owned(), bytes: 1 };
        let fact: Fact = serde_json::from_value(json!({"replied": {
            "call": {"stage": "work", "visit": 1, "round": 1, "n": 1},
            "text": blob("text"),
            "spoken": blob("spoken"),
            "so_far": blob("so_far"),
            "tools_used": [{"name": "Read", "long_input": blob("input"), "long_output": blob("output")}],
            "duration": 1,
            "reading": saihai_model::Reading::default(),
        }}))
        .unwrap();
        let mut names = Vec::new();
        for_each_blob(&fact, &mut |hash, _| {
            names.push(hash.to_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(names, ["text", "spoken", "so_far", "input", "output"]);
    }
}
