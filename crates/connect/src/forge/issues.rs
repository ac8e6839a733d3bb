//! Issues of a repository, their comments and their labels.

use reqwest::Method;
use saihai_model::{Issue, IssueNumber, IssueSource, IssueState, RepositoryName, StatusLabel};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::client::{Github, percent_encoded};
use super::transport::ForgeError;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewIssue {
    pub title: String,
    pub body: String,
    /// The forge creates missing labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignees: Vec<String>,
}

/// The issues that block an issue, according to the forge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockedBy {
    /// Issues of the same repository.
    pub issues: Vec<IssueNumber>,
    /// Issues of other repositories: `other/repo#12`.
    pub elsewhere: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeComment {
    /// Unique among all comments of the forge.
    pub id: u64,
    /// Absent if the account was deleted.
    pub author: Option<String>,
    /// Written by an owner, a member or a collaborator of the repository.
    pub trusted: bool,
    pub body: String,
}

/// An issue in the forge's JSON. Only the fields in use are read, so a change elsewhere breaks nothing.
#[derive(Deserialize)]
struct RawIssue {
    number: u64,
    title: String,
    body: Option<String>,
    state: RawIssueState,
    state_reason: Option<String>,
    #[serde(default)]
    labels: Vec<RawLabel>,
    user: Option<RawUser>,
    /// Present if the issue is a pull request.
    pull_request: Option<serde_json::Value>,
    repository_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawIssueState {
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

#[derive(Deserialize)]
struct RawComment {
    id: u64,
    user: Option<RawUser>,
    #[serde(default)]
    author_association: String,
    body: Option<String>,
}

#[derive(Deserialize)]
struct RawViewer {
    viewer: RawUser,
}

impl Github {
    /// Reads one issue, without the dependencies in its text.
    pub async fn issue(&self, number: IssueNumber) -> Result<Issue, ForgeError> {
        let what = format!("issue {number}");
        let raw: RawIssue = self.get(&self.path(&format!("/issues/{}", number.get())), &what).await?;
        if self.was_transferred(number, &raw).await? {
            return Err(ForgeError::Transferred { number, to: raw.full_name() });
        }
        if raw.pull_request.is_some() {
            return Err(ForgeError::IsPullRequest(number));
        }
        raw.issue(&what)
    }

    /// Returns true if the answer is about another issue. The forge redirects a transferred issue to its new
    /// repository, and an old repository name to the new one.
    async fn was_transferred(&self, number: IssueNumber, raw: &RawIssue) -> Result<bool, ForgeError> {
        if raw.number != u64::from(number.get()) {
            // An impossible issue number is reported as malformed instead.
            return Ok(IssueNumber::new(raw.number).is_some());
        }
        let home = raw.repository_url.as_deref().and_then(|url| RepositoryName::parse(name_in(url)));
        let Some(home) = home.filter(|home| !home.is(&self.repository)) else { return Ok(false) };
        let own = self.about().await?.home.to_ascii_lowercase();
        Ok(!own.trim_end_matches('/').ends_with(&format!("/{home}").to_ascii_lowercase()))
    }

    /// Reads all open issues that have all of these labels, sorted by number, without pull requests.
    pub async fn issues(&self, labels: &[String]) -> Result<Vec<Issue>, ForgeError> {
        let labels: Vec<String> = labels.iter().map(|label| percent_encoded(label)).collect();
        let filter = if labels.is_empty() { String::new() } else { format!("&labels={}", labels.join(",")) };
        let first = self.path(&format!("/issues?state=open&sort=created&direction=asc&per_page=100{filter}"));
        let what = format!("the issues of `{}`", self.repository);
        let all: Vec<RawIssue> = self.list(&first, &what).await?;
        let issues = all.into_iter().filter(|raw| raw.pull_request.is_none());
        let mut issues = issues.map(|raw| raw.issue(&what)).collect::<Result<Vec<Issue>, ForgeError>>()?;
        // An issue that changes pages between two reads arrives twice.
        issues.sort_by_key(|issue| issue.number);
        issues.dedup_by_key(|issue| issue.number);
        Ok(issues)
    }

    /// Opens an issue. Do not retry after a lost answer: issues with the same text are indistinguishable.
    pub async fn open_issue(&self, new: &NewIssue) -> Result<Issue, ForgeError> {
        let what = format!("a new issue of `{}`", self.repository);
        let made: RawIssue = self.change(Method::POST, &self.path("/issues"), new, &what).await?;
        made.issue(&what)
    }

    /// Closes an issue as completed. A closed issue stays closed.
    pub async fn close_issue(&self, number: IssueNumber) -> Result<(), ForgeError> {
        let what = format!("issue {number}");
        let path = self.path(&format!("/issues/{}", number.get()));
        let closed = json!({"state": "closed", "state_reason": "completed"});
        let _: RawIssue = self.change(Method::PATCH, &path, &closed, &what).await?;
        Ok(())
    }

    /// Reads the blockers of an issue. A forge without this relation answers "not found": none.
    pub async fn blocked_by(&self, number: IssueNumber) -> Result<BlockedBy, ForgeError> {
        let what = format!("the dependencies of issue {number}");
        let first = self.path(&format!("/issues/{}/dependencies/blocked_by?per_page=100", number.get()));
        let all: Vec<RawIssue> = match self.list(&first, &what).await {
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

    /// Reads all comments on an issue, oldest first.
    pub async fn comments(&self, number: IssueNumber) -> Result<Vec<ForgeComment>, ForgeError> {
        let what = format!("the comments on issue {number}");
        let first = self.path(&format!("/issues/{}/comments?per_page=100", number.get()));
        let all: Vec<RawComment> = self.list(&first, &what).await?;
        Ok(all.into_iter().map(ForgeComment::from).collect())
    }

    /// Finds our own comment by its mark. A copy of the mark by another author does not count.
    pub async fn own_comment(
        &self,
        number: IssueNumber,
        mark: &str,
    ) -> Result<Option<ForgeComment>, ForgeError> {
        let all = self.comments(number).await?;
        let marked: Vec<ForgeComment> =
            all.into_iter().filter(|comment| comment.body.contains(mark)).collect();
        if marked.is_empty() {
            return Ok(None);
        }
        let query = "query { viewer { login } }";
        let RawViewer { viewer } = self.query(query, &json!({}), "the user of the token").await?;
        Ok(marked.into_iter().find(|comment| comment.author.as_deref() == Some(viewer.login.as_str())))
    }

    /// Comments on an issue. Check first that the comment does not exist yet.
    pub async fn comment(&self, number: IssueNumber, body: &str) -> Result<ForgeComment, ForgeError> {
        let what = format!("a comment on issue {number}");
        let path = self.path(&format!("/issues/{}/comments", number.get()));
        let made: RawComment = self.change(Method::POST, &path, &json!({"body": body}), &what).await?;
        Ok(made.into())
    }

    /// Sets these status labels and removes the other exclusive ones. It writes only if something changes.
    pub async fn set_status(
        &self,
        number: IssueNumber,
        wanted: &[StatusLabel],
        prefix: &str,
    ) -> Result<(), ForgeError> {
        let what = format!("the labels of issue {number}");
        let path = self.path(&format!("/issues/{}/labels", number.get()));
        let has = self.label_names(&format!("{path}?per_page=100"), &what).await?;
        let is_there = |name: &str| has.iter().any(|one| one.eq_ignore_ascii_case(name));
        let outdated =
            StatusLabel::ALL.into_iter().filter(|label| label.is_exclusive() && !wanted.contains(label));
        // Remove first: two statuses would mislead, a moment without one does not.
        for name in outdated.map(|label| label.name(prefix)).filter(|name| is_there(name)) {
            self.delete(&format!("{path}/{}", percent_encoded(&name)), &what).await?;
        }
        let missing: Vec<StatusLabel> =
            wanted.iter().copied().filter(|label| !is_there(&label.name(prefix))).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.create_labels(&missing, prefix).await?;
        let names: Vec<String> = missing.iter().map(|label| label.name(prefix)).collect();
        let _: Vec<RawLabel> = self.change(Method::POST, &path, &json!({"labels": names}), &what).await?;
        Ok(())
    }

    /// Adds and removes any labels. It writes nothing if nothing changes.
    pub async fn change_labels(
        &self,
        number: IssueNumber,
        add: &[String],
        remove: &[String],
    ) -> Result<(), ForgeError> {
        let what = format!("the labels of issue {number}");
        let path = self.path(&format!("/issues/{}/labels", number.get()));
        let has = self.label_names(&format!("{path}?per_page=100"), &what).await?;
        let is_there = |name: &&String| has.iter().any(|one| one.eq_ignore_ascii_case(name));
        for name in remove.iter().filter(is_there) {
            self.delete(&format!("{path}/{}", percent_encoded(name)), &what).await?;
        }
        let missing: Vec<&String> = add.iter().filter(|name| !is_there(name)).collect();
        if !missing.is_empty() {
            let _: Vec<RawLabel> =
                self.change(Method::POST, &path, &json!({"labels": missing}), &what).await?;
        }
        Ok(())
    }

    /// Creates the missing labels of the repository.
    async fn create_labels(&self, labels: &[StatusLabel], prefix: &str) -> Result<(), ForgeError> {
        let what = format!("the labels of `{}`", self.repository);
        let known = self.label_names(&self.path("/labels?per_page=100"), &what).await?;
        for label in labels {
            let name = label.name(prefix);
            if known.iter().any(|one| one.eq_ignore_ascii_case(&name)) {
                continue;
            }
            let body = json!({"name": name, "color": label.colour()});
            let made: Result<RawLabel, ForgeError> =
                self.change(Method::POST, &self.path("/labels"), &body, &what).await;
            match made {
                // 422: another process has created it.
                Ok(_) | Err(ForgeError::Refused { status: 422, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn label_names(&self, first: &str, what: &str) -> Result<Vec<String>, ForgeError> {
        let labels: Vec<RawLabel> = self.list(first, what).await?;
        Ok(labels.into_iter().map(|label| label.name).collect())
    }
}

/// Returns `other/repo` from the API URL of a repository.
fn name_in(url: &str) -> &str {
    url.rsplit_once("/repos/").map_or(url, |(_, name)| name)
}

impl RawIssue {
    fn full_name(&self) -> String {
        let name = name_in(self.repository_url.as_deref().unwrap_or_default());
        format!("{name}#{}", self.number)
    }

    fn issue(self, what: &str) -> Result<Issue, ForgeError> {
        let number = IssueNumber::new(self.number).ok_or_else(|| {
            ForgeError::malformed(what, "number", format!("`{}` is not the number of an issue", self.number))
        })?;
        Ok(Issue {
            source: IssueSource::Github,
            number,
            title: self.title,
            body: self.body.unwrap_or_default(),
            labels: self.labels.into_iter().map(|label| label.name).collect(),
            state: match self.state {
                RawIssueState::Open => IssueState::Open,
                RawIssueState::Closed => IssueState::Closed,
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

impl From<RawComment> for ForgeComment {
    fn from(raw: RawComment) -> Self {
        let trusted = matches!(raw.author_association.as_str(), "OWNER" | "MEMBER" | "COLLABORATOR");
        Self {
            id: raw.id,
            author: raw.user.map(|user| user.login),
            trusted,
            body: raw.body.unwrap_or_default(),
        }
    }
}
