//! A run: the fold over its facts.

use std::collections::BTreeMap;

use saihai_model::{
    CallId, Cost, Decision, Effect, Ending, Event, Fact, Hold, Limits, Millis, Moment, ProviderName,
    SessionKey, Workflow,
};
use serde::{Deserialize, Serialize};

use crate::{Carry, Counts, Done, Ledger, Slot, Visit};

/// The state of a run. Its size depends on the workflow, not on how long the run has been going.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub(crate) phase: Phase,
    pub(crate) hold: Option<Hold>,
    /// The hold that stands recorded as `Parked`.
    pub(crate) announced: Option<Hold>,
    pub(crate) now: Moment,
    pub(crate) seed: u64,
    pub(crate) patience: Millis,
    pub(crate) limits: Limits,
    /// How long the run has been driven: the time between facts while it was not parked.
    pub(crate) driven: Millis,
    /// The wake-up last asked for.
    pub(crate) wake: Option<Moment>,
    pub(crate) counts: Counts,
    pub(crate) carry: Carry,
    pub(crate) sessions: BTreeMap<SessionKey, (ProviderName, String)>,
    pub(crate) ledger: Ledger,
    pub(crate) visit: Option<Visit>,
    /// The definition is complete and what comes afterwards is under way.
    pub(crate) delivering: bool,
    /// SHA-256 of the last saved version of each report.
    pub(crate) reports: BTreeMap<String, String>,
}

/// Where a run is in its life.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Created,
    /// It has begun and not ended; it may be held.
    Running,
    Stopped(Ending),
}

impl Run {
    /// A run to which nothing has happened.
    pub fn new() -> Self {
        Self::default()
    }

    /// Folds one fact into the run and says what must now be done, decisions first.
    #[must_use]
    pub fn apply(&mut self, workflow: &Workflow, event: &Event) -> Vec<Effect> {
        let mut out = Vec::new();
        match (&self.phase, &event.fact) {
            (Phase::Created, Fact::Started(start)) => self.begin(workflow, event.at, start, &mut out),
            (Phase::Running, _) => {
                self.pass_time(event);
                self.take(workflow, &event.fact, &mut out);
            }
            // Nothing precedes the start, and late news about a finished run changes nothing.
            (Phase::Created | Phase::Stopped(_), _) => return out,
        }
        self.advance(workflow, &mut out);
        out
    }

    /// How the run ended, if it did.
    pub fn ending(&self) -> Option<&Ending> {
        match &self.phase {
            Phase::Stopped(ending) => Some(ending),
            Phase::Created | Phase::Running => None,
        }
    }

    /// Why the run does not go on, if it is held.
    pub fn hold(&self) -> Option<&Hold> {
        self.hold.as_ref()
    }

    /// Where the run is in its life.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Held, with nothing under way: the process may end.
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

    /// The gate that waits for a person.
    pub fn open_gate(&self) -> Option<&CallId> {
        match &self.hold {
            Some(Hold::Person(call)) => Some(call),
            Some(
                Hold::Outside(..)
                | Hold::Until(..)
                | Hold::Provider(..)
                | Hold::Limit(_)
                | Hold::Budget
                | Hold::Storage(_)
                | Hold::Interrupted
                | Hold::Cancelling,
            )
            | None => None,
        }
    }

    /// When the time to answer the gate that waits is over, where it has one.
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

    /// What passes from round to round.
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

    /// How long the run has been driven.
    pub fn driven(&self) -> Millis {
        self.driven
    }

    /// The time of the last fact.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// The sessions that a call to come may continue.
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

    /// The reply that a call under way asks to correct.
    pub fn corrected(&self, id: &CallId) -> Option<&Done> {
        match self.visit.as_ref()?.round.call(id)? {
            (_, Slot::Busy(call) | Slot::Waiting { call, .. } | Slot::Open { call, .. }) => {
                call.first.as_deref()
            }
            (_, Slot::Done(_)) => None,
        }
    }

    /// SHA-256 of the last saved version of each report, by file.
    pub fn reports(&self) -> &BTreeMap<String, String> {
        &self.reports
    }

    /// Only a stronger hold replaces a hold.
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

    /// Time only goes forward. It counts as driven unless nothing was being done, or nobody was there to do it.
    fn pass_time(&mut self, event: &Event) {
        let taken_over = matches!(event.fact, Fact::Reopened | Fact::Resumed(_));
        let active = !self.is_parked() && !taken_over;
        let before = self.now;
        self.now = self.now.max(event.at);
        if active {
            self.driven = Millis(self.driven.0.saturating_add(self.now.since(before).0));
        }
        if self.wake.is_some_and(|wake| wake <= self.now) {
            self.wake = None;
        }
    }
}
