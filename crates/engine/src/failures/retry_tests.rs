use proptest::prelude::*;

use crate::failures::*;

fn next(failure: &Failure, count: u32) -> RetryStep {
    let policy = Retry::default();
    let call = CallId { stage: "plan".into(), visit: 1, round: 1, n: 1 };
    let now = Moment(1_000_000);
    FailedAttempt { policy: &policy, call: &call, attempt: count, failure, count, since: now, now, seed: 7 }
        .next()
}

fn wait(failure: &Failure, count: u32) -> Option<u64> {
    match next(failure, count) {
        RetryStep::Again(at) => Some(at.since(Moment(1_000_000)).0),
        RetryStep::NewSession | RetryStep::SpentUntil(_) | RetryStep::TooLong(_) | RetryStep::Spent => None,
    }
}

#[test]
fn transient_failures_back_off_with_jitter_and_end_after_four_attempts() {
    // C-33, Connections case 23
    let failure = Failure::new(FailureClass::Transient, "503");
    for (count, most) in [(1, 1_000), (2, 2_000), (3, 4_000)] {
        assert!(wait(&failure, count).is_some_and(|wait| wait <= most), "attempt {count}");
    }
    assert_eq!(next(&failure, 4), RetryStep::Spent);
    assert_eq!(wait(&failure, 2), wait(&failure, 2), "the same seed waits the same time");
}

#[test]
fn a_named_time_is_waited_for_but_not_beyond_the_longest_wait() {
    // C-33, C-34, Connections case 21
    let mut failure = Failure::new(FailureClass::RateLimited, "slow down");
    failure.until = Some(Moment(1_030_000));
    assert!(wait(&failure, 1).is_some_and(|wait| (30_000..=33_000).contains(&wait)));
    let far = Moment(1_000_000 + 7 * 3_600_000);
    failure.until = Some(far);
    assert_eq!(next(&failure, 1), RetryStep::TooLong(far));
}

#[test]
fn a_rate_limit_without_a_time_doubles_and_then_counts_as_a_quota() {
    // C-33
    let failure = Failure::new(FailureClass::RateLimited, "slow down");
    assert!(wait(&failure, 1).is_some_and(|wait| (5_000..=5_500).contains(&wait)));
    assert!(wait(&failure, 5).is_some_and(|wait| (60_000..=66_000).contains(&wait)));
    assert_eq!(next(&failure, 6), RetryStep::SpentUntil(Moment(1_000_000 + 3_600_000)));
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
            | FailureClass::Cancelled => RetryStep::Spent,
            FailureClass::SessionLost => RetryStep::NewSession,
            FailureClass::Crashed => RetryStep::Again(Moment(1_002_000)),
            FailureClass::Transient | FailureClass::RateLimited | FailureClass::Quota => continue,
        };
        assert_eq!(next(&failure, 1), expected, "{class:?}");
    }
    assert_eq!(next(&Failure::new(FailureClass::SessionLost, "x"), 2), RetryStep::Spent);
    assert_eq!(next(&Failure::new(FailureClass::Crashed, "x"), 2), RetryStep::Spent);
}

/// Creates a failure that names this wait, if any.
fn failed(class: FailureClass, wait: Option<u64>) -> Failure {
    Failure { until: wait.map(|wait| NOW.plus(Millis(wait))), ..Failure::new(class, "x") }
}

const NOW: Moment = Moment(1_000_000);

/// Returns the wait for a seed; `None` if no attempts are left.
fn waited(policy: &Retry, failure: &Failure, count: u32, seed: u64) -> Option<u64> {
    let call = CallId { stage: "plan".into(), visit: 1, round: 1, n: 1 };
    let attempt =
        FailedAttempt { policy, call: &call, attempt: count, failure, count, since: NOW, now: NOW, seed };
    match attempt.next() {
        RetryStep::Again(at) => Some(at.since(NOW).0),
        RetryStep::NewSession | RetryStep::SpentUntil(_) | RetryStep::TooLong(_) | RetryStep::Spent => None,
    }
}

