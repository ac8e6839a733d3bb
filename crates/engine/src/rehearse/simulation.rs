//! Simulates a run without I/O: the engine, a source of answers, and a clock that only jumps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{Run, Slot};
use saihai_judge::Said;
use saihai_model::{
    Answer, AnsweredBy, CallFailed, CallId, Decision, Draft, Effect, Event, Fact, Failure, FailureClass,
    GateMode, Json, Label, Millis, Moment, OpenGate, Outcome, Performance, Place, Replied, Request,
    ScriptFailure, ScriptReply, ScriptTarget, Splice, StageId, Start, Text, Usage, Visits, Workflow,
};

use super::report::End;
use super::speech::Speech;

pub(super) trait Cast {
    /// Returns the reply to a request, or its failure.
    fn reply(&mut self, run: &Run, request: &Request, place: Place) -> Result<Speech, ScriptFailure>;
    /// Returns the answer at a gate.
    fn answer(&mut self, run: &Run, gate: &OpenGate) -> Label;
    /// Returns the label of an action.
    fn perform(&mut self, run: &Run, performance: &Performance, place: Place) -> Option<Label>;
    /// Observes the engine's decision about a stage.
    fn decided(&mut self, decision: &Decision);
}

/// Result of a simulated run.
#[derive(Debug, Clone)]
pub(super) struct Played {
    pub(super) replies: Vec<ScriptReply>,
    pub(super) answers: Vec<(StageId, Label)>,
    pub(super) results: Vec<(StageId, Option<Label>)>,
    pub(super) decisions: Vec<Decision>,
    pub(super) end: End,
}

/// Maximum facts and rounds of one run, so that a workflow without limits ends too.
const MOST_FACTS: usize = 200_000;
const MOST_ROUNDS: u32 = 1_000;

/// Plays a run to its end.
pub(super) fn play(workflow: &Workflow, seed: u64, cast: &mut impl Cast) -> Played {
    let mut simulation = Simulation {
        workflow,
        cast,
        run: Run::new(),
        now: Moment(0),
        wakes: BTreeSet::new(),
        facts: VecDeque::from([started(seed)]),
        played: Played {
            replies: Vec::new(),
            answers: Vec::new(),
            results: Vec::new(),
            decisions: Vec::new(),
            end: End::Endless,
        },
    };
    for _ in 0..MOST_FACTS {
        if simulation.run.iteration() > MOST_ROUNDS || !simulation.step() {
            break;
        }
    }
    let run = &simulation.run;
    simulation.played.end = match (run.ending(), run.hold()) {
        (Some(ending), _) => End::Ended(ending.clone()),
        (None, Some(hold)) => End::Held(hold.clone()),
        (None, None) => End::Endless,
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
    played: Played,
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
                let place = place_of(&self.run, &performance.call).unwrap_or(Place::Main(0));
                let label = self.cast.perform(&self.run, &performance, place);
                self.played.results.push((performance.call.stage.clone(), label.clone()));
                let outcome = Outcome::Done { label, output: BTreeMap::new() };
                self.facts.push_back(Fact::Performed { call: performance.call, outcome });
            }
            Effect::OpenGate(gate) => {
                let label = self.cast.answer(&self.run, &gate);
                self.played.answers.push((gate.call.stage.clone(), label.clone()));
                let text = (label.as_str() == "answered").then(|| "Rehearsed answer.".to_owned());
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

    fn replied(&self, request: &Request, prompt: &str, speech: Speech) -> Fact {
        let said = Said { text: &speech.text, structured: speech.structured.as_ref() };
        let wanted = self.workflow.wanted(&request.call.stage, request.place);
        let reading = wanted.map(|wanted| saihai_judge::read(wanted, prompt, said)).unwrap_or_default();
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
            reading,
        }))
    }
}

/// Returns the place of a running call.
fn place_of(run: &Run, call: &CallId) -> Option<Place> {
    let slots = &run.visit()?.round.slots;
    slots.iter().find_map(|(place, slot)| match slot {
        Slot::Busy(busy) if busy.id == *call => Some(*place),
        Slot::Busy(_) | Slot::Waiting { .. } | Slot::Open { .. } | Slot::Done(_) => None,
    })
}

/// Converts a reply into script form.
fn scripted(workflow: &Workflow, request: &Request, said: &Result<Speech, ScriptFailure>) -> ScriptReply {
    let judge = matches!(request.place, Place::Check(_) | Place::Exit);
    let several = workflow.stage(&request.call.stage).is_some_and(|stage| stage.turns().len() > 1);
    // Questions come in the order of the turns, so the stage alone identifies them.
    let turn = request.turn.clone().filter(|_| several && !judge);
    let (text, structured, fail) = match said {
        Ok(speech) => (Some(speech.text.clone()), speech.structured.clone(), None),
        Err(fail) => (None, None, Some(fail.clone())),
    };
    ScriptReply {
        origin: "generated".to_owned(),
        target: Some(ScriptTarget { stage: request.call.stage.clone(), turn, judge }),
        visits: Some(Visits::These(vec![request.call.visit])),
        text,
        structured,
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
        report_directory: String::new(),
        subject: BTreeMap::new(),
        delivery: None::<Json>,
        texts: Vec::new(),
        workflow: String::new(),
        version: String::new(),
        forked_from: None,
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
        Text::Inline(text) => text.clone(),
        Text::Blob { .. } => String::new(),
    }
}
