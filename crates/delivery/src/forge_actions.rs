//! Delivery steps on the forge.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use saihai::{ActionRequest, LoadedRun};
use saihai_config::issues::PULL_REQUEST_TITLE;
use saihai_connect::forge::{
    ChecksVerdict, ForgeError, NewPullRequest, PullRequest, PullRequestStanding, PullRequestState, is_marked,
    marker, rewrite, standing,
};
use saihai_model::{DeliveryHold, FailureClass, IssueSource, Outcome, RequestSide, UncertainChange};
use serde_json::json;

use crate::executor::{DeliveryError, ForgeConnection, IssueDelivery, done, failed, input, waiting};
use crate::published::{RunSummary, issue_comment, request_body};
use crate::repository_actions::agreed;
use crate::stages::stage;
use crate::{ForgeDestination, IssueAssignment};

/// Number of polls before "no checks" is final. A forge starts checks a moment after the push.
const LOOKS: u32 = 4;

impl IssueDelivery {
    pub(crate) fn forge(&self) -> Result<(&ForgeConnection, &ForgeDestination), DeliveryError> {
        let forge = self.resources.forge.as_ref().ok_or(DeliveryError::MissingInput("the forge"))?;
        let destination = self.assignment.forge.as_ref().ok_or(DeliveryError::MissingInput("the forge"))?;
        Ok((forge, destination))
    }

    /// Finds the pull request of the branch, or opens one (I-52, I-53).
    pub(crate) async fn pull_request(
        self: &Arc<Self>,
        deed: &ActionRequest,
    ) -> Result<Outcome, DeliveryError> {
        let (forge, destination) = self.forge()?;
        let assignment = &self.assignment;
        let opened = || UncertainChange::RequestOpened { branch: assignment.branch.clone() };
        let all = forge.github.pull_requests_of(&assignment.branch).await;
        let all = all.map_err(DeliveryError::uncertain(deed, opened))?;
        // An earlier handover is described as it was then.
        let delivered = assignment.delivered.as_ref();
        let run = delivered.and_then(|delivered| delivered.run.as_deref()).unwrap_or(&deed.run);
        if let Some(hold) = self.sent_elsewhere(&all, run) {
            return Ok(waiting(hold));
        }
        let body = request_body(assignment, &self.summary(run)?);
        let request = match standing(all, &assignment.base.branch)? {
            PullRequestStanding::Merged(request) if request.head_commit == text(deed, "commit")? => {
                return Ok(merged(&request));
            }
            // The merged request covers an earlier state of the branch, unless nothing is left to merge.
            PullRequestStanding::Merged(earlier) => {
                match forge.github.open_pull_request(&self.proposal(destination, run, &body)).await {
                    Err(ForgeError::Refused { .. }) if self.is_in_base(text(deed, "commit")?).await? => {
                        return Ok(merged(&earlier));
                    }
                    opened => opened?,
                }
            }
            PullRequestStanding::ClosedByPerson(request) => {
                return Ok(waiting(DeliveryHold::RequestClosed { address: request.address }));
            }
            PullRequestStanding::Open(request) if delivered.is_some() => request,
            PullRequestStanding::Open(request) => {
                let text = rewrite(&request.body, assignment.issue, run, &body);
                if text == request.body {
                    request
                } else {
                    forge.github.set_pull_request_body(request.number, &text).await?
                }
            }
            PullRequestStanding::None => {
                forge.github.open_pull_request(&self.proposal(destination, run, &body)).await?
            }
        };
        Ok(done("created", [("url", json!(request.address)), ("number", json!(request.number))]))
    }

    /// Returns the reason to open no pull request. A person has changed the base of ours, and a second one
    /// would be merged behind their back.
    fn sent_elsewhere(&self, all: &[PullRequest], run: &str) -> Option<DeliveryHold> {
        let IssueAssignment { issue, base, delivered, .. } = &self.assignment;
        let is_ours = |one: &PullRequest| match delivered {
            Some(_) => is_marked(&one.body, *issue),
            None => one.body.contains(&marker(*issue, run)),
        };
        let is_open = |one: &&PullRequest| one.state == PullRequestState::Open && is_ours(one);
        if all.iter().any(|one| is_open(&one) && one.base == base.branch) {
            return None;
        }
        all.iter().find(is_open).and_then(|one| goes_elsewhere(one, &base.branch))
    }

    fn proposal(&self, destination: &ForgeDestination, run: &str, body: &str) -> NewPullRequest {
        let assignment = &self.assignment;
        NewPullRequest {
            title: assignment.titled_and_numbered(PULL_REQUEST_TITLE),
            body: rewrite("", assignment.issue, run, body),
            head: assignment.branch.clone(),
            base: assignment.base.branch.clone(),
            draft: destination.draft,
        }
    }

