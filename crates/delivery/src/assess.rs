//! Decides the state of an issue from an observation, and the next step of its work. Pure.

use std::collections::BTreeSet;

use saihai_config::ForgeKind;
use saihai_connect::forge::{
    ForgeError, PullRequest, PullRequestStanding, PullRequestState, is_marked, marker, standing,
};
use saihai_git::PlaceItemRefusal;
use saihai_model::{
    DeliveryHold, Issue, IssueState as IssueOnForge, OutsideReason, StatusLabel, WorkOutcome,
};

use crate::stages::stage;
use crate::{IssueReason, IssueResult, IssueRun, can_adopt};

/// Everything known about an issue at one time. All input and output happened before.
#[derive(Debug, Clone)]
pub struct Observation {
    pub issue: Issue,
    /// Its runs, newest first. `None` if one of them is unreadable: that proves nothing.
    pub runs: Option<Vec<IssueRun>>,
    /// The base branch for new work, if there is one.
    pub base: Option<String>,
    pub branch: String,
    /// The pull requests of its branch, if they matter.
    pub requests: Vec<PullRequest>,
    /// Numbers of merged pull requests whose commit the last run already started with.
    pub earlier_requests: BTreeSet<u64>,
    /// True if the base contains a merge of the issue by Saihai, although no journal here records it (I-70).
    pub landed: bool,
    pub local: LocalBranches,
}

/// The local branches of the last run.
#[derive(Debug, Clone, Default)]
pub struct LocalBranches {
    /// The commit of the issue's branch.
    pub tip: Option<String>,
    /// False without the base branch: then its content is unknown.
    pub has_base: bool,
    /// Commits of the issue that the base or its merge branch contains.
    pub merged: BTreeSet<String>,
}

/// The user's wish for an issue.
#[derive(Debug, Clone, Copy)]
pub struct IssueWish {
    /// False if it is only the dependency of another issue.
    pub selected: bool,
    /// True if failed issues start again (`--retry`).
    pub retries: bool,
    pub forge: ForgeKind,
}

/// State of an issue before the work starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssueWorkState {
    /// Its work starts or continues.
    Open,
    /// Nothing is left to do.
    Done {
        outcome: WorkOutcome,
        request: Option<OpenedRequest>,
        /// Reason to work on it again, which needs `--retry`.
        undone: Option<UndoneReason>,
    },
    /// A merged issue that is worked on again.
    Reworked,
    /// Delivered by a run here, not merged yet: a pull request or a branch.
    Delivered(String),
    /// Another clone has opened a pull request.
    HandedOver {
        request: OpenedRequest,
        /// True if it waits to be merged into the base.
        awaits_merge: bool,
    },
    /// A person merged the work before the run ended. The run continues without asking agents (I-70, I-72).
    Overtaken,
}

/// A pull request shown in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedRequest {
    pub address: String,
    pub branch: String,
}

/// Reason to work on a merged issue again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoneReason {
    Reopened,
    /// The base was reset, or its merge branch was deleted before it reached the base.
    MergeGone {
        base: String,
    },
}

impl IssueWorkState {
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// Returns the pull request or branch of delivered work that waits to be merged.
    pub fn awaits_merge(&self) -> Option<&str> {
        match self {
            Self::Delivered(place) => Some(place),
            Self::HandedOver { request, awaits_merge: true } => Some(&request.address),
            _ => None,
        }
    }

    /// Returns the pull request of another clone.
    pub fn request(&self) -> Option<&OpenedRequest> {
        match self {
            Self::Done { request, .. } => request.as_ref(),
            Self::HandedOver { request, .. } => Some(request),
            _ => None,
        }
    }
}

impl Observation {
    pub fn last_run(&self) -> Option<&IssueRun> {
        self.runs.iter().flatten().find(|run| run.delivers)
    }

