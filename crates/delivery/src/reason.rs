//! Results of the work on an issue, with their reasons as data. The command line makes the words.

use std::path::PathBuf;
use std::sync::Arc;

use saihai_model::{
    FailureClass, FailureReason, IncompleteReason, IssueNumber, LimitReason, OutsideReason, WorkOutcome,
};

use crate::{DependencyObstacle, WorkError};

/// The result of the work on an issue.
#[derive(Debug, Clone)]
pub struct IssueResult {
    pub outcome: WorkOutcome,
    pub reason: Option<IssueReason>,
}

impl IssueResult {
    pub fn new(outcome: WorkOutcome, reason: IssueReason) -> Self {
        Self { outcome, reason: Some(reason) }
    }

    /// Returns a result that needs no reason.
    pub fn plain(outcome: WorkOutcome) -> Self {
        Self { outcome, reason: None }
    }

    /// Returns the result of an issue that was stopped. The next invocation continues it.
    pub fn interrupted() -> Self {
        Self::plain(WorkOutcome::Paused)
    }
}

#[derive(Debug, Clone)]
pub enum IssueReason {
    /// An earlier invocation or a person did the work.
    Before,
    OtherProcess {
        process: Option<u32>,
        run: Option<String>,
    },
    /// A person must answer at this gate.
    Gate {
        gate: String,
    },
    Outside(OutsideReason),
    Provider {
        class: FailureClass,
        message: Option<String>,
    },
    Storage {
        message: String,
    },
    Limit(LimitReason),
    NoProgress,
    Budget,
    BudgetPerIssue,
    Incomplete(IncompleteReason),
    Cancelled,
    Failed {
        reason: FailureReason,
        /// The message of the failed delivery, if the reason has no subject.
        detail: Option<String>,
    },
    Undelivered,
    BlankTitle,
    /// A file or branch of another origin is in the way.
    NotOurs {
        message: String,
        /// True if `--adopt` takes it over.
        adoptable: bool,
    },
    /// The worktree of the last run cannot be removed.
    WorktreeKept {
        worktree: PathBuf,
        why: String,
    },
    Dependency(DependencyReason),
    /// A person closed the pull request.
    RequestClosed {
        address: String,
    },
    /// The open pull request has another base.
    RequestElsewhere {
        address: String,
        to: String,
        base: String,
    },
    /// A run of the issue is unreadable, so its cost and deliveries are unknown.
    UnreadableRun {
        message: String,
    },
    /// Its run could not start.
    Error(Arc<WorkError>),
    /// It has no usable definition, or no thread could start.
    NotPlanned {
        message: String,
    },
    Panicked {
        message: String,
    },
}

/// Reason why an issue does not start because of another issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DependencyReason {
    Obstacle {
        obstacle: DependencyObstacle,
        /// The pull request or branch of the dependency.
        delivered: Option<String>,
    },
    Ended {
        issue: IssueNumber,
        outcome: WorkOutcome,
        /// Its pull request or branch.
        delivered: Option<String>,
    },
    /// The dependency is merged, but the base of this issue does not contain it.
    NotInBase { issue: IssueNumber, merged_into: String, base: String },
}
