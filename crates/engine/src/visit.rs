//! Where a run stands: the visit under way, its round, and what each place of the round holds.

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
    /// Which visit of it, from 1.
    pub number: u32,
    /// How often the exit has already said "again".
    pub agains: u32,
    /// How often what a turn said was refuted.
    #[serde(default)]
    pub refutations: u32,
    pub round: Round,
}

/// A round of a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub number: u32,
    /// It has cost its iteration.
    pub counted: bool,
    /// The monitors have looked at it.
    pub watched: bool,
    pub calls: u32,
    /// What each place holds, in the order the places were filled.
    pub slots: Vec<(Place, Slot)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    /// A call is under way.
    Busy(Call),
    /// A call is to be made, not before this time.
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
    /// Why an agent is asked; gates and actions have none.
    pub purpose: Option<Purpose>,
    pub attempt: u32,
    /// Failures by class, since the provider was last changed.
    pub failures: Vec<(FailureClass, u32)>,
    pub corrections: u32,
    /// The prompt as it was sent.
    pub prompt: Option<Text>,
    /// Who answers instead of the turn's own provider.
    pub provider: Option<ProviderName>,
    /// Providers that have already been given up.
    pub tried: Vec<ProviderName>,
    /// The session it had is lost.
    pub new_session: bool,
    pub last_failure: Option<FailureClass>,
    /// What is set aside for it while it is under way.
    pub reserved: Cost,
    /// When it was first made.
    pub since: Option<Moment>,
    /// The process that made it has died.
    pub repeat: bool,
    /// The reply that is being corrected.
    pub first: Option<Box<Done>>,
}

/// What came of a place.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// What an action, a gate or a question says.
    pub label: Option<Label>,
    /// The reply, as it is carried on.
    pub text: Option<Text>,
    /// The reply's own final text, which reports are cut from.
    pub reply: Option<Text>,
    /// What was found in it.
    pub reading: Reading,
    /// The session it can be continued in.
    pub session: Option<String>,
    /// Who answered, where it was not the turn's own provider.
    pub provider: Option<ProviderName>,
    pub failure: Option<Failure>,
    pub output: BTreeMap<String, Json>,
    /// The names of the tools it used, in order; at most [`Done::TOOLS`].
    pub tools: Vec<String>,
}

impl Done {
    /// The most names of tools that are kept.
    pub const TOOLS: usize = 500;
}

impl Visit {
    /// A visit about to make its first round.
    pub fn new(stage: StageId, number: u32) -> Self {
        Self { stage, number, agains: 0, refutations: 0, round: Round::new(1) }
    }
}

impl Round {
    /// A round in which nothing has happened.
    pub fn new(number: u32) -> Self {
        Self { number, counted: false, watched: false, calls: 0, slots: Vec::new() }
    }

    pub fn slot(&self, place: Place) -> Option<&Slot> {
        self.slots.iter().find(|(at, _)| *at == place).map(|(_, slot)| slot)
    }

    pub(crate) fn slot_mut(&mut self, place: Place) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|(at, _)| *at == place).map(|(_, slot)| slot)
    }

    /// What came of a place, once it is done.
    pub fn done(&self, place: Place) -> Option<&Done> {
        match self.slot(place)? {
            Slot::Done(done) => Some(done),
            Slot::Busy(_) | Slot::Waiting { .. } | Slot::Open { .. } => None,
        }
    }

    /// Whether some place of this kind holds something not done.
    pub fn pending(&self, kind: impl Fn(Place) -> bool) -> bool {
        self.slots.iter().any(|(place, slot)| kind(*place) && !matches!(slot, Slot::Done(_)))
    }

    pub(crate) fn put(&mut self, place: Place, slot: Slot) {
        match self.slots.iter_mut().find(|(at, _)| *at == place) {
            Some((_, present)) => *present = slot,
            None => self.slots.push((place, slot)),
        }
    }

    /// Takes a call that is not done out of its place, by its id.
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

    /// What is corrected is not corrected in the session in which it was said.
    pub(crate) fn forget_first(&mut self) {
        if let Some(first) = &mut self.first {
            first.session = None;
        }
    }

    /// Counts a failure and says how many of its class there have been, or of all that are tried again at once.
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
