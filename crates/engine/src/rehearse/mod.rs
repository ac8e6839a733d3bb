//! Rehearses a workflow on generated replies: no model, no file, no time.
//!
//! [`rehearse`] is a pure function of the workflow and a seed. For every stage it finds the possible exits ([`ExitPath`]).
//! For each exit it finds the replies of agents, people and actions that lead there ([`moves`]). A [`pilot::Pilot`]
//! then steers run after run through the engine itself ([`simulation`]). It always heads for the nearest exit not taken
//! yet, until all are taken or impossible. The replies of each run are kept as an ordinary script.
//!
//! Deliberately absent: any knowledge of the engine's decisions. The pilot's map may be wrong, because a monitor, a
//! limit or a completion may redirect the run. Only an exit that the engine recorded counts as taken.

mod moves;
mod pilot;
mod replies;
mod routes;
mod simulation;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use saihai_model::{
    Decision, Ending, Expectation, Hold, Label, Script, ScriptAnswer, StageId, Visits, Workflow,
};

use pilot::Pilot;
use routes::RouteMap;
use simulation::PlayedRun;

pub use routes::ExitPath;

/// Maximum number of runs in one rehearsal (C-77).
pub const MOST_RUNS: usize = 200;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rehearse {
    /// Seed for the random number generator.
    pub seed: u64,
    /// True to add failures, garbage and missing decisions.
    pub faults: bool,
}

/// Takes every exit of every stage at least once, if possible. The same workflow and seed give the same scripts.
pub fn rehearse(workflow: &Workflow, how: Rehearse) -> Rehearsal {
    let map = RouteMap::of(workflow);
    let mut pilot = Pilot::new(workflow, &map);
    let mut runs = Vec::new();
    while runs.len() < MOST_RUNS && pilot.has_aims() {
        runs.push(simulation::play(workflow, how.seed, &mut pilot).into());
        pilot.next_run();
    }
    let untaken = pilot.untaken();
    let completes = |run: &Rehearsed| matches!(run.end, RehearsalEnd::Ended(Ending::Completed(_)));
    let mut last = Pilot::to_completion(workflow, &map);
    if runs.len() < MOST_RUNS && !runs.iter().any(completes) && last.can_complete() {
        runs.push(simulation::play(workflow, how.seed, &mut last).into());
    }
    if how.faults {
        runs.extend(simulation::fault_runs(workflow, &map, how.seed, MOST_RUNS - runs.len()));
    }
    Rehearsal { runs, untaken }
}

/// Returns the replies of a shortest path to completion. If there is none, returns those of a run that tries (K-25).
pub fn way_to_completion(workflow: &Workflow) -> Script {
    let map = RouteMap::of(workflow);
    let mut pilot = Pilot::to_completion(workflow, &map);
    let rehearsed: Rehearsed = simulation::play(workflow, 0, &mut pilot).into();
    // A person at a gate may redirect the run, so unused replies must not fail the command.
    Script { strict: false, ..rehearsed.script }
}

/// A rehearsal: its runs, and the exits that no run took.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsal {
    pub runs: Vec<Rehearsed>,
    /// Exits never taken, in the workflow's order.
    pub untaken: Vec<UntakenExit>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsed {
    pub script: Script,
    /// Answers at gates, in order.
    pub answers: Vec<(StageId, Label)>,
    /// Results of actions, in order.
    pub results: Vec<(StageId, Option<Label>)>,
    pub decisions: Vec<Decision>,
    pub end: RehearsalEnd,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RehearsalEnd {
    Ended(Ending),
    Held(Hold),
    /// It neither ended nor was held within the maximum number of rounds.
    Endless,
}

/// An outcome, its number of runs, and the shortest path to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedExit {
    /// Outcome as people and programs see it.
    pub end: String,
    pub runs: usize,
    /// Stages of its shortest run, in order.
    pub path: Vec<StageId>,
}

/// An exit that no run took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntakenExit {
    pub stage: StageId,
    pub way: ExitPath,
    /// Condition of its rule, if it has one.
    pub condition: Option<String>,
    pub why: UntakenReason,
}

/// Reason why an exit was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UntakenReason {
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
    pub fn ends(&self) -> Vec<ReachedExit> {
        let mut reached: BTreeMap<String, Vec<Vec<StageId>>> = BTreeMap::new();
        for run in &self.runs {
            reached.entry(run.end.to_string()).or_default().push(run.path());
        }
        let ends = reached.into_iter().map(|(end, paths)| {
            let runs = paths.len();
            let path = paths.into_iter().min_by_key(Vec::len).unwrap_or_default();
            ReachedExit { end, runs, path }
        });
        let mut ends: Vec<_> = ends.collect();
        ends.sort_by_key(|reached| std::cmp::Reverse(reached.runs));
        ends
    }
}

impl Rehearsed {
    /// Returns the entered stages, in order.
    pub fn path(&self) -> Vec<StageId> {
        let stage = |decision: &Decision| {
            if let Decision::Entered { stage, .. } = decision { Some(stage.clone()) } else { None }
        };
        self.decisions.iter().filter_map(stage).collect()
    }

    /// Returns the script as a test: with the answers at gates, the outcome and the path.
    ///
    /// No script can state the result of an action or a hold. Such a run gets its replies and answers only.
    pub fn test_script(&self) -> Script {
        let mut visits: BTreeMap<&StageId, u32> = BTreeMap::new();
        let answers = self.answers.iter().map(|(gate, label)| {
            let visit = visits.entry(gate).or_default();
            *visit += 1;
            let text = (label.as_str() == "answered").then(|| REHEARSED_ANSWER.to_owned());
            let visits = Some(Visits::These(vec![*visit]));
            ScriptAnswer { gate: gate.clone(), visits, label: label.clone(), text }
        });
        let can_be_answered = |label: &Label| matches!(label.as_str(), "yes" | "no" | "answered");
        let is_scripted =
            self.results.is_empty() && self.answers.iter().all(|(_, label)| can_be_answered(label));
        let expect = match &self.end {
            RehearsalEnd::Ended(ending) if is_scripted => Some(Expectation {
                outcome: Some(ending.outcome().to_owned()),
                stages: Some(self.path()),
                prompts: Vec::new(),
            }),
            RehearsalEnd::Ended(_) | RehearsalEnd::Held(_) | RehearsalEnd::Endless => None,
        };
        // Generated replies also take the exits of interactive runs.
        Script { interactive: Some(true), answers: answers.collect(), expect, ..self.script.clone() }
    }
}

/// Text that a rehearsal types at a gate.
const REHEARSED_ANSWER: &str = "Rehearsed answer.";

impl From<PlayedRun> for Rehearsed {
    fn from(played: PlayedRun) -> Self {
        let script = Script { strict: true, replies: played.replies, ..Script::default() };
        let PlayedRun { answers, results, decisions, end, .. } = played;
        Self { script, answers, results, decisions, end }
    }
}

impl fmt::Display for RehearsalEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(ending) if ending.reason() == ending.outcome() => f.write_str(ending.outcome()),
            Self::Ended(ending) => write!(f, "{}: {}", ending.outcome(), ending.reason()),
            Self::Held(hold) => write!(f, "parked: {}", hold.reason()),
            Self::Endless => f.write_str("does not end"),
        }
    }
}

impl fmt::Display for UntakenExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.stage, self.way)?;
        if let Some(condition) = &self.condition {
            write!(f, ", `{condition}`")?;
        }
        write!(f, " ({})", self.why)
    }
}

impl fmt::Display for UntakenReason {
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
