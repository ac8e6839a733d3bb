//! How long a turn ran.

use saihai_model::{Millis, Moment};

/// How long a turn ran, with its waits between attempts, and without the time in which nobody drove the run.
#[derive(Debug, Default)]
pub(super) struct Ran {
    /// In the processes before this one.
    before: Millis,
    /// When it began in this one.
    since: Option<Moment>,
    /// When it last came to an end in this one.
    until: Option<Moment>,
    is_under_way: bool,
}

impl Ran {
    /// It begins, or is tried again.
    pub(super) fn begin(&mut self, at: Moment) {
        self.since = self.since.or(Some(at));
        self.is_under_way = true;
    }

    /// It comes to an end: for good, or until it is tried again.
    pub(super) fn end(&mut self, at: Moment) {
        self.until = Some(at);
        self.is_under_way = false;
    }

    /// Nobody drove the run any more after this moment.
    pub(super) fn pause(&mut self, at: Moment) {
        if self.is_under_way {
            self.end(at);
        }
        self.before = self.whole();
        (self.since, self.until) = (None, None);
    }

    /// How long in the process that drives the run now: only that counts against a deadline.
    pub(super) fn lately(&self) -> Millis {
        self.since.zip(self.until).map_or(Millis(0), |(since, until)| until.since(since))
    }

    pub(super) fn whole(&self) -> Millis {
        Millis(self.before.0.saturating_add(self.lately().0))
    }
}
