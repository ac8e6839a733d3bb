mod driven;
mod laws;
mod planning;
mod scheduling;
mod stages;

use std::collections::BTreeMap;

use saihai_model::IssueNumber;

use crate::{DependencyObstacle, DependencyPolicy, IssueDependencies, KnownIssue, WorkPlan};

fn number(number: u32) -> IssueNumber {
    IssueNumber::new(number.into()).expect("a number of an issue")
}

fn numbers(text: &str) -> Vec<IssueNumber> {
    text.split_whitespace().map(|text| IssueNumber::parse(text).expect("a number")).collect()
}

/// Parses issues like `1: 2 3; 2: done; 4: missing; 5: with 6`. The last one also resolves its dependencies.
fn known(text: &str) -> BTreeMap<IssueNumber, KnownIssue> {
    let issues = text.split(';').filter(|issue| !issue.trim().is_empty()).map(|issue| {
        let (name, rest) = issue.split_once(':').expect("`number: …`");
        let known = match rest.trim() {
            "missing" => KnownIssue::Missing,
            "done" => KnownIssue::Found(IssueDependencies { done: true, ..IssueDependencies::default() }),
            "delivered" => {
                KnownIssue::Found(IssueDependencies { delivered: true, ..IssueDependencies::default() })
            }
            rest => KnownIssue::Found(match rest.split_once(' ') {
                Some(("done", needed)) => IssueDependencies {
                    depends_on: numbers(needed),
                    done: true,
                    ..IssueDependencies::default()
                },
                Some(("with", needed)) => IssueDependencies {
                    depends_on: numbers(needed),
                    resolves: true,
                    ..IssueDependencies::default()
                },
                Some(_) | None => {
                    IssueDependencies { depends_on: numbers(rest), ..IssueDependencies::default() }
                }
            }),
        };
        (numbers(name)[0], known)
    });
    issues.collect()
}

fn plan(selected: &str, issues: &str) -> WorkPlan {
    WorkPlan::resolve(&numbers(selected), &known(issues), DependencyPolicy::Strict).expect("a plan")
}

/// Formats a plan as `3; 2 after 3; 1 blocked by 4`.
fn shown(plan: &WorkPlan) -> String {
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
            Some(DependencyObstacle::NotSelected(one)) => text.push_str(&format!(" without {}", one.get())),
            Some(DependencyObstacle::NotMerged(one)) => {
                text.push_str(&format!(" before {} is merged", one.get()))
            }
            Some(DependencyObstacle::NotFound(one)) => {
                text.push_str(&format!(" without the missing {}", one.get()))
            }
            None => {}
        }
        text
    });
    items.collect::<Vec<_>>().join("; ")
}
