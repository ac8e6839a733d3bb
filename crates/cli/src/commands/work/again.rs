//! What is done about an issue that was worked on before (I-72).

use saihai::delivery::Past;
use saihai_config::delivery::stage;
use saihai_model::{Issue, StatusLabel, WorkOutcome};

use super::Work;
use super::ground::Ground;

/// What there is of an issue before it is looked at again, and what comes of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    /// The run there is goes on.
    GoesOn {
        /// Agents have done their part.
        finished: bool,
    },
    /// It is told of, and nothing is done.
    Told,
}

impl Before {
    /// By the last run on an issue and what is asked for now.
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

/// How an issue stands, by the labels that say so on a forge. A folder is only read, so they are shown instead (I-54).
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

/// What `saihai work` does when it is asked again about an issue of which this came (I-72).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// Its run goes on: it was answered, a person has merged or reviewed, the forge knows more now, the provider serves again.
    GoesOn,
    /// Its run goes on once something has moved, for only then can it come out otherwise (I-64); `--retry` makes a new one.
    GoesOnOnceMoved,
    /// It is told of; `--retry` makes a new run.
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

/// Whether a run goes on when it is driven.
pub(super) fn goes_on(past: &Past, ground: &Ground) -> bool {
    match past.came().map(|came| again(came.outcome)) {
        None | Some(Again::GoesOn) => true,
        Some(Again::GoesOnOnceMoved) => has_moved(past, ground),
        Some(Again::Retried | Again::Told) => false,
    }
}

/// Whether the branch or what it is merged into is not where it was when they conflicted, here or on the forge.
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
    let again = past.came().map(|came| again(came.outcome));
    matches!(again, Some(Again::Retried | Again::GoesOnOnceMoved))
}

#[cfg(test)]
mod tests {
    use super::*;

    // What I-72 says of each outcome, in one table
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
