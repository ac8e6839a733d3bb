//! Whether the work on an issue is part of a branch, whoever put it there.

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

/// Whether a person has merged what our run did not bring there: it failed, was declined or met a limit (I-29).
pub(super) async fn by_hand(ground: &Ground, issue: &Issue, last: &Past) -> Result<bool, Error> {
    let (branch, base) = (&last.assignment.branch, &last.assignment.base);
    if ground.forge == ForgeKind::Local {
        let tip = ground.repository.tip(&format!("refs/heads/{branch}")).map_err(refused_by_git)?;
        // A branch that is no further than where it began shows nothing.
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
        // What was part of the base before the run began is of an earlier life of the issue.
        if !ground.repository.holds(&base.commit, &one.head_commit).map_err(refused_by_git)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether what was merged on this machine is not there any more: its branch was set back, or the one beside it was removed before
/// anybody took it in.
pub(super) fn is_undone(ground: &Ground, past: &Past) -> Result<bool, Error> {
    let base = &past.assignment.base.branch;
    let Some(commit) = finalized(past).filter(|_| past.assignment.forge.is_none()) else { return Ok(false) };
    let tip = |branch: &str| ground.repository.tip(&format!("refs/heads/{branch}")).map_err(refused_by_git);
    // Where there is no such branch nothing can be said of what it holds.
    let Some(base_tip) = tip(base)? else { return Ok(false) };
    for tip in [Some(base_tip), tip(&format!("saihai/merge/{base}"))?].into_iter().flatten() {
        if ground.repository.holds(&tip, commit).map_err(refused_by_git)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where the work of a run can be looked at that is handed over and waits to be merged.
pub(super) fn waits(past: &Past) -> Option<String> {
    let came = past.came().map(|came| came.outcome);
    let is_over = matches!(came, Some(WorkOutcome::PrCreated | WorkOutcome::BranchReady));
    let request = past.deeds.text(stage::PULL_REQUEST, "url").map(str::to_owned);
    let is_asked = came == Some(WorkOutcome::Waiting) && request.is_some();
    (is_over || is_asked).then(|| request.unwrap_or_else(|| past.assignment.branch.clone()))
}

/// Whether a pull request is that of a run which has not come to its end by it.
fn is_of(runs: &[Past], number: IssueNumber, request: &PullRequest) -> bool {
    let is_open = |past: &&Past| past.came().is_none_or(|came| came.outcome != WorkOutcome::Merged);
    runs.iter().filter(is_open).any(|past| request.body.contains(&marker(number, past.directory.id())))
}

fn finalized(past: &Past) -> Option<&str> {
    past.deeds.text(stage::FINALIZE, "commit")
}

impl Job {
    /// Whether a merge of ours has brought the issue into its base: another checkout was here since it was listed.
    pub(super) fn has_landed(&self) -> Result<bool, Error> {
        if self.ground.forge != ForgeKind::Local {
            return Ok(false);
        }
        let landed = self.ground.repository.landed(&self.base).map_err(not_begun)?;
        Ok(landed.holds(&as_item(&self.issue, &self.ready.work.branch_prefix)))
    }

    /// What the issue depends on and does not find where it would begin: that was merged elsewhere (I-31).
    pub(super) fn lacking(&self, base: &Base) -> Result<Option<String>, Error> {
        if !self.follows_dependencies {
            return Ok(None);
        }
        for number in &self.issue.depends_on {
            let runs = Past::of(&self.ground.runs(), self.issue.source, *number, self.ground.home())?;
            // One that cannot be read shows nothing, neither this nor that; whether it is done was decided before.
            let Some(past) = runs.into_iter().flatten().find(|past| past.delivers) else { continue };
            let into = &past.assignment.base.branch;
            // A forge may have made other commits of it, which only the forge knows to be its own.
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
