//! The output about a run, derived from its records: live, through a pipe, or later.

mod delivery_words;
mod live;
mod names;
mod stall_words;
mod transition_words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use saihai_model::{
    Activity, Answer, AnsweredBy, Budget, BudgetLoan, CallFailed, CallId, CompletionReason, Decision, Ending,
    Fact, FailureClass, Hold, Json, Label, Millis, Moment, NearMiss, NearMissReason, Outcome, Permission,
    PersonNote, ProgramCommand, ProgramExit, ProviderName, Purpose, Raise, Record, RecordEntry, Remark,
    Replied, ReportClue, ReportLocation, RoundPosition, Stage, StageId, Start, Text, Topic, Verdict, Watch,
    Workflow,
};

use crate::quantities;
pub(crate) use crate::quantities::count;
use crate::quantities::{cost, file_change_words, grouped, tokens};
use crate::terminal::{Stream, style, visible_line, wrapped};

pub(crate) use delivery_words::{delivery_hold_words, outside_words};
pub(crate) use live::{FrameLine, LiveBoard, LiveFrame};
pub(crate) use names::RunNames;
pub(crate) use stall_words::{stall_lines, stall_words, tree_gap_words};
pub(crate) use transition_words::{
    TransitionReason, channel_words, destination_words, mechanism_words, reason_summary, tag_words,
    transition_head, transition_lines, transition_reasons, verdict_problem_words, with_reasons,
};

pub(crate) use crate::quantities::budget_words;

/// The importance of a line to a person who watches a run. `log` shows all lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LineWeight {
    Detail,
    Step,
    Head,
    /// A warning for the user.
    Warning,
}

/// One line about a record, without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportLine {
    pub(crate) weight: LineWeight,
    pub(crate) text: String,
}

impl ReportLine {
    pub(crate) fn detail(text: impl Into<String>) -> Self {
        Self { weight: LineWeight::Detail, text: text.into() }
    }

    pub(crate) fn step(text: impl Into<String>) -> Self {
        Self { weight: LineWeight::Step, text: text.into() }
    }

    pub(crate) fn head(text: impl Into<String>) -> Self {
        Self { weight: LineWeight::Head, text: text.into() }
    }

    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Self { weight: LineWeight::Warning, text: text.into() }
    }

    /// Formats the line for a stream, wrapped at words after an indentation.
    pub(crate) fn painted(&self, stream: &Stream, indent: usize) -> Vec<String> {
        let (kind, style) = match self.weight {
            LineWeight::Head => ("", Some(style::STRONG)),
            LineWeight::Warning => ("warning: ", None),
            LineWeight::Step => ("", None),
            LineWeight::Detail => ("", Some(style::QUIET)),
        };
        let text = format!("{:indent$}{kind}{}", "", self.text);
        // Lines below the first of a transition stay below their own text.
        let own = self.text.len() - self.text.trim_start().len();
        let lines = wrapped(&text, stream.columns().saturating_sub(1), indent + own + 2);
        let paint = |(index, line): (usize, String)| {
            let blanks = line.len() - line.trim_start().len();
            let (blanks, words) = line.split_at(blanks);
            match (style, words.strip_prefix(kind)) {
                (Some(style), _) => format!("{blanks}{}", stream.paint(style, words)),
                (None, Some(words)) if index == 0 && !kind.is_empty() => {
                    format!("{blanks}{}: {words}", stream.paint(style::WARNING, "warning"))
                }
                (None, _) => line,
            }
        };
        lines.into_iter().enumerate().map(paint).collect()
    }
}

/// Describes a record, the main line first.
pub(crate) fn words(record: &Record, names: &RunNames<'_>) -> Vec<ReportLine> {
    match &record.entry {
        RecordEntry::Fact(fact) => fact_lines(fact, record.at, names),
        RecordEntry::Decision(decision) => decision_lines(decision, record.at, names),
    }
}

