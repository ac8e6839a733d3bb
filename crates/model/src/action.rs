//! Something Saihai does itself outside the run.

use serde::{Deserialize, Serialize};

use crate::{Json, Millis, StageId};

/// An action, what it is given and how often it may happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionSpec {
    pub does: Action,
    /// Outputs of stages it is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<(StageId, String)>,
    /// What may be done when its end is unknown.
    pub once: Once,
    /// Asked again until it says something else than "not yet".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<Poll>,
}

/// What may be done when the end of an action is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Once {
    ReadOnly,
    /// It sets something to a value: again.
    SetToValue,
    /// The world is asked first whether it has happened.
    LookUpFirst,
}

/// How an action is polled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    /// The pause between two looks.
    pub every: Millis,
    pub at_most: Millis,
    /// Why the run is held then; absent: the action ends with the label `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Run a program; the labels are those of [`Told`].
    Command {
        /// Its arguments, the program first.
        argv: Vec<String>,
        timeout: Millis,
        /// What it is given on its input beside how the run stands, where it is asked for a completion.
        #[serde(default, skip_serializing_if = "Json::is_null")]
        input: Json,
        /// How its end is understood.
        #[serde(default)]
        told: Told,
        /// The file that says so, where what is run is no file of the definition's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<String>,
    },
    /// Look at the issue; labels `reached`, `open`.
    IssueState,
    /// Look at a file below the working directory; labels `reached`, `open`.
    FileState {
        path: String,
        /// What is waited for is that it is not there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        absent: bool,
    },
    /// Save the reports found in a reply.
    SaveReports,
    /// Write the `content` of a block into a file below the working directory.
    WriteFile {
        /// Its path, where the block has no `filename`.
        path: String,
        /// Behind what is there, where the block has no `mode`.
        append: bool,
    },
    Log,
    OpenIssue,
    Comment,
    /// Show on the issue that it is done: close it, or only change its labels. Label `ok`.
    CloseIssue {
        close: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        add: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remove: Vec<String>,
    },
    Worktree,
    Finalize,
    Push,
    PullRequest,
    Checks,
    Merge,
    /// Remove what is not needed any more.
    CleanUp,
    /// Fold the findings into one report.
    ReviewReport {
        settings: Json,
    },
}

/// How the end of a program is understood.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// `ok` for the exit code 0, else `failed`.
    #[default]
    ByExitCode,
    /// `ok` where it prints nothing, else `failed`.
    BySilence,
    /// `reached` or `open`, by the object `{"complete": …, "reason": …}` that it prints; `broken` where it does not.
    ByAnswer,
}

impl Action {
    /// Whether it reaches an issue.
    pub fn is_about_issue(&self) -> bool {
        match self {
            Self::IssueState | Self::OpenIssue | Self::Comment | Self::CloseIssue { .. } => true,
            Self::FileState { .. }
            | Self::Command { .. }
            | Self::SaveReports
            | Self::WriteFile { .. }
            | Self::Log
            | Self::Worktree
            | Self::Finalize
            | Self::Push
            | Self::PullRequest
            | Self::Checks
            | Self::Merge
            | Self::CleanUp
            | Self::ReviewReport { .. } => false,
        }
    }

    /// Whether it looks at something that may be as wanted before any work is done.
    pub fn is_state(&self) -> bool {
        match self {
            Self::IssueState | Self::FileState { .. } => true,
            Self::Command { .. }
            | Self::SaveReports
            | Self::WriteFile { .. }
            | Self::Log
            | Self::OpenIssue
            | Self::Comment
            | Self::CloseIssue { .. }
            | Self::Worktree
            | Self::Finalize
            | Self::Push
            | Self::PullRequest
            | Self::Checks
            | Self::Merge
            | Self::CleanUp
            | Self::ReviewReport { .. } => false,
        }
    }
}
