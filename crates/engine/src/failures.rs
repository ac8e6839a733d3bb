//! Failed attempts: the retry policy as a pure table, and its application to the calls of a round.

use saihai_model::{
    Activity, CallFailed, CallId, Cost, Decision, Effect, ExpectedReply, Failure, FailureClass, Hold, Millis,
    Moment, OnFailure, Permission, ProviderName, QuestionSession, Retry, RoundPosition, SessionPolicy, Stage,
    Workflow,
};

use crate::facts::BusyCall;
use crate::launch::{about, is_program, within};
use crate::run::{CallResult, CallState, Run, Slot};

/// Time from which another attempt would help.
#[derive(Debug, Clone, Copy)]
enum DelayedRetry {
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
        mut taken: BusyCall,
        failure: &Failure,
        out: &mut Vec<Effect>,
    ) {
        let was_stopped = failure.class == FailureClass::Cancelled;
        if was_stopped && (taken.call.make_room_for_note() || self.hold.is_some()) {
            taken.call.repeat = self.hold.is_some();
            return self.put(taken.place, Slot::Waiting { call: taken.call, until: None });
        }
        if failure.by_budget {
            return self.outspent(workflow, taken, failure);
        }
        let last = within(workflow, taken.place, &taken.call)
            .map(|within| taken.call.since.unwrap_or(self.now).plus(within));
        match self.after(workflow, &mut taken.call, failure) {
            RetryStep::Again(at) if last.is_some_and(|last| at >= last) => {
                self.give_up(workflow, taken, failure, DelayedRetry::Never, out);
            }
            RetryStep::Again(at) => self.retry(taken, Some(at), out),
            RetryStep::NewSession => {
                self.forget_session(workflow, &mut taken);
                taken.call.new_session = true;
                taken.call.prompt = None;
                self.retry(taken, None, out);
            }
            RetryStep::Spent => self.give_up(workflow, taken, failure, DelayedRetry::Never, out),
            RetryStep::SpentUntil(at) => self.give_up(workflow, taken, failure, DelayedRetry::At(at), out),
            RetryStep::TooLong(at) => self.give_up(workflow, taken, failure, DelayedRetry::Park(at), out),
        }
    }

    /// Holds the run when the provider stops at the budget. Raising the budget continues this same call.
    fn outspent(&mut self, workflow: &Workflow, taken: BusyCall, failure: &Failure) {
        if keeps_going(workflow, &taken) {
            let done = CallResult { failure: Some(failure.clone()), ..CallResult::default() };
            return self.put(taken.place, Slot::Done(Box::new(done)));
        }
        self.set_hold(Hold::Budget);
        self.put(taken.place, Slot::Waiting { call: taken.call, until: None });
    }

    /// Counts this failure and returns the policy's next step.
    fn after(&self, workflow: &Workflow, call: &mut CallState, failure: &Failure) -> RetryStep {
        let count = call.count(failure.class, workflow.retry.together);
        call.last_failure = Some(failure.class);
        let (policy, id, attempt) = (&workflow.retry, &call.id, call.attempt);
        let since = call.since.unwrap_or(self.now);
        FailedAttempt { policy, call: id, attempt, failure, count, since, now: self.now, seed: self.seed }
            .next()
    }

    fn retry(&mut self, taken: BusyCall, until: Option<Moment>, out: &mut Vec<Effect>) {
        let BusyCall { place, call } = taken;
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
        mut taken: BusyCall,
        failure: &Failure,
        later: DelayedRetry,
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
        if keeps_going(workflow, &taken)
            || has_failure_label(workflow, &taken)
            || matches!(taken.place, RoundPosition::Block(_))
        {
            let done = CallResult { failure: Some(failure.clone()), ..CallResult::default() };
            return self.put(taken.place, Slot::Done(Box::new(done)));
        }
        match later {
            DelayedRetry::At(at) => self.retry(taken, Some(at), out),
            DelayedRetry::Park(at) => {
                self.set_hold(Hold::Until(at, failure.class));
                self.retry(taken, Some(at), out);
            }
            DelayedRetry::Never => {
                self.set_hold(Hold::Provider(taken.call.id.clone(), failure.class));
                self.put(taken.place, Slot::Waiting { call: taken.call, until: None });
            }
        }
    }

    /// Returns the next untried provider. Skips a provider that cannot enforce the agent's permission.
    fn fallback(
        &self,
        workflow: &Workflow,
        taken: &BusyCall,
        class: FailureClass,
        out: &mut Vec<Effect>,
    ) -> Option<ProviderName> {
        let is_program = is_program(workflow, taken.place, &taken.call);
        if taken.call.purpose.is_none() || is_program || !somebody_else_helps(class) {
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
    fn forget_session(&mut self, workflow: &Workflow, taken: &mut BusyCall) {
        let wanted = workflow.wanted(&taken.call.id.stage, taken.place);
        if matches!(wanted, Some(ExpectedReply::Answer(_, question)) if question.session == QuestionSession::Fresh)
        {
            return;
        }
        let index = about(taken.place);
        let turn = workflow.stage(&taken.call.id.stage).and_then(|stage| stage.turns().get(index));
        if let Some(SessionPolicy::Continue(key)) = turn.map(|turn| &turn.session) {
            self.sessions.remove(key);
        }
        taken.call.forget_first();
        let round = self.visit.as_mut().map(|visit| &mut visit.round);
        if let Some(Slot::Done(said)) = round.and_then(|round| round.slot_mut(RoundPosition::Main(index))) {
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
fn permission_at(workflow: &Workflow, taken: &BusyCall) -> Option<Permission> {
    match (workflow.wanted(&taken.call.id.stage, taken.place)?, taken.place) {
        (ExpectedReply::Work(_), RoundPosition::Main(index)) => {
            Some(workflow.stage(&taken.call.id.stage)?.turns().get(index)?.permission)
        }
        (ExpectedReply::Work(_) | ExpectedReply::Answer(..), _) => Some(Permission::ReadOnly),
    }
}

fn keeps_going(workflow: &Workflow, taken: &BusyCall) -> bool {
    let stage = workflow.stage(&taken.call.id.stage);
    let going =
        |stage: &Stage| matches!(stage.does, Activity::Turns { on_failure: OnFailure::KeepGoing, .. });
    matches!(taken.place, RoundPosition::Main(_)) && stage.is_some_and(going)
}

/// Returns true if the failure of a turn is a label that rules can name.
fn has_failure_label(workflow: &Workflow, taken: &BusyCall) -> bool {
    let RoundPosition::Main(index) = taken.place else { return false };
    let turn = workflow.stage(&taken.call.id.stage).and_then(|stage| stage.turns().get(index));
    turn.is_some_and(|turn| turn.reads.failed.is_some())
}

/// Next step after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryStep {
    /// Retry, not before this time.
    Again(Moment),
    /// Retry at once, in a new session.
    NewSession,
    /// No attempts left, but waiting until this time would help.
    SpentUntil(Moment),
    /// Like `SpentUntil`, but the wait is longer than the policy allows.
    TooLong(Moment),
    Spent,
}

/// A failed attempt and its circumstances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailedAttempt<'a> {
    pub(crate) policy: &'a Retry,
    pub(crate) call: &'a CallId,
    pub(crate) attempt: u32,
    pub(crate) failure: &'a Failure,
    /// Failures of this class so far, including this one.
    pub(crate) count: u32,
    /// Time of the call's first attempt.
    pub(crate) since: Moment,
    pub(crate) now: Moment,
    pub(crate) seed: u64,
}

/// At most one probe an hour, for a day, if the provider does not say when the quota resets.
const QUOTA_PROBES: u32 = 24;
const QUOTA_PROBE: Millis = Millis(3_600_000);

impl FailedAttempt<'_> {
    pub(crate) fn next(&self) -> RetryStep {
        match self.failure.class {
            FailureClass::Transient if self.failure.by_deadline && !self.policy.after_deadline => {
                RetryStep::Spent
            }
            FailureClass::Transient => self.bounded(self.policy.transient, self.backoff()),
            FailureClass::Crashed => self.bounded(self.policy.crashed, Millis(2_000)),
            FailureClass::SessionLost if self.count == 1 => RetryStep::NewSession,
            FailureClass::RateLimited => self.rate_limited(),
            FailureClass::Quota => self.quota(self.count),
            FailureClass::SessionLost
            | FailureClass::Auth
            | FailureClass::BadRequest
            | FailureClass::Missing
            | FailureClass::Refused
            | FailureClass::Cancelled => RetryStep::Spent,
        }
    }

    fn bounded(&self, attempts: u32, wait: Millis) -> RetryStep {
        if self.count >= attempts {
            return RetryStep::Spent;
        }
        let earliest = self.now.plus(wait);
        RetryStep::Again(self.failure.until.map_or(earliest, |until| until.max(earliest)))
    }

    /// Returns a delay with full jitter in [0, min(30 s, 1 s · 2^n)].
    fn backoff(&self) -> Millis {
        let most = 1_000_u64.saturating_mul(1 << self.count.saturating_sub(1).min(5)).min(30_000);
        Millis(self.chance() % (most + 1))
    }

    fn rate_limited(&self) -> RetryStep {
        // Ignore a time in the past. The maximum wait bounds a provider that says "soon" forever.
        match self.failure.until.filter(|until| *until > self.now) {
            Some(until) if until.since(self.since) > self.policy.max_wait => RetryStep::TooLong(until),
            Some(until) => RetryStep::Again(until.plus(self.jitter(until.since(self.now)))),
            None if self.count >= self.policy.rate_limited => {
                self.quota(self.count - self.policy.rate_limited + 1)
            }
            None => {
                let wait =
                    Millis(5_000_u64.saturating_mul(1 << self.count.saturating_sub(1).min(5)).min(60_000));
                RetryStep::Again(self.now.plus(wait).plus(self.jitter(wait)))
            }
        }
    }

    /// `probe` counts the checks of the quota, including this one.
    fn quota(&self, probe: u32) -> RetryStep {
        if !self.policy.wait_for_quota {
            return RetryStep::Spent;
        }
        match self.failure.until.filter(|until| *until > self.now) {
            Some(until) => RetryStep::SpentUntil(until),
            None if probe <= QUOTA_PROBES => RetryStep::SpentUntil(self.now.plus(QUOTA_PROBE)),
            None => RetryStep::Spent,
        }
    }

    /// Returns 0 to 10 % of a wait.
    fn jitter(&self, wait: Millis) -> Millis {
        Millis(self.chance() % (wait.0 / 10 + 1))
    }

    /// Derives all randomness from the run's seed, so that every replay waits the same times.
    fn chance(&self) -> u64 {
        let mut hash = self.seed ^ 0xcbf2_9ce4_8422_2325;
        let numbers = [self.call.visit, self.call.round, self.call.n, self.attempt];
        let bytes = self.call.stage.as_str().bytes();
        for byte in bytes.chain(numbers.iter().flat_map(|number| number.to_le_bytes())) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash ^= hash >> 33;
        hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^ (hash >> 33)
    }
}

#[cfg(test)]
mod retry_tests;
