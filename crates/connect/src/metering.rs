//! The cost of a turn, for providers that count whole sessions (C-27).

use saihai_model::{Ask, Meter, Usage};

/// Computes this turn's share of a session's counters. In a new session that is everything. In a continued
/// one, it is the increase since the last known value. Without such a value it is everything, marked as
/// covering more than the turn.
pub(crate) fn of_turn(ask: &Ask, counted: &Meter) -> Meter {
    match (&ask.session, &ask.metered) {
        (None, _) => counted.clone(),
        (Some(_), Some(before)) => Meter {
            usage: Usage {
                input: since(counted.usage.input, before.usage.input),
                output: since(counted.usage.output, before.usage.output),
                cached: since(counted.usage.cached, before.usage.cached),
                reasoning: since(counted.usage.reasoning, before.usage.reasoning),
                cumulative: false,
            },
            cost: since(counted.cost.map(|cost| cost.0), before.cost.map(|cost| cost.0))
                .map(saihai_model::Usd),
        },
        (Some(_), None) => {
            let usage = Usage { cumulative: true, ..counted.usage.clone() };
            Meter { usage, cost: counted.cost }
        }
    }
}

/// A counter below its earlier value was reset, so all of it is new.
fn since(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    match (now, before) {
        (Some(now), Some(before)) => Some(now.checked_sub(before).unwrap_or(now)),
        (Some(now), None) => Some(now),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::Usd;

    use super::*;
    use crate::testing::ask;

    fn meter(input: u64, cost: u64) -> Meter {
        Meter { usage: Usage { input: Some(input), ..Usage::default() }, cost: Some(Usd(cost)) }
    }

    fn check(session: bool, before: Option<Meter>, expected: (u64, u64, bool)) {
        let session = session.then(|| "s".to_owned());
        let turn = of_turn(&Ask { session, metered: before, ..ask() }, &meter(400, 1_200));
        let (usage, cost) = (turn.usage, turn.cost);
        assert_eq!(
            (usage.input, cost, usage.cumulative),
            (Some(expected.0), Some(Usd(expected.1)), expected.2)
        );
        assert_eq!(usage.output, None, "what is unknown stays absent");
    }

    // C-27, Connections cases 10 and 14
    #[test]
    fn a_continued_session_has_cost_what_came_since_it_was_last_heard_of() {
        check(true, Some(meter(200, 600)), (200, 600, false));
    }

    // C-27
    #[test]
    fn without_an_earlier_value_the_whole_session_counts_and_says_so() {
        check(true, None, (400, 1_200, true));
        check(false, None, (400, 1_200, false));
    }

    #[test]
    fn a_counter_that_began_anew_is_no_negative_amount() {
        check(true, Some(meter(500, 9_000)), (400, 1_200, false));
    }
}
