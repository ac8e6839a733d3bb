//! When issues are looked for again.

use saihai_model::{Millis, Moment};

/// The longest pause between two looks at a source that does not answer.
const LONGEST: Millis = Millis(15 * 60_000);

/// Looking for issues again and again.
pub(super) struct Look {
    /// When it is done next.
    pub(super) next: Moment,
    /// It is being done.
    pub(super) under_way: bool,
    every: Millis,
    pause: Millis,
    complained: bool,
}

impl Look {
    /// Looks so often, for the first time after that long.
    pub(super) fn every(every: Millis, now: Moment) -> Self {
        Self { next: now.plus(every), under_way: false, every, pause: every, complained: false }
    }

    /// The source has answered: it is looked at as often as ever.
    pub(super) fn answered(&mut self, now: Moment) {
        (self.under_way, self.pause, self.complained) = (false, self.every, false);
        self.next = now.plus(self.every);
    }

    /// The source has not answered: it is asked less and less often. Whether that is news, and to be said.
    pub(super) fn unanswered(&mut self, now: Moment) -> bool {
        self.under_way = false;
        self.pause = Millis(self.pause.0.saturating_mul(2).min(LONGEST.0.max(self.every.0)));
        self.next = now.plus(self.pause);
        !std::mem::replace(&mut self.complained, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The pauses of I-76
    #[test]
    fn a_source_that_does_not_answer_is_asked_less_and_less_often_and_complained_of_once() {
        let (mut look, mut now) = (Look::every(Millis(60_000), Moment(0)), Moment(60_000));
        let mut after = |look: &mut Look, answers: bool| {
            let news = if answers { None } else { Some(look.unanswered(now)) };
            if answers {
                look.answered(now);
            }
            let pause = look.next.since(now).0 / 1_000;
            now = look.next;
            (pause, news)
        };
        assert_eq!(after(&mut look, false), (120, Some(true)));
        for pause in [240, 480, 900, 900] {
            assert_eq!(after(&mut look, false), (pause, Some(false)));
        }
        assert_eq!(after(&mut look, true), (60, None));
        assert_eq!(after(&mut look, false), (120, Some(true)), "it had answered meanwhile");
        // Nobody is asked more often because they do not answer.
        let mut slow = Look::every(Millis(3_600_000), Moment(0));
        slow.unanswered(Moment(0));
        assert_eq!(slow.next, Moment(3_600_000));
    }
}
