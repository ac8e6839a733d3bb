//! A run: the fold over its facts.

use std::collections::BTreeMap;

use saihai_model::{
    CallId, Cost, Decision, Effect, Ending, Event, Fact, Hold, Limits, Millis, Moment, ProviderName,
    SessionKey, Workflow,
};
use serde::{Deserialize, Serialize};

use crate::{Carry, Counts, Done, Ledger, Slot, Visit};

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
    pub(crate) sessions: BTreeMap<SessionKey, (ProviderName, String)>,
    pub(crate) ledger: Ledger,
    pub(crate) visit: Option<Visit>,
    /// True once the definition is complete and the delivery steps run.
    pub(crate) delivering: bool,
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
        let mut out = Vec::new();
        match (&self.phase, &event.fact) {
            (Phase::Created, Fact::Started(start)) => self.begin(workflow, event.at, start, &mut out),
            (Phase::Running, _) => {
                self.pass_time(event);
                self.take(workflow, &event.fact, &mut out);
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
    pub fn corrected(&self, id: &CallId) -> Option<&Done> {
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
