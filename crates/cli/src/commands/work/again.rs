//! What is done about an issue that was worked on before (I-72).

use saihai::delivery::Past;
use saihai_config::delivery::stage;
use saihai_model::{Issue, StatusLabel, WorkOutcome};

use super::Work;
use super::ground::Ground;

/// Whether agents would be asked something about an issue, and it is not only told of it.
pub(super) fn acts(ground: &Ground, issue: &Issue, flags: &Work) -> bool {
    let past = ground.past(issue).unwrap_or_default();
    let last = past.into_iter().find(|past| past.delivers);
    last.is_none_or(|past| {
        let begins = (flags.retry && can_be_retried(&past)) || (flags.adopt && can_be_adopted(&past));
        goes_on(&past, ground) || begins
    })
}

/// How an issue stands, by the labels that say so on a forge. A folder is only read, so they are shown instead (I-54).
pub(super) fn standing(ground: &Ground, issue: &Issue) -> &'static [StatusLabel] {
    let past = ground.past(issue).unwrap_or_default();
    let last = past.into_iter().find(|past| past.delivers);
    let came = last.as_ref().and_then(|past| Some((past.came()?.outcome, past.deeds.has(stage::FINALIZE))));
    match came {
        None => &[StatusLabel::Queued],
        Some((WorkOutcome::Elsewhere, _)) => &[StatusLabel::Running],
        Some((outcome, completed)) => outcome.labels(completed).unwrap_or_default(),
    }
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

/// Whether `--adopt` makes a new run of it: all that was in its way was that a branch is somebody else's.
pub(super) fn can_be_adopted(past: &Past) -> bool {
    past.came()
        .is_some_and(|came| came.outcome == WorkOutcome::Blocked && is_not_ours(came.reason.as_deref()))
}

/// Whether the reason is a branch that can be taken over.
pub(super) fn is_not_ours(reason: Option<&str>) -> bool {
    let why = reason.and_then(|reason| reason.strip_prefix("not-ours: "));
    why.is_some_and(|why| {
        why.ends_with("exists, not ours") || why.ends_with("belongs to another issue of that number")
    })
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
