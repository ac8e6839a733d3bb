//! Decisions in words.

use saihai_model::{
    Activity, By, CallId, Decision, Destination, Ending, Found, How, Millis, Moment, Purpose, StageId,
    Verdict,
};

use super::Names;
use super::topic_words::{alarm_words, exhausted_words, refused_words, remark_words};
use super::words::{Line, hold_words};
use crate::terminal::visible_line;
use crate::time;

/// Longer waits show the time of their end.
const SOON: Millis = Millis(10 * 60 * 1000);
/// From this many executions in a row, a warning appears (P-49).
const IN_A_ROW: u32 = 3;

pub(super) fn of(decision: &Decision, at: Moment, names: &Names<'_>) -> Vec<Line> {
    match decision {
        Decision::Entered { stage, visit, .. } => {
            vec![Line::detail(format!("entered `{}` (visit {visit})", visible_line(stage.as_str())))]
        }
        Decision::Round { round, iteration } => counted(*round, *iteration, names),
        Decision::Called { call, purpose, .. } => {
            let why = match purpose {
                Some(Purpose::Work) => "work",
                Some(Purpose::Correction) => "correction",
                Some(Purpose::Question) => "question",
                None => "no agent",
            };
            vec![Line::detail(format!("call `{call}` for `{}` ({why})", names.call(call)))]
        }
        Decision::Correct { call, violations } if violations.is_empty() => {
            vec![Line::warning(format!(
                "`{}` must answer again: its answer cannot be read",
                names.call(call)
            ))]
        }
        Decision::Correct { call, violations } => vec![Line::warning(format!(
            "`{}` must correct its output: {}",
            names.call(call),
            visible_line(&violations.join("; "))
        ))],
        Decision::Retry { call, attempt, not_before, provider, new_session } => {
            let mut text = format!("`{}` is tried again, attempt {attempt}", names.call(call));
            if not_before.since(at) > SOON {
                text.push_str(&format!(", not before {}", time::local_until(*not_before, at)));
            } else if *not_before > at {
                text.push_str(&format!(", in {}", time::length(not_before.since(at))));
            }
            if let Some(provider) = provider {
                text.push_str(&format!(", by `{}`", visible_line(provider.as_str())));
            }
            if *new_session {
                text.push_str(", in a new session");
            }
            // C-29 fixes the wording.
            let lost = *new_session && names.has_lost_session(call);
            let lost = lost.then(|| Line::warning("Session disconnected, starting new session"));
            lost.into_iter().chain([Line::step(text)]).collect()
        }
        Decision::Unfit { call, provider } => vec![Line::warning(format!(
            "`{}` is not handed to `{}`, which cannot hold an agent to its permission",
            names.call(call),
            visible_line(provider.as_str())
        ))],
        Decision::Repeated { call, attempt } => vec![Line::step(repeated_words(call, *attempt, names))],
        Decision::Reports { found, .. } => found.iter().map(report).collect(),
        Decision::Alarm { monitor, count, overrode } => {
            let instead =
                overrode.as_ref().map(|label| format!(", instead of `{}`", visible_line(label.as_str())));
            let words = alarm_words(*monitor, *count, names.workflow());
            vec![Line::warning(format!("{words}{}", instead.unwrap_or_default()))]
        }
        Decision::Exited { stage, verdict } => vec![Line::step(exit_words(stage, verdict, names))],
        Decision::Refused { missing } => vec![Line::warning(refused_words(missing))],
        Decision::Remarked { topic, remark } => {
            vec![Line::warning(remark_words(topic, *remark, names.workflow()))]
        }
        Decision::Exhausted { stage, topic, instead } => {
            vec![Line::warning(exhausted_words(stage, topic, instead.as_ref()))]
        }
        Decision::Parked { hold } => {
            vec![Line::head(format!("parked: {}", visible_line(&hold_words(hold, at))))]
        }
        Decision::Finished { ending } => vec![Line::head(ending_words(ending))],
    }
}

/// Describes an exit: its target, its rule and the method of the decision.
pub(crate) fn exit_words(stage: &StageId, verdict: &Verdict, names: &Names<'_>) -> String {
    let to = match &verdict.to {
        Destination::Stage(next) => format!("`{}`", visible_line(next.as_str())),
        Destination::Again => "again".to_owned(),
        Destination::Complete => "complete".to_owned(),
        Destination::End(ending) => ending_words(ending),
    };
    format!("`{}` → {to}: {}", visible_line(stage.as_str()), verdict_words(stage, verdict, names))
}

