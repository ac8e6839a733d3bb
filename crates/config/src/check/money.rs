//! Maximum cost of a run, as far as prices are known.

use std::collections::BTreeMap;

use saihai_model::{ProviderName, Usd, Workflow};

use super::bound::{calls, most_rounds};
use crate::Settings;

/// Estimate of a run's maximum cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Money {
    /// Hard limit, retries excluded: every call has a fixed price, without further charges.
    AtMost(Usd),
    /// Limit that assumes the token budget holds: all its tokens plus the fixed price of every call. Calls in
    /// flight when the budget runs out may exceed it.
    WithinTokens(Usd),
    /// No limit, because of these providers.
    Open(BTreeMap<ProviderName, Charge>),
    /// No limit, because the number of calls has none.
    Unlimited,
}

/// Charging model of a provider, in addition to a fixed price per call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    ByTurn,
    /// Per token; the number of tokens is not known in advance.
    ByToken,
    /// The provider reports the cost after each call.
    Told,
    Unpriced,
}

/// Returns the maximum cost of a run, retries excluded. `None` means no provider it uses has a price. If a
/// provider has a `fallback`, the more expensive of them counts.
pub fn most_money(workflow: &Workflow, settings: &Settings) -> Option<Money> {
    let mut prices = Prices::default();
    let rounds = workflow.stages.values().map(|stage| {
        let call = |(provider, times): (_, u64)| times.saturating_mul(prices.of_call(provider, settings));
        calls(stage).map(call).fold(0, u64::saturating_add)
    });
    let dearest_round = rounds.max().unwrap_or(0);
    if !prices.set {
        return None;
    }
    let budget = &workflow.limits.budget;
    let open = |charge: &Charge| match charge {
        Charge::ByTurn => false,
        Charge::ByToken => budget.tokens.is_none(),
        Charge::Told | Charge::Unpriced => true,
    };
    if prices.charges.values().any(open) {
        prices.charges.retain(|_, charge| open(charge));
        return Some(Money::Open(prices.charges));
    }
    let by_rounds = most_rounds(workflow).map(|rounds| rounds.saturating_mul(dearest_round));
    let by_turns = budget.turns.map(|turns| turns.saturating_mul(prices.turn));
    let Some(turns) = by_rounds.into_iter().chain(by_turns).min() else { return Some(Money::Unlimited) };
    Some(match (budget.tokens, prices.token) {
        (Some(tokens), price @ 1..) => Money::WithinTokens(Usd(turns.saturating_add(cost(tokens, price)))),
        (Some(_) | None, _) => Money::AtMost(Usd(turns)),
    })
}

/// Returns the cost of `tokens` at `price` per million tokens, in millionths of a dollar, rounded up.
fn cost(tokens: u64, price: u64) -> u64 {
    let millionths = u128::from(tokens) * u128::from(price);
    u64::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Prices seen so far, in millionths of a dollar.
#[derive(Debug, Default)]
struct Prices {
    charges: BTreeMap<ProviderName, Charge>,
    /// True if any provider has a price.
    set: bool,
    turn: u64,
    /// Highest price of a million tokens.
    token: u64,
}

impl Prices {
    /// Returns the fixed price of a call and records the provider's charging model.
    fn of_call(&mut self, provider: &ProviderName, settings: &Settings) -> u64 {
        let mut dearest = 0;
        for name in answering(provider, settings) {
            let Some(provider) = settings.provider(name.as_str()) else {
                self.charges.insert(name, Charge::Unpriced);
                continue;
            };
            let price = provider.price;
            self.set |= !price.is_unset();
            let tokens = [price.input, price.output, price.cached].into_iter().flatten().max();
            let charge = match (provider.reports_cost(), tokens, price.turn) {
                (true, _, _) => Charge::Told,
                (false, Some(Usd(1..)), _) => Charge::ByToken,
                (false, Some(Usd(0)), _) | (false, None, Some(_)) => Charge::ByTurn,
                (false, None, None) => Charge::Unpriced,
            };
            self.charges.insert(name, charge);
            self.token = self.token.max(tokens.unwrap_or_default().0);
            dearest = dearest.max(price.turn.unwrap_or_default().0);
        }
        self.turn = self.turn.max(dearest);
        dearest
    }
}

/// Returns a provider and its fallbacks.
fn answering(provider: &ProviderName, settings: &Settings) -> Vec<ProviderName> {
    let mut all = vec![provider.clone()];
    let fallback = |name: &ProviderName| settings.provider(name.as_str())?.fallback;
    while let Some(next) = all.last().and_then(fallback).filter(|next| !all.contains(next)) {
        all.push(next);
    }
    all
}
