//! Order of selected issues.

use saihai_model::{Issue, IssueNumber};

/// Sort order of selected issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The order on the command line.
    Typed(Vec<IssueNumber>),
    /// By priority, highest first, then by number.
    Priority,
}

/// Sorts issues and returns their numbers. Issues missing from a typed list come last.
pub fn order(issues: &[Issue], by: &Order) -> Vec<IssueNumber> {
    let typed: &[IssueNumber] = match by {
        Order::Typed(numbers) => numbers,
        Order::Priority => &[],
    };
    let place = |number| typed.iter().position(|one| *one == number).unwrap_or(typed.len());
    let mut ordered: Vec<&Issue> = issues.iter().collect();
    ordered.sort_by_key(|issue| (place(issue.number), std::cmp::Reverse(issue.priority), issue.number));
    ordered.into_iter().map(|issue| issue.number).collect()
}
