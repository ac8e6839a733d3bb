//! In which order selected issues come.

use saihai_model::{Issue, IssueNumber};

/// By what selected issues are ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// As a person typed them.
    Typed(Vec<IssueNumber>),
    /// By priority, the highest first, then by number.
    Priority,
}

/// The numbers of issues in the order in which they come. Issues that were not typed come last.
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
