//! Replay: the same `apply`, fed from a journal, its decisions compared with those on record.

use std::collections::VecDeque;

use saihai_model::{Decision, Effect, Entry, Event, Record, Workflow};

use crate::Run;

/// The engine would now decide otherwise than it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Diverged {
    /// The record where they part.
    pub seq: u64,
    /// What stands in the journal.
    pub recorded: Option<Decision>,
    /// What the engine decides now.
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

/// A replay under way, one record at a time, so that no journal has to be in memory.
#[derive(Debug, Default)]
pub struct Replay {
    run: Run,
    expected: VecDeque<Decision>,
    last: u64,
}

impl Replay {
    /// A replay at the beginning.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next record: a fact is applied, a decision compared. Comes back with what was to be done then, for
    /// whoever must know it again; nothing of it is to be done now.
    pub fn take(&mut self, workflow: &Workflow, record: Record) -> Result<Vec<Effect>, Box<Diverged>> {
        let Record { seq, at, entry } = record;
        self.last = seq;
        match entry {
            Entry::Fact(fact) => {
                self.nothing_left(seq)?;
                let mut effects = Vec::new();
                for effect in self.run.apply(workflow, &Event { at, fact }) {
                    if let Effect::Record(decision) = effect {
                        self.expected.push_back(decision);
                    } else {
                        effects.push(effect);
                    }
                }
                Ok(effects)
            }
            Entry::Decision(recorded) => match self.expected.pop_front() {
                Some(now) if now == recorded => Ok(Vec::new()),
                now => Err(Box::new(Diverged { seq, recorded: Some(recorded), now })),
            },
        }
    }

    /// The decision that is due next: whoever knows the recorded one to be the same need not bring it.
    pub fn expected(&self) -> Option<&Decision> {
        self.expected.front()
    }

    /// Says that the next record, of this number, is the decision that is due.
    pub fn confirm(&mut self, seq: u64) {
        self.last = seq;
        self.expected.pop_front();
    }

    /// The run as far as it was replayed.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The run as it stands after the last record.
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
        replay.take(workflow, record.clone())?;
    }
    replay.finish()
}
