//! A run as its journal tells it.

use std::collections::HashSet;

use saihai_engine::{Replay, Run};
use saihai_model::{Effect, Entry, Fact, Outcome, Record, Start, Text, Workflow};

use crate::journal::{End, Reader, Torn};
use crate::reports::Saved;
use crate::run_directory::{damaged, started};
use crate::{Error, RunDirectory};

/// A run folded from its journal.
#[derive(Debug)]
pub(crate) struct History {
    /// What it began with.
    pub(crate) start: Box<Start>,
    /// The frozen workflow.
    pub(crate) workflow: Workflow,
    /// Its state.
    pub(crate) run: Run,
    /// How far the journal is whole.
    pub(crate) end: End,
    /// What stands behind that.
    pub(crate) torn: Option<Torn>,
}

/// What a witness of a replay sees.
pub(crate) enum Seen<'a> {
    /// A record, before it is folded.
    Record(&'a Record),
    /// What its fact led to.
    Effects(&'a [Effect]),
}

/// Whether the blobs that a journal names are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// That they are there, with the right length.
    Length,
    /// That they are what was written.
    Content,
}

impl History {
    /// Reads and folds a journal, one batch in memory at a time.
    pub(crate) fn read(
        directory: &RunDirectory,
        check: Check,
        witness: &mut dyn FnMut(Seen<'_>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut reader = Reader::open(&directory.journal())?;
        let first = reader.next_batch()?.ok_or_else(|| directory.unborn())?;
        let start = first.first().cloned().and_then(started).ok_or_else(|| directory.unborn())?;
        let workflow = directory.frozen_workflow(&start)?;
        let mut folding =
            Folding { directory, check, replay: Replay::new(), workflow: &workflow, known: HashSet::new() };
        folding.take(first, witness)?;
        while let Some(batch) = reader.next_batch()? {
            folding.take(batch, witness)?;
        }
        let run = folding.replay.finish().map_err(|diverged| directory.diverged(&diverged))?;
        Ok(Self { start, run, end: reader.end(), torn: reader.torn(), workflow })
    }
}

struct Folding<'a> {
    directory: &'a RunDirectory,
    check: Check,
    replay: Replay,
    workflow: &'a Workflow,
    known: HashSet<String>,
}

impl Folding<'_> {
    fn take(
        &mut self,
        batch: Vec<Record>,
        witness: &mut dyn FnMut(Seen<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for record in batch {
            self.look_at_blobs(&record)?;
            witness(Seen::Record(&record))?;
            let effects = self.replay.take(self.workflow, record);
            let effects = effects.map_err(|diverged| self.directory.diverged(&diverged))?;
            witness(Seen::Effects(&effects))?;
        }
        Ok(())
    }

    fn look_at_blobs(&mut self, record: &Record) -> Result<(), Error> {
        let Entry::Fact(fact) = &record.entry else { return Ok(()) };
        let blobs = self.directory.blobs();
        for_each_blob(fact, &mut |hash, bytes| {
            if !self.known.insert(hash.to_owned()) {
                return Ok(());
            }
            let looked = match self.check {
                Check::Length => blobs.look(hash, bytes),
                Check::Content => blobs.verify(hash, bytes),
            };
            looked.map_err(|bad| damaged(&blobs.path(hash), record.seq, &bad.to_string()))
        })
    }
}

/// Shows every blob that a fact names.
pub(crate) fn for_each_blob(
    fact: &Fact,
    see: &mut dyn FnMut(&str, u64) -> Result<(), Error>,
) -> Result<(), Error> {
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
            reply.spoken.iter().try_for_each(look)
        }
        Fact::Performed { outcome: Outcome::Done { output, .. }, .. } => Saved::of(output)
            .try_for_each(|(_, saved)| saved.content.iter().chain(&saved.agents_own).try_for_each(&mut look)),
        Fact::Performed {
            outcome: Outcome::NotYet | Outcome::Waiting { .. } | Outcome::Failed(_), ..
        }
        | Fact::Failed(_)
        | Fact::Answered(_)
        | Fact::Woke
        | Fact::Reopened
        | Fact::Resumed(_)
        | Fact::Interrupted { .. }
        | Fact::StorageFailed { .. }
        | Fact::Cancelled { .. } => Ok(()),
    }
}

impl RunDirectory {
    pub(crate) fn diverged(&self, diverged: &saihai_engine::Diverged) -> Error {
        let shown = |decision: &Option<saihai_model::Decision>| match decision {
            Some(decision) => serde_json::to_string(decision).unwrap_or_default(),
            None => "nothing".to_owned(),
        };
        Error::Diverged {
            run: self.id().to_owned(),
            seq: diverged.seq,
            recorded: shown(&diverged.recorded),
            now: shown(&diverged.now),
        }
    }
}
