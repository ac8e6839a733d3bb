//! What a rehearsal found.

use std::collections::BTreeMap;
use std::fmt;

use saihai_model::{Decision, Ending, Hold, Label, Script, StageId};

use super::simulation::Played;
use super::way::Way;

/// A rehearsal: its runs, and the exits none of them could take.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsal {
    /// The runs, in the order they were made.
    pub runs: Vec<Rehearsed>,
    /// Exits never taken, in the workflow's order.
    pub untaken: Vec<Untaken>,
}

/// One run of a rehearsal.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsed {
    pub script: Script,
    /// What people said at gates, in order.
    pub answers: Vec<(StageId, Label)>,
    /// What came of actions, in order.
    pub results: Vec<(StageId, Option<Label>)>,
    pub decisions: Vec<Decision>,
    pub end: End,
}

/// How a run came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Ended(Ending),
    Held(Hold),
    /// It neither ended nor was held within the rounds of a rehearsal.
    Endless,
}

/// An outcome and how many runs came to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The outcome, in the words people and programs see.
    pub end: String,
    pub runs: usize,
}

/// An exit no run could take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untaken {
    pub stage: StageId,
    pub way: Way,
    /// The condition of its rule, where it has one.
    pub condition: Option<String>,
    pub why: Why,
}

/// Why an exit was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Whatever is said, another rule holds first.
    NoReply,
    /// Nothing leads to its stage.
    Unreachable,
    /// The way there takes more rounds than a run may have.
    TooFar,
    /// Something else decided each time it was tried: a monitor, a limit, the completion.
    Overruled,
    /// The runs were used up before its turn came.
    NotTried,
}

impl Rehearsal {
    /// The outcomes, the most frequent first.
    pub fn ends(&self) -> Vec<Reached> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for run in &self.runs {
            *counts.entry(run.end.to_string()).or_insert(0) += 1;
        }
        let mut ends: Vec<_> = counts.into_iter().map(|(end, runs)| Reached { end, runs }).collect();
        ends.sort_by_key(|reached| std::cmp::Reverse(reached.runs));
        ends
    }
}

impl From<Played> for Rehearsed {
    fn from(played: Played) -> Self {
        let script = Script { strict: true, replies: played.replies, ..Script::default() };
        let Played { answers, results, decisions, end, .. } = played;
        Self { script, answers, results, decisions, end }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(ending) if ending.reason() == ending.outcome() => f.write_str(ending.outcome()),
            Self::Ended(ending) => write!(f, "{}: {}", ending.outcome(), ending.reason()),
            Self::Held(hold) => write!(f, "parked: {}", hold.reason()),
            Self::Endless => f.write_str("does not end"),
        }
    }
}

impl fmt::Display for Untaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.stage, self.way)?;
        if let Some(condition) = &self.condition {
            write!(f, ", `{condition}`")?;
        }
        write!(f, " ({})", self.why)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoReply => "no reply makes it hold",
            Self::Unreachable => "nothing leads to its stage",
            Self::TooFar => "too far for the limit of rounds",
            Self::Overruled => "something else decides",
            Self::NotTried => "not tried in the runs allowed",
        })
    }
}
