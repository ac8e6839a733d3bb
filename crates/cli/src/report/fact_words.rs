//! Facts in words.

use std::collections::BTreeMap;

use saihai_model::{
    Answer, AnsweredBy, CallFailed, Fact, FailureClass, Json, Label, Moment, Outcome, Place, Purpose, Raise,
    Replied, Start, Text,
};

use super::topic_words::near_miss_words;
use super::words::Line;
use super::{Names, cost, count, grouped, tokens};
use crate::terminal::visible_line;
use crate::time;

pub(super) fn of(fact: &Fact, at: Moment, names: &Names<'_>) -> Vec<Line> {
    match fact {
        Fact::Started(start) => started(start),
        Fact::Asked { call, attempt, prompt } => {
            let size =
                prompt.as_ref().map(|text| format!(", {}", count(text.bytes(), "byte"))).unwrap_or_default();
            vec![Line::detail(format!("asked `{}` (attempt {attempt}{size})", names.call(call)))]
        }
        Fact::Replied(replied) => reply(replied, names),
        Fact::Failed(failed) => failure(failed, at, names),
        Fact::Performed { call, outcome } => performed(names.place(call), &names.call(call), outcome),
        Fact::Answered(answer) => vec![answered(answer, names)],
        Fact::Woke => vec![Line::detail("time has passed")],
        Fact::Reopened => vec![Line::detail("another process has taken the run over")],
        Fact::Resumed(raise) => vec![Line::step(resumed(raise))],
        Fact::Interrupted { by } => vec![Line::step(format!("interrupted by {}", visible_line(by)))],
        Fact::StorageFailed { path, message, .. } => {
            vec![Line::warning(format!("cannot write `{}`: {}", visible_line(path), visible_line(message)))]
        }
        Fact::Cancelled { by } => vec![Line::step(format!("cancelled by {}", visible_line(by)))],
    }
}

fn started(start: &Start) -> Vec<Line> {
    let task = match &start.task {
        Text::Inline(task) if task.is_empty() => String::new(),
        Text::Inline(task) => format!(": {}", first_line(task)),
        Text::Blob { bytes, .. } => format!(": a task of {} bytes", grouped(*bytes)),
    };
    let mut lines = vec![Line::head(format!(
        "started `{}` ({}){task}",
        visible_line(&start.definition),
        visible_line(&start.dialect)
    ))];
    if start.rehearsal {
        lines.push(Line::step("this is a rehearsal: no agent is asked"));
    }
    if let Some(from) = &start.forked_from {
        lines.push(Line::step(format!("forked from `{}`", visible_line(from))));
    }
    lines
}

fn reply(replied: &Replied, names: &Names<'_>) -> Vec<Line> {
    let call = names.call(&replied.call);
    let mut facts = vec![format!("`{call}` replied in {}", time::length(replied.duration))];
    facts.extend(tokens(&replied.usage));
    facts.extend(cost(replied.cost));
    if replied.denied > 0 {
        facts.push(format!("denied {}", count(u64::from(replied.denied), "time")));
    }
    let is_work = names.purpose(&replied.call) != Some(Purpose::Question);
    if let Some(tag) = &replied.reading.tag {
        let number = tag.number.map_or_else(|| "NONE".to_owned(), |number| number.to_string());
        facts.push(format!("tag {number} on line {}", tag.line));
    } else if !is_work && replied.reading.output.is_none() {
        facts.push("no answer found".to_owned());
    }
    let mut lines = vec![Line::step(facts.join(", "))];
    lines.extend(replied.reading.events.iter().map(|event| {
        let message =
            event.message.as_deref().map(|text| format!(": {}", first_line(text))).unwrap_or_default();
        Line::step(format!("`{call}` published `{}`{message}", visible_line(event.topic.as_str())))
    }));
    lines.extend(
        replied
            .reading
            .near_misses
            .iter()
            .map(|miss| Line::warning(format!("`{call}`: {}", near_miss_words(miss)))),
    );
    lines.extend(
        replied
            .reading
            .warnings
            .iter()
            .map(|warning| Line::warning(format!("`{call}`: {}", visible_line(warning)))),
    );
    lines
}

fn failure(failed: &CallFailed, at: Moment, names: &Names<'_>) -> Vec<Line> {
    let failure = &failed.failure;
    if failure.class == FailureClass::Cancelled {
        return vec![Line::step(format!("`{}` was stopped", names.call(&failed.call)))];
    }
    let until = failure.until.map(|until| format!("; can serve again at {}", time::local_until(until, at)));
    let first = Line::warning(format!(
        "`{}` failed ({}): {}{}",
        names.call(&failed.call),
        failure.class.name(),
        first_line(&failure.message),
        until.unwrap_or_default()
    ));
    // If this ends the run, all lines appear at the end.
    let rest = failure.message.trim().lines().skip(1);
    let rest = rest.map(|line| Line::detail(format!("  {}", visible_line(line.trim_end()))));
    std::iter::once(first).chain(rest).collect()
}

