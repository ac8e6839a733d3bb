//! Budgets, through the program. K-35, T-60, T-61.

use crate::support::{PROGRAM, project};
use saihai_tests::Project;

const TWO: &str = "name: it\nmovements:\n  - {name: one, rules: [{condition: on, next: two}]}\n  - {name: two, rules: [{condition: done, next: COMPLETE}]}\n";

const COSTS: &str = "  - {for: one, text: '[STEP:0]', cost: 0.75, usage: {input: 900, output: 100}}
  - {for: two, text: '[STEP:0]', cost: 0.5, usage: {input: 400, output: 100}}
";

// K-35, P6
#[test]
fn a_turn_that_does_not_fit_is_not_asked_and_a_larger_budget_goes_on() {
    for (budget, larger) in [("usd=1", "usd=2"), ("tokens=1500", "tokens=3000"), ("turns=1", "turns=2")] {
        let project = project(TWO, COSTS);
        let arguments = ["run", "it", "The task.", "--script", "script.yaml", "--budget", budget];
        let parked = project.saihai(arguments).run().exits(5);
        assert!(parked.stdout.starts_with("parked: the budget does not allow another turn"), "{parked}");
        assert!(parked.stderr.contains("note: the budget is "), "told before the launch: {parked}");
        assert_eq!(project.saihai(["resume", "last"]).run().code, Some(5));
        project.saihai(["resume", "last", "--budget", larger]).run().exits(0);
    }
}

// K-35: the budget is shown before the launch with the bound of `check`, in `show`, and in JSON.
#[test]
fn a_budget_is_told_before_the_launch_and_shown_with_what_was_spent() {
    let project = project(TWO, COSTS);
    project.write(".saihai/config.toml", "[budget]\nusd = 5\nturns = 9\n");
    let arguments = ["run", "it", "The task.", "--script", "script.yaml", "--budget", "usd=1", "--json"];
    let outcome = project.saihai(arguments).run().exits(5);
    assert!(
        outcome.stderr.contains("note: the budget is $1.0000, 9 turns; at most 9 calls, retries not counted"),
        "{outcome}"
    );
    let expected = serde_json::json!({"usd": 1.0, "turns": 9, "spent": {"usd": 0.75, "turns": 1}});
    assert_eq!(outcome.result()["budget"], expected);
    let shown = project.saihai(["show", "last", "--json"]).run().exits(0).json();
    assert_eq!(shown[0]["budget"], expected);
    let shown = project.saihai(["show", "last"]).run().exits(0);
    assert!(shown.stdout.contains("budget: $0.7500 of $1.0000, 1 of 9 turns"), "{shown}");
}

// T-61: if a provider reports no cost, its price counts.
#[test]
fn a_price_counts_where_nobody_says_what_a_turn_cost() {
    let silent = "  - {for: one, text: '[STEP:0]', usage: {input: 100000, output: 20000}}\n  - {for: two, text: '[STEP:0]'}\n";
    let project = project(TWO, silent);
    project.write(".saihai/config.toml", "[providers.script]\nprice = { input = 3, output = 15 }\n");
    let arguments = ["run", "it", "The task.", "--script", "script.yaml", "--budget", "usd=1", "--json"];
    let outcome = project.saihai(arguments).run().exits(5);
    assert_eq!(outcome.result()["cost_usd"], 0.6);
    assert_eq!(outcome.result()["budget"]["spent"]["usd"], 0.6);
}

