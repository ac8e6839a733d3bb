//! Upper bounds on calls and rounds, and the maximum cost of a run as far as prices are known.

use std::collections::BTreeMap;

use saihai_model::{Choice, ProviderName, Stage, Usd, Workflow};

use crate::Settings;

/// Returns the maximum number of provider calls, retries excluded. It is the iteration limit times the most
/// expensive stage, or the turn budget if that is lower. `None` means neither limit is set.
pub fn most_calls(workflow: &Workflow) -> Option<u64> {
    let dearest = workflow.stages.values().map(|stage| calls(stage).map(|(_, times)| times).sum()).max();
    let by_rounds = most_rounds(workflow).map(|rounds| rounds.saturating_mul(dearest.unwrap_or(0)));
    by_rounds.into_iter().chain(workflow.limits.budget.turns).min()
}

pub(super) fn most_rounds(workflow: &Workflow) -> Option<u64> {
    let limits = &workflow.limits;
    limits.rounds.into_iter().chain(limits.hard_rounds).min().map(u64::from)
}

/// Yields each provider one round of a stage can call, and the maximum number of calls. Turns, corrections
/// and judging questions all count.
pub(super) fn calls(stage: &Stage) -> impl Iterator<Item = (&ProviderName, u64)> {
    let turns = stage.agent_turns().flat_map(|turn| {
        let corrections = turn.reads.output.as_ref().map_or(0, |output| u64::from(output.corrections));
        let asked = turn.reads.choice.as_ref().and_then(|choice| questions(choice, &turn.provider));
        [Some((&turn.provider, 1 + corrections)), asked].into_iter().flatten()
    });
    let first = stage.agent_turns().chain(stage.turns()).next().map(|turn| &turn.provider);
    let exit = stage.exit.question().zip(first).and_then(|(choice, first)| questions(choice, first));
    turns.chain(exit)
}

/// Returns the provider of a choice's judging question and the maximum number of calls.
fn questions<'a>(choice: &'a Choice, else_by: &'a ProviderName) -> Option<(&'a ProviderName, u64)> {
    let question = choice.question()?;
    Some((question.provider.as_ref().unwrap_or(else_by), 1 + u64::from(question.corrections)))
}

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
        for name in settings.with_fallbacks(provider) {
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
