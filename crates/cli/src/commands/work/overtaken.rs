//! Runs whose pull request was merged before they ended.
//!
//! Their process died, or a person merged first. The merge has closed the issue, but comment, labels and worktree
//! still need cleanup (I-70, I-72).

use saihai::delivery::Past;
use saihai_config::ForgeKind;
use saihai_connect::forge::{ForgeError, Github, PullRequestStanding, standing};
use saihai_model::{Issue, IssueNumber, IssueSource, IssueState, WorkOutcome};

use super::ground::Ground;
use super::selection::{Unlisted, patiently};
use crate::error::Error;

/// Returns true for such a run. It continues without asking agents.
pub(super) async fn is_overtaken(ground: &Ground, past: &Past) -> Result<bool, Unlisted> {
    let came = past.came().map(|came| came.outcome);
    let goes_on =
        matches!(came, None | Some(WorkOutcome::Waiting | WorkOutcome::Unknown | WorkOutcome::Provider));
    let at_gate = past.state.reason() == Some("person");
    if past.finished && goes_on && !at_gate { is_merged(ground, past).await } else { Ok(false) }
}

/// Returns true if the run's pull request is merged, regardless of who merged it.
pub(super) async fn is_merged(ground: &Ground, past: &Past) -> Result<bool, Unlisted> {
    if ground.forge != ForgeKind::Github {
        return Ok(false);
    }
    let Some(github) = ground.github()? else { return Ok(false) };
    let all = patiently(|| github.pull_requests_of(&past.assignment.branch)).await?;
    Ok(matches!(standing(all, &past.assignment.base.branch)?, PullRequestStanding::Merged(_)))
}

/// Lists the closed issues of such runs from the journals. A list of open issues does not contain them.
pub(super) async fn closed(
    ground: &Ground,
    github: &Github,
    labels: &[String],
    listed: &[Issue],
) -> Result<Vec<Issue>, Unlisted> {
    let is_unlisted = |number: IssueNumber| !listed.iter().any(|issue| issue.number == number);
    let last = Past::last_of_each(&ground.runs(), IssueSource::Github, ground.home(), is_unlisted);
    let mut found = Vec::new();
    for past in last.map_err(Error::from)? {
        if !is_overtaken(ground, &past).await? {
            continue;
        }
        let number = past.assignment.issue;
        match patiently(|| github.issue(number)).await {
            Ok(issue) => {
                let is_meant = labels.iter().all(|label| issue.labels.contains(label));
                found.extend(Some(issue).filter(|issue| is_meant && issue.state == IssueState::Closed));
            }
            Err(
                ForgeError::NotFound { .. } | ForgeError::IsPullRequest(_) | ForgeError::Transferred { .. },
            ) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}
