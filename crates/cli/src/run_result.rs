//! The return value of a run: success or failure, the reason, and a summary of each iteration (S-26).

use saihai::{IterationSummary, LoadedRun};
use saihai_model::{CompletionReason, Ending, FailureReason, Hold};
use saihai_view::RunState;
use serde::Serialize;

use crate::error::CommandError;
use crate::reason_words::{failure_words, hold_error_words};

/// The return value of a run. `iterations` always equals the number of `summaries`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunResult {
    success: bool,
    /// The reason for success, or the code of the failure.
    completion_reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    iterations: usize,
    summaries: Vec<IterationSummary>,
}

impl RunResult {
    pub(crate) fn of(run: &LoadedRun) -> Result<Self, CommandError> {
        let summaries = run.iterations()?;
        let (code, error) = match &run.state {
            RunState::Ended { ending: Ending::Completed(reason) } => (reason.text(), None),
            RunState::Ended { ending } => (ending_code(ending), Some(ending_error(run, ending))),
            RunState::Parked { hold, .. } => {
                let error = hold_error_words(run, hold).unwrap_or_else(|| hold.reason().to_owned());
                (hold_code(hold), Some(error))
            }
            RunState::Running { .. } | RunState::Interrupted | RunState::Ready => {
                ("waiting", Some("the run has not ended".to_owned()))
            }
        };
        let completion_reason = code.to_owned();
        let (success, iterations) = (error.is_none(), summaries.len());
        Ok(Self { success, completion_reason, error, iterations, summaries })
    }
}

/// Returns the code of an unsuccessful ending. A failed delivery is a failure outside the definition.
fn ending_code(ending: &Ending) -> &str {
    match ending {
        Ending::Incomplete(_) => "budget",
        Ending::Undelivered | Ending::Failed(FailureReason::Delivery(_)) => "provider_failed",
        Ending::Completed(_) | Ending::Failed(_) | Ending::Declined | Ending::Cancelled => ending.reason(),
    }
}

fn ending_error(run: &LoadedRun, ending: &Ending) -> String {
    let plain = || format!("{}: {}", ending.outcome(), ending.reason());
    match ending {
        Ending::Failed(reason) => failure_words(run, reason).unwrap_or_else(plain),
        Ending::Declined => "declined by a person".to_owned(),
        Ending::Cancelled => "the run was cancelled".to_owned(),
        Ending::Undelivered => "the work could not be delivered".to_owned(),
        Ending::Completed(
            CompletionReason::Complete | CompletionReason::Delivered(_) | CompletionReason::Stated(_),
        )
        | Ending::Incomplete(_) => plain(),
    }
}

/// Returns the code of a hold.
fn hold_code(hold: &Hold) -> &str {
    match hold {
        Hold::Person(_) | Hold::Outside(..) => "waiting",
        Hold::Until(..) | Hold::Provider(..) => "provider_failed",
        Hold::Interrupted | Hold::Cancelling => "cancelled",
        Hold::Limit(_) | Hold::Budget | Hold::NoProgress(_) | Hold::Storage(_) => hold.reason(),
    }
}

#[cfg(test)]
mod tests {
    use saihai::{RunDirectory, Runs};
    use saihai_model::testing::{fixed, stage, start, turn, workflow};
    use saihai_model::{
        Action, ActionSpec, By, CallFailed, CallId, Completion, Decision, Destination, Fact, Failure,
        FailureClass, Moment, Once, Record, RecordEntry, Verdict, Workflow,
    };
    use saihai_view::RunView;
    use serde_json::{Value, json};

    use super::*;

    fn directory(root: &std::path::Path) -> RunDirectory {
        Runs::of_project(root).create("x", Moment(0), &root.join("reports")).expect("a run").0
    }

