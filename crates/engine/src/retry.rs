//! Retry policy for failed attempts, as a pure table.

use saihai_model::{CallId, Failure, FailureClass, Millis, Moment, Retry};

/// Next step after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
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
pub(crate) struct Attempt<'a> {
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

impl Attempt<'_> {
    pub(crate) fn next(&self) -> Next {
        match self.failure.class {
            FailureClass::Transient if self.failure.by_deadline && !self.policy.after_deadline => Next::Spent,
            FailureClass::Transient => self.bounded(self.policy.transient, self.backoff()),
            FailureClass::Crashed => self.bounded(self.policy.crashed, Millis(2_000)),
            FailureClass::SessionLost if self.count == 1 => Next::NewSession,
            FailureClass::RateLimited => self.rate_limited(),
            FailureClass::Quota => self.quota(self.count),
            FailureClass::SessionLost
            | FailureClass::Auth
            | FailureClass::BadRequest
            | FailureClass::Missing
            | FailureClass::Refused
            | FailureClass::Cancelled => Next::Spent,
        }
    }

    fn bounded(&self, attempts: u32, wait: Millis) -> Next {
        if self.count >= attempts {
            return Next::Spent;
        }
        let earliest = self.now.plus(wait);
        Next::Again(self.failure.until.map_or(earliest, |until| until.max(earliest)))
    }

    /// Returns a delay with full jitter in [0, min(30 s, 1 s · 2^n)].
    fn backoff(&self) -> Millis {
        let most = 1_000_u64.saturating_mul(1 << self.count.saturating_sub(1).min(5)).min(30_000);
        Millis(self.chance() % (most + 1))
    }

    fn rate_limited(&self) -> Next {
        // Ignore a time in the past. The maximum wait bounds a provider that says "soon" forever.
        match self.failure.until.filter(|until| *until > self.now) {
            Some(until) if until.since(self.since) > self.policy.max_wait => Next::TooLong(until),
            Some(until) => Next::Again(until.plus(self.jitter(until.since(self.now)))),
            None if self.count >= self.policy.rate_limited => {
                self.quota(self.count - self.policy.rate_limited + 1)
            }
            None => {
                let wait =
                    Millis(5_000_u64.saturating_mul(1 << self.count.saturating_sub(1).min(5)).min(60_000));
                Next::Again(self.now.plus(wait).plus(self.jitter(wait)))
            }
        }
    }

    /// `probe` counts the checks of the quota, including this one.
    fn quota(&self, probe: u32) -> Next {
        if !self.policy.wait_for_quota {
            return Next::Spent;
        }
        match self.failure.until.filter(|until| *until > self.now) {
            Some(until) => Next::SpentUntil(until),
            None if probe <= QUOTA_PROBES => Next::SpentUntil(self.now.plus(QUOTA_PROBE)),
            None => Next::Spent,
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
mod tests;
