//! How the driving of an issue came to an end.

use std::sync::Arc;

use saihai::Finish;
use saihai::delivery::{Came, Past};
use saihai::repository::ItemLock;
use saihai_model::{Cost, Millis, WorkOutcome};

use super::handed_over::Opened;

/// How the driving of an issue came to an end.
pub(super) struct Over {
    pub(super) came: Came,
    /// The run, where there is one.
    pub(super) past: Option<Past>,
    /// How the driver left it, where it was driven at all.
    pub(super) finish: Option<Finish>,
    /// What it has cost as far as it was heard, where its run cannot be read.
    pub(super) heard: Option<(Cost, Millis)>,
    pub(super) lock: Option<Arc<ItemLock>>,
    /// The pull request that another clone opened for it.
    pub(super) opened: Option<Opened>,
    /// Something was done or decided now; else it is only told how it stands since before.
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

    /// It was stopped before its run began.
    pub(super) fn stopped() -> Self {
        Self::told(WorkOutcome::Cancelled, "interrupted")
    }
}
