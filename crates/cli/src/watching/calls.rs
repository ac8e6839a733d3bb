use saihai::LoadedRun;
use saihai_model::{Activity, Outcome, Purpose, RoundPosition};
use saihai_view::{AttemptResult, CallView, RoundView, RunState, VisitView};

use crate::report::{answer_words, outside_words};
use crate::terminal::visible_line;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallMark {
    Done,
    Failed,
    Running,
    WaitsForPerson,
    Queued,
}

/// Returns the calls of a visit. The reports of a turn are shown with the turn.
pub(crate) fn visit_calls<'a>(
    run: &'a LoadedRun,
    visit: &'a VisitView,
) -> impl Iterator<Item = (&'a RoundView, &'a CallView)> {
    let rounds = visit.rounds.iter();
    let calls = rounds.flat_map(|round| run.view.calls_of(round).iter().map(move |call| (round, call)));
    calls.filter(|(_, call)| !matches!(call.place, RoundPosition::Report(_)))
}

pub(crate) fn call_mark(run: &LoadedRun, call: &CallView) -> CallMark {
    let has_owner = matches!(run.state, RunState::Running { .. });
    if call.answer.is_some() || call.reply().is_some() {
        return CallMark::Done;
    }
    if is_gate(run, call) {
        return CallMark::WaitsForPerson;
    }
    match (call.performed.last().map(|performed| &performed.outcome), call.attempts.last()) {
        (Some(Outcome::Done { .. }), _) => CallMark::Done,
        (Some(Outcome::Failed(_)), _) => CallMark::Failed,
        (Some(_), _) => CallMark::Queued,
        (None, Some(attempt)) => match attempt.result {
            AttemptResult::Open if has_owner && !call.is_queued => CallMark::Running,
            AttemptResult::Open => CallMark::Queued,
            AttemptResult::Failed { .. } if call.retry_at.is_some() && has_owner => CallMark::Queued,
            AttemptResult::Failed { .. } => CallMark::Failed,
            AttemptResult::Replied { .. } => CallMark::Done,
        },
        (None, None) if has_owner && call.purpose.is_none() => CallMark::Running,
        (None, None) => CallMark::Queued,
    }
}

pub(crate) fn is_gate(run: &LoadedRun, call: &CallView) -> bool {
    let stage = run.workflow.stage(&call.id.stage);
    call.purpose.is_none() && stage.is_some_and(|stage| matches!(stage.does, Activity::Gate(_)))
}

/// Names a call within its stage.
pub(crate) fn call_name(run: &LoadedRun, call: &CallView) -> String {
    let stage = run.workflow.stage(&call.id.stage);
    let turns = stage.map(|stage| stage.turns()).unwrap_or_default();
    let turn = |index: usize| {
        let turn = turns.get(index).filter(|_| turns.len() > 1);
        turn.map_or_else(|| "turn".to_owned(), |turn| visible_line(turn.id.as_str()).into_owned())
    };
    match call.place {
        RoundPosition::Main(_) if is_gate(run, call) => "question to you".to_owned(),
        RoundPosition::Main(_) if call.purpose.is_none() => "action".to_owned(),
        RoundPosition::Main(index) => match call.purpose {
            Some(Purpose::Correction) => format!("{}, correction", turn(index)),
            _ => turn(index),
        },
        RoundPosition::Check(index) if turns.len() > 1 => format!("judge of {}", turn(index)),
        RoundPosition::Check(_) | RoundPosition::Exit => "judge".to_owned(),
        RoundPosition::Report(_) => "reports".to_owned(),
        RoundPosition::Block(_) => "action".to_owned(),
        RoundPosition::Proof(index) => {
            let proof = stage.and_then(|stage| stage.proofs().nth(index));
            proof.map_or_else(|| "check".to_owned(), |proof| visible_line(&proof.name).into_owned())
        }
        RoundPosition::Outside(_) => "condition".to_owned(),
    }
}

/// Describes the results of an action, the answer of a person, or what is missing in the text of a reply.
pub(crate) fn call_results(call: &CallView) -> Vec<String> {
    let answer =
        call.answer.as_ref().map(|answer| answer_words(answer.by, &answer.label, answer.text.clone()));
    let performed = call.performed.iter().map(|performed| match &performed.outcome {
        Outcome::Done { output, .. } if output.is_empty() => "done".to_owned(),
        Outcome::Done { output, .. } => {
            output.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join("\n")
        }
        Outcome::Failed(failure) => format!("failed: {}", failure.message),
        Outcome::Waiting { reason } => outside_words(reason),
        Outcome::NotYet | Outcome::Delayed { .. } => "not yet".to_owned(),
    });
    let warnings = call.reply().map(|reply| reply.reading.warnings.as_slice()).unwrap_or_default();
    let warnings = warnings.iter().map(|warning| format!("warning: {warning}"));
    answer.into_iter().chain(performed).chain(warnings).collect()
}