proptest! {
    // C-33, Connections case 23
    #[test]
    fn a_transient_failure_waits_within_its_bound_and_never_less_than_was_asked_for(
        seed: u64,
        count in 1..12_u32,
        asked in prop::option::of(0..120_000_u64),
    ) {
        let policy = Retry { transient: 12, ..Retry::default() };
        let failure = failed(FailureClass::Transient, asked);
        let most = 30_000.min(1_000 << (count - 1));
        match waited(&policy, &failure, count, seed) {
            None => prop_assert_eq!(count, 12),
            Some(wait) => {
                prop_assert!(wait >= asked.unwrap_or(0), "{wait}");
                prop_assert!(wait <= most.max(asked.unwrap_or(0)), "{wait} > {most}");
            }
        }
        prop_assert_eq!(waited(&policy, &failure, count, seed), waited(&policy, &failure, count, seed));
    }

    // C-33, C-34, Connections case 21
    #[test]
    fn a_rate_limit_with_a_time_waits_for_it_and_up_to_a_tenth_more(seed: u64, asked in 1..30_000_000_u64) {
        let policy = Retry::default();
        match waited(&policy, &failed(FailureClass::RateLimited, Some(asked)), 1, seed) {
            None => prop_assert!(asked > policy.max_wait.0, "{asked}"),
            Some(wait) => {
                prop_assert!(asked <= policy.max_wait.0);
                prop_assert!((asked..=asked + asked / 10).contains(&wait), "{wait}");
            }
        }
    }

    // C-33
    #[test]
    fn a_rate_limit_without_a_time_doubles_from_five_seconds_to_sixty(seed: u64, count in 1..6_u32) {
        let wait = waited(&Retry::default(), &failed(FailureClass::RateLimited, None), count, seed);
        let least = 60_000.min(5_000 << (count - 1));
        prop_assert!(wait.is_some_and(|wait| (least..=least + least / 10).contains(&wait)), "{wait:?}");
        // Otherwise a run parks before its last attempt and its fallback.
        prop_assert!(wait.is_some_and(|wait| wait <= Retry::SHORT_WAIT.0), "{wait:?}");
    }
}

#[test]
fn the_wait_is_spread_over_its_whole_bound() {
    // C-33: full jitter, so that many runs do not retry at the same time
    let failure = failed(FailureClass::Transient, None);
    let waits: Vec<u64> =
        (0..400).filter_map(|seed| waited(&Retry::default(), &failure, 3, seed * 0x9e37_79b9)).collect();
    for part in 0..4 {
        let inside = waits.iter().filter(|wait| (part * 1_000..=(part + 1) * 1_000).contains(*wait)).count();
        assert!(inside > 40, "{inside} of 400 in second {part}");
    }
}

#[test]
fn a_quota_nobody_knows_the_end_of_is_looked_at_every_hour_for_a_day() {
    // C-33
    let hour = RetryStep::SpentUntil(NOW.plus(Millis(3_600_000)));
    let quota = failed(FailureClass::Quota, None);
    assert_eq!((1..=25).filter(|count| next(&quota, *count) == hour).count(), 24);
    assert_eq!(next(&quota, 25), RetryStep::Spent);
    // The sixth rate limit without a reset time starts the first such probe.
    let limited = failed(FailureClass::RateLimited, None);
    assert_eq!((6..=40).filter(|count| next(&limited, *count) == hour).count(), 24);
    assert_eq!(next(&limited, 30), RetryStep::Spent);
}

#[test]
fn a_quota_that_is_not_to_be_waited_for_is_spent_at_once_whatever_time_is_named() {
    // C-33: on_quota = fail
    let policy = Retry { wait_for_quota: false, ..Retry::default() };
    let call = CallId { stage: "plan".into(), visit: 1, round: 1, n: 1 };
    for (class, wait, count) in [
        (FailureClass::Quota, None, 1),
        (FailureClass::Quota, Some(10_000), 1),
        (FailureClass::RateLimited, None, 6),
    ] {
        let failure = failed(class, wait);
        let spent = FailedAttempt {
            policy: &policy,
            call: &call,
            attempt: count,
            failure: &failure,
            count,
            since: NOW,
            now: NOW,
            seed: 1,
        };
        assert_eq!(spent.next(), RetryStep::Spent, "{class:?}");
    }
}