    /// Checks that the pull request is mergeable and every check is green (I-60).
    pub(crate) async fn checks(self: &Arc<Self>, deed: &ActionRequest) -> Result<Outcome, DeliveryError> {
        let (forge, destination) = self.forge()?;
        let (commit, request) = (text(deed, "commit")?, self.request(deed).await?);
        if request.state == PullRequestState::Merged {
            return Ok(done("merged", []));
        }
        if let Some(hold) = in_the_way(&request, &self.assignment.base.branch) {
            return Ok(waiting(hold));
        }
        if request.head_commit != commit {
            return Arc::clone(self).head_moved(commit).await;
        }
        if request.mergeable_state.as_deref() == Some("dirty") {
            return Arc::clone(self).conflict(deed, request).await;
        }
        let checks = forge.github.checks(commit).await?;
        let is_mergeable = request.mergeable == Some(true);
        Ok(match checks.verdict() {
            ChecksVerdict::Red => done("red", [("why", json!(checks.red.join(", ")))]),
            ChecksVerdict::Green if is_mergeable => ready(&request),
            // Merging without checks also waits for checks that are about to start.
            ChecksVerdict::None if self.polls_without_checks.fetch_add(1, Ordering::Relaxed) >= LOOKS => {
                match is_mergeable && destination.without_checks {
                    true => ready(&request),
                    false => waiting(DeliveryHold::NoChecks {
                        address: request.address,
                        in_actions: std::env::var_os("GITHUB_ACTIONS").is_some(),
                    }),
                }
            }
            ChecksVerdict::Green | ChecksVerdict::Pending | ChecksVerdict::None => Outcome::NotYet,
        })
    }

    /// Handles a conflict reported by the forge. A person resolves it, unless the local branch has moved
    /// since. Only git knows the conflicting files.
    async fn conflict(
        self: Arc<Self>,
        deed: &ActionRequest,
        request: PullRequest,
    ) -> Result<Outcome, DeliveryError> {
        let commit = text(deed, "commit")?.to_owned();
        self.blocking(move |me| {
            if me.has_another_commit(&commit)? {
                return Ok(done("moved", []));
            }
            let (files, into, error) = match me.conflicting(&request) {
                // The forge spoke about another commit of one of the branches, so check again.
                Ok((files, _)) if files.is_empty() => return Ok(Outcome::NotYet),
                Ok((files, into)) => (files, Some(into), None),
                Err(error) => (Vec::new(), None, Some(error.to_string())),
            };
            let PullRequest { address, head_commit: commit, base, .. } = request;
            Ok(waiting(DeliveryHold::Conflict { files, commit, base, into, request: Some(address), error }))
        })
        .await
    }

    /// Returns the files in which a pull request conflicts with its base, and the commit of the base.
    fn conflicting(&self, request: &PullRequest) -> Result<(Vec<String>, String), DeliveryError> {
        let (forge, destination) = self.forge()?;
        let repository = &self.resources.repository;
        let into = repository.fetch(&destination.url, &request.base, Some(&forge.token))?.commit;
        let files = repository.conflicts(&into, &request.head_commit)?;
        Ok((files.iter().map(|file| file.display().to_string()).collect(), into))
    }