// T-61, K case 8
#[test]
fn a_budget_in_money_that_cannot_be_counted_is_refused_before_the_first_turn() {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", TWO);
    let outcome =
        project.saihai(["run", "it", "T", "--provider", "codex", "--budget", "usd=1"]).run().exits(2);
    assert!(outcome.stderr.contains("error[provider/no-price]"), "{outcome}");
    // Providers that are only a fallback count too.
    let directory = project.home().join(".config/saihai");
    std::fs::create_dir_all(&directory).expect("a directory");
    let settings = "provider = \"script\"\n[providers.script]\nfallback = \"codex\"\n";
    std::fs::write(directory.join("config.toml"), settings).expect("settings");
    project.write("script.yaml", "script: 1\nreplies:\n  - {text: '[STEP:0]', times: \"*\"}\n");
    let arguments = ["run", "it", "T", "--script", "script.yaml", "--budget", "usd=1"];
    let outcome = project.saihai(arguments).run().exits(2);
    assert!(outcome.stderr.contains("`codex` does not report the cost of its turns"), "{outcome}");
    assert_eq!(project.runs(), Vec::<String>::new());
}

// C-26, C-81: the price counts for a failed attempt that reports its tokens, and for no other failed attempt.
#[test]
fn a_failed_attempt_is_counted_by_what_is_known_of_it() {
    let spent = |usage: &str| {
        let replies = format!(
            "  - {{for: one, fail: {{class: transient, message: cut}}{usage}}}\n  - {{for: one, text: '[STEP:0]', usage: {{input: 100000, output: 0}}}}\n  - {{for: two, text: '[STEP:0]', usage: {{input: 100000, output: 0}}}}\n"
        );
        let project = project(TWO, &replies);
        project.write(
            ".saihai/config.toml",
            "[providers.script]\nprice = { input = 3, output = 15, turn = 0.01 }\n",
        );
        let arguments = ["run", "it", "T", "--script", "script.yaml", "--budget", "usd=9", "--json"];
        let outcome = project.saihai(arguments).run().exits(0);
        outcome.result()["budget"]["spent"]["usd"].as_f64().expect("money")
    };
    assert!((spent("") - 0.62).abs() < 1e-9, "two turns of $0.31");
    assert!(
        (spent(", usage: {input: 100000, output: 20000}") - 1.23).abs() < 1e-9,
        "and $0.61 for what failed"
    );
}

// K-35: Saihai never spends tokens that it cannot count.
#[test]
fn a_budget_in_tokens_that_cannot_be_counted_is_refused_before_the_first_turn() {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", TWO);
    let arguments = ["run", "it", "T", "--provider", "copilot", "--budget", "tokens=1000"];
    let outcome = project.saihai(arguments).run().exits(2);
    assert!(outcome.stderr.contains("error[provider/no-tokens]"), "{outcome}");
    assert_eq!(project.runs(), Vec::<String>::new());
}

// K-35: a total names the providers that it lacks.
#[test]
fn a_total_names_the_providers_whose_turns_it_lacks() {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", TWO.replace("{name: two,", "{name: two, provider: mute,"));
    let usage = r#"{"type":"usage","input":90,"output":12,"cost_usd":0.75}"#;
    let done = r#"{"type":"done","text":"[STEP:0]"}"#;
    let settings = format!(
        "provider = 'talker'\n[providers.talker]\nkind = 'command'\nprotocol = 'json'\nprogram = '/bin/sh'\nhonours = ['readonly']\n\
         args = ['-c', \"\"\"printf '%s\\\\n' '{usage}' '{done}'\"\"\"]\n\
         [providers.mute]\nkind = 'command'\nprogram = '/bin/echo'\nargs = ['[STEP:0]']\nhonours = ['readonly']\n"
    );
    let directory = project.home().join(".config/saihai");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("config.toml"), settings).expect("settings");
    let outcome = project.saihai(["run", "it", "The task."]).run().exits(0);
    assert!(outcome.stdout.contains("$0.7500 (without mute)"), "{outcome}");
    let shown = project.saihai(["show", "last", "--json"]).run().exits(0).json();
    assert_eq!(shown[0]["result"]["cost_lacks"], serde_json::json!(["mute"]));
    let runs = project.saihai(["runs"]).run().exits(0);
    assert!(runs.stdout.contains("$0.7500 (without mute)"), "{runs}");
}
