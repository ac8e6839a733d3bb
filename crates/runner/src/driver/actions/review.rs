//! The report of a review, written once every agent has answered or failed.

use saihai_config::review::{Plan, ending};
use saihai_judge::review::Outcome as Ended;
use saihai_model::{CallId, Fact, Failure, FailureClass, Json, Outcome};
use serde_json::json;

use super::done;
use crate::Error;
use crate::owned::Owned;
use crate::review::{End, fold, save};

/// Folds the findings into one report and saves it. The label says how the review ended.
pub(super) fn report(owned: &Owned, call: CallId, settings: &Json) -> Result<Fact, Error> {
    let Some(plan) = Plan::read(settings) else {
        let failure =
            Failure::new(FailureClass::BadRequest, "what was planned for the review cannot be read");
        return Ok(Fact::Performed { call, outcome: Outcome::Failed(failure) });
    };
    let end = End { at: owned.clock().now(), stopped: None };
    let report = fold(owned.directory(), owned.workflow(), &plan, end)?;
    if let Err((path, error)) = save(owned.directory(), &plan, &report) {
        return Ok(Fact::StorageFailed { call: Some(call), path, message: error.to_string() });
    }
    let output = [
        ("findings".to_owned(), json!(report.summary.findings)),
        ("failing".to_owned(), json!(report.summary.failing)),
        ("delivered".to_owned(), json!(report.summary.delivered)),
        ("failed".to_owned(), json!(report.summary.failed)),
    ];
    Ok(Fact::Performed { call, outcome: done(Some(label(report.outcome)), output.into()) })
}

fn label(ended: Ended) -> &'static str {
    match ended {
        Ended::Passed => ending::PASSED,
        Ended::Failing => ending::FINDINGS,
        Ended::Incomplete => ending::PARTIAL,
        Ended::NothingDelivered | Ended::AgentFailed | Ended::Cancelled => ending::UNDELIVERED,
    }
}
