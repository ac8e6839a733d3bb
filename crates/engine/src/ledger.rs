//! What a run has spent and what its next call may cost.

use saihai_model::{Budget, Cost, Millis, ProviderName, Usd};
use serde::{Deserialize, Serialize};

/// What a run has spent, and the dearest call it has settled with each provider and model.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Settled costs, failed attempts included.
    pub spent: Cost,
    /// The dearest settled call by provider and model.
    pub dearest: Vec<(ProviderName, Option<String>, Cost)>,
}

impl Ledger {
    /// What is set aside for a call: the dearest one before it, else the price of a turn.
    pub(crate) fn estimate(&self, provider: &ProviderName, model: Option<&str>, price: Option<Usd>) -> Cost {
        let known = self.dearest.iter().find(|(name, of, _)| name == provider && of.as_deref() == model);
        match known {
            Some((_, _, cost)) => Cost { turns: 1, ..*cost },
            None => Cost { usd: price.unwrap_or_default(), tokens: 0, turns: 1 },
        }
    }

    /// Whether a call fits beside what is under way. Where all is spent nothing does, though nothing be known of what
    /// the call will cost.
    pub(crate) fn fits(&self, budget: &Budget, reserved: Cost, next: Cost, driven: Millis) -> bool {
        let taken = self.spent.plus(reserved);
        budget.usd.is_none_or(|most| taken.usd < most)
            && budget.tokens.is_none_or(|most| taken.tokens < most)
            && budget.allows(taken.plus(next), driven)
    }

    /// What is left of a budget in money beside what is under way.
    pub(crate) fn money_left(&self, budget: &Budget, reserved: Cost) -> Option<Usd> {
        let taken = self.spent.plus(reserved).usd;
        budget.usd.map(|most| Usd(most.0.saturating_sub(taken.0)))
    }

    /// Books what a call has cost.
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
