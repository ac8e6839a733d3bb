//! Whether the work on an issue is part of a branch, whoever put it there.

use saihai::delivery::Past;
use saihai::repository::Base;
use saihai_config::ForgeKind;
use saihai_config::delivery::stage;
use saihai_connect::forge::{PullRequest, PullRequestState, is_marked, marker};
use saihai_model::{Issue, IssueNumber, WorkOutcome, WorkReason};

use super::ground::{Ground, refused_by_forge, refused_by_git};
use super::item::Job;
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
    let merged: Vec<PullRequest> =
        all.into_iter().filter(|one| one.state == PullRequestState::Merged).collect();
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
            let Some(commit) = finalized(&past).filter(|_| *into != base.branch) else { continue };
            if !self.ground.repository.holds(&base.commit, commit).map_err(refused_by_git)? {
                return Ok(Some(format!(
                    "{}: {number} is merged into `{into}`, which is not part of `{}`; `--ignore-deps` does not look",
                    WorkReason::Dependency.word(),
                    base.branch
                )));
            }
        }
        Ok(None)
    }
}