    /// Returns true if the pull requests of the branch matter, so that they must be observed.
    pub fn needs_requests(issue: &Issue, runs: Option<&[IssueRun]>, wish: IssueWish) -> bool {
        if wish.forge != ForgeKind::Github {
            return false;
        }
        let last = runs.into_iter().flatten().find(|run| run.delivers);
        let overtaken = |run: &IssueRun| wish.selected && can_be_overtaken(run);
        match last {
            Some(run) if issue.state == IssueOnForge::Closed => overtaken(run),
            None => issue.state == IssueOnForge::Open && runs.is_some(),
            Some(run) => match run.outcome() {
                Some(WorkOutcome::PrCreated | WorkOutcome::Waiting) => true,
                Some(outcome) => may_be_merged_by_hand(outcome) && !(wish.retries && wish.selected),
                None => false,
            },
        }
    }
}

/// Decides the state of an issue (I-29).
pub fn assess(seen: &Observation, wish: IssueWish) -> Result<IssueWorkState, ForgeError> {
    let state = found_state(seen, wish)?;
    let IssueWorkState::Done { outcome: WorkOutcome::Merged, request, .. } = state else { return Ok(state) };
    let done =
        |undone| IssueWorkState::Done { outcome: WorkOutcome::Merged, request: request.clone(), undone };
    Ok(match undone(seen).filter(|_| wish.selected) {
        Some(_) if wish.retries => IssueWorkState::Reworked,
        reason => done(reason),
    })
}

fn found_state(seen: &Observation, wish: IssueWish) -> Result<IssueWorkState, ForgeError> {
    let done = |outcome| IssueWorkState::Done { outcome, request: None, undone: None };
    let is_merged = |run: &IssueRun| -> Result<bool, ForgeError> {
        let stands = standing(seen.requests.clone(), &run.assignment.base.branch)?;
        Ok(wish.forge == ForgeKind::Github && matches!(stands, PullRequestStanding::Merged(_)))
    };
    let is_overtaken = |run: &IssueRun| Ok(wish.selected && can_be_overtaken(run) && is_merged(run)?);
    let last = seen.last_run();
    if seen.issue.state == IssueOnForge::Closed {
        let goes_on = last.map(is_overtaken).transpose()?.unwrap_or(false);
        return Ok(if goes_on { IssueWorkState::Overtaken } else { done(WorkOutcome::Closed) });
    }
    // An unreadable run does not prove that the issue is done. The work on the issue reports it.
    let Some(run) = last else {
        return Ok(if seen.runs.is_some() { without_run(seen) } else { IssueWorkState::Open });
    };
    let open = || run.awaits_merge().map_or(IssueWorkState::Open, IssueWorkState::Delivered);
    Ok(match run.outcome() {
        Some(outcome @ (WorkOutcome::Merged | WorkOutcome::NoChanges)) => done(outcome),
        Some(WorkOutcome::Waiting) if is_overtaken(run)? => IssueWorkState::Overtaken,
        Some(WorkOutcome::PrCreated | WorkOutcome::Waiting) if is_merged(run)? => done(WorkOutcome::Merged),
        Some(WorkOutcome::BranchReady) if is_commit_merged(seen, run) => done(WorkOutcome::Merged),
        Some(outcome)
            if may_be_merged_by_hand(outcome)
                && !(wish.retries && wish.selected)
                && is_merged_by_hand(seen, run, wish.forge) =>
        {
            // A conflict waits at the merge. Continued, the run finds its work merged and ends.
            if outcome == WorkOutcome::Conflict && wish.selected && run.finished {
                IssueWorkState::Overtaken
            } else {
                done(WorkOutcome::Merged)
            }
        }
        Some(_) | None => open(),
    })
}

/// Returns the state of an issue without a journal here (I-70).
fn without_run(seen: &Observation) -> IssueWorkState {
    if seen.landed {
        return IssueWorkState::Done { outcome: WorkOutcome::Merged, request: None, undone: None };
    }
    let Some(base) = &seen.base else { return IssueWorkState::Open };
    let Some(found) = our_request(&seen.requests, seen.issue.number, base) else {
        return IssueWorkState::Open;
    };
    let request = OpenedRequest { address: found.address.clone(), branch: seen.branch.clone() };
    if found.state == PullRequestState::Merged {
        return IssueWorkState::Done { outcome: WorkOutcome::Merged, request: Some(request), undone: None };
    }
    let awaits_merge = found.base == *base && found.state == PullRequestState::Open;
    IssueWorkState::HandedOver { request, awaits_merge }
}

