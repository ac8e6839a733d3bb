//! Words for the reasons of a run: its limit, its failure and the error behind it.

use saihai::LoadedRun;
use saihai_model::{
    Action, By, Completion, Ending, FailureReason, Hold, LimitReason, StageId, Verdict, Watch, Workflow,
};
use saihai_view::RunState;

use crate::report::{outside_words, stall_words};

/// Describes the error that a run failed with or waits for, if more is known than its code.
pub(crate) fn error_words(run: &LoadedRun) -> Option<String> {
    match &run.state {
        RunState::Ended { ending: Ending::Failed(reason) } => failure_words(run, reason),
        RunState::Parked { hold: hold @ Hold::Limit(LimitReason::EmergencyStop), .. }
        | RunState::Parked {
            hold: hold @ (Hold::Provider(..) | Hold::Until(..) | Hold::Storage(_)), ..
        } => hold_error_words(run, hold),
        _ => None,
    }
}

/// Describes the error that a run waits for. Returns `None` if the journal does not have it.
pub(crate) fn hold_error_words(run: &LoadedRun, hold: &Hold) -> Option<String> {
    match hold {
        Hold::Limit(limit) => Some(limit_words(limit, run.view.iterations)),
        Hold::Person(call) => Some(format!("waiting for an answer at `{}`", call.stage)),
        Hold::Outside(_, reason) => Some(outside_words(reason)),
        Hold::NoProgress(evidence) => Some(stall_words(evidence)),
        Hold::Budget => Some("the budget does not allow another turn".to_owned()),
        Hold::Interrupted | Hold::Cancelling => Some("the run was interrupted".to_owned()),
        Hold::Storage(_) => {
            let failure = run.view.last_storage_failure.as_ref();
            failure.map(|(path, message)| format!("cannot write `{path}`: {message}"))
        }
        Hold::Until(..) | Hold::Provider(..) => {
            let failure = run.view.last_failure.as_ref();
            failure.map(|failure| format!("{}: {}", failure.class.name(), failure.message))
        }
    }
}

fn limit_words(limit: &LimitReason, iterations: u32) -> String {
    match limit {
        LimitReason::EmergencyStop => format!("Hard limit exceeded: {iterations}"),
        LimitReason::MaxIterations => format!("Iteration limit reached: {iterations}"),
        LimitReason::Timeout => "the time limit of the run is reached".to_owned(),
        LimitReason::Exhausted | LimitReason::Stalled | LimitReason::Stale | LimitReason::Verbatim(_) => {
            format!("limit `{}` reached", limit.code())
        }
    }
}

/// Describes a failure, if more is known than its code.
pub(crate) fn failure_words(run: &LoadedRun, reason: &FailureReason) -> Option<String> {
    let exit = run.view.last_exit();
    let at = exit.map_or("", |(stage, _)| stage.as_str());
    match reason {
        FailureReason::RetriesExhausted { step, times } => {
            Some(format!("Retries exhausted: {step} ({times})"))
        }
        FailureReason::ValidationFailed { step, validator } => {
            Some(format!("step `{step}` failed: the validator `{validator}` failed"))
        }
        FailureReason::MissingInput { input } => Some(format!("MissingRequiredInput: {input}")),
        FailureReason::CompletionFailed { message } => {
            Some(format!("the completion check failed: {message}"))
        }
        FailureReason::FlowEnded => {
            let open = open_words(&run.workflow, &run.workflow.completion);
            Some(format!("flow ended at {at}, but {}", open.join(" and ")))
        }
        FailureReason::StepFailed { step } => Some(step_words(run, step.as_deref(), exit)),
        _ => None,
    }
}

fn step_words(run: &LoadedRun, step: Option<&str>, exit: Option<(&StageId, &Verdict)>) -> String {
    let at = step.or(exit.map(|(stage, _)| stage.as_str())).unwrap_or_default();
    // Only the monitor for self-transitions names no step.
    if let (None, Some(times)) = (step, self_entries(&run.workflow)) {
        return format!("step `{at}` failed: it led to itself more than {times} times in a row");
    }
    match exit.map(|(_, verdict)| verdict.by) {
        Some(By::Output) => {
            let reply = run.view.calls.iter().rev().find_map(|call| call.reply());
            let violations = reply.map(|reply| reply.reading.violations.join("; ")).unwrap_or_default();
            format!("step `{at}` failed: its output is invalid: {violations}")
        }
        Some(By::Limit) => format!("step `{at}` failed: its limit of rounds is reached"),
        Some(_) | None => format!("step `{at}` failed"),
    }
}

/// Returns the limit for transitions of a stage to itself.
fn self_entries(workflow: &Workflow) -> Option<u32> {
    workflow.monitors.iter().find_map(|monitor| match monitor.watches {
        Watch::SelfEntries { times } => Some(times),
        _ => None,
    })
}

/// Describes the open conditions of a completion.
fn open_words(workflow: &Workflow, completion: &Completion) -> Vec<String> {
    match completion {
        Completion::Flow => Vec::new(),
        Completion::Rounds(rounds) => vec![format!("fewer than {rounds} iterations have run")],
        Completion::Checks(checks) => vec![format!("fewer than {checks} checks have run")],
        Completion::Keyword(keyword) => vec![format!("no reply contains `{}`", keyword.word)],
        Completion::Signal { kind, .. } => vec![format!("no reply contains a valid `{kind}` block")],
        Completion::Phase(phases) => vec![format!("phase `{}` is not reached", phases.terminal.join("`, `"))],
        Completion::Outside(action) => vec![match &action.does {
            Action::IssueState => match workflow.issue {
                Some(number) => format!("issue {number} is open"),
                None => "the issue is open".to_owned(),
            },
            Action::FileState { path, absent: false } => format!("`{path}` does not exist"),
            Action::FileState { path, absent: true } => format!("`{path}` still exists"),
            Action::Command { argv, .. } => {
                format!("`{}` reports unfinished work", argv.first().map_or("", String::as_str))
            }
            _ => "the external condition is not met".to_owned(),
        }],
        Completion::All(parts) | Completion::Any(parts) | Completion::First(parts) => {
            parts.iter().flat_map(|part| open_words(workflow, part)).collect()
        }
    }
}
