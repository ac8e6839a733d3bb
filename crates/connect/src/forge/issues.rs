//! Issues of a repository.

use saihai_model::{Issue, IssueNumber, IssueSource, IssueState, RepositoryName};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::ForgeError;
use super::github::Github;
use super::pages::encoded;

/// What an issue says that is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewIssue {
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Its labels; the forge makes those it does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Who is to see to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignees: Vec<String>,
}

/// An issue as the forge tells it. Only what is used is read, so that nothing else can be wrong with it.
#[derive(Deserialize)]
struct RawIssue {
    number: u64,
    title: String,
    body: Option<String>,
    state: RawState,
    /// How it came to that, where the server says so.
    state_reason: Option<String>,
    #[serde(default)]
    labels: Vec<RawLabel>,
    user: Option<RawUser>,
    /// What makes an issue a pull request.
    pull_request: Option<serde_json::Value>,
    repository_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawState {
    Open,
    Closed,
}

#[derive(Deserialize)]
pub(super) struct RawLabel {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct RawUser {
    pub(super) login: String,
}

impl Github {
    /// One issue. What it depends on is only what its text does not say.
    ///
    /// # Errors
    /// It is a pull request, or see [`ForgeError`].
    pub async fn issue(&self, number: IssueNumber) -> Result<Issue, ForgeError> {
        let what = format!("issue {number}");
        let raw: RawIssue = self.look(&self.path(&format!("/issues/{}", number.get())), &what).await?;
        if self.is_elsewhere(number, &raw).await? {
            return Err(ForgeError::Transferred { number, to: raw.full_name() });
        }
        if raw.pull_request.is_some() {
            return Err(ForgeError::IsPullRequest(number));
        }
        raw.issue(&what)
    }

    /// Whether what came for a number is something else: the forge sends whoever asks for an issue on to where it was transferred to,
    /// and whoever asks for a repository by its old name on to the new one.
    async fn is_elsewhere(&self, number: IssueNumber, raw: &RawIssue) -> Result<bool, ForgeError> {
        if raw.number != u64::from(number.get()) {
            // What is no number at all is said by whoever reads it.
            return Ok(IssueNumber::new(raw.number).is_some());
        }
        let home = raw.repository_url.as_deref().and_then(|url| RepositoryName::parse(name_in(url)));
        let Some(home) = home.filter(|home| !home.is(&self.repository)) else { return Ok(false) };
        let own = self.about().await?.home.to_ascii_lowercase();
        Ok(!own.trim_end_matches('/').ends_with(&format!("/{home}").to_ascii_lowercase()))
    }

    /// All open issues that have all of these labels, by number. Pull requests are not among them.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn issues(&self, labels: &[String]) -> Result<Vec<Issue>, ForgeError> {
        let labels: Vec<String> = labels.iter().map(|label| encoded(label)).collect();
        let filter = if labels.is_empty() { String::new() } else { format!("&labels={}", labels.join(",")) };
        let first = self.path(&format!("/issues?state=open&sort=created&direction=asc&per_page=100{filter}"));
        let what = format!("the issues of `{}`", self.repository);
        let all: Vec<RawIssue> = self.all(&first, &what).await?;
        let issues = all.into_iter().filter(|raw| raw.pull_request.is_none());
        let mut issues = issues.map(|raw| raw.issue(&what)).collect::<Result<Vec<Issue>, ForgeError>>()?;
        // One that moved to another page while pages were read is seen twice.
        issues.sort_by_key(|issue| issue.number);
        issues.dedup_by_key(|issue| issue.number);
        Ok(issues)
    }

    /// Opens an issue. Nothing tells it from another one that says the same: whoever does not know whether that has
    /// happened does not do it again.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn open_issue(&self, new: &NewIssue) -> Result<Issue, ForgeError> {
        let what = format!("a new issue of `{}`", self.repository);
        let made: RawIssue = self.post(&self.path("/issues"), new, &what).await?;
        made.issue(&what)
    }

    /// Closes an issue as done; one that is closed stays so.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn close_issue(&self, number: IssueNumber) -> Result<(), ForgeError> {
        let what = format!("issue {number}");
        let path = self.path(&format!("/issues/{}", number.get()));
        let closed = json!({"state": "closed", "state_reason": "completed"});
        let _: RawIssue = self.patch(&path, &closed, &what).await?;
        Ok(())
    }

    /// The issues of this repository that the forge itself knows to block one. A forge that knows no such relation knows of
    /// none.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn blocked_by(&self, number: IssueNumber) -> Result<BlockedBy, ForgeError> {
        let what = format!("what blocks issue {number}");
        let first = self.path(&format!("/issues/{}/dependencies/blocked_by?per_page=100", number.get()));
        let all: Vec<RawIssue> = match self.all(&first, &what).await {
            Err(ForgeError::NotFound { .. }) => return Ok(BlockedBy::default()),
            other => other?,
        };
        let here = format!("/repos/{}", self.repository).to_ascii_lowercase();
        let is_here = |raw: &RawIssue| {
            raw.repository_url.as_deref().is_none_or(|url| url.to_ascii_lowercase().ends_with(&here))
        };
        let (own, others): (Vec<&RawIssue>, Vec<&RawIssue>) = all.iter().partition(|raw| is_here(raw));
        Ok(BlockedBy {
            issues: own.into_iter().filter_map(|raw| IssueNumber::new(raw.number)).collect(),
            elsewhere: others.into_iter().map(RawIssue::full_name).collect(),
        })
    }
}

/// What a forge says that an issue is blocked by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockedBy {
    /// Issues of the same repository.
    pub issues: Vec<IssueNumber>,
    /// Those of others: `other/repo#12`.
    pub elsewhere: Vec<String>,
}

/// `other/repo`, of its address.
fn name_in(url: &str) -> &str {
    url.rsplit_once("/repos/").map_or(url, |(_, name)| name)
}

impl RawIssue {
    /// `other/repo#12`
    fn full_name(&self) -> String {
        let name = name_in(self.repository_url.as_deref().unwrap_or_default());
        format!("{name}#{}", self.number)
    }

    fn issue(self, what: &str) -> Result<Issue, ForgeError> {
        let number = IssueNumber::new(self.number).ok_or_else(|| ForgeError::Malformed {
            what: what.to_owned(),
            field: "number".to_owned(),
            said: format!("`{}` is not the number of an issue", self.number),
        })?;
        Ok(Issue {
            source: IssueSource::Github,
            number,
            title: self.title,
            body: self.body.unwrap_or_default(),
            labels: self.labels.into_iter().map(|label| label.name).collect(),
            state: match self.state {
                RawState::Open => IssueState::Open,
                RawState::Closed => IssueState::Closed,
            },
            priority: 0,
            depends_on: Vec::new(),
            definition: None,
            base: None,
            author: self.user.map(|user| user.login),
            reopened: self.state_reason.as_deref() == Some("reopened"),
        })
    }
}
