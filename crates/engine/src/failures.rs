//! Handles failed attempts: retry, fall back to another provider, accept the failure as the result, or hold the run.

use saihai_model::{
    Activity, CallFailed, CallId, Cost, Decision, Effect, Failure, FailureClass, Hold, Moment, OnFailure,
    Permission, Place, ProviderName, QuestionSession, SessionPolicy, Wanted, Workflow,
};

use crate::facts::Taken;
use crate::launch::{about, within};
use crate::retry::{Attempt, Next};
use crate::{Call, Done, Run, Slot};

/// Time from which another attempt would help.
#[derive(Debug, Clone, Copy)]
enum Later {
    Never,
    At(Moment),
    /// Waiting would help, but takes longer than the policy allows.
    Park(Moment),
}

impl Run {
    pub(crate) fn failed(&mut self, workflow: &Workflow, failed: &CallFailed, out: &mut Vec<Effect>) {
        let Some(taken) = self.take_busy(&failed.call) else { return };
        let cost = Cost { usd: failed.cost.unwrap_or_default(), tokens: failed.usage.tokens(), turns: 0 };
        self.ledger.spent = self.ledger.spent.plus(cost);
        self.fail(workflow, taken, &failed.failure, out);
    }

    pub(crate) fn fail(
        &mut self,
        workflow: &Workflow,
        mut taken: Taken,
        failure: &Failure,
        out: &mut Vec<Effect>,
    ) {
        if failure.class == FailureClass::Cancelled && self.hold.is_some() {
            taken.call.repeat = true;
            return self.put(taken.place, Slot::Waiting { call: taken.call, until: None });
        }
        if failure.by_budget {
            return self.outspent(workflow, taken, failure);
        }
        let last = within(workflow, taken.place, &taken.call)
            .map(|within| taken.call.since.unwrap_or(self.now).plus(within));
        match self.after(workflow, &mut taken.call, failure) {
            Next::Again(at) if last.is_some_and(|last| at >= last) => {
                self.give_up(workflow, taken, failure, Later::Never, out);
            }
            Next::Again(at) => self.retry(taken, Some(at), out),
            Next::NewSession => {
                self.forget_session(workflow, &mut taken);
                taken.call.new_session = true;
                taken.call.prompt = None;
                self.retry(taken, None, out);
            }
            Next::Spent => self.give_up(workflow, taken, failure, Later::Never, out),
            Next::SpentUntil(at) => self.give_up(workflow, taken, failure, Later::At(at), out),
            Next::TooLong(at) => self.give_up(workflow, taken, failure, Later::Park(at), out),
        }
    }

    /// Holds the run when the provider stops at the budget. Raising the budget continues this same call.
    fn outspent(&mut self, workflow: &Workflow, taken: Taken, failure: &Failure) {
        if keeps_going(workflow, &taken) {
            let done = Done { failure: Some(failure.clone()), ..Done::default() };
            return self.put(taken.place, Slot::Done(Box::new(done)));
        }
        self.set_hold(Hold::Budget);
        self.put(taken.place, Slot::Waiting { call: taken.call, until: None });
    }

    /// Counts this failure and returns the policy's next step.
    fn after(&self, workflow: &Workflow, call: &mut Call, failure: &Failure) -> Next {
        let count = call.count(failure.class, workflow.retry.together);
        call.last_failure = Some(failure.class);
        let (policy, id, attempt) = (&workflow.retry, &call.id, call.attempt);
        let since = call.since.unwrap_or(self.now);
        Attempt { policy, call: id, attempt, failure, count, since, now: self.now, seed: self.seed }.next()
    }

    fn retry(&mut self, taken: Taken, until: Option<Moment>, out: &mut Vec<Effect>) {
        let Taken { place, call } = taken;
        out.push(Effect::Record(Decision::Retry {
            call: call.id.clone(),
            attempt: call.attempt.saturating_add(1),
            not_before: until.unwrap_or(self.now),
            provider: call.provider.clone(),
            new_session: call.new_session,
        }));
        self.put(place, Slot::Waiting { call, until });
    }