/// Explains why a run waits, with the provider at fault if it is known. The text follows "parked: ".
pub(crate) fn parked_words(hold: &Hold, provider: Option<&ProviderName>, now: Moment) -> String {
    let blamed = |why: &str| match provider {
        Some(provider) => format!("{why}, {provider}"),
        None => why.to_owned(),
    };
    match hold {
        Hold::Person(call) => format!("waiting for you at `{}`", call.stage),
        Hold::Outside(call, reason) => format!("waiting at `{}`: {}", call.stage, outside_words(reason)),
        Hold::Until(at, class) => {
            let why = if *class == FailureClass::Quota { "quota" } else { class.name() };
            format!("waiting until {} ({})", quantities::local_until(*at, now), blamed(why))
        }
        Hold::Provider(call, class) if provider.is_some_and(is_program) => {
            format!("the program of `{}` could not be run ({})", call.stage, class.name())
        }
        Hold::Provider(call, class) => {
            format!("the provider failed at `{}` ({})", call.stage, blamed(class.name()))
        }
        Hold::Limit(limit) => format!("limit `{}` reached", limit.code()),
        Hold::NoProgress(evidence) => stall_words(evidence),
        Hold::Budget => "the budget does not allow another turn".to_owned(),
        Hold::Storage(what) => format!("storage: {what}"),
        Hold::Interrupted => "interrupted".to_owned(),
        Hold::Cancelling => "being cancelled".to_owned(),
    }
}

fn is_program(provider: &ProviderName) -> bool {
    provider.as_str() == ProgramCommand::PROVIDER
}

/// Maximum characters of a command line in a message.
const COMMAND: usize = 60;

/// Returns the first line of a command, cut to at most this many characters.
pub(crate) fn short_command(command: &str, most: usize) -> String {
    let line = command.lines().next().unwrap_or_default();
    let is_cut = command.lines().nth(1).is_some() || line.chars().count() > most;
    let kept: String = line.chars().take(most).collect();
    if is_cut { format!("{}…", kept.trim_end()) } else { kept }
}

/// Describes the end of a program: `cargo test failed with exit code 101 — "2 of 14 tests failed"`.
pub(crate) fn program_words(
    command: &str,
    exit: ProgramExit,
    took: Option<Millis>,
    last: Option<&str>,
) -> String {
    let ended = match exit {
        ProgramExit::Code(0) => "succeeded".to_owned(),
        ProgramExit::Code(code) => format!("failed with exit code {code}"),
        ProgramExit::Signal(signal) => format!("was ended by signal {signal}"),
        ProgramExit::Timeout => "timed out".to_owned(),
    };
    let took = took.map(|took| format!(" after {}", quantities::length(took))).unwrap_or_default();
    let last = last.map(|last| format!(" — \"{}\"", visible_line(last))).unwrap_or_default();
    format!("{} {ended}{took}{last}", visible_line(&short_command(command, COMMAND)))
}

