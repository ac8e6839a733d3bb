//! Missing and senseless costs in an agent's output.

use serde_json::{Value, json};

use super::personality::{ACP, OWN, settings_file, with_each};
use super::{fake, two_movements};

const DONE: &str = "done\n[STEP:0]";

/// Agents that report the cost of a turn.
const TELLING: [&str; 4] = ["claude", "opencode", ACP, OWN];

// The second turn counts with its reservation: the cost of the most expensive earlier turn.
#[test]
fn t64_a_senseless_cost_is_warned_of_and_what_was_set_aside_stands_for_it() {
    let costs = [json!(-0.5), json!(1e308), json!("NaN"), json!("free"), Value::Null];
    let cases: Vec<(&str, &Value)> =
        TELLING.iter().flat_map(|name| costs.iter().map(move |cost| (*name, cost))).collect();
    with_each(&cases, |case @ (name, cost)| {
        let project = two_movements(name);
        project.write("../home/.config/saihai/config.toml", settings_file(name));
        let answers = json!([{"text": DONE, "cost": 0.25}, {"text": DONE, "cost": cost}]);
        let fake = fake(&project, name, &answers);
        let outcome = fake.saihai(["run", "it", "T", "--budget", "usd=1", "--json"]).run().exits(0);
        assert_eq!(outcome.result()["budget"]["spent"]["usd"], 0.5, "{case:?} {outcome}");
        let unknown = "the cost of the turn is unknown; Saihai counts the reserved amount";
        assert_eq!(outcome.stderr.matches(unknown).count(), 1, "{case:?} {outcome}");
        let senseless = format!("the agent reported the cost `{cost}`, which is not an amount of money");
        let times = if cost.is_null() { 0 } else { 1 };
        assert_eq!(outcome.stderr.matches(&senseless).count(), times, "{case:?} {outcome}");
    });
}

// Without a budget there is no reservation, and a missing cost is no problem.
#[test]
fn a_cost_that_is_missing_matters_only_under_a_budget() {
    let project = two_movements("claude");
    let answers = json!([{"text": DONE, "cost": null}, {"text": DONE, "cost": -1}]);
    let fake = fake(&project, "claude", &answers);
    let outcome = fake.saihai(["run", "it", "T"]).run().exits(0);
    assert!(!outcome.stderr.contains("the cost of the turn is unknown"), "{outcome}");
    assert_eq!(outcome.stderr.matches("not an amount of money").count(), 1, "{outcome}");
}
