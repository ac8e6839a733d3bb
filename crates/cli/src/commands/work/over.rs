//! The result of driving an issue.

use std::sync::Arc;

use saihai::Finish;
use saihai::delivery::{Came, Past};
use saihai::repository::ItemLock;
use saihai_model::{Cost, Millis, WorkOutcome};

use super::handed_over::Opened;

pub(super) struct Over {
    pub(super) came: Came,
    /// The run, if there is one.
    pub(super) past: Option<Past>,
    /// The driver's result, if the run was driven.
    pub(super) finish: Option<Finish>,
    /// Known cost and time of an unreadable run.
    pub(super) heard: Option<(Cost, Millis)>,
    pub(super) lock: Option<Arc<ItemLock>>,
    /// A pull request opened by another clone.
    pub(super) opened: Option<Opened>,
    /// True if this invocation did or decided something. False if it only reports an earlier result.
    pub(super) acted: bool,
    pub(super) panicked: bool,
}

impl Over {
    pub(super) fn told(outcome: WorkOutcome, reason: impl Into<String>) -> Self {
        let reason = Some(reason.into()).filter(|reason: &String| !reason.is_empty());
        Self::came(Came { outcome, reason })
    }

    pub(super) fn came(came: Came) -> Self {
        Self {
            came,
            past: None,
            finish: None,
            heard: None,
            lock: None,
            opened: None,
            acted: true,
            panicked: false,
        }
    }

    /// Returns the result of an issue that was stopped before its run started.
    pub(super) fn stopped() -> Self {
        Self::told(WorkOutcome::Cancelled, "interrupted")
    }
}
