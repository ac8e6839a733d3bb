//! Maximum cost of a run.

use std::collections::BTreeMap;

use saihai_model::{
    Budget, Price, ProviderKind, ProviderName, ProviderSettings, Question, QuestionSession, Usd, Workflow,
};

use super::{Choice, Limits, Method, Prompt, stage, turn, workflow};
use crate::Settings;
use crate::check::{Charge, Money, most_calls, most_money};

const CENT: u64 = 10_000;

fn provider(kind: ProviderKind, price: Price) -> ProviderSettings {
    ProviderSettings { price, ..ProviderSettings::new(kind) }
}

fn by_turn(cents: u64) -> Price {
    Price { turn: Some(Usd(cents * CENT)), ..Price::default() }
}

fn by_token(input: u64, output: u64) -> Price {
    Price { input: Some(Usd(input)), output: Some(Usd(output)), ..Price::default() }
}

fn settings<const N: usize>(providers: [(&str, ProviderSettings); N]) -> Settings {
    let mut settings = Settings::default();
    settings.providers.extend(providers.map(|(name, provider)| (name.into(), provider)));
    settings
}

/// Builds a stage `a` that calls these providers, then a stage `b` that calls the first of them.
fn asking(providers: &[&str]) -> Workflow {
    let mut flow = workflow("a: b; b: COMPLETE");
    let answered_by = |name: &&str| {
        let mut turn = turn(name, &["b"]);
        turn.provider = (*name).into();
        turn
    };
    let rules = |flow: &Workflow, name: &str| match &flow.stages[name].exit {
        saihai_model::Exit::Rules { rules, .. } => rules.clone(),
        saihai_model::Exit::Topics { .. } => Vec::new(),
    };
    let (of_a, of_b) = (rules(&flow, "a"), rules(&flow, "b"));
    flow.stages.insert("a".into(), stage(providers.iter().map(answered_by).collect(), of_a));
    flow.stages.insert("b".into(), stage(vec![answered_by(&providers[0])], of_b));
    flow
}

fn open(because: &[(&str, Charge)]) -> Option<Money> {
    let because: BTreeMap<ProviderName, Charge> =
        because.iter().map(|(name, charge)| ((*name).into(), *charge)).collect();
    Some(Money::Open(because))
}

// P-56
#[test]
fn money_is_the_limit_times_the_stage_whose_calls_are_dearest() {
    let settings = settings([
        ("codex", provider(ProviderKind::Codex, by_turn(5))),
        ("dear", provider(ProviderKind::Openai, by_turn(20))),
    ]);
    let flow = asking(&["codex", "codex", "dear"]);
    assert_eq!(most_calls(&flow), Some(30));
    assert_eq!(most_money(&flow, &settings), Some(Money::AtMost(Usd(10 * 30 * CENT))));
    // K-35: a turn budget also limits the cost, at the highest price per turn.
    let mut few = flow.clone();
    few.limits.budget.turns = Some(4);
    assert_eq!(most_money(&few, &settings), Some(Money::AtMost(Usd(4 * 20 * CENT))));
    let mut unlimited = flow;
    unlimited.limits = Limits::default();
    assert_eq!(most_money(&unlimited, &settings), Some(Money::Unlimited));
}

#[test]
fn questions_cost_the_price_of_the_provider_that_answers() {
    let settings = settings([
        ("codex", provider(ProviderKind::Codex, by_turn(5))),
        ("judge", provider(ProviderKind::Openai, by_turn(1))),
    ]);
    let mut flow = asking(&["codex"]);
    let question = Question {
        prompt: Prompt::default(),
        provider: Some("judge".into()),
        model: None,
        session: QuestionSession::Fresh,
        answer: saihai_model::AnswerForm::Tag,
        correction: Prompt::default(),
        corrections: 1,
        unreadable: None,
    };
    let saihai_model::Activity::Turns { turns, .. } = &mut flow.stages["a"].does else { panic!("turns") };
    let Choice { found_by, .. } = turns[0].reads.choice.as_mut().unwrap();
    found_by.push(Method::Ask(Box::new(question)));
    // one turn, and a question that can be asked twice
    assert_eq!(most_money(&flow, &settings), Some(Money::AtMost(Usd(10 * 7 * CENT))));
}

#[test]
fn without_any_price_there_is_nothing_to_say() {
    assert_eq!(most_money(&asking(&["codex", "claude", "script"]), &Settings::default()), None);
}

// The check never returns an unreliable limit.
#[test]
fn money_is_open_where_a_call_is_not_charged_by_the_turn_alone() {
    let settings = settings([
        ("codex", provider(ProviderKind::Codex, by_turn(5))),
        ("tokens", provider(ProviderKind::Openai, by_token(3_000_000, 15_000_000))),
        // The provider reports its own cost, and that counts.
        ("claude", provider(ProviderKind::Claude, by_turn(5))),
    ]);
    assert_eq!(most_money(&asking(&["codex", "tokens"]), &settings), open(&[("tokens", Charge::ByToken)]));
    assert_eq!(most_money(&asking(&["claude"]), &settings), open(&[("claude", Charge::Told)]));
    assert_eq!(
        most_money(&asking(&["codex", "gemini", "nobody"]), &settings),
        open(&[("gemini", Charge::Unpriced), ("nobody", Charge::Unpriced)])
    );
}

#[test]
fn a_budget_of_tokens_bounds_what_is_charged_by_the_token() {
    let mut price = by_token(3_000_000, 15_000_000);
    price.turn = Some(Usd(CENT));
    let settings = settings([("tokens", provider(ProviderKind::Openai, price))]);
    let mut flow = asking(&["tokens"]);
    flow.limits.budget = Budget { tokens: Some(2_000_000), ..Budget::default() };
    // two million of the most expensive tokens, and ten calls at a cent each
    assert_eq!(most_money(&flow, &settings), Some(Money::WithinTokens(Usd(30_000_000 + 10 * CENT))));
    flow.limits.budget.tokens = Some(1);
    assert_eq!(most_money(&flow, &settings), Some(Money::WithinTokens(Usd(15 + 10 * CENT))));
}

// C-35
#[test]
fn a_fallback_counts_if_it_costs_more() {
    let mut codex = provider(ProviderKind::Codex, by_turn(5));
    codex.fallback = Some("dear".into());
    let dear = provider(ProviderKind::Openai, by_turn(20));
    let both = settings([("codex", codex.clone()), ("dear", dear)]);
    assert_eq!(most_money(&asking(&["codex"]), &both), Some(Money::AtMost(Usd(10 * 20 * CENT))));
    let unpriced = settings([("codex", codex), ("dear", ProviderSettings::new(ProviderKind::Openai))]);
    assert_eq!(most_money(&asking(&["codex"]), &unpriced), open(&[("dear", Charge::Unpriced)]));
}
