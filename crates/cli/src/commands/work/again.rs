//! Decisions about an issue that had an earlier run (I-72).

use saihai::delivery::Past;
use saihai_config::delivery::stage;
use saihai_model::{Issue, StatusLabel, WorkOutcome};

use super::Work;
use super::ground::Ground;

/// State of an issue before this invocation, which decides the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    GoesOn {
        /// True if the agents have finished.
        finished: bool,
    },
    /// The result is reported again, without any work.
    Told,
}

impl Before {
    /// Derives the state from the issue's last run and the flags.
    pub(super) fn of(ground: &Ground, issue: &Issue, flags: &Work, reworked: bool) -> Self {
        let Ok(past) = ground.past(issue) else { return Self::Told };
        let Some(last) = past.into_iter().find(|past| past.delivers) else { return Self::Nothing };
        if goes_on(&last, ground) {
            return Self::GoesOn { finished: last.finished };
        }
        let begins =
            reworked || (flags.retry && can_be_retried(&last)) || (flags.adopt && can_be_adopted(&last));
        if begins { Self::Nothing } else { Self::Told }
    }
}

/// Returns the status labels of an issue. A folder of issues is read-only, so they are only displayed (I-54).
pub(super) fn standing(ground: &Ground, issue: &Issue) -> &'static [StatusLabel] {
    let Ok(past) = ground.past(issue) else {
        return WorkOutcome::Unknown.labels(false).unwrap_or_default();
    };
    let last = past.into_iter().find(|past| past.delivers);
    let came = last.as_ref().and_then(|past| Some((past.came()?.outcome, past.deeds.has(stage::FINALIZE))));
    match came {
        None => &[StatusLabel::Queued],
        Some((WorkOutcome::Elsewhere, _)) => &[StatusLabel::Running],
        Some((outcome, completed)) => outcome.labels(completed).unwrap_or_default(),
    }
}

/// The reaction of `saihai work` to an issue with an earlier outcome (I-72).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// Continue the run. The gate may be answered, a person may have merged or reviewed, or the forge or provider may
    /// work again.
    GoesOn,
    /// Continue the run after a branch has moved, because only then can the outcome differ (I-64). `--retry` starts a
    /// new run.
    GoesOnOnceMoved,
    /// Report the result. `--retry` starts a new run.
    Retried,
    Told,
}

fn again(outcome: WorkOutcome) -> Again {
    match outcome {
        WorkOutcome::Waiting | WorkOutcome::Unknown | WorkOutcome::Provider => Again::GoesOn,
        WorkOutcome::Conflict => Again::GoesOnOnceMoved,
        WorkOutcome::Limited
        | WorkOutcome::Failed
        | WorkOutcome::Blocked
        | WorkOutcome::Declined
        | WorkOutcome::Cancelled => Again::Retried,
        WorkOutcome::Merged
        | WorkOutcome::PrCreated
        | WorkOutcome::BranchReady
        | WorkOutcome::NoChanges
        | WorkOutcome::Elsewhere
        | WorkOutcome::Closed => Again::Told,
    }
}

/// Returns true if the run continues when it is driven.
pub(super) fn goes_on(past: &Past, ground: &Ground) -> bool {
    match past.came().map(|came| again(came.outcome)) {
        None | Some(Again::GoesOn) => true,
        Some(Again::GoesOnOnceMoved) => has_moved(past, ground),
        Some(Again::Retried | Again::Told) => false,
    }
}

/// Returns true if the branch or its base has moved since the conflict, locally or on the forge.
fn has_moved(past: &Past, ground: &Ground) -> bool {
    let assignment = &past.assignment;
    let (branch, base) = (&assignment.branch, &assignment.base.branch);
    let here = |branch: &str| ground.repository.tip(&format!("refs/heads/{branch}")).ok().flatten();
    let tips = match &assignment.forge {
        None => vec![here(branch), here(&format!("saihai/merge/{base}")).or_else(|| here(base))],
        Some(forge) => {
            let token = ground.push_token();
            let there = |branch: &str| ground.repository.tip_there(&forge.url, branch, token.as_ref());
            let there = |branch: &str| there(branch).ok().flatten();
            vec![here(branch), there(branch), there(base)]
        }
    };
    let reason = past.came().and_then(|came| came.reason).unwrap_or_default();
    !tips.into_iter().all(|tip| tip.is_some_and(|commit| reason.contains(&commit)))
}

/// Returns true if `--adopt` starts a new run: the only obstacle was a foreign branch.
pub(super) fn can_be_adopted(past: &Past) -> bool {
    past.came()
        .is_some_and(|came| came.outcome == WorkOutcome::Blocked && is_not_ours(came.reason.as_deref()))
}

/// Returns true if the reason is a branch that can be adopted.
pub(super) fn is_not_ours(reason: Option<&str>) -> bool {
    let why = reason.and_then(|reason| reason.strip_prefix("not-ours: "));
    why.is_some_and(|why| {
        why.ends_with("exists, not ours") || why.ends_with("belongs to another issue of that number")
    })
}

/// Returns true if `--retry` starts a new run.
pub(super) fn can_be_retried(past: &Past) -> bool {
    let again = past.came().map(|came| again(came.outcome));
    matches!(again, Some(Again::Retried | Again::GoesOnOnceMoved))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The reaction to each outcome, as I-72 defines it
    #[test]
    fn what_is_done_again_follows_from_the_outcome() {
        let named = |wanted: Again| {
            let those = WorkOutcome::ALL.into_iter().filter(|outcome| again(*outcome) == wanted);
            those.map(WorkOutcome::word).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(named(Again::GoesOn), "waiting provider unknown");
        assert_eq!(named(Again::GoesOnOnceMoved), "conflict");
        assert_eq!(named(Again::Retried), "declined cancelled limited failed blocked");
        assert_eq!(named(Again::Told), "merged pr-created branch-ready no-changes elsewhere closed");
    }
}
