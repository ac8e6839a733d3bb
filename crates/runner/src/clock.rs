//! The only source of time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use saihai_model::{Millis, Moment};
use tokio::time::Instant;

/// The only source of time. It never goes back, and it runs with the monotonic clock from the moment it was made:
/// setting the system's clock neither shortens nor lengthens a wait that is under way (C-34).
#[derive(Debug, Clone)]
pub struct Clock {
    /// The moment at `origin`.
    base: Moment,
    origin: Instant,
}

impl Clock {
    /// The time everybody has.
    pub fn system() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self::starting_at(Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
    }

    /// A clock that shows `moment` now. Under a paused runtime it only moves when the runtime does.
    pub fn starting_at(moment: Moment) -> Self {
        Self { base: moment, origin: Instant::now() }
    }

    /// What it shows.
    pub fn now(&self) -> Moment {
        let passed = self.origin.elapsed().as_millis();
        self.base.plus(Millis(u64::try_from(passed).unwrap_or(u64::MAX)))
    }

    /// Puts it forward so that it never shows an earlier time than `moment` again.
    pub fn not_before(&mut self, moment: Moment) {
        let behind = moment.since(self.now());
        self.base = self.base.plus(behind);
    }

    /// Waits until it shows `moment`.
    pub async fn sleep_until(&self, moment: Moment) {
        let left = moment.since(self.now());
        tokio::time::sleep(Duration::from_millis(left.0)).await;
    }
}
