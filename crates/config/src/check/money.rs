//! The most money a run can cost, as far as prices say so.

use std::collections::BTreeMap;

use saihai_model::{ProviderName, Usd, Workflow};

use super::bound::{calls, most_rounds};
use crate::Settings;

/// What can be said beforehand of the money a run costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Money {
    /// Never more than this, retries not counted: every call has a price of its own and nothing else is charged.
    AtMost(Usd),
    /// So much for all the tokens of the budget and every call's own price. It holds as far as that budget does: what
    /// is under way when it is spent may go beyond it.
    WithinTokens(Usd),
    /// No number holds, because of these providers.
    Open(BTreeMap<ProviderName, Charge>),
    /// Calls are not limited, and therefore money is not.
    Unlimited,
}

/// How a provider's calls are charged, beside the price each may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    ByTurn,
    /// By tokens, of which there is no knowing beforehand how many there will be.
    ByToken,
    /// As the provider itself says afterwards.
    Told,
    /// Nothing says what they cost.
    Unpriced,
}

/// What a run can cost without retries; nothing where no price is set for anybody it asks. Where somebody else can
/// answer instead (`fallback`), the dearer of them counts.
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

/// What so many tokens cost, in millionths and rounded up, at a price per million of them.
fn cost(tokens: u64, price: u64) -> u64 {
    let millionths = u128::from(tokens) * u128::from(price);
    u64::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// What was seen of prices, in millionths of a dollar.
#[derive(Debug, Default)]
struct Prices {
    charges: BTreeMap<ProviderName, Charge>,
    /// Whether anything has a price.
    set: bool,
    turn: u64,
    /// A million of the dearest tokens.
    token: u64,
}

impl Prices {
    /// The price that a call itself has.
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

/// A provider and those who answer when it does not.
fn answering(provider: &ProviderName, settings: &Settings) -> Vec<ProviderName> {
    let mut all = vec![provider.clone()];
    let fallback = |name: &ProviderName| settings.provider(name.as_str())?.fallback;
    while let Some(next) = all.last().and_then(fallback).filter(|next| !all.contains(next)) {
        all.push(next);
    }
    all
}
