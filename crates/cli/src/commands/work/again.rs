//! What is done about an issue that was worked on before (I-72).

use saihai::delivery::Past;
use saihai_model::{Issue, WorkOutcome};

use super::ground::Ground;

/// Whether something would be done about an issue, and not only told of it.
pub(super) fn acts(ground: &Ground, issue: &Issue, retry: bool) -> bool {
    let past = ground.past(issue).unwrap_or_default();
    let last = past.into_iter().find(|past| past.delivers);
    last.is_none_or(|past| goes_on(&past, ground) || (retry && can_be_retried(&past)))
}

/// Whether a run goes on when it is driven (I-72).
pub(super) fn goes_on(past: &Past, ground: &Ground) -> bool {
    match past.came().map(|came| came.outcome) {
        None => true,
        // Asked again: it was answered, a person has merged or reviewed, the forge knows more now, the provider serves again.
        Some(WorkOutcome::Waiting | WorkOutcome::Unknown | WorkOutcome::Provider) => true,
        // Only where something has moved can it come out otherwise (I-64).
        Some(WorkOutcome::Conflict) => has_moved(past, ground),
        Some(
            WorkOutcome::Merged
            | WorkOutcome::PrCreated
            | WorkOutcome::BranchReady
            | WorkOutcome::NoChanges
            | WorkOutcome::Elsewhere
            | WorkOutcome::Closed
            | WorkOutcome::Declined
            | WorkOutcome::Cancelled
            | WorkOutcome::Limited
            | WorkOutcome::Failed
            | WorkOutcome::Blocked,
        ) => false,
    }
}

/// Whether the branch or what it is merged into is not where it was when they conflicted.
fn has_moved(past: &Past, ground: &Ground) -> bool {
    let reason = past.came().and_then(|came| came.reason).unwrap_or_default();
    let tip = |branch: &str| ground.repository.tip(&format!("refs/heads/{branch}")).ok().flatten();
    let base = &past.assignment.base.branch;
    let into = tip(&format!("saihai/merge/{base}")).or_else(|| tip(base));
    let is_there = |commit: Option<String>| commit.is_some_and(|commit| reason.contains(&commit));
    past.assignment.forge.is_some() || !(is_there(into) && is_there(tip(&past.assignment.branch)))
}

/// Whether `--retry` makes a new run of it.
pub(super) fn can_be_retried(past: &Past) -> bool {
    match past.came().map(|came| came.outcome) {
        Some(
            WorkOutcome::Limited
            | WorkOutcome::Failed
            | WorkOutcome::Blocked
            | WorkOutcome::Declined
            | WorkOutcome::Cancelled
            | WorkOutcome::Conflict,
        ) => true,
        Some(
            WorkOutcome::Merged
            | WorkOutcome::PrCreated
            | WorkOutcome::BranchReady
            | WorkOutcome::NoChanges
            | WorkOutcome::Elsewhere
            | WorkOutcome::Closed
            | WorkOutcome::Waiting
            | WorkOutcome::Provider
            | WorkOutcome::Unknown,
        )
        | None => false,
    }
}
