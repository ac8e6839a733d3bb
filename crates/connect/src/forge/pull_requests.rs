//! Pull requests of a repository.

use saihai_model::{MergeMethod, RepositoryName};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::ForgeError;
use super::github::Github;
use super::pages::encoded;

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// The address of its page.
    pub address: String,
    /// How it stands.
    pub state: PullRequestState,
    /// Whether it is a draft.
    pub draft: bool,
    /// Its text.
    pub body: String,
    /// The branch it goes to.
    pub base: String,
    /// The commit at its head.
    pub head_commit: String,
    /// Whether it can be merged; the forge takes its time to find out.
    pub mergeable: Option<bool>,
    /// Why it can or cannot, in the forge's own word: `clean`, `blocked`, `dirty`, …
    pub mergeable_state: Option<String>,
}

/// How a pull request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullRequestState {
    /// It is open.
    Open,
    /// It is merged.
    Merged,
    /// A person closed it.
    Closed,
}

/// A pull request that does not exist yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewPullRequest {
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// The branch it comes from.
    pub head: String,
    /// The branch it goes to.
    pub base: String,
    /// Whether it is a draft.
    pub draft: bool,
}

/// What there is for a branch and where it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullRequestStanding {
    /// Nothing yet.
    None,
    /// One is open, and is used again.
    Open(PullRequest),
    /// One was merged: it is done.
    Merged(PullRequest),
    /// A person closed it; it is neither opened again nor replaced.
    ClosedByPerson(PullRequest),
}

#[derive(Deserialize)]
struct RawPullRequest {
    number: u64,
    html_url: String,
    state: RawState,
    #[serde(default)]
    draft: bool,
    body: Option<String>,
    merged_at: Option<String>,
    head: RawHead,
    base: RawBase,
    mergeable: Option<bool>,
    mergeable_state: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawState {
    Open,
    Closed,
}

#[derive(Deserialize)]
struct RawHead {
    #[serde(rename = "ref")]
    branch: String,
    sha: String,
    /// Absent where the fork it came from is gone.
    repo: Option<RawRepository>,
}

#[derive(Deserialize)]
struct RawBase {
    #[serde(rename = "ref")]
    branch: String,
}

#[derive(Deserialize)]
struct RawRepository {
    full_name: String,
}

#[derive(Deserialize)]
struct Merged {
    sha: String,
}

impl Github {
    /// Every pull request from a branch of this repository, in any state. A branch of the same name in a fork is another one.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn pull_requests_of(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        let what = format!("the pull requests of `{branch}`");
        let head = encoded(&format!("{}:{branch}", self.repository.owner));
        let first = self.path(&format!("/pulls?state=all&per_page=100&head={head}"));
        let all: Vec<RawPullRequest> = self.all(&first, &what).await?;
        let is_ours = |raw: &RawPullRequest| {
            let home = raw.head.repo.as_ref().and_then(|home| RepositoryName::parse(&home.full_name));
            raw.head.branch == branch && home.is_some_and(|home| home.is(&self.repository))
        };
        Ok(all.into_iter().filter(is_ours).map(PullRequest::from).collect())
    }

    /// One pull request, with whether it can be merged.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn pull_request(&self, number: u64) -> Result<PullRequest, ForgeError> {
        let what = format!("pull request #{number}");
        let raw: RawPullRequest = self.look(&self.path(&format!("/pulls/{number}")), &what).await?;
        // Whoever is sent on to another one has not found this one.
        if raw.number == number { Ok(raw.into()) } else { Err(ForgeError::NotFound { what }) }
    }

    /// Opens a pull request. It is to be looked up first whether that has happened.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn open_pull_request(&self, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let what = format!("the pull request of `{}`", new.head);
        let raw: RawPullRequest = self.post(&self.path("/pulls"), new, &what).await?;
        Ok(raw.into())
    }

    /// Gives a pull request another text.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn set_pull_request_body(&self, number: u64, body: &str) -> Result<PullRequest, ForgeError> {
        let what = format!("pull request #{number}");
        let path = self.path(&format!("/pulls/{number}"));
        let raw: RawPullRequest = self.patch(&path, &json!({"body": body}), &what).await?;
        Ok(raw.into())
    }

    /// Merges a pull request if that commit is still its head, and gives the commit that came of it.
    ///
    /// # Errors
    /// The head has moved, the forge refuses (a review is missing, the method is forbidden), or see [`ForgeError`].
    pub async fn merge(&self, number: u64, commit: &str, method: MergeMethod) -> Result<String, ForgeError> {
        let what = format!("pull request #{number}");
        let body = json!({"sha": commit, "merge_method": method.name()});
        let merged = self.put(&self.path(&format!("/pulls/{number}/merge")), &body, &what).await;
        match merged {
            Ok(Merged { sha }) => Ok(sha),
            Err(ForgeError::Refused { status: 409, what, .. }) => Err(ForgeError::HeadMoved { what }),
            Err(error) => Err(error),
        }
    }
}

/// What there is for a branch that goes to `base`, seen all its pull requests.
///
/// # Errors
/// Several are open, so that nobody can tell which is meant.
pub fn standing(all: Vec<PullRequest>, base: &str) -> Result<PullRequestStanding, ForgeError> {
    let mut all: Vec<PullRequest> = all.into_iter().filter(|one| one.base == base).collect();
    all.sort_by_key(|one| one.number);
    let open: Vec<&PullRequest> = all.iter().filter(|one| one.state == PullRequestState::Open).collect();
    match open.as_slice() {
        [] => {}
        [only] => return Ok(PullRequestStanding::Open((*only).clone())),
        several => {
            let numbers: Vec<String> = several.iter().map(|one| format!("#{}", one.number)).collect();
            let what = format!("the open pull request to `{base}`");
            return Err(ForgeError::Ambiguous { what, said: numbers.join(", ") });
        }
    }
    // What happened last counts: a branch can be merged, and later be closed.
    Ok(match all.pop() {
        None => PullRequestStanding::None,
        Some(last) if last.state == PullRequestState::Merged => PullRequestStanding::Merged(last),
        Some(last) => PullRequestStanding::ClosedByPerson(last),
    })
}

impl From<RawPullRequest> for PullRequest {
    fn from(raw: RawPullRequest) -> Self {
        Self {
            number: raw.number,
            address: raw.html_url,
            state: match raw.state {
                RawState::Open => PullRequestState::Open,
                RawState::Closed if raw.merged_at.is_some() => PullRequestState::Merged,
                RawState::Closed => PullRequestState::Closed,
            },
            draft: raw.draft,
            body: raw.body.unwrap_or_default(),
            base: raw.base.branch,
            head_commit: raw.head.sha,
            mergeable: raw.mergeable,
            mergeable_state: raw.mergeable_state,
        }
    }
}
