//! Comments on an issue.

use saihai_model::IssueNumber;
use serde::Deserialize;
use serde_json::json;

use super::error::ForgeError;
use super::github::Github;
use super::issues::RawUser;

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Its number among all comments.
    pub id: u64,
    /// Who wrote it, where that is known.
    pub author: Option<String>,
    /// Whether it is by an owner, a member or a collaborator of the repository.
    pub trusted: bool,
    /// Its text.
    pub body: String,
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
struct Viewer {
    viewer: RawUser,
}

impl Github {
    /// All comments on an issue, the oldest first.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn comments(&self, number: IssueNumber) -> Result<Vec<Comment>, ForgeError> {
        let what = format!("the comments on issue {number}");
        let first = self.path(&format!("/issues/{}/comments?per_page=100", number.get()));
        let all: Vec<RawComment> = self.all(&first, &what).await?;
        Ok(all.into_iter().map(Comment::from).collect())
    }

    /// The comment of ours that carries a mark. One by somebody else who copied the mark is not ours.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn own_comment(&self, number: IssueNumber, mark: &str) -> Result<Option<Comment>, ForgeError> {
        let marked: Vec<Comment> =
            self.comments(number).await?.into_iter().filter(|comment| comment.body.contains(mark)).collect();
        if marked.is_empty() {
            return Ok(None);
        }
        let we = self.whoami().await?;
        Ok(marked.into_iter().find(|comment| comment.author.as_deref() == Some(we.as_str())))
    }

    /// Comments on an issue. It is to be looked up first whether that has happened.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn comment(&self, number: IssueNumber, body: &str) -> Result<Comment, ForgeError> {
        let what = format!("a comment on issue {number}");
        let path = self.path(&format!("/issues/{}/comments", number.get()));
        let made: RawComment = self.post(&path, &json!({"body": body}), &what).await?;
        Ok(made.into())
    }

    /// Who the forge takes us for.
    async fn whoami(&self) -> Result<String, ForgeError> {
        let asked: Viewer =
            self.query("query { viewer { login } }", &json!({}), "whose token this is").await?;
        Ok(asked.viewer.login)
    }
}

impl From<RawComment> for Comment {
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
