//! Rehearsal runs with failures, garbage and missing decisions, all from one seed.

use crate::Run;
use saihai_model::{
    Decision, FailureClass, Label, Millis, OpenGate, Performance, Place, Request, ScriptFailure, StageId,
    Workflow,
};

use super::map::Map;
use super::pilot::Pilot;
use super::report::Rehearsed;
use super::simulation::{self, Cast};
use super::speech::Speech;
use super::way::Way;

/// Number of faulty runs, if the limit allows it.
const RUNS: usize = 20;

/// Number of exits that each faulty run aims at.
const AIMS: usize = 3;

/// Percentage of replies that fail, are garbage, or decide nothing.
const FAILS: u64 = 10;
const GARBAGE: u64 = 5;
const UNDECIDED: u64 = 8;

/// Failure classes; repeated entries are more likely.
const CLASSES: [FailureClass; 12] = [
    FailureClass::Transient,
    FailureClass::Transient,
    FailureClass::Transient,
    FailureClass::RateLimited,
    FailureClass::RateLimited,
    FailureClass::Crashed,
    FailureClass::Crashed,
    FailureClass::SessionLost,
    FailureClass::Quota,
    FailureClass::Auth,
    FailureClass::BadRequest,
    FailureClass::Refused,
];

/// Malformed replies that real agents sometimes give.
const NONSENSE: [&str; 6] = [
    "[STEP:99999999999999999999] [STEP:-1] [STEP:] [STEP:NONE",
    "```markdown\nnever closed\n[STEP:0",
    "{\"result\": [1, 2, {\"deep\": ",
    "EVENT: <topic> EVENT:: EVENT: a|b",
    "\u{0}\u{1b}[31m\u{feff}\u{202e}[STEP:\u{660}]",
    "> [STEP:x]\n> quoted\n~~~\n~~~~",
];

/// Runs that take a few exits and then the shortest path to completion, with faults on the way.
pub(super) fn runs(workflow: &Workflow, map: &Map, seed: u64, most: usize) -> Vec<Rehearsed> {
    let mut chance = Chance(seed);
    let mut runs = Vec::new();
    for _ in 0..RUNS.min(most) {
        let mut chance = Chance(chance.next());
        let pilot = Pilot::towards(workflow, map, chance.some_of(&map.ways));
        let mut troubled = Troubled { pilot, chance };
        runs.push(simulation::play(workflow, seed, &mut troubled).into());
    }
    runs
}

struct Troubled<'a> {
    pilot: Pilot<'a>,
    chance: Chance,
}

impl Cast for Troubled<'_> {
    fn reply(&mut self, run: &Run, request: &Request, place: Place) -> Result<Speech, ScriptFailure> {
        let speech = self.pilot.reply(run, request, place)?;
        let percent = self.chance.below(100);
        if percent < FAILS {
            return Err(self.chance.failure());
        }
        Ok(match percent - FAILS {
            0..GARBAGE => Speech { text: (*self.chance.one_of(&NONSENSE)).to_owned(), structured: None },
            GARBAGE..CLEAN => {
                Speech { text: "I have thought about it and cannot say.".to_owned(), structured: None }
            }
            _ => speech,
        })
    }

    fn answer(&mut self, run: &Run, gate: &OpenGate) -> Label {
        self.pilot.answer(run, gate)
    }

    fn perform(&mut self, run: &Run, performance: &Performance, place: Place) -> Option<Label> {
        self.pilot.perform(run, performance, place)
    }

    fn decided(&mut self, decision: &Decision) {
        self.pilot.decided(decision);
    }
}

const CLEAN: u64 = GARBAGE + UNDECIDED;

/// Random number generator from one seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_of<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        let index = usize::try_from(self.below(list.len() as u64)).unwrap_or(0);
        &list[index]
    }

    /// Picks a few exits. `NoMatch` is left out, because faults produce it anyway.
    fn some_of(&mut self, ways: &[(StageId, Way)]) -> Vec<(StageId, Way)> {
        let mut left: Vec<_> = ways.iter().filter(|(_, way)| *way != Way::NoMatch).cloned().collect();
        let mut some = Vec::new();
        while some.len() < AIMS && !left.is_empty() {
            let index = usize::try_from(self.below(left.len() as u64)).unwrap_or(0);
            some.push(left.swap_remove(index));
        }
        some
    }

    fn failure(&mut self) -> ScriptFailure {
        let class = *self.one_of(&CLASSES);
        let waits = matches!(class, FailureClass::RateLimited | FailureClass::Quota) && self.below(2) == 0;
        ScriptFailure {
            class,
            message: format!("injected: {}", class.name()),
            retry_after: waits.then(|| Millis::seconds(1 + self.0 % 60)),
            until: None,
        }
    }
}
