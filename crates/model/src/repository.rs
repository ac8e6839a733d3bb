//! A repository on a forge, and the files of a review.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Name of a repository on its forge: `owner/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RepositoryName {
    pub owner: String,
    pub name: String,
}

impl RepositoryName {
    /// Parses `owner/name`. Accepts only characters that need no escaping in a URL.
    pub fn parse(text: &str) -> Option<Self> {
        let (owner, name) = text.split_once('/')?;
        let is_part = |part: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            !part.is_empty() && part.len() <= 100 && part.bytes().all(plain) && !matches!(part, "." | "..")
        };
        (is_part(owner) && is_part(name)).then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }

    /// Compares without case, as forges do.
    pub fn is(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl fmt::Display for RepositoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMethod {
    /// A commit with two parents.
    #[default]
    Merge,
    Squash,
    /// The same commits on top of the base.
    Rebase,
}

impl MergeMethod {
    /// Returns the name in settings and on forges.
    pub fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Merge, Self::Squash, Self::Rebase].into_iter().find(|method| method.name() == name)
    }
}

/// Subject of a review, frozen at the start, so that later changes of the project have no effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub mode: SubjectMode,
    pub files: Vec<SubjectFile>,
}

/// Kind of subject: changes or whole files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectMode {
    /// The difference between two states.
    Changes {
        /// Requested name of the older state.
        base: String,
        /// Merge base; absent if there was no commit yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merge_base: Option<String>,
        /// Checked-out commit; absent if there was none yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// Pull request that proposes the changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull_request: Option<u64>,
    },
    Files,
}

/// One file of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectFile {
    /// Path from the project's root, with `/`; for a deleted file its last path.
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// Section of a unified diff, or the whole file. Empty if it is left out.
    pub text: String,
    /// Reason why its content is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<SubjectOmission>,
    /// True if invalid bytes were replaced by U+FFFD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
}

/// Reason why the content of a file is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectOmission {
    Binary,
    Submodule,
    /// It exceeds the size limit.
    TooLarge,
}

impl SubjectOmission {
    /// Returns the word that people and programs see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Submodule => "submodule",
            Self::TooLarge => "too-large",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_an_owner_and_a_name_that_can_stand_in_an_address() {
        let check = |text: &str, expected: bool| {
            let read = RepositoryName::parse(text);
            assert_eq!(read.map(|read| read.to_string()).as_deref(), expected.then_some(text), "{text:?}");
        };
        check("me/tool", true);
        check("a-b/c.d_e", true);
        for none in
            ["me", "me/", "/tool", "a/b/c", "me/..", "me/to ol", "me/tool?x", "me/tööl", "https://x/y"]
        {
            check(none, false);
        }
        let named = |text| RepositoryName::parse(text).expect("a name");
        assert!(named("Me/Tool").is(&named("me/tool")));
        assert!(!named("me/tool").is(&named("me/tools")));
    }
}
