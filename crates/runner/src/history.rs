//! A run as its journal tells it.

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
    /// How far the journal is whole.
    pub(crate) end: End,
    pub(crate) torn: Option<Torn>,
}

/// What a witness of a replay sees.
pub(crate) enum Seen<'a> {
    /// A fact, before it is folded.
    Fact(&'a Fact),
    /// What was to be done about it then.
    Effects(Vec<Effect>),
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

    /// Whether a line is the decision that is due, byte for byte: then it need not be read. Any other line is, also a
    /// decision that says the same in other bytes.
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
