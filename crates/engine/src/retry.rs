//! What is done about a failed attempt: a pure table.

use saihai_model::{CallId, Failure, FailureClass, Millis, Moment, Retry};

/// What is done about a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Try again, not before this time.
    Again(Moment),
    /// Try again at once, in a new session.
    NewSession,
    /// It is spent, but waiting until this time would help.
    SpentUntil(Moment),
    /// The same, and the time is further off than anybody is to wait.
    TooLong(Moment),
    /// It is spent.
    Spent,
}

/// A failed attempt and its circumstances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub(crate) policy: &'a Retry,
    pub(crate) call: &'a CallId,
    pub(crate) attempt: u32,
    pub(crate) failure: &'a Failure,
    /// Failures of this class so far, this one included.
    pub(crate) count: u32,
    /// When the call was first made.
    pub(crate) since: Moment,
    pub(crate) now: Moment,
    pub(crate) seed: u64,
}

/// At most one look an hour, for a day, where nobody said when a quota is filled again.
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
            FailureClass::Quota => self.quota(),
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

    /// Full jitter in [0, min(30 s, 1 s · 2^n)].
    fn backoff(&self) -> Millis {
        let most = 1_000_u64.saturating_mul(1 << self.count.saturating_sub(1).min(5)).min(30_000);
        Millis(self.chance() % (most + 1))
    }

    fn rate_limited(&self) -> Next {
        // A time that is past says nothing, and a provider that says "soon" for ever is waited for only so long.
        match self.failure.until.filter(|until| *until > self.now) {
            Some(until) if until.since(self.since) > self.policy.max_wait => Next::TooLong(until),
            Some(until) => Next::Again(until.plus(self.jitter(until.since(self.now)))),
            None if self.count >= self.policy.rate_limited => self.quota(),
            None => {
                let wait =
                    Millis(5_000_u64.saturating_mul(1 << self.count.saturating_sub(1).min(5)).min(60_000));
                Next::Again(self.now.plus(wait).plus(self.jitter(wait)))
            }
        }
    }

    fn quota(&self) -> Next {
        if !self.policy.wait_for_quota {
            return Next::Spent;
        }
        match self.failure.until.filter(|until| *until > self.now) {
            Some(until) => Next::SpentUntil(until),
            None if self.count <= QUOTA_PROBES => Next::SpentUntil(self.now.plus(QUOTA_PROBE)),
            None => Next::Spent,
        }
    }

    /// 0 to 10 % of a wait.
    fn jitter(&self, wait: Millis) -> Millis {
        Millis(self.chance() % (wait.0 / 10 + 1))
    }

    /// All chance of a run comes from its seed, so the same run waits the same times on every replay.
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
mod tests {
    use super::*;

    fn next(failure: &Failure, count: u32) -> Next {
        let policy = Retry::default();
        let call = CallId { stage: "plan".into(), visit: 1, round: 1, n: 1 };
        let now = Moment(1_000_000);
        Attempt { policy: &policy, call: &call, attempt: count, failure, count, since: now, now, seed: 7 }
            .next()
    }

    fn wait(failure: &Failure, count: u32) -> Option<u64> {
        match next(failure, count) {
            Next::Again(at) => Some(at.since(Moment(1_000_000)).0),
            Next::NewSession | Next::SpentUntil(_) | Next::TooLong(_) | Next::Spent => None,
        }
    }

    #[test]
    fn transient_failures_back_off_with_jitter_and_end_after_four_attempts() {
        // C-33, C case 23
        let failure = Failure::new(FailureClass::Transient, "503");
        for (count, most) in [(1, 1_000), (2, 2_000), (3, 4_000)] {
            assert!(wait(&failure, count).is_some_and(|wait| wait <= most), "attempt {count}");
        }
        assert_eq!(next(&failure, 4), Next::Spent);
        assert_eq!(wait(&failure, 2), wait(&failure, 2), "the same seed waits the same time");
    }

    #[test]
    fn a_named_time_is_waited_for_but_not_beyond_the_longest_wait() {
        // C-33, C-34, C case 21
        let mut failure = Failure::new(FailureClass::RateLimited, "slow down");
        failure.until = Some(Moment(1_030_000));
        assert!(wait(&failure, 1).is_some_and(|wait| (30_000..=33_000).contains(&wait)));
        let far = Moment(1_000_000 + 7 * 3_600_000);
        failure.until = Some(far);
        assert_eq!(next(&failure, 1), Next::TooLong(far));
    }

    #[test]
    fn a_rate_limit_without_a_time_doubles_and_then_counts_as_a_quota() {
        // C-33
        let failure = Failure::new(FailureClass::RateLimited, "slow down");
        assert!(wait(&failure, 1).is_some_and(|wait| (5_000..=5_500).contains(&wait)));
        assert!(wait(&failure, 5).is_some_and(|wait| (60_000..=66_000).contains(&wait)));
        assert_eq!(next(&failure, 6), Next::SpentUntil(Moment(1_000_000 + 3_600_000)));
    }

    #[test]
    fn what_can_never_succeed_is_never_tried_again() {
        // C-33
        for class in FailureClass::ALL {
            let failure = Failure::new(class, "x");
            let expected = match class {
                FailureClass::Auth
                | FailureClass::BadRequest
                | FailureClass::Missing
                | FailureClass::Refused
                | FailureClass::Cancelled => Next::Spent,
                FailureClass::SessionLost => Next::NewSession,
                FailureClass::Crashed => Next::Again(Moment(1_002_000)),
                FailureClass::Transient | FailureClass::RateLimited | FailureClass::Quota => continue,
            };
            assert_eq!(next(&failure, 1), expected, "{class:?}");
        }
        assert_eq!(next(&Failure::new(FailureClass::SessionLost, "x"), 2), Next::Spent);
        assert_eq!(next(&Failure::new(FailureClass::Crashed, "x"), 2), Next::Spent);
    }
}