    /// Returns the result of a run of one stage whose journal ends like this, without its summaries.
    fn result(workflow: &Workflow, end: Vec<RecordEntry>) -> Value {
        let first = Record { seq: 1, at: Moment(0), entry: RecordEntry::Fact(Fact::Started(start())) };
        let mut view = RunView::begin(&first).expect("a start");
        let verdict = Verdict {
            by: By::Only,
            labels: Vec::new(),
            rule: Some(0),
            topic: None,
            to: Destination::Complete,
        };
        let entries = [
            Decision::Entered { stage: "work".into(), visit: 1, consecutive: 1 },
            Decision::Round { round: 1, iteration: 1 },
            Decision::Exited { stage: "work".into(), verdict },
        ];
        let entries = entries.map(RecordEntry::Decision).into_iter().chain(end);
        entries.zip(2..).for_each(|(entry, seq)| view.apply(Record { seq, at: Moment(seq), entry }));
        let scratch = tempfile::tempdir().expect("a directory");
        let state = view.state(None);
        let directory = directory(scratch.path());
        let run = LoadedRun { directory, workflow: workflow.clone(), view, state, torn: None };
        let mut result = serde_json::to_value(RunResult::of(&run).expect("a result")).expect("JSON");
        let summaries =
            result.as_object_mut().and_then(|result| result.remove("summaries")).expect("summaries");
        assert_eq!((summaries.as_array().map(Vec::len), &result["iterations"]), (Some(1), &json!(1)));
        result
    }

    fn ended(ending: Ending) -> Vec<RecordEntry> {
        vec![RecordEntry::Decision(Decision::Finished { ending })]
    }

    fn parked(hold: Hold) -> Vec<RecordEntry> {
        vec![RecordEntry::Decision(Decision::Parked { hold })]
    }

    // S-26, S-28, S-39, S-61
    #[test]
    fn a_result_names_why_a_run_succeeded_failed_or_waits() {
        let mut flow =
            workflow(vec![("work", stage(vec![turn("work", vec![fixed("Work.")])], &[("", "COMPLETE")]))]);
        let check = |flow: &Workflow, end: Vec<RecordEntry>, reason: &str, error: Option<&str>| {
            let mut expected =
                json!({"success": error.is_none(), "completionReason": reason, "iterations": 1});
            error.into_iter().for_each(|error| expected["error"] = json!(error));
            assert_eq!(result(flow, end), expected);
        };
        let failed = |reason: &str| ended(Ending::Failed(reason.into()));
        check(&flow, ended(Ending::Completed("complete".into())), "complete", None);
        check(&flow, failed("retries_exhausted work 3"), "step_failed", Some("Retries exhausted: work (3)"));
        check(&flow, failed("step_failed work"), "step_failed", Some("step `work` failed"));
        check(&flow, failed("push-rejected"), "provider_failed", Some("failed: push-rejected"));
        check(&flow, failed("bored now"), "bored now", Some("failed: bored now"));
        check(&flow, ended(Ending::Declined), "declined", Some("declined by a person"));
        let limit = |limit: &str| parked(Hold::Limit(limit.into()));
        check(&flow, limit("max_iterations"), "max_iterations", Some("Iteration limit reached: 1"));
        check(&flow, limit("emergency_stop"), "emergency_stop", Some("Hard limit exceeded: 1"));
        let call = CallId { stage: "work".into(), visit: 1, round: 1, n: 1 };
        let failure = Failure::new(FailureClass::Auth, "log in");
        let refused = RecordEntry::Fact(Fact::Failed(Box::new(CallFailed::new(call.clone(), failure))));
        let waits = std::iter::once(refused).chain(parked(Hold::Provider(call, FailureClass::Auth)));
        check(&flow, waits.collect(), "provider_failed", Some("auth: log in"));
        flow.completion = Completion::Rounds(2);
        let open = "flow ended at work, but fewer than 2 iterations have run";
        check(&flow, failed("flow_ended"), "flow_ended", Some(open));
        let does = Action::FileState { path: "never.txt".to_owned(), absent: false };
        let action = ActionSpec { does, inputs: Vec::new(), once: Once::ReadOnly, poll: None };
        flow.completion = Completion::Outside(action);
        let open = "flow ended at work, but `never.txt` does not exist";
        check(&flow, failed("flow_ended"), "flow_ended", Some(open));
    }
}