fn fact_lines(fact: &Fact, at: Moment, names: &RunNames<'_>) -> Vec<ReportLine> {
    match fact {
        Fact::Started(start) => started(start, names.workflow()),
        Fact::Asked { call, .. } if names.program(call).is_some() => {
            let command = names.program(call).map(ProgramCommand::typed).unwrap_or_default();
            let (call, command) = (names.call(call), visible_line(&command).into_owned());
            vec![ReportLine::detail(format!("{call} runs {command}"))]
        }
        Fact::Asked { call, attempt, prompt } => {
            let mut about = Vec::new();
            // A call that a dead process had only planned was never asked before.
            let attempt = names.attempts(call).unwrap_or(*attempt);
            about.extend((attempt > 1).then(|| format!("attempt {attempt}")));
            about.extend(prompt.as_ref().map(|text| count(text.bytes(), "byte")));
            let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
            vec![ReportLine::detail(format!("asked {}{about}", names.call(call)))]
        }
        Fact::Replied(replied) => reply(replied, names),
        Fact::Failed(failed) => failure(failed, at, names),
        Fact::Performed { call, outcome } => performed(names.place(call), &names.call(call), outcome),
        Fact::Answered(answer) => vec![answered(answer, names)],
        Fact::Woke => vec![ReportLine::detail("the wait is over")],
        Fact::Reopened => vec![ReportLine::detail("another process continues the run")],
        Fact::Resumed(raise) => vec![ReportLine::step(resumed(raise))],
        Fact::Interrupted { by } => vec![ReportLine::step(format!("interrupted by {}", visible_line(by)))],
        Fact::StorageFailed { path, message, .. } => {
            vec![ReportLine::warning(format!(
                "cannot write `{}`: {}",
                visible_line(path),
                visible_line(message)
            ))]
        }
        Fact::Cancelled { by } => vec![ReportLine::step(format!("cancelled by {}", visible_line(by)))],
        Fact::Told(note) => vec![ReportLine::step(note_words(note))],
        Fact::FilesCounted(changes) => vec![ReportLine::detail(file_change_words(*changes))],
        Fact::Lent(BudgetLoan { run, cost }) => {
            let (usd, tokens) =
                (Some(cost.usd).filter(|usd| usd.0 > 0), Some(cost.tokens).filter(|one| *one > 0));
            let budget = Budget { usd, tokens, turns: Some(cost.turns).filter(|one| *one > 0), time: None };
            let budget = budget_words(&budget).unwrap_or_default();
            vec![ReportLine::step(format!(
                "an agent starts run {} with {budget} of this budget",
                visible_line(run)
            ))]
        }
        Fact::Withdrawn { note } => vec![ReportLine::step(format!("note {note} is withdrawn"))],
    }
}

/// Describes a note of a person: `note for implement: Use the existing parser.`
pub(crate) fn note_words(note: &PersonNote) -> String {
    let to = note.to.as_ref().map(|to| format!(" for {}", visible_line(to.as_str()))).unwrap_or_default();
    format!("note{to}: {}", first_line(&note.text))
}

fn started(start: &Start, workflow: &Workflow) -> Vec<ReportLine> {
    let task = match &start.task {
        Text::Inline(task) if task.is_empty() => String::new(),
        Text::Inline(task) => format!(": {}", first_line(task)),
        Text::Blob { bytes, .. } => format!(": a task of {} bytes", grouped(*bytes)),
    };
    let mut lines = vec![ReportLine::head(format!(
        "started {} ({}){task}",
        visible_line(&start.definition),
        visible_line(&start.dialect)
    ))];
    if start.rehearsal {
        lines.push(ReportLine::step("rehearsal: no agent is asked"));
    }
    if let Some(from) = &start.forked_from {
        let from = visible_line(from);
        lines.push(ReportLine::step(format!("forked from {from}; files are not restored to that point")));
    }
    if let Some(parent) = &start.origin.parent {
        let (run, call) = (visible_line(&parent.run), visible_line(&parent.call));
        lines.push(ReportLine::step(format!("started by the agent of `{call}` in run {run}")));
    }
    lines.extend(permission_words(start, workflow).map(ReportLine::step));
    lines
}

/// Describes what agents may do, and where (U-7). Nothing if they only read, or if no agent is asked.
fn permission_words(start: &Start, workflow: &Workflow) -> Option<String> {
    if start.rehearsal {
        return None;
    }
    let turns = workflow
        .stages
        .values()
        .flat_map(Stage::turns)
        .filter(|turn| turn.provider.as_str() != "script" && turn.program.is_none());
    let mut editors: Vec<&str> = Vec::new();
    let mut most = Permission::ReadOnly;
    for turn in turns.filter(|turn| turn.permission != Permission::ReadOnly) {
        if !editors.contains(&turn.provider.as_str()) {
            editors.push(turn.provider.as_str());
        }
        most = stronger(most, turn.permission);
    }
    let what = match most {
        Permission::ReadOnly => return None,
        Permission::Edit { commands: false } => "may edit files",
        Permission::Edit { commands: true } => "may edit files and run commands",
        Permission::Full => "may do anything, without restrictions,",
    };
    let who = visible_line(&editors.join(", ")).into_owned();
    let directory = visible_line(&start.directory);
    let hint = if start.delivery.is_some() { "" } else { "; --worktree keeps your checkout untouched" };
    Some(format!("{who} {what} in {directory}{hint}"))
}

