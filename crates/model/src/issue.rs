//! Issues: requests for work, from any source.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of an issue, from 1 to 999,999,999. Every name for an issue derives from its number alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct IssueNumber(u32);

/// Error: a number that no issue can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoIssueNumber(pub String);

impl fmt::Display for NoIssueNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not the number of an issue: 1 to {}", self.0, IssueNumber::LARGEST)
    }
}

impl std::error::Error for NoIssueNumber {}

impl IssueNumber {
    pub const LARGEST: u32 = 999_999_999;

    /// Returns the issue number, or `None` if it is out of range.
    pub fn new(number: u64) -> Option<Self> {
        u32::try_from(number).ok().filter(|number| (1..=Self::LARGEST).contains(number)).map(Self)
    }

    /// Parses digits and nothing else: no sign, no fraction, no path.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| digits).and_then(Self::new)
    }

    pub fn get(self) -> u32 {
        self.0
    }

    /// Returns the suffix of the run id and the name of the worktree directory: `issue-7`.
    pub fn slug(self) -> String {
        format!("issue-{}", self.0)
    }

    /// Returns the branch name: `feature/issue-7`.
    pub fn branch(self, prefix: &str) -> String {
        format!("{prefix}issue-{}", self.0)
    }

    /// Returns the name of the working agent: `agent-7`.
    pub fn instance(self) -> String {
        format!("agent-{}", self.0)
    }
}

impl fmt::Display for IssueNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl TryFrom<u64> for IssueNumber {
    type Error = NoIssueNumber;

    fn try_from(number: u64) -> Result<Self, NoIssueNumber> {
        Self::new(number).ok_or_else(|| NoIssueNumber(number.to_string()))
    }
}

impl From<IssueNumber> for u64 {
    fn from(number: IssueNumber) -> Self {
        number.0.into()
    }
}

/// A request for work. Title and body are untrusted text: Saihai shows them and derives no names from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub source: IssueSource,
    pub number: IssueNumber,
    pub title: String,
    pub body: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    pub state: IssueState,
    /// True if the issue was reopened after it was closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reopened: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i64,
    /// Issues that must be done first, without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<IssueNumber>,
    /// Definition that the issue itself requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// Base branch that the issue itself requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(priority: &i64) -> bool {
    *priority == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueSource {
    Folder,
    Github,
}

impl IssueSource {
    /// Returns the name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::Github => "github",
        }
    }
}

/// Open or closed state of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueState {
    Open,
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_an_issue_comes_of_its_number() {
        let number = IssueNumber::parse("123").expect("a number");
        assert_eq!(number.branch("feature/"), "feature/issue-123");
        assert_eq!(number.slug(), "issue-123");
        assert_eq!(number.instance(), "agent-123");
        assert_eq!(number.to_string(), "#123");
    }

    #[test]
    fn only_digits_within_bounds_are_a_number() {
        let check = |text: &str, expected: Option<u32>| {
            assert_eq!(IssueNumber::parse(text).map(IssueNumber::get), expected, "{text:?}");
        };
        check("1", Some(1));
        check("007", Some(7));
        check("999999999", Some(999_999_999));
        for none in
            ["0", "1000000000", "-1", "+1", "1.5", "", " 1", "1_0", "../1", "٣", "99999999999999999999"]
        {
            check(none, None);
        }
    }

    #[test]
    fn a_number_out_of_bounds_is_not_read_back() {
        assert_eq!(serde_json::from_str::<IssueNumber>("7").ok(), IssueNumber::new(7));
        let refused = serde_json::from_str::<IssueNumber>("0").expect_err("zero is none").to_string();
        assert_eq!(refused, "`0` is not the number of an issue: 1 to 999999999");
    }
}