/// Describes the rule of an exit and the method of the decision.
pub(crate) fn verdict_words(stage: &StageId, verdict: &Verdict, names: &Names<'_>) -> String {
    let mut text = String::new();
    if let Some(rule) = verdict.rule {
        let condition =
            names.rule(stage, rule).map(|condition| format!(" “{condition}”")).unwrap_or_default();
        text.push_str(&format!("rule {rule}{condition}, "));
    } else if let Some(topic) = &verdict.topic {
        text.push_str(&format!("topic `{}`, ", visible_line(topic.as_str())));
    }
    // H-48: a reply without a directive is not a decision.
    let silent = (verdict.by, &verdict.to, &verdict.topic) == (By::Directive, &Destination::Again, &None);
    text.push_str(if silent { "nothing reported" } else { method(verdict.by) });
    let labels = labels(stage, verdict, names);
    if !labels.is_empty() {
        text.push_str(&format!(" ({labels})"));
    }
    text
}

/// Explains why a call is repeated. For an external action the journal does not record its start. An answered gate
/// whose run was never resumed has only decided on it.
fn repeated_words(call: &CallId, attempt: u32, names: &Names<'_>) -> String {
    let named = names.call(call);
    let stage = names.workflow().stage(&call.stage);
    if stage.is_some_and(|stage| matches!(stage.does, Activity::Action(_))) {
        format!("`{named}` is done now; it may have been begun before (attempt {attempt})")
    } else {
        format!(
            "`{named}` is asked again: it had not answered when the run was stopped or its process died (attempt {attempt})"
        )
    }
}

/// Names the method of a verdict, as the result and `explain` show it.
fn method(by: By) -> &'static str {
    match by {
        By::Only => "the only way",
        By::Tag => "by tag",
        By::Field => "by field",
        By::Findings => "by findings",
        By::Judge => "by judge",
        By::Aggregate => "by aggregate",
        By::Directive => "by directive",
        By::Answer => "by answer",
        By::Result => "by result",
        By::Monitor => "by monitor",
        By::Condition => "by condition",
        By::NoMatch => "no match",
        By::Limit => "by limit",
        By::Output => "by output",
    }
}

pub(crate) fn ending_words(ending: &Ending) -> String {
    match ending {
        Ending::Completed(reason) | Ending::Failed(reason) | Ending::Incomplete(reason)
            // Avoid a repetition such as `completed (complete)`.
            if !ending.outcome().starts_with(reason) =>
        {
            format!("{} ({})", ending.outcome(), visible_line(reason))
        }
        Ending::Completed(_)
        | Ending::Failed(_)
        | Ending::Incomplete(_)
        | Ending::Declined
        | Ending::Cancelled
        | Ending::Undelivered => ending.outcome().to_owned(),
    }
}

/// Describes an iteration, with a warning if the same stage repeats without progress (P-49).
fn counted(round: u32, iteration: u32, names: &Names<'_>) -> Vec<Line> {
    let mut lines = vec![Line::head(iteration_words(round, iteration, names))];
    let stage = names.current_stage().filter(|_| names.in_a_row() >= IN_A_ROW && round == 1);
    lines.extend(stage.map(|stage| {
        let (kind, stage) = (names.kind_of_stage(), visible_line(stage.as_str()));
        Line::warning(format!("{kind} \"{stage}\" has run {} times in a row", names.in_a_row()))
    }));
    lines
}

fn iteration_words(round: u32, iteration: u32, names: &Names<'_>) -> String {
    if !names.counts_iterations() {
        let stage = names.current_stage().map(|stage| format!(" `{}`", visible_line(stage.as_str())));
        return format!("{}{}", names.kind_of_stage(), stage.unwrap_or_default());
    }
    let of = names.most_iterations().map(|most| format!(" of {most}")).unwrap_or_default();
    let again = if round > 1 { format!(", round {round}") } else { String::new() };
    let stage = names.current_stage().map(|stage| format!(": `{}`", visible_line(stage.as_str())));
    format!("iteration {iteration}{of}{}{again}", stage.unwrap_or_default())
}

/// Describes the detection of a report. Warnings about it appear with the reply.
fn report(found: &Found) -> Line {
    let file = visible_line(&found.file);
    let unclosed = if found.unclosed { ", never closed" } else { "" };
    Line::detail(match found.how {
        How::Clue => format!("report `{file}` found by a clue{unclosed}"),
        How::Only => format!("report `{file}` is the only block{unclosed}"),
        How::Position => format!("report `{file}` found by its position{unclosed}"),
        How::Whole => format!("report `{file}` is the whole reply"),
        How::Agent => format!("report `{file}` was written by the agent"),
    })
}

/// Lists the labels of several turns. The label of a single turn equals the rule's own text.
fn labels(stage: &StageId, verdict: &Verdict, names: &Names<'_>) -> String {
    // A stage without a decision needs no labels.
    let undecided = verdict.by == By::Only && verdict.labels.iter().all(Option::is_none);
    if verdict.labels.len() < 2 || undecided {
        return String::new();
    }
    let turns = names.turns(stage);
    let named = verdict.labels.iter().enumerate().map(|(index, label)| {
        let turn = turns.get(index).cloned().unwrap_or_else(|| index.to_string());
        let label = label.as_ref().map_or_else(|| "no match".into(), |label| visible_line(label.as_str()));
        format!("{turn}: {label}")
    });
    named.collect::<Vec<_>>().join(", ")
}
