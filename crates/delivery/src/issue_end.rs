//! The end of the work on an issue, or its next pause.

use std::sync::Arc;

use saihai::{Clock, DriveOutcome};
use saihai_git::ItemLock;
use saihai_model::{Cost, Millis, WorkOutcome};
use saihai_view::RunState;

use crate::{IssueReason, IssueResult, IssueRun, OpenedRequest};

/// The result of driving an issue.
pub struct IssueEnd {
    pub result: IssueResult,
    /// The run, if there is one.
    pub run: Option<IssueRun>,
    /// The driver's result, if the run was driven.
    pub finish: Option<DriveOutcome>,
    /// Known cost and time of an unreadable run.
    pub heard: Option<(Cost, Millis)>,
    pub lock: Option<Arc<ItemLock>>,
    /// A pull request opened by another clone.
    pub request: Option<OpenedRequest>,
    /// True if this invocation did or decided something. False if it only reports an earlier result.
    pub acted: bool,
    pub panicked: bool,
}

impl IssueEnd {
    pub fn of(result: IssueResult) -> Self {
        Self {
            result,
            run: None,
            finish: None,
            heard: None,
            lock: None,
            request: None,
            acted: true,
            panicked: false,
        }
    }

    pub fn new(outcome: WorkOutcome, reason: IssueReason) -> Self {
        Self::of(IssueResult::new(outcome, reason))
    }

    /// Returns true if the work was done before this invocation.
    pub fn is_before(&self) -> bool {
        matches!(self.result.reason, Some(IssueReason::Before)) || self.result.outcome == WorkOutcome::Closed
    }

    /// Returns an end that only reports an earlier result.
    pub(crate) fn reported(result: IssueResult) -> Self {
        Self { acted: false, ..Self::of(result) }
    }

    /// Returns the result of an issue that was stopped.
    pub fn interrupted() -> Self {
        Self::of(IssueResult::interrupted())
    }

    /// Ends the run of work that a person merged by hand. Nothing else would, and it would stay parked.
    pub async fn end_merged_run(&mut self) {
        let is_merged = self.result.outcome == WorkOutcome::Merged && self.is_before();
        let parked = |run: &&IssueRun| is_merged && matches!(run.state, RunState::Parked { .. });
        let Some(directory) = self.run.as_ref().filter(parked).map(|run| run.directory().clone()) else {
            return;
        };
        // The next invocation tries again.
        if saihai::cancel(&directory, MERGED_BY_HAND, Clock::system()).await.is_ok()
            && let Ok(Some(run)) = IssueRun::read(&directory)
        {
            self.run = Some(run);
        }
    }

    pub(crate) fn unreadable(error: &saihai::DriverError) -> Self {
        Self::new(WorkOutcome::Unknown, IssueReason::UnreadableRun { message: error.to_string() })
    }
}

/// The source of the cancellation, as the journal names it.
const MERGED_BY_HAND: &str = "merged by hand";
