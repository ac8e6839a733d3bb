//! Checks if the work on an issue is part of a branch, regardless of who merged it.

use saihai::delivery::Past;
use saihai::repository::Base;
use saihai_config::ForgeKind;
use saihai_config::delivery::stage;
use saihai_connect::forge::{PullRequest, PullRequestState, is_marked, marker};
use saihai_model::{Issue, IssueNumber, WorkOutcome, WorkReason};

use super::ground::{Ground, refused_by_forge, refused_by_git};
use super::item::{Job, as_item, not_begun};
use super::selection::patiently;
use crate::error::Error;

/// Returns true if a person has merged the work of a run that failed, was declined or met a limit (I-29).
pub(super) async fn by_hand(ground: &Ground, issue: &Issue, last: &Past) -> Result<bool, Error> {
    let (branch, base) = (&last.assignment.branch, &last.assignment.base);
    if ground.forge == ForgeKind::Local {
        let tip = ground.repository.tip(&format!("refs/heads/{branch}")).map_err(refused_by_git)?;
        // A branch without new commits proves nothing.
        let done = finalized(last).map(str::to_owned).or(tip).filter(|commit| *commit != base.commit);
        let Some(done) = done else { return Ok(false) };
        return ground.repository.has_merged(&base.branch, &done).map_err(refused_by_git);
    }
    let github = ground.github().map_err(|error| refused_by_forge(&error))?;
    let Some(github) = github else { return Ok(false) };
    let all = patiently(|| github.pull_requests_of(branch)).await;
    let all = all.map_err(|error| refused_by_forge(&error))?;
    let is_there = |one: &PullRequest| one.state == PullRequestState::Merged && one.base == base.branch;
    let merged: Vec<PullRequest> = all.into_iter().filter(is_there).collect();
    if merged.is_empty() {
        return Ok(false);
    }
    let runs = ground.past(issue)?;
    let is_of_now =
        |one: &PullRequest| !is_marked(&one.body, issue.number) || is_of(&runs, issue.number, one);
    for one in merged.iter().filter(|one| is_of_now(one)) {
        // A commit that the base contained before the run started belongs to earlier work on the issue.
        if !ground.repository.holds(&base.commit, &one.head_commit).map_err(refused_by_git)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if a local merge is gone. The base was reset, or `saihai/merge/BASE` was deleted before it reached
/// the base.
pub(super) fn is_undone(ground: &Ground, past: &Past) -> Result<bool, Error> {
    let base = &past.assignment.base.branch;
    let Some(commit) = finalized(past).filter(|_| past.assignment.forge.is_none()) else { return Ok(false) };
    let tip = |branch: &str| ground.repository.tip(&format!("refs/heads/{branch}")).map_err(refused_by_git);
    // Without the base branch its content is unknown.
    let Some(base_tip) = tip(base)? else { return Ok(false) };
    for tip in [Some(base_tip), tip(&format!("saihai/merge/{base}"))?].into_iter().flatten() {
        if ground.repository.holds(&tip, commit).map_err(refused_by_git)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the pull request or branch of delivered work that waits to be merged.
pub(super) fn waits(past: &Past) -> Option<String> {
    let came = past.came().map(|came| came.outcome);
    let is_over = matches!(came, Some(WorkOutcome::PrCreated | WorkOutcome::BranchReady));
    let request = past.deeds.text(stage::PULL_REQUEST, "url").map(str::to_owned);
    let is_asked = came == Some(WorkOutcome::Waiting) && request.is_some();
    (is_over || is_asked).then(|| request.unwrap_or_else(|| past.assignment.branch.clone()))
}

/// Returns true if the pull request belongs to an unmerged run.
fn is_of(runs: &[Past], number: IssueNumber, request: &PullRequest) -> bool {
    let is_open = |past: &&Past| past.came().is_none_or(|came| came.outcome != WorkOutcome::Merged);
    runs.iter().filter(is_open).any(|past| request.body.contains(&marker(number, past.directory.id())))
}

fn finalized(past: &Past) -> Option<&str> {
    past.deeds.text(stage::FINALIZE, "commit")
}

impl Job {
    /// Returns true if Saihai has merged the issue into its base. Another checkout may have done so since the issue
    /// was listed.
    pub(super) fn has_landed(&self) -> Result<bool, Error> {
        if self.ground.forge != ForgeKind::Local {
            return Ok(false);
        }
        let landed = self.ground.repository.landed(&self.base).map_err(not_begun)?;
        Ok(landed.holds(&as_item(&self.issue, &self.ready.work.branch_prefix)))
    }

    /// Returns a dependency that the base does not contain, because it was merged elsewhere (I-31).
    pub(super) fn lacking(&self, base: &Base) -> Result<Option<String>, Error> {
        if !self.follows_dependencies {
            return Ok(None);
        }
        for number in &self.issue.depends_on {
            let runs = Past::of(&self.ground.runs(), self.issue.source, *number, self.ground.home())?;
            // An unreadable run proves nothing here. The listing has already decided if the dependency is done.
            let Some(past) = runs.into_iter().flatten().find(|past| past.delivers) else { continue };
            let into = &past.assignment.base.branch;
            // A forge may have rewritten the commits, for example in a squash merge, so the local commit proves
            // nothing.
            let is_told = *into != base.branch || past.assignment.forge.is_none();
            let Some(commit) = finalized(&past).filter(|_| is_told) else { continue };
            if !self.ground.repository.holds(&base.commit, commit).map_err(not_begun)? {
                let how = if *into == base.branch {
                    format!("was merged into `{into}`, which does not hold it any more")
                } else {
                    format!("is merged into `{into}`, which is not part of `{}`", base.branch)
                };
                let word = WorkReason::Dependency.word();
                return Ok(Some(format!("{word}: {number} {how}; `--ignore-deps` does not look")));
            }
        }
        Ok(None)
    }
}
