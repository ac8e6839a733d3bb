//! Progress on a terminal: permanent lines, and below them a live frame that is redrawn in place: a block per turn with
//! its current work and its last words, and a line for the run.
//!
//! A frame is written in one piece. It moves up to the start of the last frame, writes each line, and erases
//! the rest of the screen. It never hides the cursor or changes a mode, so a crash leaves nothing to restore.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::Style;
use saihai_config::check::most_calls;
use saihai_model::{CallId, Decision, Fact, Moment, ProgramCommand, Progress, Record, RecordEntry};
use saihai_view::{AttemptResult, CallView, RunView};

use super::RunNames;
use crate::quantities::{self, cost, count, grouped};
use crate::terminal::{Stream, cut, pad, style, visible_line, width};

/// Animation frames that show activity.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPINNER_STEP: u64 = 100;
/// Maximum bytes kept of an agent's current output. A line shows fewer.
const SPOKEN_BYTES: usize = 1_000;

/// The content of the frame. The records supply all of it but the current output of each agent.
#[derive(Default)]
pub(crate) struct LiveBoard {
    activities: BTreeMap<CallId, AgentActivity>,
}

/// The current output of an agent.
#[derive(Default)]
struct AgentActivity {
    /// The tool it uses now, or another event of its program.
    does: Option<String>,
    /// The end of its text. Text arrives in pieces of any size.
    spoken: String,
    /// True if the next text starts a new line: a tool ran in between.
    is_spoken: bool,
}

impl AgentActivity {
    fn speak(&mut self, text: &str) {
        if std::mem::take(&mut self.is_spoken) {
            self.spoken.push('\n');
        }
        self.spoken.push_str(text);
        if self.spoken.len() > SPOKEN_BYTES {
            let start = self.spoken.len() - SPOKEN_BYTES / 2;
            let start = (start..).find(|at| self.spoken.is_char_boundary(*at)).unwrap_or(self.spoken.len());
            self.spoken.drain(..start);
        }
    }

    fn last_line(&self) -> Option<String> {
        let line = self.spoken.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(visible_line(line.trim()).into_owned())
    }
}

impl LiveBoard {
    /// Forgets the output of a call that continues in another way.
    pub(crate) fn record(&mut self, record: &Record) {
        let call = match &record.entry {
            RecordEntry::Fact(Fact::Asked { call, .. })
            | RecordEntry::Decision(Decision::Retry { call, .. } | Decision::Repeated { call, .. }) => call,
            RecordEntry::Fact(Fact::Replied(replied)) => &replied.call,
            RecordEntry::Fact(Fact::Failed(failed)) => &failed.call,
            RecordEntry::Fact(_) | RecordEntry::Decision(_) => return,
        };
        self.activities.remove(call);
    }

    /// Keeps the last output line of an agent and its current tool.
    pub(crate) fn progress(&mut self, call: &CallId, progress: &Progress) {
        let activity = self.activities.entry(call.clone()).or_default();
        match progress {
            Progress::Text(text) => activity.speak(text),
            Progress::ToolStarted(tool) => {
                activity.is_spoken = true;
                activity.does = Some(visible_line(tool).into_owned());
            }
            Progress::ToolFinished(_) => activity.does = None,
            Progress::Retrying(why) => activity.does = Some(format!("retrying: {}", visible_line(why))),
            Progress::Denied(what) => activity.does = Some(format!("denied: {}", visible_line(what))),
        }
    }

