//! A run: the fold over its facts, its position, its counters and its costs.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{
    Budget, CallId, Cost, Decision, Effect, Ending, Event, Fact, Failure, FailureClass, Hold, Json, Label,
    Limits, Millis, Moment, ProviderName, Purpose, Reading, RoundPosition, SessionKey, StageId,
    StallEvidence, Text, Topic, TreeFact, Usd, Workflow,
};
use serde::{Deserialize, Serialize};

use crate::draft::Carry;
use crate::notes::{NumberedNote, PersonNotes};
use crate::progress::CycleProgress;

/// State of a run. Its size depends on the workflow, not on the run's duration.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub(crate) phase: Phase,
    pub(crate) hold: Option<Hold>,
    /// Hold that the journal records as `Parked`.
    pub(crate) announced: Option<Hold>,
    pub(crate) now: Moment,
    pub(crate) seed: u64,
    pub(crate) patience: Millis,
    pub(crate) limits: Limits,
    /// Active time of the run: the time between facts while it was not parked.
    pub(crate) driven: Millis,
    pub(crate) wake: Option<Moment>,
    pub(crate) counts: Counts,
    pub(crate) carry: Carry,
    /// Notes of a person that no prompt has shown yet.
    #[serde(default)]
    pub(crate) notes: PersonNotes,
    pub(crate) sessions: BTreeMap<SessionKey, (ProviderName, String)>,
    pub(crate) ledger: Ledger,
    pub(crate) visit: Option<Visit>,
    /// True once the definition is complete and the delivery steps run.
    pub(crate) delivering: bool,
    /// Windows of breakers, by index in the workflow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) progress: BTreeMap<usize, CycleProgress>,
    /// SHA-256 of the last saved version of each report.
    pub(crate) reports: BTreeMap<String, String>,
}

/// Lifecycle phase of a run.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Created,
    /// Started and not ended; it may be held.
    Running,
    Stopped(Ending),
}

impl Run {
    /// Creates a run without facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Folds one fact into the run and returns the effects to execute, decisions first.
    #[must_use]
    pub fn apply(&mut self, workflow: &Workflow, event: &Event) -> Vec<Effect> {
        self.fold(workflow, event.at, &event.fact)
    }

    pub(crate) fn fold(&mut self, workflow: &Workflow, at: Moment, fact: &Fact) -> Vec<Effect> {
        let mut out = Vec::new();
        match (&self.phase, fact) {
            (Phase::Created, Fact::Started(start)) => self.begin(workflow, at, start, &mut out),
            // For screens only. It must not end a wait of a parked run either.
            (Phase::Running, Fact::FilesCounted(_)) => return out,
            (Phase::Running, _) => {
                self.pass_time(at, fact);
                self.take(workflow, fact, &mut out);
            }
            // No fact precedes the start, and late facts about a finished run change nothing.
            (Phase::Created | Phase::Stopped(_), _) => return out,
        }
        self.advance(workflow, &mut out);
        out
    }

    /// Returns the ending of the run, if it has ended.
    pub fn ending(&self) -> Option<&Ending> {
        match &self.phase {
            Phase::Stopped(ending) => Some(ending),
            Phase::Created | Phase::Running => None,
        }
    }

    /// Returns the reason for the hold, if the run is held.
    pub fn hold(&self) -> Option<&Hold> {
        self.hold.as_ref()
    }

    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Returns true if the run is held and no call is running, so that the process may exit.
    pub fn is_parked(&self) -> bool {
        self.phase == Phase::Running && self.hold.is_some() && self.busy().next().is_none()
    }

    pub fn busy(&self) -> impl Iterator<Item = &CallId> {
        let slots = self.visit.iter().flat_map(|visit| &visit.round.slots);
        slots.filter_map(|(_, slot)| match slot {
            Slot::Busy(call) => Some(&call.id),
            Slot::Waiting { .. } | Slot::Open { .. } | Slot::Done(_) => None,
        })
    }

    /// Returns the gate that waits for a person.
    pub fn open_gate(&self) -> Option<&CallId> {
        match &self.hold {
            Some(Hold::Person(call)) => Some(call),
            Some(
                Hold::Outside(..)
                | Hold::Until(..)
                | Hold::Provider(..)
                | Hold::Limit(_)
                | Hold::Budget
                | Hold::NoProgress(_)
                | Hold::Storage(_)
                | Hold::Interrupted
                | Hold::Cancelling,
            )
            | None => None,
        }
    }

    /// Returns the time limit of the open gate, if it has one.
    pub fn gate_closes(&self) -> Option<Moment> {
        let gate = self.open_gate()?;
        match self.visit.as_ref()?.round.call(gate)? {
            (_, Slot::Open { until, .. }) => *until,
            (_, Slot::Busy(_) | Slot::Waiting { .. } | Slot::Done(_)) => None,
        }
    }

