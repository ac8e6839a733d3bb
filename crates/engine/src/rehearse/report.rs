//! Result of a rehearsal.

use std::collections::BTreeMap;
use std::fmt;

use saihai_model::{Decision, Ending, Hold, Label, Script, StageId};

use super::simulation::Played;
use super::way::Way;

/// A rehearsal: its runs, and the exits that no run took.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsal {
    pub runs: Vec<Rehearsed>,
    /// Exits never taken, in the workflow's order.
    pub untaken: Vec<Untaken>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsed {
    pub script: Script,
    /// Answers at gates, in order.
    pub answers: Vec<(StageId, Label)>,
    /// Results of actions, in order.
    pub results: Vec<(StageId, Option<Label>)>,
    pub decisions: Vec<Decision>,
    pub end: End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Ended(Ending),
    Held(Hold),
    /// It neither ended nor was held within the maximum number of rounds.
    Endless,
}

/// An outcome and its number of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Outcome as people and programs see it.
    pub end: String,
    pub runs: usize,
}

/// An exit that no run took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untaken {
    pub stage: StageId,
    pub way: Way,
    /// Condition of its rule, if it has one.
    pub condition: Option<String>,
    pub why: Why,
}

/// Reason why an exit was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// For every possible reply, another rule holds first.
    NoReply,
    /// No path leads to its stage.
    Unreachable,
    /// The path there needs more rounds than a run may have.
    TooFar,
    /// A monitor, a limit or the completion overruled every attempt.
    Overruled,
    /// The runs were used up first.
    NotTried,
}

impl Rehearsal {
    /// Returns the outcomes, the most frequent first.
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