fn performed(place: Option<Place>, call: &str, outcome: &Outcome) -> Vec<Line> {
    match outcome {
        Outcome::Done { output, .. } if matches!(place, Some(Place::Report(_))) => {
            output.keys().map(|file| Line::step(format!("saved report `{}`", visible_line(file)))).collect()
        }
        Outcome::Done { label, output } if matches!(place, Some(Place::Proof(_))) => {
            vec![proved(call, label.as_ref(), output)]
        }
        Outcome::Done { label, output } => {
            let label = label.as_ref().map(|label| format!(": {}", visible_line(label.as_str())));
            let output = if output.is_empty() { String::new() } else { format!(" {}", told(output)) };
            vec![Line::step(format!("`{call}` done{}{output}", label.unwrap_or_default()))]
        }
        Outcome::NotYet => vec![Line::detail(format!("`{call}`: not yet"))],
        Outcome::Delayed { reason } => vec![Line::step(format!("`{call}`: {}", visible_line(reason)))],
        Outcome::Waiting { reason } => vec![Line::step(format!("`{call}` waits: {}", visible_line(reason)))],
        Outcome::Failed(failure) => vec![Line::warning(format!(
            "`{call}` failed ({}): {}",
            failure.class.name(),
            visible_line(&failure.message)
        ))],
    }
}

/// Formats the output of an action in addition to its label. Numbers get words, other values stay unchanged.
fn told(output: &BTreeMap<String, Json>) -> String {
    // Objects are data for later stages, not for people.
    let told = output.iter().filter(|(_, value)| !value.is_object() && !value.is_null());
    let output: &BTreeMap<String, Json> = &told.map(|(name, value)| (name.clone(), value.clone())).collect();
    if !output.values().all(Json::is_number) {
        return compact(output);
    }
    let counts: Vec<String> =
        output.iter().map(|(name, number)| counted(number, &visible_line(name))).collect();
    format!("({})", counts.join(", "))
}

/// Formats a count with its unit: `1 finding`, `2 findings`, `0 failed`.
fn counted(number: &Json, name: &str) -> String {
    let is_one = number.as_u64() == Some(1);
    let name = if is_one { name.strip_suffix('s').unwrap_or(name) } else { name };
    format!("{number} {name}")
}

fn proved(call: &str, label: Option<&Label>, output: &BTreeMap<String, Json>) -> Line {
    if label.is_some_and(|label| label.as_str() == "ok") {
        return Line::step(format!("`{call}` is satisfied"));
    }
    let found = output.get("output").and_then(Json::as_str).filter(|found| !found.is_empty());
    let found = found.map(|found| format!(": {}", first_line(found))).unwrap_or_default();
    Line::warning(format!("`{call}` is not satisfied{found}"))
}

fn answered(answer: &Answer, names: &Names<'_>) -> Line {
    let by = match answer.by {
        AnsweredBy::Person => "a person",
        AnsweredBy::Auto => "`--auto`",
        AnsweredBy::Timeout => "nobody in time",
        AnsweredBy::Script => "the script",
    };
    let text = answer.text.as_deref().map(|text| format!(": {}", first_line(text))).unwrap_or_default();
    let label = match answer.label.as_str() {
        // The line already says that the gate was answered.
        "answered" => String::new(),
        label => format!(" `{}`", visible_line(label)),
    };
    Line::step(format!("`{}` answered{label} by {by}{text}", names.call(&answer.call)))
}

fn resumed(raise: &Raise) -> String {
    let mut raised = Vec::new();
    raised.extend(raise.rounds.map(|rounds| format!("max_iterations {rounds}")));
    raised.extend(raise.runtime.map(|time| format!("run_timeout {}", time::length(time))));
    raised.extend(raise.budget.usd.map(|usd| format!("budget {usd}")));
    raised.extend(raise.budget.tokens.map(|tokens| format!("budget {}", count(tokens, "token"))));
    raised.extend(raise.budget.turns.map(|turns| format!("budget {}", count(turns, "turn"))));
    raised.extend(raise.budget.time.map(|time| format!("budget {}", time::length(time))));
    if raised.is_empty() { "resumed".to_owned() } else { format!("resumed with {}", raised.join(", ")) }
}

fn compact(output: &std::collections::BTreeMap<String, Json>) -> String {
    serde_json::to_string(output).map(|text| visible_line(&text).into_owned()).unwrap_or_default()
}

/// Returns the first line of a text, with a mark if there are more.
fn first_line(text: &str) -> String {
    let text = text.trim();
    match text.split_once('\n') {
        Some((first, _)) => format!("{} …", visible_line(first.trim_end())),
        None => visible_line(text).into_owned(),
    }
}
