//! The duration of a turn.

use saihai_model::{Millis, Moment};

/// The duration of a turn. It includes waits between attempts and excludes time in which no process drove the
/// run.
#[derive(Debug, Default)]
pub(super) struct Ran {
    before: Millis,
    /// Start time in this process.
    since: Option<Moment>,
    /// Last end time in this process.
    until: Option<Moment>,
    is_under_way: bool,
}

impl Ran {
    /// Starts or retries the turn.
    pub(super) fn begin(&mut self, at: Moment) {
        self.since = self.since.or(Some(at));
        self.is_under_way = true;
    }

    /// Ends the turn, for good or until a retry.
    pub(super) fn end(&mut self, at: Moment) {
        self.until = Some(at);
        self.is_under_way = false;
    }

    /// Records that no process drove the run after this time.
    pub(super) fn pause(&mut self, at: Moment) {
        if self.is_under_way {
            self.end(at);
        }
        self.before = self.whole();
        (self.since, self.until) = (None, None);
    }

    /// Returns the time in the current process. Only this counts towards a deadline.
    pub(super) fn lately(&self) -> Millis {
        self.since.zip(self.until).map_or(Millis(0), |(since, until)| until.since(since))
    }

    pub(super) fn whole(&self) -> Millis {
        Millis(self.before.0.saturating_add(self.lately().0))
    }
}
