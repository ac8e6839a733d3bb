use super::*;

#[test]
fn a_budget_has_any_of_four_keys() {
    // K-35
    let all = Budget {
        usd: Some(Usd(5_000_000)),
        tokens: Some(2_000_000),
        turns: Some(40),
        time: Some(Millis::seconds(90 * 60)),
    };
    assert_eq!(parse_budget("usd=5,tokens=2000000,turns=40,minutes=90"), Ok(all));
    assert_eq!(parse_budget(" minutes = 0.5 ").unwrap().time, Some(Millis::seconds(30)));
}

#[test]
fn a_budget_that_cannot_be_meant_names_the_four_keys() {
    // K-case 8
    let wrong = |text: &str| parse_budget(text).unwrap_err().to_string();
    assert_snapshot!(wrong("5"), @"`5` has no key; write `usd=…`, `tokens=…`, `turns=…` or `minutes=…`, joined by commas");
    assert_snapshot!(wrong("token=5"), @"`token` is not one of the keys `usd`, `tokens`, `turns` and `minutes`; did you mean `tokens`?");
    assert_snapshot!(wrong("usd=1,usd=2"), @"`usd` is given twice");
    assert_snapshot!(wrong("turns=1.5"), @"`1.5` is not a value for `turns`; it must be a whole number greater than 0");
    for text in [
        "",
        "usd",
        "usd=",
        "usd=-1",
        "usd=0",
        "usd=nan",
        "usd=inf",
        "usd=1e300",
        "tokens=0",
        "minutes=x",
        "usd=1,",
    ] {
        assert!(parse_budget(text).is_err(), "{text}");
    }
}

#[test]
fn a_budget_in_dollars_needs_turns_whose_cost_is_known() {
    // K-35, K-case 8
    let settings = World::default()
        .user("[providers.priced]\nkind = \"codex\"\nprice = { input = 1.25, output = 10 }\n[providers.tool]\nkind = \"command\"\nprogram = \"tool\"\n")
        .settings();
    let budget = Budget { usd: Some(Usd(1_000_000)), ..Budget::default() };
    let check = |names: &[&str]| {
        let names: Vec<ProviderName> = names.iter().map(|name| ProviderName::from(*name)).collect();
        to_human(&settings.check_budget(&budget, &names), Colour::Never)
    };
    assert_eq!(check(&["claude", "opencode", "script", "priced"]), "");
    assert_snapshot!(check(&["codex", "tool"]), @"
    error[provider/no-price]: a budget in `usd` is not possible: `codex` does not report the cost of its turns
      = help: set `[providers.codex] price`, or give the budget in `tokens`, `turns` or `minutes`

    error[provider/no-price]: a budget in `usd` is not possible: `tool` does not report the cost of its turns
      = help: set `[providers.tool] price`, or give the budget in `turns` or `minutes`
    ");
    let turns = Budget { turns: Some(1), ..Budget::default() };
    assert!(settings.check_budget(&turns, [&ProviderName::from("codex")]).is_empty());
}

#[test]
fn a_budget_in_tokens_needs_providers_that_report_them() {
    // K-35
    let settings = World::default()
        .user("[providers.tool]\nkind = \"command\"\nprogram = \"tool\"\n[providers.talker]\nkind = \"command\"\nprogram = \"tool\"\nprotocol = \"json\"\n")
        .settings();
    let budget = Budget { tokens: Some(1_000), ..Budget::default() };
    let check = |names: &[&str]| {
        let names: Vec<ProviderName> = names.iter().map(|name| ProviderName::from(*name)).collect();
        to_human(&settings.check_budget(&budget, &names), Colour::Never)
    };
    assert_eq!(check(&["claude", "codex", "opencode", "gemini", "openai", "script", "talker"]), "");
    assert_snapshot!(check(&["copilot", "tool"]), @"
    error[provider/no-tokens]: a budget in `tokens` is not possible: `copilot` does not report the tokens of its turns
      = help: give the budget in `turns` or `minutes`

    error[provider/no-tokens]: a budget in `tokens` is not possible: `tool` does not report the tokens of its turns
      = help: give the budget in `turns` or `minutes`
    ");
}