fn stronger(one: Permission, other: Permission) -> Permission {
    let level = |permission: Permission| Permission::ALL.iter().position(|level| *level == permission);
    if level(other) > level(one) { other } else { one }
}

fn reply(replied: &Replied, names: &RunNames<'_>) -> Vec<ReportLine> {
    let call = names.call(&replied.call);
    let mut facts = match (replied.reading.exit, names.program(&replied.call)) {
        (Some(exit), Some(program)) => {
            // The transition quotes its output.
            let ended = program_words(&program.typed(), exit, Some(replied.duration), None);
            vec![format!("{call}: {ended}")]
        }
        _ => vec![format!("{call} replied in {}", quantities::length(replied.duration))],
    };
    facts.extend(tokens(&replied.usage));
    facts.extend(cost(replied.cost.filter(|_| replied.reading.exit.is_none())));
    if replied.denied > 0 {
        facts.push(format!("{} denied", count(u64::from(replied.denied), "tool use")));
    }
    let is_work = names.purpose(&replied.call) != Some(Purpose::Question);
    match &replied.reading.tag {
        Some(tag) if names.is_verbose() => facts.push(tag_words(tag.number, tag.line)),
        Some(_) => {}
        None if !is_work && replied.reading.output.is_none() => facts.push("no answer found".to_owned()),
        None => {}
    }
    let mut lines = vec![ReportLine::step(facts.join(", "))];
    lines.extend(replied.reading.events.iter().map(|event| {
        let message =
            event.message.as_deref().map(|text| format!(": {}", first_line(text))).unwrap_or_default();
        ReportLine::step(format!("{call} published `{}`{message}", visible_line(event.topic.as_str())))
    }));
    lines.extend(
        replied
            .reading
            .near_misses
            .iter()
            .map(|miss| ReportLine::warning(format!("`{call}`: {}", near_miss_words(miss)))),
    );
    lines.extend(
        replied
            .reading
            .warnings
            .iter()
            .map(|warning| ReportLine::warning(format!("`{call}`: {}", visible_line(warning)))),
    );
    lines
}

fn failure(failed: &CallFailed, at: Moment, names: &RunNames<'_>) -> Vec<ReportLine> {
    let failure = &failed.failure;
    if failure.class == FailureClass::Cancelled {
        return vec![ReportLine::step(format!("`{}` was stopped", names.call(&failed.call)))];
    }
    let until =
        failure.until.map(|until| format!("; can serve again at {}", quantities::local_until(until, at)));
    let first = ReportLine::warning(format!(
        "`{}` failed ({}): {}{}",
        names.call(&failed.call),
        failure.class.name(),
        first_line(&failure.message),
        until.unwrap_or_default()
    ));
    // If this ends the run, all lines appear at the end.
    let rest = failure.message.trim().lines().skip(1);
    let rest = rest.map(|line| ReportLine::detail(format!("  {}", visible_line(line.trim_end()))));
    std::iter::once(first).chain(rest).collect()
}

fn performed(place: Option<RoundPosition>, call: &str, outcome: &Outcome) -> Vec<ReportLine> {
    match outcome {
        Outcome::Done { output, .. } if matches!(place, Some(RoundPosition::Report(_))) => output
            .keys()
            .map(|file| ReportLine::step(format!("saved report `{}`", visible_line(file))))
            .collect(),
        Outcome::Done { label, output } if matches!(place, Some(RoundPosition::Proof(_))) => {
            vec![proved(call, label.as_ref(), output)]
        }
        Outcome::Done { label, output } => {
            let label = label.as_ref().map(|label| format!(": {}", visible_line(label.as_str())));
            let output = output_words(output).unwrap_or_default();
            vec![ReportLine::step(format!("{call} done{}{output}", label.unwrap_or_default()))]
        }
        Outcome::NotYet => vec![ReportLine::detail(format!("`{call}`: not yet"))],
        Outcome::Delayed { reason } => {
            vec![ReportLine::step(format!("`{call}`: {}", visible_line(&outside_words(reason))))]
        }
        Outcome::Waiting { reason } => {
            vec![ReportLine::step(format!("{call} waits: {}", visible_line(&outside_words(reason))))]
        }
        Outcome::Failed(failure) => vec![ReportLine::warning(format!(
            "`{call}` failed ({}): {}",
            failure.class.name(),
            visible_line(&failure.message)
        ))],
    }
}

