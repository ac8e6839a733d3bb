//! The forge's knowledge about work on an issue that has no journal here.

use saihai::delivery::{Came, Past};
use saihai_config::ForgeKind;
use saihai_connect::forge::{
    ForgeError, PullRequest, PullRequestStanding, PullRequestState, is_marked, standing,
};
use saihai_model::{Issue, WorkOutcome};

use super::ground::{Ground, refused_by_forge};
use super::item::Job;
use super::over::Over;
use super::selection::patiently;
use crate::error::Error;

/// Returns the pull request that Saihai made for an issue in any clone. CI clones keep no journals. It is the open
/// one for the base, or otherwise the last one (I-70). An open one for another base is returned too, because every
/// push becomes part of it.
pub(super) async fn pull_request(
    ground: &Ground,
    issue: &Issue,
    branch_prefix: &str,
    base: &str,
) -> Result<Option<PullRequest>, ForgeError> {
    if ground.forge != ForgeKind::Github {
        return Ok(None);
    }
    let Some(github) = ground.github()? else { return Ok(None) };
    let branch = issue.number.branch(branch_prefix);
    let all = patiently(|| github.pull_requests_of(&branch)).await?;
    let ours = all.into_iter().filter(|one| is_marked(&one.body, issue.number));
    let is_open = |one: &PullRequest| one.state == PullRequestState::Open;
    let told = ours.filter(|one| one.base == base || is_open(one));
    Ok(told.max_by_key(|one| (one.base == base, is_open(one), one.number)))
}

/// Returns a pull request of the branch that a person closed without merging. Saihai does not open another one
/// (I-53).
pub(super) async fn closed_by_person(
    ground: &Ground,
    branch: &str,
    base: &str,
) -> Result<Option<PullRequest>, ForgeError> {
    let Some(github) = ground.github()? else { return Ok(None) };
    let all = patiently(|| github.pull_requests_of(branch)).await?;
    Ok(match standing(all, base)? {
        PullRequestStanding::ClosedByPerson(closed) => Some(closed),
        PullRequestStanding::None | PullRequestStanding::Open(_) | PullRequestStanding::Merged(_) => None,
    })
}

/// A pull request shown in the result.
#[derive(Debug, Clone)]
pub(super) struct Opened {
    pub(super) address: String,
    pub(super) branch: String,
}

impl Opened {
    pub(super) fn new(found: &PullRequest, branch: String) -> Self {
        Self { address: found.address.clone(), branch }
    }
}

/// Returns the result of an issue that already has a pull request from this branch (I-53, I-72).
pub(super) fn told(found: &PullRequest, branch: String, base: &str) -> Over {
    let (outcome, why) = match found.state {
        PullRequestState::Open if found.base != base => (WorkOutcome::Waiting, goes_elsewhere(found, base)),
        PullRequestState::Open => (WorkOutcome::PrCreated, String::new()),
        PullRequestState::Merged => (WorkOutcome::Merged, String::new()),
        PullRequestState::Closed => (WorkOutcome::Waiting, closed_by_a_person(found)),
    };
    let opened = Some(Opened::new(found, branch));
    Over { acted: false, opened, ..Over::told(outcome, why) }
}

impl Job {
    /// Returns the outcome of a run, corrected if a person has closed its pull request since (I-53).
    pub(super) async fn closed_since(&self, past: &Past, came: Came) -> Result<Came, Error> {
        let is_open = came.outcome == WorkOutcome::PrCreated && past.assignment.forge.is_some();
        let github = self.ground.github().map_err(|error| refused_by_forge(&error))?;
        let Some(github) = github.filter(|_| is_open) else { return Ok(came) };
        let all = patiently(|| github.pull_requests_of(&past.assignment.branch)).await;
        let stands = all.and_then(|all| standing(all, &past.assignment.base.branch));
        Ok(match stands.map_err(|error| refused_by_forge(&error))? {
            PullRequestStanding::ClosedByPerson(found) => {
                Came { outcome: WorkOutcome::Waiting, reason: Some(closed_by_a_person(&found)) }
            }
            PullRequestStanding::None | PullRequestStanding::Open(_) | PullRequestStanding::Merged(_) => came,
        })
    }
}

fn goes_elsewhere(found: &PullRequest, base: &str) -> String {
    let PullRequest { address, base: other, .. } = found;
    format!(
        "its open pull request {address} goes to `{other}`, not to `{base}`; `--base {other}` goes on with that one, \
         `--retry` works on it for `{base}` as well"
    )
}

fn closed_by_a_person(found: &PullRequest) -> String {
    format!("closed by a person: {}", found.address)
}