    pub fn visit(&self) -> Option<&Visit> {
        self.visit.as_ref()
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub fn carry(&self) -> &Carry {
        &self.carry
    }

    pub fn iteration(&self) -> u32 {
        self.counts.iteration
    }

    pub fn spent(&self) -> Cost {
        self.ledger.spent
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the active time of the run.
    pub fn driven(&self) -> Millis {
        self.driven
    }

    /// Returns the time of the last fact.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Returns the sessions that a later call may continue.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        let kept = self.sessions.values().map(|(_, session)| session.as_str());
        let slots = self.visit.iter().flat_map(|visit| &visit.round.slots);
        let said = slots.filter_map(|(_, slot)| match slot {
            Slot::Busy(call) | Slot::Waiting { call, .. } | Slot::Open { call, .. } => {
                call.first.as_ref().and_then(|first| first.session.as_deref())
            }
            Slot::Done(done) => done.session.as_deref(),
        });
        kept.chain(said)
    }

    /// Returns the reply that a running call asks to correct.
    pub fn corrected(&self, id: &CallId) -> Option<&CallResult> {
        match self.visit.as_ref()?.round.call(id)? {
            (_, Slot::Busy(call) | Slot::Waiting { call, .. } | Slot::Open { call, .. }) => {
                call.first.as_deref()
            }
            (_, Slot::Done(_)) => None,
        }
    }

    /// Returns the SHA-256 of the last saved version of each report, by file.
    pub fn reports(&self) -> &BTreeMap<String, String> {
        &self.reports
    }

    /// Sets a hold. Only a stronger hold replaces an existing one.
    pub(crate) fn set_hold(&mut self, hold: Hold) {
        if self.hold.as_ref().is_none_or(|present| hold.strength() > present.strength()) {
            self.hold = Some(hold);
        }
    }

    pub(crate) fn finish(&mut self, ending: Ending, out: &mut Vec<Effect>) {
        out.push(Effect::Record(Decision::Finished { ending: ending.clone() }));
        self.phase = Phase::Stopped(ending);
        self.hold = None;
        self.announced = None;
        self.visit = None;
        self.wake = None;
    }

    /// Advances the clock, which never goes back. The time counts as active unless the run was idle or had no process.
    fn pass_time(&mut self, at: Moment, fact: &Fact) {
        let taken_over = matches!(fact, Fact::Reopened | Fact::Resumed(_));
        let active = !self.is_parked() && !taken_over;
        let before = self.now;
        self.now = self.now.max(at);
        if active {
            self.driven = Millis(self.driven.0.saturating_add(self.now.since(before).0));
        }
        if self.wake.is_some_and(|wake| wake <= self.now) {
            self.wake = None;
        }
    }
}

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
    /// Notes of a person that the prompts of this round show.
    #[serde(default)]
    pub notes: Vec<NumberedNote>,
    /// Evidence against the cycle that the editing prompts of this round show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nudge: Option<Box<StallEvidence>>,
    /// Contents of each place, in the order in which the places were filled.
    pub slots: Vec<(RoundPosition, Slot)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slot {
    Busy(CallState),
    /// A call to start, not before this time.
    Waiting {
        call: CallState,
        until: Option<Moment>,
    },
    Open {
        call: CallState,
        until: Option<Moment>,
    },
    Done(Box<CallResult>),
}

/// A call and its attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallState {
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
    /// True if it was stopped so that its prompt can show a new note.
    #[serde(default)]
    pub stopped_for_note: bool,
    pub first: Option<Box<CallResult>>,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
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
    /// Files after the turn, if a breaker compares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeFact>,
    pub output: BTreeMap<String, Json>,
    /// Names of the tools it used, in order; at most [`CallResult::TOOLS`].
    pub tools: Vec<String>,
}

impl CallResult {
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
        Self {
            number,
            counted: false,
            watched: false,
            calls: 0,
            notes: Vec::new(),
            nudge: None,
            slots: Vec::new(),
        }
    }

    pub fn slot(&self, place: RoundPosition) -> Option<&Slot> {
        self.slots.iter().find(|(at, _)| *at == place).map(|(_, slot)| slot)
    }

    pub(crate) fn slot_mut(&mut self, place: RoundPosition) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|(at, _)| *at == place).map(|(_, slot)| slot)
    }

    /// Returns the result of a place, once it is done.
    pub fn done(&self, place: RoundPosition) -> Option<&CallResult> {
        match self.slot(place)? {
            Slot::Done(done) => Some(done),
            Slot::Busy(_) | Slot::Waiting { .. } | Slot::Open { .. } => None,
        }
    }

    /// Returns true if a place of this kind holds an unfinished slot.
    pub fn pending(&self, kind: impl Fn(RoundPosition) -> bool) -> bool {
        self.slots.iter().any(|(place, slot)| kind(*place) && !matches!(slot, Slot::Done(_)))
    }

    pub(crate) fn put(&mut self, place: RoundPosition, slot: Slot) {
        match self.slots.iter_mut().find(|(at, _)| *at == place) {
            Some((_, present)) => *present = slot,
            None => self.slots.push((place, slot)),
        }
    }

    /// Finds an unfinished call and its place by the call's id.
    pub(crate) fn call(&self, id: &CallId) -> Option<(RoundPosition, &Slot)> {
        self.slots.iter().find_map(|(place, slot)| match slot {
            Slot::Busy(call) | Slot::Waiting { call, .. } | Slot::Open { call, .. } if call.id == *id => {
                Some((*place, slot))
            }
            Slot::Busy(_) | Slot::Waiting { .. } | Slot::Open { .. } | Slot::Done(_) => None,
        })
    }
}