/// Returns the pull request that Saihai made for an issue in any clone. CI clones keep no journals. It is the open one for
/// the base, or otherwise the last one (I-70). An open one for another base is returned too, because every push becomes part
/// of it.
pub(crate) fn our_request<'a>(
    all: &'a [PullRequest],
    issue: saihai_model::IssueNumber,
    base: &str,
) -> Option<&'a PullRequest> {
    let is_open = |one: &PullRequest| one.state == PullRequestState::Open;
    let ours = all.iter().filter(|one| is_marked(&one.body, issue) && (one.base == base || is_open(one)));
    ours.max_by_key(|one| (one.base == base, is_open(one), one.number))
}

/// Returns true for a finished run that continues by itself, unless it waits for an answer.
pub(crate) fn can_be_overtaken(run: &IssueRun) -> bool {
    let goes_on = matches!(
        run.outcome(),
        None | Some(WorkOutcome::Waiting | WorkOutcome::Unknown | WorkOutcome::Provider)
    );
    run.finished && goes_on && !run.is_at_gate()
}

/// Decides if a run whose pull request may be merged was overtaken.
pub(crate) fn is_overtaken(run: &IssueRun, requests: Vec<PullRequest>) -> Result<bool, ForgeError> {
    let stands = standing(requests, &run.assignment.base.branch)?;
    Ok(can_be_overtaken(run) && matches!(stands, PullRequestStanding::Merged(_)))
}

pub(crate) fn may_be_merged_by_hand(outcome: WorkOutcome) -> bool {
    matches!(
        outcome,
        WorkOutcome::Declined
            | WorkOutcome::Cancelled
            | WorkOutcome::Limited
            | WorkOutcome::Failed
            | WorkOutcome::Blocked
            | WorkOutcome::Conflict
    )
}

/// Returns true if a person has merged the work of a run that failed, was declined or met a limit (I-29).
fn is_merged_by_hand(seen: &Observation, run: &IssueRun, forge: ForgeKind) -> bool {
    let base = &run.assignment.base;
    if forge == ForgeKind::Local {
        let done = run.commit().or(seen.local.tip.as_deref());
        // A branch without new commits proves nothing.
        return done.is_some_and(|commit| commit != base.commit && seen.local.merged.contains(commit));
    }
    let number = seen.issue.number;
    let is_open = |run: &&IssueRun| run.outcome() != Some(WorkOutcome::Merged);
    let is_of_open_run = |one: &PullRequest| {
        seen.runs.iter().flatten().filter(is_open).any(|run| one.body.contains(&marker(number, run.id())))
    };
    seen.requests.iter().any(|one| {
        one.state == PullRequestState::Merged
            && one.base == base.branch
            && (!is_marked(&one.body, number) || is_of_open_run(one))
            // A commit that the base contained before the run started belongs to earlier work on the issue.
            && !seen.earlier_requests.contains(&one.number)
    })
}

fn is_commit_merged(seen: &Observation, run: &IssueRun) -> bool {
    run.commit().is_some_and(|commit| seen.local.merged.contains(commit))
}

fn undone(seen: &Observation) -> Option<UndoneReason> {
    if seen.issue.reopened {
        return Some(UndoneReason::Reopened);
    }
    let run = seen.last_run()?;
    let commit = run.commit().filter(|_| run.assignment.forge.is_none())?;
    let is_gone = seen.local.has_base && !seen.local.merged.contains(commit);
    is_gone.then(|| UndoneReason::MergeGone { base: run.assignment.base.branch.clone() })
}