    /// Renders the current lines within the terminal's size. Returns none if nothing is running.
    pub(crate) fn frame(
        &self,
        names: &RunNames<'_>,
        now: Moment,
        columns: usize,
        rows: usize,
    ) -> Vec<FrameLine> {
        let Some(view) = names.view().filter(|view| view.is_active()) else { return Vec::new() };
        let calls = view.current_round().map_or(&[][..], |(_, round)| view.calls_of(round));
        // Gates have their own display, and actions end at once.
        let calls: Vec<&CallView> = calls.iter().filter(|call| call.purpose.is_some()).collect();
        let room = rows.saturating_sub(3).max(1);
        let shown = fitting(&calls, room);
        let has_left_out = shown.len() < calls.len();
        // Spoken lines need a line each, so they go first.
        let mut words_room = room.saturating_sub(shown.len() + usize::from(has_left_out));
        let titles: Vec<String> = shown.iter().map(|call| names.call(&call.id)).collect();
        let title_width = titles.iter().map(|title| width(title)).max().unwrap_or(0).min(columns / 2);
        let directory = view.start.directory.as_str();
        let mut lines = Vec::new();
        for (call, title) in shown.iter().zip(&titles) {
            let title = pad(&cut(title, title_width), title_width);
            let activity = self.activities.get(&call.id);
            let program = || names.program(&call.id).filter(|_| !is_over(call)).map(ProgramCommand::typed);
            let does =
                activity.and_then(|activity| activity.does.clone()).or_else(program).unwrap_or_default();
            let does = visible_line(&does).replace(&format!("{directory}/"), "");
            let text = format!("{} {title}  {}  {does}", mark(call, now), call_words(call, now));
            lines.push(FrameLine { text: text.trim_end().to_owned(), style: call_style(call) });
            let spoken = activity.and_then(AgentActivity::last_line).filter(|_| words_room > 0);
            if let Some(spoken) = spoken {
                words_room -= 1;
                lines.push(FrameLine { text: format!("    {spoken}"), style: Some(style::QUIET) });
            }
        }
        if has_left_out {
            lines.push(format!("  … and {} more", calls.len() - shown.len()).into());
        }
        lines.push(FrameLine { text: run_line(view, names, now), style: Some(style::STRONG) });
        lines.iter_mut().for_each(|line| line.text = cut(&line.text, columns).into_owned());
        lines
    }
}

/// Returns as many calls as fit, in their order. Ended calls are dropped first.
fn fitting<'a>(calls: &[&'a CallView], room: usize) -> Vec<&'a CallView> {
    let mut too_many = calls.len().saturating_sub(room);
    let mut shown = calls.to_vec();
    shown.retain(|call| {
        let gives_way = too_many > 0 && is_over(call);
        too_many -= usize::from(gives_way);
        !gives_way
    });
    shown.truncate(room);
    shown
}

fn is_over(call: &CallView) -> bool {
    !call.is_queued && call.retry_at.is_none() && result(call).is_some()
}

/// Describes the run: its iteration, its time, its turns, tokens and cost, each with its limit.
fn run_line(view: &RunView, names: &RunNames<'_>, now: Moment) -> String {
    let mut parts = Vec::new();
    let round = view.current_round().map(|(_, round)| round).filter(|round| round.is_counted);
    if let Some(round) = round.filter(|_| names.counts_iterations()) {
        let of = names.most_iterations().map(|most| format!(" of {most}")).unwrap_or_default();
        parts.push(format!("iteration {}{of}", round.iteration));
    }
    parts.push(quantities::stopwatch(view.driven_until(now)));
    let most = most_calls(names.workflow()).filter(|most| *most >= view.turns);
    parts.push(match most {
        Some(most) => format!("{} of at most {}", grouped(view.turns), count(most, "turn")),
        None => count(view.turns, "turn"),
    });
    if view.usage.tokens() > 0 {
        parts.push(count(view.usage.tokens(), "token"));
    }
    let budget = names.workflow().limits.budget.replaced_by(&view.raised_budget).usd;
    match (cost(view.cost), budget) {
        (spent, Some(budget)) => {
            parts.push(format!("{} of {budget}", spent.unwrap_or_else(|| "$0.0000".to_owned())));
        }
        (spent, None) => parts.extend(spent),
    }
    parts.join("  ")
}

/// Returns the sign in front of a call: a spinner while it runs.
fn mark(call: &CallView, now: Moment) -> &'static str {
    match result(call) {
        Some(AttemptResult::Replied { .. }) if is_over(call) => "✓",
        Some(AttemptResult::Failed { .. }) if is_over(call) => "✗",
        _ if call.is_queued || call.retry_at.is_some() => "·",
        _ => {
            let since = call.attempts.last().map_or(call.called, |attempt| attempt.asked);
            SPINNER[usize::try_from(now.since(since).0 / SPINNER_STEP).unwrap_or(0) % SPINNER.len()]
        }
    }
}