    pub(crate) async fn merge_there(
        self: &Arc<Self>,
        deed: &ActionRequest,
    ) -> Result<Outcome, DeliveryError> {
        let (forge, destination) = self.forge()?;
        let (commit, tree) = agreed(deed)?;
        let number = number(deed)?;
        let request = forge.github.pull_request(number).await;
        let request =
            request.map_err(DeliveryError::uncertain(deed, || UncertainChange::RequestMerged { number }))?;
        if request.state == PullRequestState::Merged {
            return Ok(merged(&request));
        }
        if let Some(hold) = goes_elsewhere(&request, &self.assignment.base.branch) {
            return Ok(waiting(hold));
        }
        if let Some(hold) = self.unverified(&deed.run)? {
            return Ok(waiting(hold));
        }
        let (me, agreed_tree) = (Arc::clone(self), tree.to_owned());
        let moved = tokio::task::spawn_blocking(move || me.has_moved(&agreed_tree)).await;
        if moved.unwrap_or(Ok(true))? {
            return Ok(done("moved", []));
        }
        match forge.github.merge(request.number, commit, destination.method).await {
            Ok(_) => Ok(merged(&request)),
            // The forge may only be behind.
            Err(ForgeError::HeadMoved { .. }) => {
                let came = Arc::clone(self).head_moved(commit).await?;
                Ok(if came == Outcome::NotYet {
                    self.not_merged_yet(request.address, RequestSide::Head)
                } else {
                    came
                })
            }
            Err(ForgeError::Refused { said, .. }) if is_passing(&said) => {
                Ok(self.not_merged_yet(request.address, RequestSide::Base))
            }
            // A review is missing or the merge method is not allowed here, so a person decides.
            Err(ForgeError::Refused { said, .. }) => {
                Ok(waiting(DeliveryHold::RequestRefused { address: request.address, message: said }))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn not_merged_yet(&self, address: String, side: RequestSide) -> Outcome {
        self.later(|| DeliveryHold::ForgeBehind { address, side })
    }

    /// Returns true if the base on the server contains a commit.
    async fn is_in_base(self: &Arc<Self>, commit: &str) -> Result<bool, DeliveryError> {
        let (me, commit) = (Arc::clone(self), commit.to_owned());
        let looked = tokio::task::spawn_blocking(move || {
            let (forge, destination) = me.forge()?;
            let (repository, base) = (&me.resources.repository, &me.assignment.base.branch);
            let base = repository.fetch(&destination.url, base, Some(&forge.token))?;
            Ok(repository.has_taken_in(&base.commit, &commit)?)
        });
        looked.await.unwrap_or(Ok(false))
    }

    /// Comments on the issue once.
    pub(crate) async fn comment(&self, deed: &ActionRequest) -> Result<Outcome, DeliveryError> {
        let (forge, _) = self.forge()?;
        let assignment = &self.assignment;
        if assignment.source != IssueSource::Github {
            return Ok(failed(FailureClass::BadRequest, "the issue is not on a forge"));
        }
        let mark = marker(assignment.issue, &deed.run);
        let told_already = || UncertainChange::Commented { issue: assignment.issue };
        let own = forge.github.own_comment(assignment.issue, &mark).await;
        if own.map_err(DeliveryError::uncertain(deed, told_already))?.is_none() {
            let url = input(deed, stage::PULL_REQUEST, "url").and_then(|url| url.as_str());
            let is_merged = input(deed, stage::MERGE, "merged").is_some();
            let said = issue_comment(assignment, &self.summary(&deed.run)?, url, is_merged);
            let commented = forge.github.comment(assignment.issue, &format!("{said}\n\n{mark}")).await;
            match commented {
                // The work is handed over even if the issue accepts no comment. It may be locked.
                Err(
                    error @ (ForgeError::NoRights { .. }
                    | ForgeError::NotFound { .. }
                    | ForgeError::Refused { .. }),
                ) => return Ok(done("commented", [("untold", json!(error.to_string()))])),
                other => other?,
            };
        }
        Ok(done("commented", []))
    }

    /// Fetches the current state of the pull request.
    async fn request(&self, deed: &ActionRequest) -> Result<PullRequest, DeliveryError> {
        let (forge, _) = self.forge()?;
        Ok(forge.github.pull_request(number(deed)?).await?)
    }

    /// Returns the hold of a merge if a review had the verdict tool and did not use it (N-3).
    pub(crate) fn unverified(&self, run: &str) -> Result<Option<DeliveryHold>, DeliveryError> {
        let loaded = LoadedRun::read(&self.resources.runs.find(run)?)?;
        let stages = loaded.view.unverified_reviews(&loaded.workflow);
        let branch = self.assignment.item().branch();
        Ok((!stages.is_empty()).then_some(DeliveryHold::Unverified { stages, branch }))
    }

    fn summary(&self, run: &str) -> Result<RunSummary, DeliveryError> {
        Ok(RunSummary::of(&LoadedRun::read(&self.resources.runs.find(run)?)?)?)
    }
}

fn number(deed: &ActionRequest) -> Result<u64, DeliveryError> {
    let number = input(deed, stage::PULL_REQUEST, "number").and_then(|number| number.as_u64());
    number.ok_or(DeliveryError::MissingInput("the pull request"))
}

fn merged(request: &PullRequest) -> Outcome {
    let (url, number) = (json!(request.address), json!(request.number));
    done("merged", [("merged", json!(true)), ("url", url), ("number", number)])
}

fn text<'a>(deed: &'a ActionRequest, key: &'static str) -> Result<&'a str, DeliveryError> {
    input(deed, stage::FINALIZE, key)
        .and_then(|value| value.as_str())
        .ok_or(DeliveryError::MissingInput("the commit"))
}

/// Returns true if the forge itself asks for a retry of the merge.
fn is_passing(said: &str) -> bool {
    said.contains("Base branch was modified")
}

/// Returns the task for a person before the pull request can be merged.
fn in_the_way(request: &PullRequest, base: &str) -> Option<DeliveryHold> {
    let address = || request.address.clone();
    if request.state == PullRequestState::Closed {
        return Some(DeliveryHold::RequestClosed { address: address() });
    }
    if request.draft {
        return Some(DeliveryHold::RequestDraft { address: address() });
    }
    goes_elsewhere(request, base)
}

/// Returns the hold if a person has changed the base of our pull request.
fn goes_elsewhere(request: &PullRequest, base: &str) -> Option<DeliveryHold> {
    let PullRequest { address, base: to, .. } = request;
    (to != base).then(|| DeliveryHold::RequestRedirected {
        address: address.clone(),
        base: base.to_owned(),
        to: to.clone(),
    })
}

/// Returns the outcome when only the branch's own rules can prevent a merge. A powerful token could bypass these rules, so
/// this checks them before asking the forge to merge (I-60).
fn ready(request: &PullRequest) -> Outcome {
    match request.mergeable_state.as_deref() {
        Some("blocked") => waiting(DeliveryHold::RequestBlocked { address: request.address.clone() }),
        Some(_) | None => done("green", []),
    }
}
