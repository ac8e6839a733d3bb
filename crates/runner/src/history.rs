//! A run, rebuilt from its journal.

use std::collections::HashSet;

use saihai_engine::{Replay, Run};
use saihai_model::{Effect, Entry, Fact, Outcome, SavedReport, Start, Text, Workflow};

use crate::blobs::Blobs;
use crate::journal::{End, Kind, Raw, Reader, Torn};
use crate::{Error, RunDirectory};
use saihai_store::damaged;

/// A run folded from its journal.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) start: Box<Start>,
    pub(crate) workflow: Workflow,
    pub(crate) run: Run,
    /// The end of the intact part of the journal.
    pub(crate) end: End,
    pub(crate) torn: Option<Torn>,
}

/// An event of a replay, as a witness sees it.
pub(crate) enum Seen<'a> {
    /// A fact, before the engine folds it.
    Fact(&'a Fact),
    /// The effects that followed from the fact.
    Effects(Vec<Effect>),
}

/// The check of the blobs that a journal names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// They exist and have the right length.
    Length,
    /// Their content matches their hash.
    Content,
}

impl History {
    /// Reads and folds a journal, with one batch in memory at a time.
    pub(crate) fn read(
        directory: &RunDirectory,
        check: Check,
        witness: &mut dyn FnMut(Seen<'_>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut reader = Reader::open(&directory.journal())?;
        let start = directory.start()?;
        let workflow = directory.frozen_workflow(&start)?;
        let mut folding = Folding {
            directory,
            blobs: directory.blobs(),
            check,
            replay: Replay::new(),
            workflow: &workflow,
            known: HashSet::new(),
            scratch: Vec::new(),
        };
        while let Some(batch) = reader.next_batch()? {
            for line in batch.lines() {
                folding.take(line, witness)?;
            }
        }
        let run = folding.replay.finish().map_err(|diverged| Error::diverged(directory, &diverged))?;
        Ok(Self { start, run, end: reader.end(), torn: reader.torn(), workflow })
    }
}

struct Folding<'a> {
    directory: &'a RunDirectory,
    blobs: Blobs,
    check: Check,
    replay: Replay,
    workflow: &'a Workflow,
    known: HashSet<String>,
    scratch: Vec<u8>,
}

impl Folding<'_> {
    fn take(
        &mut self,
        line: Raw<'_>,
        witness: &mut dyn FnMut(Seen<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.confirms(&line) {
            return Ok(());
        }
        let record = line.record()?;
        if let Entry::Fact(fact) = &record.entry {
            self.look_at_blobs(line.seq, fact)?;
            witness(Seen::Fact(fact))?;
        }
        let effects = self.replay.take(self.workflow, record);
        let effects = effects.map_err(|diverged| Error::diverged(self.directory, &diverged))?;
        if effects.is_empty() { Ok(()) } else { witness(Seen::Effects(effects)) }
    }

    /// Returns true if a line equals the expected decision byte for byte, so that it needs no parsing. Other
    /// lines are parsed, because the same decision can have other bytes.
    fn confirms(&mut self, line: &Raw<'_>) -> bool {
        let Some(expected) = self.replay.expected().filter(|_| line.kind == Kind::Decision) else {
            return false;
        };
        self.scratch.clear();
        let same = serde_json::to_writer(&mut self.scratch, expected).is_ok() && self.scratch == line.body;
        if same {
            self.replay.confirm(line.seq);
        }
        same
    }

    fn look_at_blobs(&mut self, seq: u64, fact: &Fact) -> Result<(), Error> {
        let Self { blobs, known, check, .. } = self;
        for_each_blob(fact, &mut |hash, bytes| {
            if !known.insert(hash.to_owned()) {
                return Ok(());
            }
            let looked = match check {
                Check::Length => blobs.look(hash, bytes),
                Check::Content => blobs.verify(hash, bytes),
            };
            looked.map_err(|bad| damaged(&blobs.path(hash), seq, &bad.to_string()).into())
        })
    }
}

/// Calls the visitor with every blob that a fact names.
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
            let tools = reply.tools_used.iter();
            let long = tools.flat_map(|tool| tool.long_input.iter().chain(&tool.long_output));
            reply.spoken.iter().chain(long).try_for_each(look)
        }
        Fact::Performed { outcome: Outcome::Done { output, .. }, .. } => SavedReport::all(output)
            .try_for_each(|(_, saved)| saved.content.iter().chain(&saved.agents_own).try_for_each(&mut look)),
        Fact::Performed {
            outcome: Outcome::NotYet | Outcome::Delayed { .. } | Outcome::Waiting { .. } | Outcome::Failed(_),
            ..
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

impl Error {
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
