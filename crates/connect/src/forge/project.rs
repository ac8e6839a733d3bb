//! Items of a project board.

use std::fmt;

use saihai_model::{IssueNumber, RepositoryName};
use serde::Deserialize;
use serde_json::json;

use super::error::ForgeError;
use super::github::Github;

/// A project by its owner and its number: `OWNER/4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectName {
    /// Whose it is.
    pub owner: String,
    /// Its number there.
    pub number: u32,
}

impl ProjectName {
    /// Reads `OWNER/NUMBER`.
    pub fn parse(text: &str) -> Option<Self> {
        let name = RepositoryName::parse(text)?;
        let number = name.name.parse().ok().filter(|number| *number > 0 && *number < 1_000_000_000)?;
        Some(Self { owner: name.owner, number })
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.number)
    }
}

/// What stands on a board.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectItems {
    /// Issues of this repository that have the status asked for, in the order of the board.
    pub issues: Vec<IssueNumber>,
    /// What else stands there.
    pub skipped: Vec<SkippedItem>,
}

/// Something on a board that cannot be worked on here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkippedItem {
    /// A draft has no number.
    Draft {
        /// What it is called.
        title: String,
    },
    /// It belongs to another repository.
    Foreign {
        /// `other/repo#12`.
        name: String,
    },
    /// It is a pull request.
    PullRequest {
        /// `me/tool#12`.
        name: String,
    },
    /// It cannot be seen.
    Hidden,
}

const QUERY: &str = "query($owner: String!, $number: Int!, $after: String) {
  repositoryOwner(login: $owner) { ... on ProjectV2Owner { projectV2(number: $number) {
    items(first: 100, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes {
        fieldValueByName(name: \"Status\") { ... on ProjectV2ItemFieldSingleSelectValue { name } }
        content {
          __typename
          ... on Issue { number repository { nameWithOwner } }
          ... on PullRequest { number repository { nameWithOwner } }
          ... on DraftIssue { title }
        }
      }
    }
  } } }
}";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    repository_owner: Option<Owner>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owner {
    project_v2: Option<Project>,
}

#[derive(Deserialize)]
struct Project {
    items: Page,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    page_info: PageInfo,
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    field_value_by_name: Option<Status>,
    content: Option<Content>,
}

#[derive(Deserialize)]
struct Status {
    /// Absent where the field is not one that a person chooses from.
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "__typename")]
enum Content {
    Issue(Numbered),
    PullRequest(Numbered),
    DraftIssue {
        title: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Numbered {
    number: u64,
    repository: Named,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    name_with_owner: String,
}

impl Github {
    /// What stands on a board, all pages of it; of issues only those with that status, if one is given.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn project_items(
        &self,
        project: &ProjectName,
        status: Option<&str>,
    ) -> Result<ProjectItems, ForgeError> {
        let what = format!("the project `{project}`");
        let (mut items, mut after) = (ProjectItems::default(), None);
        loop {
            let variables = json!({"owner": project.owner, "number": project.number, "after": after});
            let found: Found = self.query(QUERY, &variables, &what).await?;
            let Some(page) = found.repository_owner.and_then(|owner| owner.project_v2) else {
                return Err(ForgeError::NotFound { what });
            };
            let Page { page_info, nodes } = page.items;
            nodes.into_iter().for_each(|node| items.take(node, status, &self.repository));
            match page_info
                .end_cursor
                .filter(|cursor| page_info.has_next_page && Some(cursor) != after.as_ref())
            {
                Some(cursor) => after = Some(cursor),
                None => return Ok(items),
            }
        }
    }
}

impl ProjectItems {
    fn take(&mut self, node: Node, status: Option<&str>, here: &RepositoryName) {
        let has = node.field_value_by_name.and_then(|status| status.name);
        let is_wanted = status.is_none_or(|wanted| has.as_deref() == Some(wanted));
        let name = |one: &Numbered| format!("{}#{}", one.repository.name_with_owner, one.number);
        let skipped = match node.content {
            Some(Content::Issue(issue)) => {
                let home = RepositoryName::parse(&issue.repository.name_with_owner);
                if !home.is_some_and(|home| home.is(here)) {
                    SkippedItem::Foreign { name: name(&issue) }
                } else {
                    let number = IssueNumber::new(issue.number).filter(|_| is_wanted);
                    self.issues.extend(number.filter(|number| !self.issues.contains(number)));
                    return;
                }
            }
            Some(Content::PullRequest(one)) => SkippedItem::PullRequest { name: name(&one) },
            Some(Content::DraftIssue { title }) => SkippedItem::Draft { title },
            Some(Content::Other) | None => SkippedItem::Hidden,
        };
        self.skipped.push(skipped);
    }
}