    /// Handles a call without attempts left: fall back, accept the failure, wait until later, or hold.
    fn give_up(
        &mut self,
        workflow: &Workflow,
        mut taken: Taken,
        failure: &Failure,
        later: Later,
        out: &mut Vec<Effect>,
    ) {
        // A turn past its deadline has no time left for another provider.
        let is_late = failure.by_deadline && within(workflow, taken.place, &taken.call).is_some();
        let other = if is_late { None } else { self.fallback(workflow, &taken, failure.class, out) };
        if let Some(other) = other {
            taken.call.failures.clear();
            taken.call.new_session = true;
            taken.call.forget_first();
            taken.call.prompt = None;
            if within(workflow, taken.place, &taken.call).is_none() {
                taken.call.since = None;
            }
            taken.call.tried.push(other.clone());
            taken.call.provider = Some(other);
            return self.retry(taken, None, out);
        }
        if keeps_going(workflow, &taken) || matches!(taken.place, Place::Block(_)) {
            let done = Done { failure: Some(failure.clone()), ..Done::default() };
            return self.put(taken.place, Slot::Done(Box::new(done)));
        }
        match later {
            Later::At(at) => self.retry(taken, Some(at), out),
            Later::Park(at) => {
                self.set_hold(Hold::Until(at, failure.class));
                self.retry(taken, Some(at), out);
            }
            Later::Never => {
                self.set_hold(Hold::Provider(taken.call.id.clone(), failure.class));
                self.put(taken.place, Slot::Waiting { call: taken.call, until: None });
            }
        }
    }

    /// Returns the next untried provider. Skips a provider that cannot enforce the agent's permission.
    fn fallback(
        &self,
        workflow: &Workflow,
        taken: &Taken,
        class: FailureClass,
        out: &mut Vec<Effect>,
    ) -> Option<ProviderName> {
        if taken.call.purpose.is_none() || !somebody_else_helps(class) {
            return None;
        }
        let (mut provider, _) = self.asked_of(workflow, taken.place, &taken.call)?;
        let permission = permission_at(workflow, taken)?;
        let mut passed_over = Vec::new();
        loop {
            let next = workflow.retry.fallback.iter().find(|(from, _)| *from == provider);
            let next = next.map(|(_, to)| to).filter(|to| !taken.call.tried.contains(to))?;
            if passed_over.contains(next) {
                return None;
            }
            if !workflow.retry.unfit.contains(&(next.clone(), permission)) {
                return Some(next.clone());
            }
            let call = taken.call.id.clone();
            out.push(Effect::Record(Decision::Unfit { call, provider: next.clone() }));
            passed_over.push(next.clone());
            provider = next.clone();
        }
    }

    /// Drops a lost session (S-58), for later calls and for open questions of this round.
    fn forget_session(&mut self, workflow: &Workflow, taken: &mut Taken) {
        let wanted = workflow.wanted(&taken.call.id.stage, taken.place);
        if matches!(wanted, Some(Wanted::Answer(_, question)) if question.session == QuestionSession::Fresh) {
            return;
        }
        let index = about(taken.place);
        let turn = workflow.stage(&taken.call.id.stage).and_then(|stage| stage.turns().get(index));
        if let Some(SessionPolicy::Continue(key)) = turn.map(|turn| &turn.session) {
            self.sessions.remove(key);
        }
        taken.call.forget_first();
        let round = self.visit.as_mut().map(|visit| &mut visit.round);
        if let Some(Slot::Done(said)) = round.and_then(|round| round.slot_mut(Place::Main(index))) {
            said.session = None;
        }
    }
}

/// Returns true if another provider may not have this failure (C-35).
fn somebody_else_helps(class: FailureClass) -> bool {
    match class {
        FailureClass::Transient
        | FailureClass::RateLimited
        | FailureClass::Quota
        | FailureClass::Auth
        | FailureClass::Missing
        | FailureClass::Crashed => true,
        FailureClass::BadRequest
        | FailureClass::SessionLost
        | FailureClass::Refused
        | FailureClass::Cancelled => false,
    }
}

/// Returns the permission of the agent of a call.
fn permission_at(workflow: &Workflow, taken: &Taken) -> Option<Permission> {
    match (workflow.wanted(&taken.call.id.stage, taken.place)?, taken.place) {
        (Wanted::Work(_), Place::Main(index)) => {
            Some(workflow.stage(&taken.call.id.stage)?.turns().get(index)?.permission)
        }
        (Wanted::Work(_) | Wanted::Answer(..), _) => Some(Permission::ReadOnly),
    }
}

fn keeps_going(workflow: &Workflow, taken: &Taken) -> bool {
    let going = |id: &CallId| {
        let stage = workflow.stage(&id.stage)?;
        Some(matches!(stage.does, Activity::Turns { on_failure: OnFailure::KeepGoing, .. }))
    };
    matches!(taken.place, Place::Main(_)) && going(&taken.call.id) == Some(true)
}
