//! Renders an issue or a pull request as text for a model: by number, in one repository, read-only.

use std::ffi::OsString;
use std::sync::Arc;

use saihai_model::RepositoryName;
use serde::Deserialize;

use super::access::{ForgeAccess, ForgeAddress, find_token};
use super::client::Github;
use super::issues::{RawLabel, RawUser};
use super::transport::ForgeError;

/// A repository of a forge that models may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeRepository {
    pub address: ForgeAddress,
    pub repository: RepositoryName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForgePageKind {
    Issue,
    PullRequest,
}

/// Reads issues and pull requests for a model. The token is found on first use and stays in this module.
#[derive(Clone)]
pub(crate) struct ForgeViewer {
    place: ForgeRepository,
    environment: Arc<[(OsString, OsString)]>,
}

impl ForgeViewer {
    pub(crate) fn new(place: ForgeRepository, environment: &[(OsString, OsString)]) -> Self {
        Self { place, environment: environment.into() }
    }

    /// Returns the text of a page: title, state, body and comments.
    pub(crate) async fn view(&self, kind: ForgePageKind, number: u64) -> Result<String, String> {
        let ForgeRepository { address, repository } = self.place.clone();
        let token = find_token(address.host(), &self.environment).await;
        let token = token.map_err(|error| error.to_string())?;
        let github =
            Github::open(ForgeAccess::new(address, repository, token)).map_err(|error| error.to_string())?;
        github.page_text(kind, number).await.map_err(|error| error.to_string())
    }
}

#[derive(Deserialize)]
struct RawPage {
    number: u64,
    #[serde(default)]
    title: String,
    state: String,
    user: Option<RawUser>,
    #[serde(default)]
    labels: Vec<RawLabel>,
    body: Option<String>,
    merged_at: Option<String>,
    base: Option<RawPageBranch>,
    head: Option<RawPageBranch>,
}

#[derive(Deserialize)]
struct RawPageBranch {
    #[serde(rename = "ref")]
    name: String,
    sha: Option<String>,
}

#[derive(Deserialize)]
struct RawPageComment {
    user: Option<RawUser>,
    body: Option<String>,
}

impl Github {
    async fn page_text(&self, kind: ForgePageKind, number: u64) -> Result<String, ForgeError> {
        let (path, what) = match kind {
            ForgePageKind::Issue => (format!("/issues/{number}"), format!("issue #{number}")),
            ForgePageKind::PullRequest => (format!("/pulls/{number}"), format!("pull request #{number}")),
        };
        let page: RawPage = self.get(&self.path(&path), &what).await?;
        // A redirect led to another page.
        if page.number != number {
            return Err(ForgeError::NotFound { what });
        }
        let mut text = page.head();
        let remarks = self.path(&format!("/issues/{number}/comments?per_page=100"));
        match self.get::<Vec<RawPageComment>>(&remarks, &format!("what was said on {what}")).await {
            Ok(remarks) => remarks.iter().for_each(|remark| text.push_str(&remark.text())),
            // The page itself is still worth showing.
            Err(error) => text.push_str(&format!("\n[{error}]\n")),
        }
        Ok(text)
    }
}

impl RawPage {
    fn head(&self) -> String {
        let state = if self.merged_at.is_some() { "merged" } else { &self.state };
        let labels: Vec<&str> = self.labels.iter().map(|label| label.name.as_str()).collect();
        let branch = |branch: &RawPageBranch| match &branch.sha {
            Some(sha) => format!("{} ({sha})", branch.name),
            None => branch.name.clone(),
        };
        let lines = [
            Some(format!("#{} {}", self.number, self.title)),
            Some(format!("state: {state}")),
            self.user.as_ref().map(|user| format!("author: {}", user.login)),
            (!labels.is_empty()).then(|| format!("labels: {}", labels.join(", "))),
            self.base.as_ref().map(|base| format!("base: {}", branch(base))),
            self.head.as_ref().map(|head| format!("head: {}", branch(head))),
        ];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        let body = self.body.as_deref().unwrap_or_default().trim();
        format!("{}\n\n{}\n", lines.join("\n"), if body.is_empty() { "(no text)" } else { body })
    }
}

impl RawPageComment {
    fn text(&self) -> String {
        let author = self.user.as_ref().map_or("a deleted account", |user| user.login.as_str());
        format!("\ncomment by {author}:\n{}\n", self.body.as_deref().unwrap_or_default().trim())
    }
}
