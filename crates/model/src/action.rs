//! Something Saihai does itself outside the run.

use serde::{Deserialize, Serialize};

use crate::{Json, Millis, StageId};

/// An action, what it is given and how often it may happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionSpec {
    /// What is done.
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
    /// It only looks: again.
    ReadOnly,
    /// It sets something to a value: again.
    SetToValue,
    /// The world is asked first whether it has happened.
    LookUpFirst,
}

/// How an action is polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    /// The pause between two looks.
    pub every: Millis,
    /// How long in all.
    pub at_most: Millis,
}

/// What can be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Run a program; labels `ok`, `failed`.
    Command {
        /// Its arguments, the program first.
        argv: Vec<String>,
        /// Its deadline.
        timeout: Millis,
    },
    /// Look at the issue; labels `reached`, `open`.
    IssueState,
    /// Look at a file; labels `reached`, `absent`.
    FileState {
        /// Its path.
        path: String,
    },
    /// Save the reports found in a reply.
    SaveReports,
    /// Write what a block says into a file.
    WriteFile {
        /// Its path.
        path: String,
        /// Behind what is there.
        append: bool,
    },
    /// Only record it.
    Log,
    /// Open an issue.
    OpenIssue,
    /// Comment on an issue.
    Comment,
    /// Make the working tree.
    Worktree,
    /// Commit what was left.
    Finalize,
    /// Push the branch.
    Push,
    /// Open the pull request.
    PullRequest,
    /// Look at the checks.
    Checks,
    /// Merge.
    Merge,
    /// Remove what is not needed any more.
    CleanUp,
    /// Fold the findings into one report.
    ReviewReport {
        /// Thresholds and formats.
        settings: Json,
    },
}
