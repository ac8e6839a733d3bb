//! Position of a run: the current visit, its round, and the contents of each place.

use std::collections::BTreeMap;

use saihai_model::{
    CallId, Cost, Failure, FailureClass, Json, Label, Moment, Place, ProviderName, Purpose, Reading, StageId,
    Text,
};
use serde::{Deserialize, Serialize};

/// A visit of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Visit {
    pub stage: StageId,
    /// Visit number of this stage, from 1.
    pub number: u32,
    /// Number of times the exit has said "again".
    pub agains: u32,
    #[serde(default)]
    pub refutations: u32,
    pub round: Round,
}

/// A round of a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub number: u32,
    /// True once the round has cost its iteration.
    pub counted: bool,
    /// True once the monitors have seen the round.
    pub watched: bool,
    pub calls: u32,
    /// Contents of each place, in the order in which the places were filled.
    pub slots: Vec<(Place, Slot)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    Busy(Call),
    /// A call to start, not before this time.
    Waiting {
        call: Call,
        until: Option<Moment>,
    },
    Open {
        call: Call,
        until: Option<Moment>,
    },
    Done(Box<Done>),
}

/// A call and its attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub id: CallId,
    /// Purpose of a call to an agent; none for gates and actions.
    pub purpose: Option<Purpose>,
    pub attempt: u32,
    /// Failures by class, since the last change of provider.
    pub failures: Vec<(FailureClass, u32)>,
    pub corrections: u32,
    pub prompt: Option<Text>,
    /// Provider that replaces the turn's own.
    pub provider: Option<ProviderName>,
    pub tried: Vec<ProviderName>,
    /// True if its session is lost.
    pub new_session: bool,
    pub last_failure: Option<FailureClass>,
    /// Amount reserved while the call runs.
    pub reserved: Cost,
    /// Time of the first attempt.
    pub since: Option<Moment>,
    /// True if the process that started the call has died.
    pub repeat: bool,
    pub first: Option<Box<Done>>,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Label from an action, a gate or a question.
    pub label: Option<Label>,
    /// Reply text as carried to later rounds.
    pub text: Option<Text>,
    /// Final text of the reply, the source of reports.
    pub reply: Option<Text>,
    pub reading: Reading,
    /// Session in which to continue.
    pub session: Option<String>,
    /// Provider that answered, if it is not the turn's own.
    pub provider: Option<ProviderName>,
    pub failure: Option<Failure>,
    pub output: BTreeMap<String, Json>,
    /// Names of the tools it used, in order; at most [`Done::TOOLS`].
    pub tools: Vec<String>,
}

impl Done {
    /// Maximum number of tool names to keep.
    pub const TOOLS: usize = 500;
}

impl Visit {
    /// Creates a visit before its first round.
    pub fn new(stage: StageId, number: u32) -> Self {
        Self { stage, number, agains: 0, refutations: 0, round: Round::new(1) }
    }
}

impl Round {
    pub fn new(number: u32) -> Self {
        Self { number, counted: false, watched: false, calls: 0, slots: Vec::new() }
    }

    pub fn slot(&self, place: Place) -> Option<&Slot> {
        self.slots.iter().find(|(at, _)| *at == place).map(|(_, slot)| slot)
    }

    pub(crate) fn slot_mut(&mut self, place: Place) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|(at, _)| *at == place).map(|(_, slot)| slot)
    }

    /// Returns the result of a place, once it is done.
    pub fn done(&self, place: Place) -> Option<&Done> {
        match self.slot(place)? {
            Slot::Done(done) => Some(done),
            Slot::Busy(_) | Slot::Waiting { .. } | Slot::Open { .. } => None,
        }
    }

    /// Returns true if a place of this kind holds an unfinished slot.
    pub fn pending(&self, kind: impl Fn(Place) -> bool) -> bool {
        self.slots.iter().any(|(place, slot)| kind(*place) && !matches!(slot, Slot::Done(_)))
    }

    pub(crate) fn put(&mut self, place: Place, slot: Slot) {
        match self.slots.iter_mut().find(|(at, _)| *at == place) {
            Some((_, present)) => *present = slot,
            None => self.slots.push((place, slot)),
        }
    }

    /// Finds an unfinished call and its place by the call's id.
    pub(crate) fn call(&self, id: &CallId) -> Option<(Place, &Slot)> {
        self.slots.iter().find_map(|(place, slot)| match slot {
            Slot::Busy(call) | Slot::Waiting { call, .. } | Slot::Open { call, .. } if call.id == *id => {
                Some((*place, slot))
            }
            Slot::Busy(_) | Slot::Waiting { .. } | Slot::Open { .. } | Slot::Done(_) => None,
        })
    }
}

impl Call {
    pub(crate) fn new(id: CallId, purpose: Option<Purpose>) -> Self {
        Self {
            id,
            purpose,
            attempt: 0,
            failures: Vec::new(),
            corrections: 0,
            prompt: None,
            provider: None,
            tried: Vec::new(),
            new_session: false,
            last_failure: None,
            reserved: Cost::default(),
            since: None,
            repeat: false,
            first: None,
        }
    }

    /// Drops the session of the reply to correct, so that the correction starts without it.
    pub(crate) fn forget_first(&mut self) {
        if let Some(first) = &mut self.first {
            first.session = None;
        }
    }

    /// Counts a failure. Returns the count of its class, or of all classes that are retried together.
    pub(crate) fn count(&mut self, class: FailureClass, together: bool) -> u32 {
        match self.failures.iter_mut().find(|(seen, _)| *seen == class) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.failures.push((class, 1)),
        }
        let retried = |class| matches!(class, FailureClass::Transient | FailureClass::Crashed);
        let counted = |seen| seen == class || (together && retried(seen) && retried(class));
        self.failures
            .iter()
            .filter(|(seen, _)| counted(*seen))
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}
