//! Issues on a project board.

use std::fmt;

use saihai_model::{IssueNumber, RepositoryName};
use serde::Deserialize;
use serde_json::json;

use super::client::Github;
use super::transport::ForgeError;

/// A project by its owner and its number: `OWNER/4`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectName {
    pub owner: String,
    pub number: u32,
}

impl ProjectName {
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

/// The items of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectItems {
    /// Issues of this repository with the wanted status, in the order of the board.
    pub issues: Vec<IssueNumber>,
    /// Everything else on the board.
    pub skipped: Vec<SkippedItem>,
}

/// An item that `work` cannot take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkippedItem {
    /// A draft has no number.
    Draft {
        title: String,
    },
    /// An issue of another repository: `other/repo#12`.
    Foreign {
        name: String,
    },
    PullRequest {
        name: String,
    },
    /// The token may not see it.
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
struct BoardQueryData {
    repository_owner: Option<RawBoardOwner>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBoardOwner {
    project_v2: Option<RawBoard>,
}

#[derive(Deserialize)]
struct RawBoard {
    items: RawBoardPage,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBoardPage {
    page_info: RawBoardPageInfo,
    nodes: Vec<RawBoardItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBoardPageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBoardItem {
    field_value_by_name: Option<RawBoardStatus>,
    content: Option<RawBoardContent>,
}

#[derive(Deserialize)]
struct RawBoardStatus {
    /// Absent if the field is not a single-select field.
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "__typename")]
enum RawBoardContent {
    Issue(RawBoardIssue),
    PullRequest(RawBoardIssue),
    DraftIssue {
        title: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct RawBoardIssue {
    number: u64,
    repository: RawBoardRepository,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBoardRepository {
    name_with_owner: String,
}

impl Github {
    /// Reads all pages of a board. With a status, only issues of that status count.
    pub async fn project_items(
        &self,
        project: &ProjectName,
        status: Option<&str>,
    ) -> Result<ProjectItems, ForgeError> {
        let what = format!("the project `{project}`");
        let (mut items, mut after) = (ProjectItems::default(), None);
        loop {
            let variables = json!({"owner": project.owner, "number": project.number, "after": after});
            let found: BoardQueryData = self.query(QUERY, &variables, &what).await?;
            let Some(page) = found.repository_owner.and_then(|owner| owner.project_v2) else {
                return Err(ForgeError::NotFound { what });
            };
            let RawBoardPage { page_info, nodes } = page.items;
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
    fn take(&mut self, node: RawBoardItem, status: Option<&str>, here: &RepositoryName) {
        let has = node.field_value_by_name.and_then(|status| status.name);
        let is_wanted = status.is_none_or(|wanted| has.as_deref() == Some(wanted));
        let name = |one: &RawBoardIssue| format!("{}#{}", one.repository.name_with_owner, one.number);
        let skipped = match node.content {
            Some(RawBoardContent::Issue(issue)) => {
                let home = RepositoryName::parse(&issue.repository.name_with_owner);
                if !home.is_some_and(|home| home.is(here)) {
                    SkippedItem::Foreign { name: name(&issue) }
                } else {
                    let number = IssueNumber::new(issue.number).filter(|_| is_wanted);
                    self.issues.extend(number.filter(|number| !self.issues.contains(number)));
                    return;
                }
            }
            Some(RawBoardContent::PullRequest(one)) => SkippedItem::PullRequest { name: name(&one) },
            Some(RawBoardContent::DraftIssue { title }) => SkippedItem::Draft { title },
            Some(RawBoardContent::Other) | None => SkippedItem::Hidden,
        };
        self.skipped.push(skipped);
    }
}
