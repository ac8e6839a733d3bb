//! The only source of time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use saihai_model::{Millis, Moment};
use tokio::time::Instant;

/// The only source of time. It never goes back.
///
/// A clock reads the system time once, when it is made. From then on it follows the time since boot, sleep
/// included. Changing the system time therefore does not affect a wait under way (C-34).
#[derive(Debug, Clone)]
pub struct Clock {
    /// The time shown when `passed` started to count.
    base: Moment,
    passed: Passed,
}

/// Source of the time that has passed since a clock was made.
#[derive(Debug, Clone, Copy)]
enum Passed {
    /// The machine. It also counts while the machine sleeps.
    Machine(Duration),
    /// The runtime, which a test can pause.
    Runtime(Instant),
}

impl Clock {
    pub fn system() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { base: Moment(millis(since)), passed: Passed::Machine(machine()) }
    }

    /// Creates a clock that shows `moment` now and follows the runtime. It pauses when the runtime is paused.
    pub fn starting_at(moment: Moment) -> Self {
        Self { base: moment, passed: Passed::Runtime(Instant::now()) }
    }

    pub fn now(&self) -> Moment {
        let passed = match self.passed {
            Passed::Machine(origin) => machine().saturating_sub(origin),
            Passed::Runtime(origin) => origin.elapsed(),
        };
        self.base.plus(Millis(millis(passed)))
    }

    /// Moves the clock forward to `moment` if it shows an earlier time.
    pub(crate) fn not_before(&mut self, moment: Moment) {
        let behind = moment.since(self.now());
        self.base = self.base.plus(behind);
    }

    pub(crate) fn until(&self, moment: Moment) -> Duration {
        Duration::from_millis(moment.since(self.now()).0)
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the time since the machine was started.
fn machine() -> Duration {
    #[cfg(target_os = "linux")]
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    #[cfg(not(target_os = "linux"))]
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use saihai_model::{Millis, Moment};

    use super::Clock;

    // T-18
    #[tokio::test(start_paused = true)]
    async fn a_clock_goes_with_time_and_never_back() {
        let mut clock = Clock::starting_at(Moment(1_000));
        tokio::time::advance(Duration::from_millis(30)).await;
        assert_eq!(clock.now(), Moment(1_030));
        clock.not_before(Moment(500));
        assert_eq!(clock.now(), Moment(1_030));
        clock.not_before(Moment(9_000));
        assert_eq!(clock.now(), Moment(9_000));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(clock.now(), Moment(9_001));
    }

    // C-34
    #[tokio::test(start_paused = true)]
    async fn a_clock_that_was_put_forward_has_less_to_wait() {
        let mut clock = Clock::starting_at(Moment(1_000));
        assert_eq!(clock.until(Moment(4_000)), Duration::from_secs(3));
        clock.not_before(Moment(3_000));
        assert_eq!(clock.until(Moment(4_000)), Duration::from_secs(1));
        assert_eq!(clock.until(Moment(1)), Duration::ZERO);
    }

    #[test]
    fn the_system_clock_shows_this_century() {
        let now = Clock::system().now();
        assert!(now > Moment(1_700_000_000_000), "{now:?}");
        assert!(now < Moment(1_700_000_000_000).plus(Millis::seconds(100 * 366 * 86_400)), "{now:?}");
    }
}