/// The reaction of `saihai work` to an issue with an earlier outcome (I-72).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    /// Continue the run: a gate may be answered, a person may have acted, or a service may work again.
    Continue,
    /// Continue once a branch has moved: only then can the end differ (I-64). `--retry` starts a new run.
    ContinueOnceMoved,
    /// Report the result. `--retry` starts a new run.
    Retry,
    Report,
}

fn reaction(outcome: WorkOutcome) -> Reaction {
    match outcome {
        WorkOutcome::Waiting | WorkOutcome::Paused | WorkOutcome::Unknown | WorkOutcome::Provider => {
            Reaction::Continue
        }
        WorkOutcome::Conflict => Reaction::ContinueOnceMoved,
        WorkOutcome::Limited
        | WorkOutcome::Failed
        | WorkOutcome::Blocked
        | WorkOutcome::Declined
        | WorkOutcome::Cancelled => Reaction::Retry,
        WorkOutcome::Merged
        | WorkOutcome::PrCreated
        | WorkOutcome::BranchReady
        | WorkOutcome::NoChanges
        | WorkOutcome::Elsewhere
        | WorkOutcome::Closed => Reaction::Report,
    }
}

/// The user's flags for an issue with an earlier run.
#[derive(Debug, Clone, Copy, Default)]
pub struct RepeatFlags {
    /// True if a failed or limited run is started again.
    pub retry: bool,
    /// True if a merged issue is worked on again.
    pub reworks: bool,
    /// True if an existing branch is adopted, regardless of its author.
    pub adopt: bool,
    /// True if a person merged the work, so that the run only has to end.
    pub merged: bool,
}

/// The work on an issue that had no run, or an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextWork {
    Begin,
    Continue {
        /// True if the agents have finished.
        finished: bool,
    },
    /// The result is reported again, without any work.
    Report,
}

impl NextWork {
    /// Decides from the last run that delivers. `has_moved` tells if one of the branches moved since a conflict.
    pub fn after(
        last: Option<&IssueRun>,
        flags: RepeatFlags,
        has_moved: impl FnOnce(&IssueRun) -> bool,
    ) -> Self {
        let Some(run) = last else { return Self::Begin };
        let result = run.result();
        let reaction = result.as_ref().map(|result| reaction(result.outcome));
        let continues = match reaction {
            None | Some(Reaction::Continue) => true,
            Some(Reaction::ContinueOnceMoved) => flags.merged || has_moved(run),
            Some(Reaction::Retry | Reaction::Report) => false,
        };
        if continues {
            return Self::Continue { finished: run.finished };
        }
        let retries = matches!(reaction, Some(Reaction::Retry | Reaction::ContinueOnceMoved));
        let adopts = result.is_some_and(|result| {
            result.outcome == WorkOutcome::Blocked && is_adoptable(result.reason.as_ref())
        });
        let begins = flags.reworks || (flags.retry && retries) || (flags.adopt && adopts);
        if begins { Self::Begin } else { Self::Report }
    }
}

/// Returns true if the commits of a conflict are not the current ones any more. Without data about it, a retry tells.
pub(crate) fn has_moved_since_conflict(run: &IssueRun, tips: &[Option<String>]) -> bool {
    let Some(IssueReason::Outside(OutsideReason::Delivery(DeliveryHold::Conflict { commit, into, .. }))) =
        run.result().and_then(|result| result.reason)
    else {
        return true;
    };
    let is_known = |tip: &String| *tip == commit || into.as_ref() == Some(tip);
    !tips.iter().all(|tip| tip.as_ref().is_some_and(is_known))
}

/// Returns true if `--adopt` takes over what is in the way.
pub fn is_adoptable(reason: Option<&IssueReason>) -> bool {
    matches!(reason, Some(IssueReason::NotOurs { adoptable: true, .. }))
}

pub(crate) fn not_ours(refusal: &PlaceItemRefusal) -> IssueReason {
    IssueReason::NotOurs { message: refusal.to_string(), adoptable: can_adopt(refusal) }
}

