use saihai_model::{Issue, IssueSource, IssueState};

use super::*;
use crate::{IssueOrder, order};

fn issue(name: u32, priority: i64) -> Issue {
    Issue {
        source: IssueSource::Folder,
        number: number(name),
        title: "a".to_owned(),
        body: String::new(),
        labels: Vec::new(),
        state: IssueState::Open,
        priority,
        depends_on: Vec::new(),
        definition: None,
        base: None,
        author: None,
        reopened: false,
    }
}

// I-21
#[test]
fn issues_come_as_typed_or_else_by_priority_and_number() {
    let issues = [issue(3, 0), issue(9, 5), issue(1, 0), issue(4, -1), issue(2, 5)];
    assert_eq!(order(&issues, &IssueOrder::Priority), numbers("2 9 1 3 4"));
    assert_eq!(order(&issues, &IssueOrder::Typed(numbers("4 9 1 3 2"))), numbers("4 9 1 3 2"));
    let mut turned = issues.to_vec();
    turned.reverse();
    assert_eq!(
        order(&turned, &IssueOrder::Priority),
        numbers("2 9 1 3 4"),
        "whatever order they were found in"
    );
}

#[track_caller]
fn check(selected: &str, issues: &str, dependencies: DependencyPolicy, expected: &str) {
    let found = match WorkPlan::resolve(&numbers(selected), &known(issues), dependencies) {
        Ok(plan) => shown(&plan),
        Err(impossible) => impossible.to_string(),
    };
    assert_eq!(found, expected);
}

#[test]
fn dependencies_come_first_and_what_two_share_comes_once() {
    check("1 2 3", "1: 2; 2: 3; 3:", DependencyPolicy::Strict, "3; 2 after 3; 1 after 2");
    check(
        "1 2 3 4",
        "1: 2 3; 2: 4; 3: 4; 4:",
        DependencyPolicy::Strict,
        "4; 2 after 4; 3 after 4; 1 after 2 3",
    );
    check("1 2", "1: 2 2; 2:", DependencyPolicy::Strict, "2; 1 after 2");
}

#[test]
fn a_done_dependency_is_skipped_with_what_only_it_needed() {
    check("1", "1: 2; 2: done 3; 3:", DependencyPolicy::Strict, "1");
    check("1", "1: 2; 2: done 3; 3:", DependencyPolicy::Resolve, "1");
    check("1 3", "1: done; 3: 1", DependencyPolicy::Strict, "3");
}

#[test]
fn a_circle_and_a_long_chain_are_refused_with_their_path() {
    check("1", "1: 1", DependencyPolicy::Strict, "issues depend on each other in a circle: #1 -> #1");
    check(
        "5 1",
        "5: 1; 1: 2; 2: 1",
        DependencyPolicy::Strict,
        "issues depend on each other in a circle: #1 -> #2 -> #1",
    );
    check(
        "1",
        "1: 2; 2: 3; 3: 2",
        DependencyPolicy::Strict,
        "issues depend on each other in a circle: #2 -> #3 -> #2",
    );
    let chain = |length: u32| -> String { (1..length).map(|one| format!("{one}: {};", one + 1)).collect() };
    let path: Vec<String> = (1..=21).map(|one| format!("#{one}")).collect();
    let refused = format!("more than 20 issues depend on each other in a row: {}", path.join(" -> "));
    check("1", &format!("{}21:", chain(21)), DependencyPolicy::Resolve, &refused);
    // The same, with the lower half reached before the upper one.
    check("11 1", &format!("{}21:", chain(21)), DependencyPolicy::Resolve, &refused);
    check("1", &format!("{}100000:", chain(100_000)), DependencyPolicy::Resolve, &refused);
    let fits =
        WorkPlan::resolve(&numbers("1"), &known(&format!("{}20:", chain(20))), DependencyPolicy::Resolve);
    assert_eq!(fits.map(|plan| plan.items.len()), Ok(20));
}

#[test]
fn an_open_dependency_that_was_not_selected_blocks_is_added_or_is_ignored() {
    let issues = "1: 2; 2: 3; 3:";
    check("1", issues, DependencyPolicy::Strict, "1 without 2");
    check("1", issues, DependencyPolicy::Resolve, "3 (added); 2 (added) after 3; 1 after 2");
    check("1", issues, DependencyPolicy::Ignore, "1");
    check("1 2", "1: 2; 2: 1", DependencyPolicy::Ignore, "1; 2");
    check("1", "1: 2; 2: delivered", DependencyPolicy::Strict, "1 before 2 is merged");
    check("1", "1: 2; 2: delivered", DependencyPolicy::Resolve, "2 (added); 1 after 2");
    check("1", "1: 9; 9: missing", DependencyPolicy::Strict, "1 without the missing 9");
    check("1", "1: 9; 9: missing", DependencyPolicy::Resolve, "1 without the missing 9");
}

#[test]
fn an_issue_that_wants_what_it_depends_on_gets_that_and_others_do_not() {
    let strict = DependencyPolicy::Strict;
    check("1 2", "1: with 3; 2: 4; 3: 5; 4:; 5:", strict, "3 (added) without 5; 1 after 3; 2 without 4");
    check("1", "1: with 3; 3: with 5; 5:", strict, "5 (added); 3 (added) after 5; 1 after 3");
    // Another issue with the same dependency waits for it too, in any order.
    check("2 1", "1: with 3; 2: 3; 3:", strict, "3 (added); 2 after 3; 1 after 3");
    check("1", "1: with 3; 3:", DependencyPolicy::Ignore, "1");
    check("1", "1: with 3; 3: done 4; 4:", strict, "1");
}

#[test]
fn what_must_be_looked_at_is_what_open_issues_depend_on() {
    let check = |selected: &str, issues: &str, expected: &str| {
        assert_eq!(WorkPlan::unseen(&numbers(selected), &known(issues)), numbers(expected), "{issues}");
    };
    check("1 2", "1: 2 3; 2: 4", "3 4");
    check("1", "1: 2; 2: done 3", "");
    check("1", "1: 2; 2: missing", "");
    check("1", "1: 2; 2: 1", "");
    check("7", "", "7");
}
