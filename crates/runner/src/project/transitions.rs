//! Why each stage was left as it was.

use saihai_model::{
    AnsweredBy, By, CallId, Destination, Label, Moment, Record, StageId, Text, Topic, TurnId,
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
    /// What it rests on.
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
    },
    /// A published event.
    Published {
        /// Its topic.
        topic: Topic,
        /// The line of the reply, from 1.
        line: u32,
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
#[derive(Debug, Default)]
pub struct Transitions {
    told: Vec<Transition>,
}

impl Transitions {
    /// Takes one record in.
    pub fn see(&mut self, _record: &Record) {}

    /// All transitions, in order.
    pub fn finish(self) -> Vec<Transition> {
        self.told
    }
}
