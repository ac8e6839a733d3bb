//! Why each stage was left as it was.

use std::collections::BTreeMap;

use saihai_judge::Answered;
use saihai_model::{
    AnsweredBy, By, CallId, Decision, Destination, Entry, Fact, Json, Label, Moment, Outcome, Place, Reading,
    Record, Remark, Replied, StageId, Text, Topic, TurnId, Verdict, Wanted, Watch, Workflow,
};

/// One stage left, and why so.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// The number of the event.
    pub seq: u64,
    /// When.
    pub at: Moment,
    /// The stage.
    pub stage: StageId,
    /// Its visit.
    pub visit: u32,
    /// The round of the visit.
    pub round: u32,
    /// The iteration of the run.
    pub iteration: u32,
    /// How often in a row the stage was entered.
    pub consecutive: u32,
    /// By which method it was decided.
    pub by: By,
    /// Which rule, from 0.
    pub rule: Option<usize>,
    /// Which topic.
    pub topic: Option<Topic>,
    /// Each turn's label, in order.
    pub labels: Vec<Option<Label>>,
    /// Where it led.
    pub to: Destination,
    /// What it rests on, turn by turn, then the exit's own question, then what overrode them.
    pub evidence: Vec<Evidence>,
}

/// What a transition rests on.
#[derive(Debug, Clone, PartialEq)]
pub enum Evidence {
    /// A status tag of a reply.
    Tag {
        /// Of which turn.
        turn: Option<TurnId>,
        /// Its number; `None` is the tag for "none of these".
        number: Option<usize>,
        /// The line of the reply, from 1.
        line: u32,
    },
    /// A status tag in code or a quotation, which names another rule and does not count.
    QuotedTag {
        /// Of which turn.
        turn: Option<TurnId>,
        /// Its number; `None` is the tag for "none of these".
        number: Option<usize>,
        /// The line of the reply, from 1.
        line: u32,
    },
    /// A question and its answer.
    Question {
        /// Which call.
        call: CallId,
        /// About which turn; absent for the question of the exit.
        turn: Option<TurnId>,
        /// What was asked.
        question: Text,
        /// What was answered.
        answer: Text,
        /// The tag in it.
        number: Option<usize>,
        /// The value in it, where a form was asked for.
        value: Option<Json>,
        /// It could not be understood, and counts as what its question says for that.
        unreadable: bool,
    },
    /// What is wrong with an output.
    WrongOutput {
        /// All of it, in words.
        violations: Vec<String>,
    },
    /// A published event.
    Published {
        /// Its topic.
        topic: Topic,
        /// The line of the reply, from 1.
        line: u32,
        /// What was said with it.
        message: Option<String>,
        /// Whether it is the one that leads on.
        leads: bool,
    },
    /// A closing word.
    EndWord {
        /// The word.
        word: String,
    },
    /// What a closing word still lacked.
    Refused {
        /// Topics not published yet.
        missing: Vec<Topic>,
    },
    /// A published topic did not go the way its definition foresees.
    Remarked {
        /// Which.
        topic: Topic,
        /// What is remarkable about it.
        remark: Remark,
    },
    /// What looked like a directive and was none.
    NearMiss {
        /// What, and why not.
        what: String,
    },
    /// A person's answer.
    Answer {
        /// By whom.
        by: AnsweredBy,
        /// What.
        label: Label,
        /// What was said with it.
        text: Option<String>,
    },
    /// A proof of what was said.
    Proof {
        /// Its name.
        name: String,
        /// Whether it holds.
        holds: bool,
        /// What was found.
        found: Option<String>,
    },
    /// A monitor.
    Monitor {
        /// Which, by its place in the definition.
        monitor: usize,
        /// The count that set it off.
        count: u32,
        /// The watched stages, where it watches a cycle.
        cycle: Vec<StageId>,
        /// What the exit would have gone by.
        overrode: Option<Label>,
    },
}

/// Folds records into transitions.
#[derive(Debug)]
pub struct Transitions<'w> {
    workflow: &'w Workflow,
    visit: u32,
    round: u32,
    iteration: u32,
    consecutive: u32,
    /// Where the result of each call of the round belongs.
    places: BTreeMap<CallId, Place>,
    /// What was last asked in each of them.
    prompts: BTreeMap<CallId, Text>,
    found: BTreeMap<Place, Vec<Evidence>>,
    alarms: Vec<Evidence>,
    told: Vec<Transition>,
}