/// Formats readable values of an action: `(2 findings)`, `(branch: feature/x)`. Skips objects and lists.
fn output_words(output: &BTreeMap<String, Json>) -> Option<String> {
    let words = output.iter().filter_map(|(name, value)| {
        let name = visible_line(name);
        match value {
            Json::Number(_) => Some(counted_noun(value, &name)),
            // Delivery prepares this text for pull requests; its parts are here too.
            Json::String(_) if name == "shown" => None,
            Json::String(text) if is_hash(text) => Some(format!("{name}: {}", &text[..SHORT_HASH])),
            Json::String(text) if !text.trim().is_empty() => Some(format!("{name}: {}", first_line(text))),
            Json::Bool(true) => Some(name.into_owned()),
            _ => None,
        }
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!(" ({})", words.join(", ")))
}

/// Characters of a hash that people read.
const SHORT_HASH: usize = 10;

fn is_hash(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Formats a count with its unit: `1 finding`, `2 findings`, `0 failed`.
fn counted_noun(number: &Json, name: &str) -> String {
    let is_one = number.as_u64() == Some(1);
    let name = if is_one { name.strip_suffix('s').unwrap_or(name) } else { name };
    format!("{number} {name}")
}

fn proved(call: &str, label: Option<&Label>, output: &BTreeMap<String, Json>) -> ReportLine {
    if label.is_some_and(|label| label.as_str() == "ok") {
        return ReportLine::step(format!("{call} passed"));
    }
    let found = output.get("output").and_then(Json::as_str).filter(|found| !found.is_empty());
    let found = found.map(|found| format!(": {}", first_line(found))).unwrap_or_default();
    ReportLine::warning(format!("{call} failed{found}"))
}

fn answered(answer: &Answer, names: &RunNames<'_>) -> ReportLine {
    let words = answer_words(answer.by, &answer.label, answer.text.as_deref().map(first_line));
    ReportLine::step(format!("{} {words}", names.call(&answer.call)))
}

/// Describes the answer at a gate.
pub(crate) fn answer_words(by: AnsweredBy, label: &Label, text: Option<String>) -> String {
    let by = match by {
        AnsweredBy::Person => "a person",
        AnsweredBy::Auto => "`--auto`",
        AnsweredBy::Timeout => "the timeout",
        AnsweredBy::Script => "the script",
    };
    let label = match label.as_str() {
        // The line already says that the gate was answered.
        "answered" => String::new(),
        label => format!(" `{}`", visible_line(label)),
    };
    let text = text.map(|text| format!(": {text}")).unwrap_or_default();
    format!("answered{label} by {by}{text}")
}

fn resumed(raise: &Raise) -> String {
    let mut raised = Vec::new();
    raised.extend(raise.rounds.map(|rounds| format!("max_iterations {rounds}")));
    raised.extend(raise.runtime.map(|time| format!("run_timeout {}", quantities::length(time))));
    raised.extend(raise.budget.usd.map(|usd| format!("budget {usd}")));
    raised.extend(raise.budget.tokens.map(|tokens| format!("budget {}", count(tokens, "token"))));
    raised.extend(raise.budget.turns.map(|turns| format!("budget {}", count(turns, "turn"))));
    raised.extend(raise.budget.time.map(|time| format!("budget {}", quantities::length(time))));
    if raised.is_empty() { "resumed".to_owned() } else { format!("resumed with {}", raised.join(", ")) }
}

/// Returns the first line of a text, with a mark if there are more.
fn first_line(text: &str) -> String {
    let text = text.trim();
    match text.split_once('\n') {
        Some((first, _)) => format!("{} …", visible_line(first.trim_end())),
        None => visible_line(text).into_owned(),
    }
}

/// Longer waits show the time of their end.
const SOON: Millis = Millis(10 * 60 * 1000);
/// From this many executions in a row, a warning appears (P-49).
const IN_A_ROW: u32 = 3;

fn decision_lines(decision: &Decision, at: Moment, names: &RunNames<'_>) -> Vec<ReportLine> {
    match decision {
        Decision::Entered { stage, visit, .. } => {
            vec![ReportLine::detail(format!("entered `{}` (visit {visit})", visible_line(stage.as_str())))]
        }
        Decision::Round { round, iteration } => iteration_lines(*round, *iteration, names),
        Decision::Called { call, purpose, .. } => {
            let why = match purpose {
                Some(Purpose::Work) => "work",
                Some(Purpose::Correction) => "correction",
                Some(Purpose::Question) => "question",
                None => "no agent",
            };
            vec![ReportLine::detail(format!("call `{call}` for `{}` ({why})", names.call(call)))]
        }
        Decision::Correct { call, violations } => {
            let name = names.correction(call);
            vec![ReportLine::warning(if violations.is_empty() {
                format!("`{name}` must answer again: its answer is unreadable")
            } else {
                format!("`{name}` must correct its output: {}", visible_line(&violations.join("; ")))
            })]
        }
        Decision::Retry { call, attempt, not_before, provider, new_session } => {
            let mut text = format!("{} is retried, attempt {attempt}", names.call(call));
            if not_before.since(at) > SOON {
                text.push_str(&format!(", not before {}", quantities::local_until(*not_before, at)));
            } else if *not_before > at {
                text.push_str(&format!(", in {}", quantities::length(not_before.since(at))));
            }
            if let Some(provider) = provider {
                text.push_str(&format!(", by `{}`", visible_line(provider.as_str())));
            }
            if *new_session {
                text.push_str(", in a new session");
            }
            // C-29 fixes the wording.
            let lost = *new_session && names.has_lost_session(call);
            let lost = lost.then(|| ReportLine::warning("Session disconnected, starting new session"));
            lost.into_iter().chain([ReportLine::step(text)]).collect()
        }
        Decision::Unfit { call, provider } => vec![ReportLine::warning(format!(
            "`{}` is not given to `{}`, which cannot enforce its permission",
            names.call(call),
            visible_line(provider.as_str())
        ))],
        Decision::Noted { call, notes } => {
            let numbers = notes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            vec![ReportLine::detail(format!("the prompt of {} shows note {numbers}", names.call(call)))]
        }
        Decision::Repeated { call, .. } => repeated_line(call, names).into_iter().collect(),
        Decision::Reports { found, .. } => found.iter().map(report_line).collect(),
        Decision::Alarm { monitor, count, overrode } => {
            let instead =
                overrode.as_ref().map(|label| format!(", instead of `{}`", visible_line(label.as_str())));
            let words = alarm_words(*monitor, *count, names.workflow());
            vec![ReportLine::warning(format!("{words}{}", instead.unwrap_or_default()))]
        }
        Decision::Exited { stage, verdict } => exit_lines(stage, verdict, names),
        Decision::Stalled { evidence, then } => {
            stall_lines(evidence, *then).into_iter().map(ReportLine::warning).collect()
        }
        Decision::Refused { missing } => vec![ReportLine::warning(refused_words(missing))],
        Decision::Remarked { topic, remark } => {
            vec![ReportLine::warning(remark_words(topic, *remark, names.workflow()))]
        }
        Decision::Exhausted { stage, topic, instead } => {
            vec![ReportLine::warning(exhausted_words(stage, topic, instead.as_ref()))]
        }
        Decision::Parked { hold } => {
            vec![ReportLine::head(format!("parked: {}", visible_line(&parked_words(hold, None, at))))]
        }
        Decision::Finished { ending } => vec![ReportLine::head(ending_words(ending))],
    }
}

fn exit_lines(stage: &StageId, verdict: &Verdict, names: &RunNames<'_>) -> Vec<ReportLine> {
    let decisive = names.decisive_turns(stage, verdict);
    let lines = transition_lines(stage, verdict, &decisive, names).into_iter().map(ReportLine::step);
    let mechanism = names.is_verbose().then(|| ReportLine::detail(mechanism_words(stage, verdict, names)));
    lines.chain(mechanism).collect()
}

/// Explains why a call is repeated. A call that was only planned has not been asked, so it is not repeated. The journal
/// does not record the start of an external action, so it may have started before.
fn repeated_line(call: &CallId, names: &RunNames<'_>) -> Option<ReportLine> {
    let named = names.call(call);
    let stage = names.workflow().stage(&call.stage);
    if stage.is_some_and(|stage| matches!(stage.does, Activity::Action(_))) {
        return Some(ReportLine::detail(format!("{named} continues; it may have started before")));
    }
    let attempts = names.attempts(call).unwrap_or(0);
    (attempts > 0).then(|| {
        let again = match names.program(call) {
            Some(_) => "runs again, because Saihai stopped before it ended",
            None => "is asked again, because its process stopped before it replied",
        };
        ReportLine::step(format!("{named} {again} (attempt {})", attempts + 1))
    })
}

pub(crate) fn ending_words(ending: &Ending) -> String {
    let reason = match ending {
        // The outcome says it already.
        Ending::Completed(CompletionReason::Complete)
        | Ending::Declined
        | Ending::Cancelled
        | Ending::Undelivered => return ending.outcome().to_owned(),
        Ending::Completed(reason) => reason.text().to_owned(),
        Ending::Failed(reason) => reason.text(),
        Ending::Incomplete(reason) => reason.code().to_owned(),
    };
    format!("{} ({})", ending.outcome(), visible_line(&reason))
}

/// Describes an iteration, with a warning if the same stage repeats without progress (P-49).
fn iteration_lines(round: u32, iteration: u32, names: &RunNames<'_>) -> Vec<ReportLine> {
    let mut lines = vec![ReportLine::head(iteration_words(round, iteration, names))];
    let stage = names.current_stage().filter(|_| names.in_a_row() >= IN_A_ROW && round == 1);
    lines.extend(stage.map(|stage| {
        let (kind, stage) = (names.kind_of_stage(), visible_line(stage.as_str()));
        ReportLine::warning(format!("{kind} \"{stage}\" has run {} times in a row", names.in_a_row()))
    }));
    lines
}

/// Describes the round under way, for a process that continues a run.
pub(crate) fn current_round_line(names: &RunNames<'_>) -> Option<ReportLine> {
    let (_, round) = names.view().filter(|view| view.is_active())?.current_round()?;
    round.is_counted.then(|| ReportLine::head(iteration_words(round.round, round.iteration, names)))
}

fn iteration_words(round: u32, iteration: u32, names: &RunNames<'_>) -> String {
    if !names.counts_iterations() {
        let stage = names.current_stage().map(|stage| format!(" {}", visible_line(stage.as_str())));
        return format!("{}{}", names.kind_of_stage(), stage.unwrap_or_default());
    }
    let of = names.most_iterations().map(|most| format!(" of {most}")).unwrap_or_default();
    let again = if round > 1 { format!(", round {round}") } else { String::new() };
    let stage = names.current_stage().map(|stage| format!(": {}", visible_line(stage.as_str())));
    format!("iteration {iteration}{of}{}{again}", stage.unwrap_or_default())
}

/// Describes the detection of a report. Warnings about it appear with the reply.
fn report_line(found: &ReportLocation) -> ReportLine {
    let file = visible_line(&found.file);
    let unclosed = if found.unclosed { ", never closed" } else { "" };
    ReportLine::detail(match found.how {
        ReportClue::Clue => format!("report `{file}` found by a clue{unclosed}"),
        ReportClue::Only => format!("report `{file}` is the only block{unclosed}"),
        ReportClue::Position => format!("report `{file}` found by its position{unclosed}"),
        ReportClue::Whole => format!("report `{file}` is the whole reply"),
        ReportClue::Agent => format!("report `{file}` was written by the agent"),
    })
}

/// Maximum number of topics in a message.
const NAMED: usize = 12;

/// Describes a closing word that came too early.
pub(crate) fn refused_words(missing: &[Topic]) -> String {
    format!("not done yet: {} not published", listed(missing.iter().map(Topic::as_str)))
}

/// Describes a remark about a topic (H-29, H-42, H-50).
pub(crate) fn remark_words(topic: &Topic, remark: Remark, workflow: &Workflow) -> String {
    let shown = visible_line(topic.as_str());
    match remark {
        Remark::Orphaned => {
            let routes = workflow.topics.iter().flat_map(|topics| &topics.routes);
            // A gate for unclaimed topics does not receive them.
            let routes = routes.filter(|route| !route.orphans);
            let mut valid: Vec<&str> = Vec::new();
            for pattern in routes.map(|route| route.pattern.as_str()) {
                if !valid.contains(&pattern) {
                    valid.push(pattern);
                }
            }
            if valid.is_empty() {
                return format!("no stage takes `{shown}`, or any other topic");
            }
            format!("no stage takes `{shown}`; stages take {}", listed(valid.into_iter()))
        }
        Remark::Undeclared => format!("`{shown}` is published, but its stage does not declare it"),
        Remark::OutOfScope => {
            format!("`{shown}` is ignored: its stage may not publish it")
        }
    }
}

/// Describes a stage that accepts no more visits (H-52).
pub(crate) fn exhausted_words(stage: &StageId, topic: &Topic, instead: Option<&StageId>) -> String {
    let (stage, topic) = (visible_line(stage.as_str()), visible_line(topic.as_str()));
    let follows = match instead {
        Some(other) => format!("`{}` continues", visible_line(other.as_str())),
        None => "no stage takes it".to_owned(),
    };
    format!("`{stage}` has used all its visits; published `{topic}`: {follows}")
}

/// Describes the alarm of a monitor (H-49, H-51).
pub(crate) fn alarm_words(monitor: usize, alarms: u32, workflow: &Workflow) -> String {
    let times = count(u64::from(alarms), "time");
    match workflow.monitors.get(monitor).map(|monitor| &monitor.watches) {
        Some(Watch::Silent { .. }) => format!("nothing was reported {times} in a row"),
        Some(Watch::Same { .. }) => format!("the same reply came {times} in a row"),
        Some(Watch::Cycle { .. } | Watch::SelfEntries { .. }) | None => {
            format!("monitor {monitor} fired at {alarms}")
        }
    }
}

/// Describes a line that resembles a directive.
pub(crate) fn near_miss_words(miss: &NearMiss) -> String {
    let (reason, line) = match miss {
        NearMiss::Line { reason, line } => (reason, line),
        NearMiss::Unknown(text) => return visible_line(text).into_owned(),
    };
    let why = match reason {
        NearMissReason::InCodeBlock => "is in a code block",
        NearMissReason::Quoted => "is in a quotation",
        NearMissReason::Echoed => "only repeats the prompt",
        NearMissReason::MalformedTopic => "has no valid topic",
        NearMissReason::InsideSentence => "is inside a sentence",
        NearMissReason::WrongCase => "is written in another case",
    };
    format!("“{}” {why} and does not count", visible_line(line))
}

fn listed<'a>(topics: impl Iterator<Item = &'a str>) -> String {
    let mut shown: Vec<String> = topics.map(|topic| format!("`{}`", visible_line(topic))).collect();
    if shown.len() > NAMED {
        let more = shown.len() - NAMED;
        shown.truncate(NAMED);
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}
