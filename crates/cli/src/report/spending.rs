//! Spending of a budget, for people and programs.

use saihai::project::Spending;
use serde::Serialize;

use super::{BudgetObject, count, grouped};
use crate::time;

/// Formats the spending: `$1.2000 of $5.0000, 12 of 40 turns`.
pub(crate) fn spending_words(spending: &Spending) -> Option<String> {
    let Spending { budget, spent, driven } = spending;
    let mut parts = Vec::new();
    parts.extend(budget.usd.map(|usd| format!("{} of {usd}", spent.usd)));
    parts.extend(
        budget.tokens.map(|tokens| format!("{} of {}", grouped(spent.tokens), count(tokens, "token"))),
    );
    parts.extend(budget.turns.map(|turns| format!("{} of {}", grouped(spent.turns), count(turns, "turn"))));
    parts.extend(budget.time.map(|most| format!("{} of {}", time::length(*driven), time::length(most))));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A budget with the spending of each key.
#[derive(Serialize)]
pub(crate) struct SpendingObject {
    #[serde(flatten)]
    budget: BudgetObject,
    spent: SpentObject,
}

#[derive(Serialize)]
struct SpentObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ms: Option<u64>,
}

impl SpendingObject {
    /// Returns nothing without a bound.
    pub(crate) fn of(spending: &Spending) -> Option<Self> {
        let Spending { budget, spent, driven } = spending;
        let spent = SpentObject {
            usd: budget.usd.map(|_| spent.usd.dollars()),
            tokens: budget.tokens.map(|_| spent.tokens),
            turns: budget.turns.map(|_| spent.turns),
            time_ms: budget.time.map(|_| driven.0),
        };
        BudgetObject::new(budget).map(|budget| Self { budget, spent })
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::{Budget, Cost, Millis, Usd};

    use super::*;
    use crate::report::budget_words;

    // K-35
    #[test]
    fn a_budget_is_told_by_its_keys_and_what_was_spent_of_each() {
        let budget = Budget {
            usd: Some(Usd(5_000_000)),
            tokens: Some(2_000_000),
            turns: Some(1),
            time: Some(Millis::seconds(90 * 60)),
        };
        assert_eq!(budget_words(&budget).as_deref(), Some("$5.0000, 2,000,000 tokens, 1 turn, 1 h 30 m"));
        let spent = Cost { usd: Usd(1_200_000), tokens: 1_020, turns: 1 };
        let spending = Spending { budget, spent, driven: Millis::seconds(61) };
        assert_eq!(
            spending_words(&spending).as_deref(),
            Some("$1.2000 of $5.0000, 1,020 of 2,000,000 tokens, 1 of 1 turn, 1 m 01 s of 1 h 30 m")
        );
        let object = serde_json::to_value(SpendingObject::of(&spending)).unwrap();
        let spent = serde_json::json!({"usd": 1.2, "tokens": 1_020, "turns": 1, "time_ms": 61_000});
        assert_eq!(object["spent"], spent);
        let free = Spending { budget: Budget::default(), ..spending };
        assert_eq!((budget_words(&free.budget), spending_words(&free)), (None, None));
        assert!(SpendingObject::of(&free).is_none());
    }
}
