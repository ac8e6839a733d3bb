//! The schedule for polling issues.

use std::collections::BTreeMap;

use saihai_model::{IssueNumber, Millis, Moment};

/// Maximum pause between two polls of an unreachable source.
const LONGEST: Millis = Millis(15 * 60_000);

/// A polling schedule with backoff.
pub struct PollSchedule {
    /// Time of the next poll.
    pub next: Moment,
    every: Millis,
    pause: Millis,
    complained: bool,
}

impl PollSchedule {
    /// Creates a schedule with this interval. The first poll is one interval from now.
    pub fn every(every: Millis, now: Moment) -> Self {
        Self { next: now.plus(every), every, pause: every, complained: false }
    }

    /// Creates a schedule like `every`. A test build can override the interval.
    pub fn paced(every: Millis, now: Moment) -> Self {
        Self::every(test_interval().unwrap_or(every), now)
    }

    /// Returns the interval for a reachable source.
    pub fn pace(&self) -> Millis {
        self.every
    }

    /// Handles a successful poll and resets the interval. Returns true if the recovery should be reported.
    pub fn succeeded(&mut self, now: Moment) -> bool {
        self.pause = self.every;
        self.next = now.plus(self.every);
        std::mem::replace(&mut self.complained, false)
    }

    /// Handles a failed poll and doubles the pause. Returns true if the failure should be reported.
    pub fn failed(&mut self, now: Moment) -> bool {
        self.pause = Millis(self.pause.0.saturating_mul(2).min(LONGEST.0.max(self.every.0)));
        self.next = now.plus(self.pause);
        !std::mem::replace(&mut self.complained, true)
    }
}

#[cfg(feature = "faults")]
fn test_interval() -> Option<Millis> {
    let plan = std::env::var("SAIHAI_FAULT").ok()?;
    let every = plan.split(',').find_map(|part| part.strip_prefix("looks=")?.parse().ok());
    every.map(Millis)
}

#[cfg(not(feature = "faults"))]
fn test_interval() -> Option<Millis> {
    None
}

/// Issues that a provider or forge refused, each with its own backoff.
#[derive(Default)]
pub struct PollBackoffs(BTreeMap<IssueNumber, PollSchedule>);

impl PollBackoffs {
    /// Returns true if the issue is due for another attempt, and doubles its pause.
    pub fn is_due(&mut self, number: IssueNumber, every: Millis, now: Moment) -> bool {
        let first = PollSchedule { next: now, ..PollSchedule::every(every, now) };
        let look = self.0.entry(number).or_insert(first);
        let is_due = look.next <= now;
        if is_due {
            look.failed(now);
        }
        is_due
    }

    /// Removes an issue after any other result.
    pub fn forget(&mut self, number: IssueNumber) {
        self.0.remove(&number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The pauses of I-76
    #[test]
    fn a_source_that_does_not_answer_is_asked_less_and_less_often_and_complained_of_once() {
        let (mut look, mut now) = (PollSchedule::every(Millis(60_000), Moment(0)), Moment(60_000));
        let mut after = |look: &mut PollSchedule, answers: bool| {
            let news = if answers { look.succeeded(now) } else { look.failed(now) };
            let pause = look.next.since(now).0 / 1_000;
            now = look.next;
            (pause, news)
        };
        assert_eq!(after(&mut look, false), (120, true));
        for pause in [240, 480, 900, 900] {
            assert_eq!(after(&mut look, false), (pause, false));
        }
        assert_eq!(after(&mut look, true), (60, true), "that it answers again is said as well");
        assert_eq!(after(&mut look, true), (60, false));
        assert_eq!(after(&mut look, false), (120, true), "it had answered meanwhile");
        // The backoff never shortens a long interval.
        let mut slow = PollSchedule::every(Millis(3_600_000), Moment(0));
        slow.failed(Moment(0));
        assert_eq!(slow.next, Moment(3_600_000));
    }

    #[test]
    fn a_provider_that_serves_an_issue_never_is_asked_less_and_less_often() {
        let (every, mut refusals) = (Millis(60_000), PollBackoffs::default());
        let seven = IssueNumber::new(7).expect("a number");
        let asked = |refusals: &mut PollBackoffs| -> Vec<u64> {
            (1..=60).filter(|minute| refusals.is_due(seven, every, Moment(minute * 60_000))).collect()
        };
        assert_eq!(asked(&mut refusals), [1, 3, 7, 15, 30, 45, 60]);
        refusals.forget(seven);
        assert_eq!(asked(&mut refusals)[..2], [1, 3], "it was served meanwhile");
    }
}
