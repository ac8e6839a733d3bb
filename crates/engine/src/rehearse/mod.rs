//! Rehearses a workflow on generated replies: no model, no file, no time.
//!
//! [`rehearse`] is a pure function of the workflow and a seed. For every stage it finds the possible exits ([`Way`]).
//! For each exit it finds the replies of agents, people and actions that lead there ([`moves`]). A [`pilot::Pilot`]
//! then steers run after run through the engine itself ([`simulation`]). It always heads for the nearest exit not taken
//! yet, until all are taken or impossible. The replies of each run are kept as an ordinary script.
//!
//! Deliberately absent: any knowledge of the engine's decisions. The pilot's map may be wrong, because a monitor, a
//! limit or a completion may redirect the run. Only an exit that the engine recorded counts as taken.

mod faults;
mod map;
mod moves;
mod pilot;
mod report;
mod satisfy;
mod simulation;
mod smallest;
mod speech;
mod way;

#[cfg(test)]
mod tests;

use saihai_model::{Ending, Script, Workflow};

use self::map::Map;
use self::pilot::Pilot;

pub use self::report::{End, Reached, Rehearsal, Rehearsed, Untaken, Why};
pub use self::way::Way;

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
    let map = Map::of(workflow);
    let mut pilot = Pilot::new(workflow, &map);
    let mut runs = Vec::new();
    while runs.len() < MOST_RUNS && pilot.has_aims() {
        runs.push(simulation::play(workflow, how.seed, &mut pilot).into());
        pilot.next_run();
    }
    let untaken = pilot.untaken();
    let completes = |run: &Rehearsed| matches!(run.end, End::Ended(Ending::Completed(_)));
    let mut last = Pilot::to_completion(workflow, &map);
    if runs.len() < MOST_RUNS && !runs.iter().any(completes) && last.can_complete() {
        runs.push(simulation::play(workflow, how.seed, &mut last).into());
    }
    if how.faults {
        runs.extend(faults::runs(workflow, &map, how.seed, MOST_RUNS - runs.len()));
    }
    Rehearsal { runs, untaken }
}

/// Returns the replies of a shortest path to completion. If there is none, returns those of a run that tries (K-25).
pub fn way_to_completion(workflow: &Workflow) -> Script {
    let map = Map::of(workflow);
    let mut pilot = Pilot::to_completion(workflow, &map);
    let rehearsed: Rehearsed = simulation::play(workflow, 0, &mut pilot).into();
    // A person at a gate may redirect the run, so unused replies must not fail the command.
    Script { strict: false, ..rehearsed.script }
}
