//! What a review is about.

use serde::{Deserialize, Serialize};

/// What a review is about: frozen when it begins, so that a later change of the project changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Changes, or files as they are.
    pub mode: SubjectMode,
    pub files: Vec<SubjectFile>,
}

/// Changes, or files as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectMode {
    /// What differs between two states.
    Changes {
        /// The name by which the older one was asked for.
        base: String,
        /// Where the two parted; absent where there was no commit yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merge_base: Option<String>,
        /// The commit that was checked out; absent where there was none yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// The pull request they are proposed by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pull_request: Option<u64>,
    },
    Files,
}

/// One file of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectFile {
    /// Its path from the project's root, with `/`; of a deleted file the one it had.
    pub path: String,
    /// The path it had before it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// Its section of a unified diff, or all of it. Empty where it is left out.
    pub text: String,
    /// Why its content is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Bytes that are no characters were replaced by U+FFFD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
}

/// Why the content of a file is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    Binary,
    Submodule,
    /// It is larger than is looked at.
    TooLarge,
}

impl LeftOut {
    /// The word people and programs see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Submodule => "submodule",
            Self::TooLarge => "too-large",
        }
    }
}
