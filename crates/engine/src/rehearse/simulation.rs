//! Plays a workflow against a cast of scripted agents, also with faults.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use saihai_model::{
    Answer, AnsweredBy, CallFailed, CallId, Decision, Draft, Effect, Event, ExpectedReply, Fact, Failure,
    FailureClass, GateMode, Json, Label, Millis, Moment, OpenGate, Outcome, Performance, Reading, Replied,
    Request, RoundPosition, RunOrigin, ScriptFailure, ScriptReply, ScriptTarget, Splice, StageId, Start,
    Text, Usage, Visits, Workflow,
};

use crate::rehearse::pilot::Pilot;
use crate::rehearse::replies::{RehearsedReply, read_rehearsed};
use crate::rehearse::routes::{ExitPath, RouteMap};
use crate::rehearse::{REHEARSED_ANSWER, RehearsalEnd, Rehearsed};
use crate::run::{Run, Slot};

pub(crate) trait Cast {
    /// Returns the reply to a request, or its failure.
    fn reply(
        &mut self,
        run: &Run,
        request: &Request,
        place: RoundPosition,
    ) -> Result<RehearsedReply, ScriptFailure>;
    /// Returns the answer at a gate.
    fn answer(&mut self, run: &Run, gate: &OpenGate) -> Label;
    /// Returns the label of an action.
    fn perform(&mut self, run: &Run, performance: &Performance, place: RoundPosition) -> Option<Label>;
    /// Observes the engine's decision about a stage.
    fn decided(&mut self, decision: &Decision);
}

/// Result of a simulated run.
#[derive(Debug, Clone)]
pub(crate) struct PlayedRun {
    pub(crate) replies: Vec<ScriptReply>,
    pub(crate) answers: Vec<(StageId, Label)>,
    pub(crate) results: Vec<(StageId, Option<Label>)>,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) end: RehearsalEnd,
}

/// Maximum facts and rounds of one run, so that a workflow without limits ends too.
const MOST_FACTS: usize = 200_000;
const MOST_ROUNDS: u32 = 1_000;

/// Plays a run to its end.
pub(crate) fn play(workflow: &Workflow, seed: u64, cast: &mut impl Cast) -> PlayedRun {
    let mut simulation = Simulation {
        workflow,
        cast,
        run: Run::new(),
        now: Moment(0),
        wakes: BTreeSet::new(),
        facts: VecDeque::from([started(seed)]),
        played: PlayedRun {
            replies: Vec::new(),
            answers: Vec::new(),
            results: Vec::new(),
            decisions: Vec::new(),
            end: RehearsalEnd::Endless,
        },
    };
    for _ in 0..MOST_FACTS {
        if simulation.run.iteration() > MOST_ROUNDS || !simulation.step() {
            break;
        }
    }
    let run = &simulation.run;
    simulation.played.end = match (run.ending(), run.hold()) {
        (Some(ending), _) => RehearsalEnd::Ended(ending.clone()),
        (None, Some(hold)) => RehearsalEnd::Held(hold.clone()),
        (None, None) => RehearsalEnd::Endless,
    };
    simulation.played
}

struct Simulation<'a, C> {
    workflow: &'a Workflow,
    cast: &'a mut C,
    run: Run,
    now: Moment,
    /// All requested wake-ups: the engine requests the next one only when the last is due.
    wakes: BTreeSet<Moment>,
    facts: VecDeque<Fact>,
    played: PlayedRun,
}

