//! An issue or a pull request as it is shown to a model: by number, in one repository, and only to be read.

use std::ffi::OsString;
use std::sync::Arc;

use saihai_model::RepositoryName;
use serde::Deserialize;

use super::address::Address;
use super::error::ForgeError;
use super::github::{Access, Github};
use super::issues::RawUser;
use super::token::find_token;

/// A repository of a forge that models may look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgePlace {
    /// Where the forge is.
    pub address: Address,
    /// Which of its repositories.
    pub repository: RepositoryName,
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An issue.
    Issue,
    /// A pull request.
    PullRequest,
}

/// Looks at a repository for a model. The token is found when it is first needed, and never leaves this module.
#[derive(Clone)]
pub(crate) struct Viewer {
    place: ForgePlace,
    environment: Arc<[(OsString, OsString)]>,
}

impl Viewer {
    pub(crate) fn new(place: ForgePlace, environment: &[(OsString, OsString)]) -> Self {
        Self { place, environment: environment.into() }
    }

    /// What a person would read on its page: what it is, its text, and what was said about it.
    pub(crate) async fn view(&self, kind: Kind, number: u64) -> Result<String, String> {
        let ForgePlace { address, repository } = self.place.clone();
        let token = find_token(address.host(), &self.environment).await;
        let token = token.map_err(|error| error.to_string())?;
        let github =
            Github::open(Access::new(address, repository, token)).map_err(|error| error.to_string())?;
        github.viewed(kind, number).await.map_err(|error| error.to_string())
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
    base: Option<RawBranch>,
    head: Option<RawBranch>,
}

#[derive(Deserialize)]
struct RawLabel {
    name: String,
}

#[derive(Deserialize)]
struct RawBranch {
    #[serde(rename = "ref")]
    name: String,
    sha: Option<String>,
}

#[derive(Deserialize)]
struct RawRemark {
    user: Option<RawUser>,
    body: Option<String>,
}

impl Github {
    async fn viewed(&self, kind: Kind, number: u64) -> Result<String, ForgeError> {
        let (path, what) = match kind {
            Kind::Issue => (format!("/issues/{number}"), format!("issue #{number}")),
            Kind::PullRequest => (format!("/pulls/{number}"), format!("pull request #{number}")),
        };
        let page: RawPage = self.look(&self.path(&path), &what).await?;
        // Whoever is sent on to another one has not found this one.
        if page.number != number {
            return Err(ForgeError::NotFound { what });
        }
        let mut text = page.head();
        let remarks = self.path(&format!("/issues/{number}/comments?per_page=100"));
        match self.look::<Vec<RawRemark>>(&remarks, &format!("what was said on {what}")).await {
            Ok(remarks) => remarks.iter().for_each(|remark| text.push_str(&remark.words())),
            // What was asked for is there all the same.
            Err(error) => text.push_str(&format!("\n[{error}]\n")),
        }
        Ok(text)
    }
}

impl RawPage {
    fn head(&self) -> String {
        let state = if self.merged_at.is_some() { "merged" } else { &self.state };
        let labels: Vec<&str> = self.labels.iter().map(|label| label.name.as_str()).collect();
        let branch = |branch: &RawBranch| match &branch.sha {
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

impl RawRemark {
    fn words(&self) -> String {
        let author = self.user.as_ref().map_or("somebody", |user| user.login.as_str());
        format!("\ncomment by {author}:\n{}\n", self.body.as_deref().unwrap_or_default().trim())
    }
}