fn call_style(call: &CallView) -> Option<Style> {
    match result(call) {
        Some(AttemptResult::Replied { .. }) if is_over(call) => Some(style::QUIET),
        Some(AttemptResult::Failed { .. }) if is_over(call) => Some(style::ERROR),
        _ if call.is_queued || call.retry_at.is_some() => Some(style::PARKED),
        _ => Some(style::RUNNING),
    }
}

fn call_words(call: &CallView, now: Moment) -> String {
    if call.is_queued {
        return "queued".to_owned();
    }
    if let Some(until) = call.retry_at {
        return format!("retries in {}", quantities::stopwatch(until.since(now)));
    }
    let stopwatch = |since: Moment| quantities::stopwatch(now.since(since));
    match (result(call), call.attempts.as_slice()) {
        (Some(AttemptResult::Replied { reply, .. }), _) => {
            let took = quantities::length(reply.duration);
            if let Some(exit) = reply.reading.exit {
                return format!("{exit} after {took}");
            }
            match reply.usage.tokens() {
                0 => format!("replied in {took}"),
                tokens => format!("replied in {took}, {}", count(tokens, "token")),
            }
        }
        (Some(AttemptResult::Failed { failed, .. }), _) => {
            format!("failed ({})", failed.failure.class.name())
        }
        (_, [only]) => stopwatch(only.asked),
        (_, attempts) => {
            let since = attempts.last().map_or(call.called, |attempt| attempt.asked);
            format!("{} attempt {}", stopwatch(since), attempts.len())
        }
    }
}

/// Returns the result of the last attempt, if it has ended.
fn result(call: &CallView) -> Option<&AttemptResult> {
    call.attempts
        .last()
        .map(|attempt| &attempt.result)
        .filter(|result| !matches!(result, AttemptResult::Open))
}

/// A line of the frame. Its style does not count for its width.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FrameLine {
    pub(crate) text: String,
    pub(crate) style: Option<Style>,
}

impl From<String> for FrameLine {
    fn from(text: String) -> Self {
        Self { text, style: None }
    }
}

/// The live lines at the bottom of a terminal.
#[derive(Default)]
pub(crate) struct LiveFrame {
    drawn: Vec<FrameLine>,
}

impl LiveFrame {
    /// Writes permanent lines above the frame.
    pub(crate) fn keep(&mut self, lines: &[String], err: &mut Stream) {
        if lines.is_empty() {
            return;
        }
        let frame = std::mem::take(&mut self.drawn);
        let mut text = Self::up(&frame, err.columns());
        text.push_str("\x1b[J");
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        Self::write(&mut text, &frame, err);
        err.send(&text);
        self.drawn = frame;
    }

    /// Replaces the last frame. An unchanged frame writes nothing.
    pub(crate) fn draw(&mut self, frame: Vec<FrameLine>, err: &mut Stream) {
        if frame == self.drawn {
            return;
        }
        let mut text = Self::up(&self.drawn, err.columns());
        Self::write(&mut text, &frame, err);
        text.push_str("\x1b[J");
        err.send(&text);
        self.drawn = frame;
    }

    pub(crate) fn clear(&mut self, err: &mut Stream) {
        self.draw(Vec::new(), err);
    }

    /// Returns the sequence that moves to the start of the frame. A narrower terminal may have wrapped its lines.
    fn up(drawn: &[FrameLine], columns: usize) -> String {
        let rows: usize = drawn.iter().map(|line| width(&line.text).div_ceil(columns).max(1)).sum();
        if rows == 0 { String::new() } else { format!("\x1b[{rows}A\r") }
    }

    fn write(text: &mut String, frame: &[FrameLine], err: &Stream) {
        for line in frame {
            let shown = line.style.map_or_else(|| line.text.clone(), |style| err.paint(style, &line.text));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{shown}\x1b[K");
        }
    }
}