impl<'w> Transitions<'w> {
    /// Nothing seen yet.
    pub fn new(workflow: &'w Workflow) -> Self {
        Self {
            workflow,
            visit: 0,
            round: 0,
            iteration: 0,
            consecutive: 0,
            places: BTreeMap::new(),
            prompts: BTreeMap::new(),
            found: BTreeMap::new(),
            alarms: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Takes one record in.
    pub fn see(&mut self, record: &Record) {
        match &record.entry {
            Entry::Fact(fact) => self.see_fact(fact),
            Entry::Decision(decision) => self.see_decision(record, decision),
        }
    }

    /// All transitions, in order.
    pub fn finish(self) -> Vec<Transition> {
        self.told
    }

    fn see_fact(&mut self, fact: &Fact) {
        match fact {
            Fact::Asked { call, prompt: Some(prompt), .. } => {
                self.prompts.insert(call.clone(), prompt.clone());
            }
            Fact::Replied(reply) => self.see_reply(reply),
            Fact::Answered(answer) => {
                let (by, label, text) = (answer.by, answer.label.clone(), answer.text.clone());
                self.found.insert(Place::Main(0), vec![Evidence::Answer { by, label, text }]);
            }
            Fact::Performed { call, outcome: Outcome::Done { label, output } } => {
                self.see_proof(call, label.as_ref(), output);
            }
            Fact::Asked { prompt: None, .. }
            | Fact::Started(_)
            | Fact::Failed(_)
            | Fact::Performed { .. }
            | Fact::Woke
            | Fact::Reopened
            | Fact::Resumed(_)
            | Fact::Interrupted { .. }
            | Fact::StorageFailed { .. }
            | Fact::Cancelled { .. } => {}
        }
    }

    fn see_proof(&mut self, call: &CallId, label: Option<&Label>, output: &BTreeMap<String, Json>) {
        let Some(place @ Place::Proof(index)) = self.places.get(call).copied() else { return };
        let proof = self.workflow.stage(&call.stage).and_then(|stage| stage.proofs().nth(index));
        let Some(proof) = proof else { return };
        let found = output.get("output").and_then(Json::as_str).filter(|found| !found.is_empty());
        let holds = label.is_some_and(|label| label.as_str() == "ok");
        let (name, found) = (proof.name.clone(), found.map(str::to_owned));
        self.found.insert(place, vec![Evidence::Proof { name, holds, found }]);
    }

    fn see_reply(&mut self, reply: &Replied) {
        let Some(place) = self.places.get(&reply.call).copied() else { return };
        let evidence = match place {
            Place::Main(index) => said(&reply.reading, self.turn(&reply.call.stage, index)),
            Place::Check(index) => self.question(reply, place, self.turn(&reply.call.stage, index)),
            Place::Exit => self.question(reply, place, None),
            Place::Report(_) | Place::Block(_) | Place::Proof(_) | Place::Outside(_) => Vec::new(),
        };
        self.found.insert(place, evidence);
    }

    fn is_unreadable(&self, reply: &Replied, place: Place) -> bool {
        match self.workflow.wanted(&reply.call.stage, place) {
            Some(Wanted::Answer(choice, question)) => {
                saihai_judge::answered(choice, question, &reply.reading) == Answered::Unreadable
            }
            Some(Wanted::Work(_)) | None => false,
        }
    }

    fn question(&self, reply: &Replied, place: Place, turn: Option<TurnId>) -> Vec<Evidence> {
        let question = self.prompts.get(&reply.call).cloned().unwrap_or_else(|| Text::Inline(String::new()));
        let quoted = quoted_tags(&reply.reading, turn.as_ref()).collect::<Vec<_>>();
        let question = Evidence::Question {
            call: reply.call.clone(),
            turn,
            question,
            answer: reply.text.clone(),
            number: reply.reading.tag.as_ref().and_then(|tag| tag.number),
            value: reply.reading.output.clone(),
            unreadable: self.is_unreadable(reply, place),
        };
        std::iter::once(question).chain(quoted).collect()
    }

    fn turn(&self, stage: &StageId, index: usize) -> Option<TurnId> {
        self.workflow.stage(stage)?.turns().get(index).map(|turn| turn.id.clone())
    }

    fn see_decision(&mut self, record: &Record, decision: &Decision) {
        match decision {
            Decision::Entered { visit, consecutive, .. } => {
                self.visit = *visit;
                self.consecutive = *consecutive;
                self.round = 1;
                self.forget();
            }
            Decision::Round { round, iteration } => {
                self.round = *round;
                self.iteration = *iteration;
            }
            Decision::Called { call, place, .. } => {
                self.places.insert(call.clone(), *place);
            }
            Decision::Alarm { monitor, count, overrode } => {
                let (monitor, count, overrode) = (*monitor, *count, overrode.clone());
                let cycle = self.cycle(monitor);
                let alarm = Evidence::Monitor { monitor, count, cycle, overrode };
                let of_exits = self.watches_exits(monitor);
                match self.told.last_mut() {
                    // What it has seen is how the stage was left.
                    Some(told) if of_exits => told.evidence.push(alarm),
                    Some(_) | None => self.alarms.push(alarm),
                }
            }
            Decision::Refused { missing } => {
                self.alarms.push(Evidence::Refused { missing: missing.clone() });
            }
            Decision::Remarked { topic, remark } => {
                self.alarms.push(Evidence::Remarked { topic: topic.clone(), remark: *remark });
            }
            Decision::Exited { stage, verdict } => self.leave(record, stage, verdict),
            Decision::Correct { .. }
            | Decision::Retry { .. }
            | Decision::Unfit { .. }
            | Decision::Repeated { .. }
            | Decision::Reports { .. }
            | Decision::Exhausted { .. }
            | Decision::Parked { .. }
            | Decision::Finished { .. } => {}
        }
    }

    fn leave(&mut self, record: &Record, stage: &StageId, verdict: &Verdict) {
        let found = std::mem::take(&mut self.found).into_values().flatten();
        // Elsewhere what is wrong with an output has led nowhere.
        let decides =
            |one: &Evidence| verdict.by == By::Output || !matches!(one, Evidence::WrongOutput { .. });
        let found = found.filter(decides);
        let mut evidence: Vec<Evidence> = found.chain(std::mem::take(&mut self.alarms)).collect();
        mark_leading(&mut evidence, verdict.topic.as_ref());
        self.told.push(Transition {
            seq: record.seq,
            at: record.at,
            stage: stage.clone(),
            visit: self.visit,
            round: self.round,
            iteration: self.iteration,
            consecutive: self.consecutive,
            by: verdict.by,
            rule: verdict.rule,
            topic: verdict.topic.clone(),
            labels: verdict.labels.clone(),
            to: verdict.to.clone(),
            evidence,
        });
        self.forget();
    }

    fn forget(&mut self) {
        self.places.clear();
        self.prompts.clear();
        self.found.clear();
    }

    fn watches_exits(&self, monitor: usize) -> bool {
        match self.workflow.monitors.get(monitor).map(|monitor| &monitor.watches) {
            Some(Watch::Silent { .. } | Watch::Same { .. }) => true,
            Some(Watch::Cycle { .. } | Watch::SelfEntries { .. }) | None => false,
        }
    }

    fn cycle(&self, monitor: usize) -> Vec<StageId> {
        match self.workflow.monitors.get(monitor).map(|monitor| &monitor.watches) {
            Some(Watch::Cycle { stages, .. }) => stages.clone(),
            Some(Watch::Silent { .. } | Watch::Same { .. } | Watch::SelfEntries { .. }) | None => Vec::new(),
        }
    }
}

/// Only the last event of a reply can lead on, and it does where the verdict went by it: not if it was out of scope, nor
/// beside a closing word that held.
fn mark_leading(evidence: &mut [Evidence], led: Option<&Topic>) {
    let last = evidence.iter_mut().rev().find_map(|one| match one {
        Evidence::Published { topic, leads, .. } => Some((topic, leads)),
        Evidence::Tag { .. }
        | Evidence::QuotedTag { .. }
        | Evidence::Question { .. }
        | Evidence::WrongOutput { .. }
        | Evidence::EndWord { .. }
        | Evidence::Refused { .. }
        | Evidence::Remarked { .. }
        | Evidence::NearMiss { .. }
        | Evidence::Answer { .. }
        | Evidence::Proof { .. }
        | Evidence::Monitor { .. } => None,
    });
    if let Some((topic, leads)) = last {
        *leads = led == Some(&*topic);
    }
}

/// What a reply to the work of a turn says about where to go.
fn said(reading: &Reading, turn: Option<TurnId>) -> Vec<Evidence> {
    let quoted = quoted_tags(reading, turn.as_ref()).collect::<Vec<_>>();
    let tag = reading.tag.as_ref().map(|tag| Evidence::Tag { turn, number: tag.number, line: tag.line });
    let events = reading.events.iter().map(|event| Evidence::Published {
        topic: event.topic.clone(),
        line: event.line,
        message: event.message.clone(),
        leads: false,
    });
    let word = reading.end_word.iter().map(|word| Evidence::EndWord { word: word.clone() });
    let misses = reading.near_misses.iter().map(|what| Evidence::NearMiss { what: what.clone() });
    let violations = reading.violations.clone();
    let wrong = (!violations.is_empty()).then_some(Evidence::WrongOutput { violations });
    tag.into_iter().chain(quoted).chain(events).chain(word).chain(misses).chain(wrong).collect()
}

fn quoted_tags(reading: &Reading, turn: Option<&TurnId>) -> impl Iterator<Item = Evidence> {
    let turn = turn.cloned();
    reading.quoted_tags.iter().map(move |tag| Evidence::QuotedTag {
        turn: turn.clone(),
        number: tag.number,
        line: tag.line,
    })
}
