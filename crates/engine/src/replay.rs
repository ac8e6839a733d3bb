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

    /// Takes the next record: a fact is applied, a decision compared.
    pub fn take(&mut self, workflow: &Workflow, record: &Record) -> Result<(), Box<Diverged>> {
        self.last = record.seq;
        match &record.entry {
            Entry::Fact(fact) => {
                self.nothing_left(record.seq)?;
                let effects = self.run.apply(workflow, &Event { at: record.at, fact: fact.clone() });
                self.expected.extend(effects.into_iter().filter_map(|effect| match effect {
                    Effect::Record(decision) => Some(decision),
                    Effect::Ask(_)
                    | Effect::Perform(_)
                    | Effect::OpenGate(_)
                    | Effect::Wake { .. }
                    | Effect::Stop { .. } => None,
                }));
            }
            Entry::Decision(recorded) => {
                let now = self.expected.pop_front();
                if now.as_ref() != Some(recorded) {
                    return Err(Box::new(Diverged {
                        seq: record.seq,
                        recorded: Some(recorded.clone()),
                        now,
                    }));
                }
            }
        }
        Ok(())
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

/// Replays a whole journal.
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
