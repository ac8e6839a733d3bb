//! Actions that Saihai performs itself outside the run.

use serde::{Deserialize, Serialize};

use crate::{Json, Millis, StageId};

/// An action, its inputs and its repeat policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionSpec {
    pub does: Action,
    /// Stage outputs that it receives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<(StageId, String)>,
    /// Policy for an action whose result is unknown.
    pub once: Once,
    /// Repeats the action while its result is "not yet".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<Poll>,
}

/// Policy for an action whose result is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Once {
    ReadOnly,
    /// It sets something to a value: repeat it.
    SetToValue,
    /// Check first if it has already happened.
    LookUpFirst,
}

/// Polling policy of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    pub every: Millis,
    pub at_most: Millis,
    /// Reason for the hold after a timeout; if absent, the action ends with the label `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Run a program; the labels are those of [`Told`].
    Command {
        argv: Vec<String>,
        timeout: Millis,
        /// Extra input, next to the state of the run, for a completion command.
        #[serde(default, skip_serializing_if = "Json::is_null")]
        input: Json,
        #[serde(default)]
        told: Told,
        /// File that names the program, if the program is not a file of the definition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<String>,
    },
    /// Check the issue; labels `reached`, `open`.
    IssueState,
    /// Check a file below the working directory; labels `reached`, `open`.
    FileState {
        path: String,
        /// True to wait until the file is gone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        absent: bool,
    },
    /// Save the reports found in a reply.
    SaveReports,
    /// Write the `content` of a block into a file below the working directory.
    WriteFile {
        /// Path, if the block has no `filename`.
        path: String,
        /// True to append, if the block has no `mode`.
        append: bool,
    },
    Log,
    OpenIssue,
    Comment,
    /// Mark the issue as done: close it, or only change its labels. Label `ok`.
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
    /// Remove files and branches that are no longer needed.
    CleanUp,
    /// Fold the findings into one report.
    ReviewReport {
        settings: Json,
    },
}

/// Interpretation of a program's result.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// `ok` for the exit code 0, else `failed`.
    #[default]
    ByExitCode,
    /// `ok` if it prints nothing, else `failed`.
    BySilence,
    /// `reached` or `open`, from the object `{"complete": …, "reason": …}` that it prints. `broken` if it prints
    /// anything else.
    ByAnswer,
}

impl Action {
    /// Returns true if it accesses an issue.
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

    /// Returns true if it checks a state that may hold before any work is done.
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