/// Returns the status labels of an issue from its last run that delivers (I-54). `run` is an error if a run is unreadable.
pub fn status_labels(run: Result<Option<&IssueRun>, &saihai::DriverError>) -> &'static [StatusLabel] {
    let Ok(last) = run else { return WorkOutcome::Unknown.labels(false).unwrap_or_default() };
    match last.and_then(|run| Some((run.outcome()?, run.outputs.has(stage::FINALIZE)))) {
        None => &[StatusLabel::Queued],
        Some((WorkOutcome::Elsewhere, _)) => &[StatusLabel::Running],
        Some((outcome, completed)) => outcome.labels(completed).unwrap_or_default(),
    }
}

/// Returns the result of an issue that already has a pull request from this branch (I-53, I-72).
pub(crate) fn request_result(found: &PullRequest, base: &str) -> IssueResult {
    let address = found.address.clone();
    match found.state {
        PullRequestState::Open if found.base != base => {
            let (to, base) = (found.base.clone(), base.to_owned());
            IssueResult::new(WorkOutcome::Waiting, IssueReason::RequestElsewhere { address, to, base })
        }
        PullRequestState::Open => IssueResult::plain(WorkOutcome::PrCreated),
        PullRequestState::Merged => IssueResult::plain(WorkOutcome::Merged),
        PullRequestState::Closed => {
            IssueResult::new(WorkOutcome::Waiting, IssueReason::RequestClosed { address })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The reaction to each outcome, as I-72 defines it
    #[test]
    fn the_reaction_follows_from_the_outcome() {
        let named = |wanted: Reaction| {
            let those = WorkOutcome::ALL.into_iter().filter(|outcome| reaction(*outcome) == wanted);
            those.map(WorkOutcome::word).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(named(Reaction::Continue), "waiting paused provider unknown");
        assert_eq!(named(Reaction::ContinueOnceMoved), "conflict");
        assert_eq!(named(Reaction::Retry), "declined cancelled limited failed blocked");
        assert_eq!(named(Reaction::Report), "merged pr-created branch-ready no-changes elsewhere closed");
    }

    fn observation() -> Observation {
        Observation {
            issue: Issue {
                source: saihai_model::IssueSource::Github,
                number: saihai_model::IssueNumber::new(7).expect("a number"),
                title: "Login fails".to_owned(),
                body: String::new(),
                labels: Vec::new(),
                state: IssueOnForge::Open,
                reopened: false,
                priority: 0,
                depends_on: Vec::new(),
                definition: None,
                base: None,
                author: None,
            },
            runs: Some(Vec::new()),
            base: Some("main".to_owned()),
            branch: "feature/issue-7".to_owned(),
            requests: Vec::new(),
            earlier_requests: BTreeSet::new(),
            landed: false,
            local: LocalBranches::default(),
        }
    }

    const WISH: IssueWish = IssueWish { selected: true, retries: false, forge: ForgeKind::Local };

    // I-29, I-70
    #[test]
    fn an_issue_without_a_run_is_open_closed_or_merged_elsewhere() {
        let check = |seen: &Observation, wish: IssueWish, expected: &IssueWorkState| {
            assert_eq!(assess(seen, wish).expect("a state"), *expected);
        };
        let done = |outcome, undone| IssueWorkState::Done { outcome, request: None, undone };
        check(&observation(), WISH, &IssueWorkState::Open);
        let unreadable = Observation { runs: None, landed: true, ..observation() };
        check(&unreadable, WISH, &IssueWorkState::Open);
        let mut closed = observation();
        closed.issue.state = IssueOnForge::Closed;
        check(&closed, WISH, &done(WorkOutcome::Closed, None));
        let mut landed = Observation { landed: true, ..observation() };
        check(&landed, WISH, &done(WorkOutcome::Merged, None));
        landed.issue.reopened = true;
        check(&landed, WISH, &done(WorkOutcome::Merged, Some(UndoneReason::Reopened)));
        check(&landed, IssueWish { retries: true, ..WISH }, &IssueWorkState::Reworked);
        let only_needed = IssueWish { selected: false, retries: true, ..WISH };
        check(&landed, only_needed, &done(WorkOutcome::Merged, None));
    }
}
