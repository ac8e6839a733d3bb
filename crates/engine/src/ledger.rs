//! Tracks the cost of a run and estimates its next call.

use saihai_model::{Budget, Cost, Millis, ProviderName, Usd};
use serde::{Deserialize, Serialize};

/// Total cost of a run, and its most expensive call with each provider and model.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Settled cost, including failed attempts.
    pub spent: Cost,
    /// Most expensive settled call by provider and model.
    pub dearest: Vec<(ProviderName, Option<String>, Cost)>,
}

impl Ledger {
    /// Returns the amount to reserve for a call: the most expensive call so far, else the price of a turn.
    pub(crate) fn estimate(&self, provider: &ProviderName, model: Option<&str>, price: Option<Usd>) -> Cost {
        let known = self.dearest.iter().find(|(name, of, _)| name == provider && of.as_deref() == model);
        match known {
            Some((_, _, cost)) => Cost { turns: 1, ..*cost },
            None => Cost { usd: price.unwrap_or_default(), tokens: 0, turns: 1 },
        }
    }

    /// Returns true if a call fits into the budget next to the running calls. Once the budget is spent, no call fits,
    /// even one of unknown cost.
    pub(crate) fn fits(&self, budget: &Budget, reserved: Cost, next: Cost, driven: Millis) -> bool {
        let taken = self.spent.plus(reserved);
        budget.usd.is_none_or(|most| taken.usd < most)
            && budget.tokens.is_none_or(|most| taken.tokens < most)
            && budget.allows(taken.plus(next), driven)
    }

    /// Returns the money left in a budget after the reservations of running calls.
    pub(crate) fn money_left(&self, budget: &Budget, reserved: Cost) -> Option<Usd> {
        let taken = self.spent.plus(reserved).usd;
        budget.usd.map(|most| Usd(most.0.saturating_sub(taken.0)))
    }

    /// Adds the cost of a call.
    pub(crate) fn settle(&mut self, provider: &ProviderName, model: Option<&str>, cost: Cost) {
        self.spent = self.spent.plus(cost);
        match self.dearest.iter_mut().find(|(name, of, _)| name == provider && of.as_deref() == model) {
            Some((_, _, dearest)) => {
                dearest.usd = dearest.usd.max(cost.usd);
                dearest.tokens = dearest.tokens.max(cost.tokens);
            }
            None => self.dearest.push((provider.clone(), model.map(str::to_owned), cost)),
        }
    }
}
