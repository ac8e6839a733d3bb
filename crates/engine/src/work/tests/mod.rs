mod laws;
mod planning;
mod scheduling;

use std::collections::BTreeMap;

use saihai_model::IssueNumber;

use super::{Dependencies, Item, Known, Obstacle, Plan};

fn number(number: u32) -> IssueNumber {
    IssueNumber::new(number.into()).expect("a number of an issue")
}

fn numbers(text: &str) -> Vec<IssueNumber> {
    text.split_whitespace().map(|text| IssueNumber::parse(text).expect("a number")).collect()
}

/// Parses issues like `1: 2 3; 2: done; 4: missing; 5: with 6`. The last one also resolves its dependencies.
fn known(text: &str) -> BTreeMap<IssueNumber, Known> {
    let issues = text.split(';').filter(|issue| !issue.trim().is_empty()).map(|issue| {
        let (name, rest) = issue.split_once(':').expect("`number: …`");
        let known = match rest.trim() {
            "missing" => Known::Missing,
            "done" => Known::Found(Item { done: true, ..Item::default() }),
            "delivered" => Known::Found(Item { delivered: true, ..Item::default() }),
            rest => Known::Found(match rest.split_once(' ') {
                Some(("done", needed)) => Item { depends_on: numbers(needed), done: true, ..Item::default() },
                Some(("with", needed)) => {
                    Item { depends_on: numbers(needed), resolves: true, ..Item::default() }
                }
                Some(_) | None => Item { depends_on: numbers(rest), ..Item::default() },
            }),
        };
        (numbers(name)[0], known)
    });
    issues.collect()
}

fn plan(selected: &str, issues: &str) -> Plan {
    Plan::resolve(&numbers(selected), &known(issues), Dependencies::Strict).expect("a plan")
}

/// Formats a plan as `3; 2 after 3; 1 blocked by 4`.
fn shown(plan: &Plan) -> String {
    let items = plan.items.iter().map(|item| {
        let mut text = item.number.get().to_string();
        if item.added {
            text.push_str(" (added)");
        }
        if !item.after.is_empty() {
            let after: Vec<String> = item.after.iter().map(|one| one.get().to_string()).collect();
            text.push_str(&format!(" after {}", after.join(" ")));
        }
        match item.obstacle {
            Some(Obstacle::NotSelected(one)) => text.push_str(&format!(" without {}", one.get())),
            Some(Obstacle::NotMerged(one)) => text.push_str(&format!(" before {} is merged", one.get())),
            Some(Obstacle::NotFound(one)) => text.push_str(&format!(" without the missing {}", one.get())),
            None => {}
        }
        text
    });
    items.collect::<Vec<_>>().join("; ")
}
