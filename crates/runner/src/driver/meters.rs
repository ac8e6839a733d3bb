//! Session counters of providers, as recorded in the journal (C-27).

use std::collections::HashMap;

use saihai_engine::Run;
use saihai_model::{Fact, Meter};

/// The last counters of every session that may continue. The driver passes them with the next ask in the same
/// session, and the provider subtracts them from its totals.
#[derive(Debug, Default)]
pub(super) struct Meters(HashMap<String, Meter>);

/// Number of sessions above which ended ones are forgotten. Only a few sessions of a run continue.
const MANY: usize = 64;

impl Meters {
    /// Records the counters of a call that was asked in `asked` and came back in `session`.
    pub(super) fn note(&mut self, asked: Option<&str>, session: Option<&str>, metered: Option<&Meter>) {
        if let (Some(session), Some(metered)) = (session.or(asked), metered) {
            self.0.insert(session.to_owned(), metered.clone());
        }
    }

    pub(super) fn of(&self, session: Option<&str>) -> Option<Meter> {
        self.0.get(session?).cloned()
    }

    /// Forgets sessions that the run cannot continue, once there are many.
    pub(super) fn forget_ended(&mut self, run: &Run) {
        if self.0.len() > MANY {
            self.0.retain(|session, _| run.sessions().any(|kept| kept == session));
        }
    }
}

/// Returns the session and the counters in a fact.
pub(super) fn told(fact: &Fact) -> Option<(Option<String>, Meter)> {
    match fact {
        Fact::Replied(reply) => Some((reply.session.clone(), reply.metered.clone()?)),
        Fact::Failed(failed) => Some((failed.session.clone(), failed.metered.clone()?)),
        Fact::Started(_)
        | Fact::Asked { .. }
        | Fact::Performed { .. }
        | Fact::Answered(_)
        | Fact::Woke
        | Fact::Reopened
        | Fact::Resumed(_)
        | Fact::Interrupted { .. }
        | Fact::StorageFailed { .. }
        | Fact::Cancelled { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::Usd;

    use super::*;

    fn meter(cost: u64) -> Meter {
        Meter { cost: Some(Usd(cost)), ..Meter::default() }
    }

    #[test]
    fn the_last_counters_of_a_session_are_known_also_after_a_failed_attempt() {
        // C-26, C-27
        let mut meters = Meters::default();
        meters.note(None, Some("a"), Some(&meter(1)));
        meters.note(Some("a"), None, Some(&meter(2)));
        meters.note(Some("a"), Some("b"), Some(&meter(9)));
        meters.note(Some("a"), Some("a"), None);
        assert_eq!(meters.of(Some("a")), Some(meter(2)));
        assert_eq!(meters.of(Some("b")), Some(meter(9)));
        assert_eq!((meters.of(Some("c")), meters.of(None)), (None, None));
    }

    #[test]
    fn sessions_that_cannot_go_on_are_forgotten_once_there_are_many() {
        let mut meters = Meters::default();
        for number in 0..200 {
            meters.note(None, Some(&format!("session {number}")), Some(&meter(1)));
            meters.forget_ended(&Run::new());
            assert!(meters.0.len() <= MANY + 1);
        }
    }
}