impl<C: Cast> Simulation<'_, C> {
    /// Applies the next fact; returns false if there was none.
    fn step(&mut self) -> bool {
        let fact = match self.facts.pop_front() {
            Some(fact) => fact,
            None if self.run.ending().is_some() || self.run.hold().is_some() => return false,
            None => match self.wakes.pop_first() {
                Some(at) => {
                    self.now = self.now.max(at);
                    Fact::Woke
                }
                None => return false,
            },
        };
        self.now = self.now.plus(Millis(1));
        let effects = self.run.apply(self.workflow, &Event { at: self.now, fact });
        for effect in effects {
            self.perform(effect);
        }
        true
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Record(decision) => {
                self.cast.decided(&decision);
                self.played.decisions.push(decision);
            }
            Effect::Ask(request) => self.ask(&request),
            Effect::Perform(performance) => {
                let place = place_of(&self.run, &performance.call).unwrap_or(RoundPosition::Main(0));
                let label = self.cast.perform(&self.run, &performance, place);
                self.played.results.push((performance.call.stage.clone(), label.clone()));
                let outcome = Outcome::Done { label, output: BTreeMap::new() };
                self.facts.push_back(Fact::Performed { call: performance.call, outcome });
            }
            Effect::OpenGate(gate) => {
                let label = self.cast.answer(&self.run, &gate);
                self.played.answers.push((gate.call.stage.clone(), label.clone()));
                let text = (label.as_str() == "answered").then(|| REHEARSED_ANSWER.to_owned());
                let by = if gate.mode == GateMode::Auto { AnsweredBy::Auto } else { AnsweredBy::Person };
                self.facts.push_back(Fact::Answered(Answer { call: gate.call, by, label, text }));
            }
            Effect::Wake { at } => {
                self.wakes.insert(at);
            }
            Effect::Stop { call } => {
                let failure = Failure::new(FailureClass::Cancelled, "stopped");
                self.facts.push_back(failed(call, failure));
            }
        }
    }

    fn ask(&mut self, request: &Request) {
        let prompt = request.draft.as_ref().map(text_of);
        let sent = prompt.clone().or_else(|| request.prompt.as_ref().map(inline)).unwrap_or_default();
        self.facts.push_back(Fact::Asked {
            call: request.call.clone(),
            attempt: request.attempt,
            prompt: prompt.map(Text::from),
        });
        let said = self.cast.reply(&self.run, request, request.place);
        self.played.replies.push(scripted(self.workflow, request, &said));
        self.facts.push_back(match said {
            Ok(speech) => self.replied(request, &sent, speech),
            Err(fail) => {
                let until = fail.until.or_else(|| fail.retry_after.map(|wait| self.now.plus(wait)));
                failed(request.call.clone(), Failure { until, ..Failure::new(fail.class, fail.message) })
            }
        });
    }

    fn replied(&self, request: &Request, prompt: &str, speech: RehearsedReply) -> Fact {
        let reading = match (self.workflow.wanted(&request.call.stage, request.place), speech.exit) {
            (Some(ExpectedReply::Work(reads)), Some(exit)) => {
                saihai_judge::read_program(reads, &speech.text, exit)
            }
            (Some(wanted), _) => read_rehearsed(wanted, prompt, &speech),
            (None, _) => Reading::default(),
        };
        Fact::Replied(Box::new(Replied {
            call: request.call.clone(),
            provider: Some(request.provider.clone()),
            text: speech.text.into(),
            spoken: None,
            messages: Vec::new(),
            session: Some(request.session.clone().unwrap_or_else(|| "rehearsed".to_owned())),
            usage: Usage::default(),
            cost: None,
            tools_used: Vec::new(),
            metered: None,
            denied: 0,
            duration: Millis(0),
            revision: None,
            so_far: None,
            cached: false,
            tree: None,
            reading,
        }))
    }
}

/// Returns the place of a running call.
fn place_of(run: &Run, call: &CallId) -> Option<RoundPosition> {
    let slots = &run.visit()?.round.slots;
    slots.iter().find_map(|(place, slot)| match slot {
        Slot::Busy(busy) if busy.id == *call => Some(*place),
        Slot::Busy(_) | Slot::Waiting { .. } | Slot::Open { .. } | Slot::Done(_) => None,
    })
}

