//! Rehearsing a workflow on replies made up for it: no model, no file, no time.
//!
//! [`rehearse`] is a pure function of the workflow and a seed. For every stage it works out the ways its exit can be
//! left ([`Way`]) and what the agents, people and actions would have to say for each ([`moves`]). A [`pilot::Pilot`]
//! then steers run after run through the engine itself ([`simulation`]), always towards the nearest way not taken
//! yet, until all are taken or cannot be. What was said in each run is kept as an ordinary script.
//!
//! What is deliberately absent: any knowledge of how the engine decides. The map the pilot steers by may be wrong
//! (a monitor, a limit, a completion may take the run elsewhere); only what the engine recorded counts as taken.

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

/// The most runs one rehearsal makes (C-77).
pub const MOST_RUNS: usize = 200;

/// How a workflow is rehearsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rehearse {
    /// Where all chance comes from.
    pub seed: u64,
    /// Whether failures, garbage and missing decisions are mixed in.
    pub faults: bool,
}

/// Takes every exit of every stage at least once, as far as that can be done. The same workflow and seed give the
/// same scripts.
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

/// The replies of a shortest way to completion, where there is one, else of a run that tries (K-25).
pub fn way_to_completion(workflow: &Workflow) -> Script {
    let map = Map::of(workflow);
    let mut pilot = Pilot::to_completion(workflow, &map);
    let rehearsed: Rehearsed = simulation::play(workflow, 0, &mut pilot).into();
    // A person at a gate may send the run elsewhere; the words for that are not worth failing the command for.
    Script { strict: false, ..rehearsed.script }
}
