//! Failed attempts: tried again, handed to somebody else, taken as the result, or a reason to hold.

use saihai_model::{
    Activity, CallFailed, CallId, Cost, Decision, Effect, Failure, FailureClass, Hold, Moment, OnFailure,
    Place, ProviderName, SessionPolicy, Workflow,
};

use crate::facts::Taken;
use crate::retry::{Attempt, Next};
use crate::{Call, Done, Run, Slot};

/// Whether asking again later would help.
#[derive(Debug, Clone, Copy)]
enum Later {
    Never,
    At(Moment),
    /// But nobody is to wait so long.
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
        match self.after(workflow, &mut taken.call, failure) {
            Next::Again(at) => self.retry(taken, Some(at), out),
            Next::NewSession => {
                self.forget_session(workflow, &taken);
                taken.call.new_session = true;
                taken.call.prompt = None;
                self.retry(taken, None, out);
            }
            Next::Spent => self.give_up(workflow, taken, failure, Later::Never, out),
            Next::SpentUntil(at) => self.give_up(workflow, taken, failure, Later::At(at), out),
            Next::TooLong(at) => self.give_up(workflow, taken, failure, Later::Park(at), out),
        }
    }

    /// What the policy says after this failure, which is counted here.
    fn after(&self, workflow: &Workflow, call: &mut Call, failure: &Failure) -> Next {
        let count = call.count(failure.class);
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

    /// All attempts are spent: somebody else, the turn's own result, a later time, or a hold.
    fn give_up(
        &mut self,
        workflow: &Workflow,
        mut taken: Taken,
        failure: &Failure,
        later: Later,
        out: &mut Vec<Effect>,
    ) {
        if let Some(other) = self.fallback(workflow, &taken, failure.class) {
            taken.call.failures.clear();
            taken.call.new_session = true;
            taken.call.prompt = None;
            taken.call.since = None;
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

    fn fallback(&self, workflow: &Workflow, taken: &Taken, class: FailureClass) -> Option<ProviderName> {
        let helps = match class {
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
        };
        let (provider, _) = self.asked_of(workflow, taken.place, &taken.call)?;
        let other = workflow.retry.fallback.iter().find(|(from, _)| *from == provider);
        let other = other.map(|(_, to)| to).filter(|to| !taken.call.tried.contains(to));
        other.filter(|_| helps && taken.call.purpose.is_some()).cloned()
    }

    fn forget_session(&mut self, workflow: &Workflow, taken: &Taken) {
        let Place::Main(index) = taken.place else { return };
        let turn = workflow.stage(&taken.call.id.stage).and_then(|stage| stage.turns().get(index));
        if let Some(SessionPolicy::Continue(key)) = turn.map(|turn| &turn.session) {
            self.sessions.remove(key);
        }
    }
}

fn keeps_going(workflow: &Workflow, taken: &Taken) -> bool {
    let going = |id: &CallId| {
        let stage = workflow.stage(&id.stage)?;
        Some(matches!(stage.does, Activity::Turns { on_failure: OnFailure::KeepGoing, .. }))
    };
    matches!(taken.place, Place::Main(_)) && going(&taken.call.id) == Some(true)
}