/// Converts a reply into script form.
fn scripted(
    workflow: &Workflow,
    request: &Request,
    said: &Result<RehearsedReply, ScriptFailure>,
) -> ScriptReply {
    let judge = matches!(request.place, RoundPosition::Check(_) | RoundPosition::Exit);
    let several = workflow.stage(&request.call.stage).is_some_and(|stage| stage.turns().len() > 1);
    // Questions come in the order of the turns, so the stage alone identifies them.
    let turn = request.turn.clone().filter(|_| several && !judge);
    let (text, structured, exit, fail) = match said {
        Ok(speech) => (Some(speech.text.clone()), speech.structured.clone(), speech.exit, None),
        Err(fail) => (None, None, None, Some(fail.clone())),
    };
    ScriptReply {
        origin: "generated".to_owned(),
        target: Some(ScriptTarget { stage: request.call.stage.clone(), turn, judge }),
        visits: Some(Visits::These(vec![request.call.visit])),
        text,
        structured,
        exit,
        fail,
        ..ScriptReply::default()
    }
}

fn started(seed: u64) -> Fact {
    Fact::Started(Box::new(Start {
        definition: String::new(),
        dialect: String::new(),
        task: Text::from("Rehearsal."),
        seed,
        interactive: false,
        rehearsal: true,
        // Waiting costs nothing here.
        patience: Millis(u64::MAX),
        directory: String::new(),
        head: None,
        uncommitted: Vec::new(),
        report_directory: String::new(),
        subject: BTreeMap::new(),
        delivery: None::<Json>,
        texts: Vec::new(),
        workflow: String::new(),
        version: String::new(),
        forked_from: None,
        origin: RunOrigin::default(),
    }))
}

fn failed(call: CallId, failure: Failure) -> Fact {
    Fact::Failed(Box::new(CallFailed::new(call, failure)))
}

/// Joins the texts of a draft. This is close enough to the real prompt to detect an echo.
fn text_of(draft: &Draft) -> String {
    let sections = draft.sections.iter().map(|section| {
        let parts = section.iter().map(|splice| match splice {
            Splice::Text(text, _) => inline(text),
            Splice::ReportFile { .. }
            | Splice::ReportDirectory
            | Splice::WorkingDirectory
            | Splice::Changes(_) => String::new(),
        });
        parts.collect::<String>()
    });
    sections.collect::<Vec<_>>().join("\n\n")
}

fn inline(text: &Text) -> String {
    match text {
        Text::Inline(text) => text.to_string(),
        Text::Blob { .. } => String::new(),
    }
}

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
pub(crate) fn fault_runs(workflow: &Workflow, map: &RouteMap, seed: u64, most: usize) -> Vec<Rehearsed> {
    let mut chance = Chance(seed);
    let mut runs = Vec::new();
    for _ in 0..RUNS.min(most) {
        let mut chance = Chance(chance.next());
        let pilot = Pilot::towards(workflow, map, chance.some_of(&map.ways));
        let mut troubled = FaultyCast { pilot, chance };
        runs.push(play(workflow, seed, &mut troubled).into());
    }
    runs
}

struct FaultyCast<'a> {
    pilot: Pilot<'a>,
    chance: Chance,
}

impl Cast for FaultyCast<'_> {
    fn reply(
        &mut self,
        run: &Run,
        request: &Request,
        place: RoundPosition,
    ) -> Result<RehearsedReply, ScriptFailure> {
        let speech = self.pilot.reply(run, request, place)?;
        // A program has an exit code, and the pilot already tries each of them.
        if request.program.is_some() {
            return Ok(speech);
        }
        let percent = self.chance.below(100);
        if percent < FAILS {
            return Err(self.chance.failure());
        }
        Ok(match percent - FAILS {
            0..GARBAGE => RehearsedReply {
                text: (*self.chance.one_of(&NONSENSE)).to_owned(),
                ..RehearsedReply::default()
            },
            GARBAGE..CLEAN => RehearsedReply {
                text: "I have thought about it and cannot say.".to_owned(),
                ..RehearsedReply::default()
            },
            _ => speech,
        })
    }

    fn answer(&mut self, run: &Run, gate: &OpenGate) -> Label {
        self.pilot.answer(run, gate)
    }

    fn perform(&mut self, run: &Run, performance: &Performance, place: RoundPosition) -> Option<Label> {
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
    fn some_of(&mut self, ways: &[(StageId, ExitPath)]) -> Vec<(StageId, ExitPath)> {
        let mut left: Vec<_> = ways.iter().filter(|(_, way)| *way != ExitPath::NoMatch).cloned().collect();
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