impl CallState {
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
            stopped_for_note: false,
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

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    pub iteration: u32,
    pub turns: u64,
    /// Visits by stage; never reset.
    pub visits: BTreeMap<StageId, u32>,
    /// Visits by stage before its group was entered last. The visits that prompts show start there.
    #[serde(default)]
    pub before_group: BTreeMap<StageId, u32>,
    /// Visits by stage that count towards a visit limit.
    pub activations: BTreeMap<StageId, u32>,
    /// Stages that have already used their substitute.
    pub substituted: BTreeSet<StageId>,
    /// Last stage of the flow. `consecutive` counts its entries in a row.
    pub last: Option<StageId>,
    pub consecutive: u32,
    /// Most recent stages, as many as the longest watched cycle has.
    pub history: Vec<StageId>,
    pub checks: u32,
    /// Rounds in a row that published nothing.
    pub silent: u32,
    /// Last published topic and message, with the number of repeats in a row.
    pub same: Option<(String, u32)>,
    /// Published topics that some closing word requires.
    pub published: BTreeSet<Topic>,
    /// Number of times each leaf of the completion was met, keyed by its number in reading order.
    pub met: BTreeMap<String, u32>,
    /// Reason that each leaf of the completion gave, keyed by the same number.
    pub reasons: BTreeMap<String, String>,
    /// Current phase of the completion; none before the first step.
    pub phase: Option<String>,
    /// True if the last block of a kind matched a phase step that remembers it, keyed by the step's number.
    #[serde(default)]
    pub remembered: BTreeMap<String, bool>,
    /// True once the outside conditions were checked before the first round.
    pub looked: bool,
    pub signals: BTreeMap<String, u32>,
    /// Stages entered in a row that asked no agent.
    pub chain: u32,
}

impl Counts {
    /// Increments a stage's count and returns the new count.
    pub(crate) fn add(map: &mut BTreeMap<StageId, u32>, stage: &StageId) -> u32 {
        let count = map.entry(stage.clone()).or_insert(0);
        *count = count.saturating_add(1);
        *count
    }

    /// Returns the number of visits of a stage so far.
    pub fn visits_of(&self, stage: &StageId) -> u32 {
        self.visits.get(stage).copied().unwrap_or(0)
    }
}

/// Total cost of a run, and its most expensive call with each provider and model.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Settled cost, including failed attempts.
    pub spent: Cost,
    /// Most expensive settled call by provider and model.
    pub dearest: Vec<(ProviderName, Option<String>, Cost)>,
}

impl Ledger {
    /// Returns the amount to reserve for a call: the most expensive call so far, else the price of a turn.
    pub(crate) fn estimate(&self, provider: &ProviderName, model: Option<&str>, price: Option<Usd>) -> Cost {
        let known = self.dearest.iter().find(|(name, of, _)| name == provider && of.as_deref() == model);
        match known {
            Some((_, _, cost)) => Cost { turns: 1, ..*cost },
            None => Cost { usd: price.unwrap_or_default(), tokens: 0, turns: 1 },
        }
    }

    /// Returns true if a call fits into the budget next to the running calls. Once the budget is spent, no call fits,
    /// even one of unknown cost.
    pub(crate) fn fits(&self, budget: &Budget, reserved: Cost, next: Cost, driven: Millis) -> bool {
        let taken = self.spent.plus(reserved);
        budget.usd.is_none_or(|most| taken.usd < most)
            && budget.tokens.is_none_or(|most| taken.tokens < most)
            && budget.allows(taken.plus(next), driven)
    }

    /// Returns the money left in a budget after the reservations of running calls.
    pub(crate) fn money_left(&self, budget: &Budget, reserved: Cost) -> Option<Usd> {
        let taken = self.spent.plus(reserved).usd;
        budget.usd.map(|most| Usd(most.0.saturating_sub(taken.0)))
    }

    /// Adds the cost of a call.
    pub(crate) fn settle(&mut self, provider: &ProviderName, model: Option<&str>, cost: Cost) {
        self.spent = self.spent.plus(cost);
        match self.dearest.iter_mut().find(|(name, of, _)| name == provider && of.as_deref() == model) {
            Some((_, _, dearest)) => {
                dearest.usd = dearest.usd.max(cost.usd);
                dearest.tokens = dearest.tokens.max(cost.tokens);
            }
            None => self.dearest.push((provider.clone(), model.map(str::to_owned), cost)),
        }
    }
}
