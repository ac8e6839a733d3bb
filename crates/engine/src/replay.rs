//! Replays a journal through the same `apply` and compares its decisions with the recorded ones.

use std::collections::VecDeque;

use saihai_model::{Decision, Effect, Record, RecordEntry, Workflow};

use crate::run::Run;

/// Error: the engine now decides differently from the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Diverged {
    /// Number of the first record that differs.
    pub seq: u64,
    pub recorded: Option<Decision>,
    /// Decision of the engine now.
    pub now: Option<Decision>,
}

impl std::fmt::Display for Diverged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = |decision: &Option<Decision>| match decision {
            Some(decision) => serde_json::to_string(decision).unwrap_or_default(),
            None => "nothing".to_owned(),
        };
        let (recorded, now) = (name(&self.recorded), name(&self.now));
        write!(
            f,
            "record {}: this version of Saihai would decide {now} where the journal says {recorded}",
            self.seq
        )
    }
}

impl std::error::Error for Diverged {}

/// A replay in progress, one record at a time, so that no journal has to fit in memory.
#[derive(Debug, Default)]
pub struct Replay {
    run: Run,
    expected: VecDeque<Decision>,
    last: u64,
}

impl Replay {
    /// Creates a replay before its first record.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next record: applies a fact, or compares a decision. Returns the effects of that time for information;
    /// the caller must not execute them.
    pub fn take(&mut self, workflow: &Workflow, record: &Record) -> Result<Vec<Effect>, Box<Diverged>> {
        let seq = record.seq;
        self.last = seq;
        match &record.entry {
            RecordEntry::Fact(fact) => {
                self.nothing_left(seq)?;
                let mut effects = Vec::new();
                for effect in self.run.fold(workflow, record.at, fact) {
                    if let Effect::Record(decision) = effect {
                        self.expected.push_back(decision);
                    } else {
                        effects.push(effect);
                    }
                }
                Ok(effects)
            }
            RecordEntry::Decision(recorded) => match self.expected.pop_front() {
                Some(now) if now == *recorded => Ok(Vec::new()),
                now => Err(Box::new(Diverged { seq, recorded: Some(recorded.clone()), now })),
            },
        }
    }

    /// Returns the run as replayed so far.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the run after the last record.
    pub fn finish(self) -> Result<Run, Box<Diverged>> {
        self.nothing_left(self.last)?;
        Ok(self.run)
    }

    fn nothing_left(&self, seq: u64) -> Result<(), Box<Diverged>> {
        match self.expected.front() {
            Some(now) => Err(Box::new(Diverged { seq, recorded: None, now: Some(now.clone()) })),
            None => Ok(()),
        }
    }
}

pub fn replay<'a>(
    workflow: &Workflow,
    records: impl IntoIterator<Item = &'a Record>,
) -> Result<Run, Box<Diverged>> {
    let mut replay = Replay::new();
    for record in records {
        replay.take(workflow, record)?;
    }
    replay.finish()
}
