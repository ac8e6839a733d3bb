//! Subject of a review.

use serde::{Deserialize, Serialize};

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
    pub left_out: Option<LeftOut>,
    /// True if invalid bytes were replaced by U+FFFD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
}

/// Reason why the content of a file is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    Binary,
    Submodule,
    /// It exceeds the size limit.
    TooLarge,
}

impl LeftOut {
    /// Returns the word that people and programs see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Submodule => "submodule",
            Self::TooLarge => "too-large",
        }
    }
}
