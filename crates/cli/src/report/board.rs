//! The live lines of a run: the stage, its iteration, and one line per turn.

use saihai_model::{CallId, Decision, Entry, Fact, Millis, Moment, Progress, Record, Usage, Usd};

use super::{Names, cost, count};
use crate::terminal::{cut, pad, visible_line, width};
use crate::time;

/// Animation frames that show activity.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPINNER_STEP: u64 = 100;
/// Maximum characters kept of an agent's current output. A line shows fewer.
const ACTIVITY_CHARS: usize = 200;

#[derive(Default)]
pub(crate) struct Board {
    stage: Option<Running>,
    calls: Vec<Call>,
    idle: bool,
    tokens: u64,
    cost: Option<Usd>,
}

struct Running {
    name: String,
    iteration: Option<(u32, Option<u32>)>,
    since: Moment,
}

struct Call {
    id: CallId,
    title: String,
    state: State,
    activity: String,
}

enum State {
    /// Not asked yet, because other calls go first.
    Queued,
    Asked {
        since: Moment,
        attempt: u32,
    },
    Waiting {
        until: Moment,
    },
    Done {
        took: Millis,
        tokens: u64,
    },
    Failed {
        class: &'static str,
    },
}

impl Board {
    /// Updates the board with a record. `names` must know the record already.
    pub(crate) fn record(&mut self, record: &Record, names: &Names<'_>) {
        match &record.entry {
            Entry::Fact(fact) => self.fact(fact, record.at),
            Entry::Decision(decision) => self.decision(decision, record.at, names),
        }
    }

    /// Updates the board with the progress of an agent.
    pub(crate) fn progress(&mut self, call: &CallId, progress: &Progress) {
        let Some(call) = self.calls.iter_mut().find(|line| line.id == *call) else {
            return;
        };
        match progress {
            Progress::Text(text) => call.say(text),
            Progress::ToolStarted(tool) => call.activity = format!("{} …", visible_line(tool)),
            Progress::ToolFinished(tool) => call.activity = format!("{} done", visible_line(tool)),
            Progress::Retrying(why) => call.activity = format!("tries again: {}", visible_line(why)),
            Progress::Denied(what) => call.activity = format!("was denied {}", visible_line(what)),
        }
    }

    /// Renders the current lines within the terminal's width. Returns none if nothing is running.
    pub(crate) fn frame(&self, now: Moment, columns: usize, rows: usize) -> Vec<String> {
        let Some(stage) = self.stage.as_ref().filter(|_| !self.idle) else {
            return Vec::new();
        };
        let shown = self.shown(rows.saturating_sub(3).max(1));
        let titles = shown.iter().map(|call| width(&call.title)).max().unwrap_or(0).min(columns / 2);
        let mut lines = vec![self.headline(stage, now)];
        lines.extend(shown.iter().map(|call| call.line(now, titles)));
        if shown.len() < self.calls.len() {
            lines.push(format!("  … and {} more", self.calls.len() - shown.len()));
        }
        lines.iter().map(|line| cut(line, columns).into_owned()).collect()
    }

    /// Returns as many calls as fit, in their order. Ended calls are dropped first.
    fn shown(&self, room: usize) -> Vec<&Call> {
        let mut too_many = self.calls.len().saturating_sub(room);
        let mut shown: Vec<&Call> = self.calls.iter().collect();
        shown.retain(|call| {
            let gives_way = too_many > 0 && call.is_over();
            too_many -= usize::from(gives_way);
            !gives_way
        });
        shown.truncate(room);
        shown
    }

    fn headline(&self, stage: &Running, now: Moment) -> String {
        let elapsed = now.since(stage.since);
        let frame = SPINNER[usize::try_from(elapsed.0 / SPINNER_STEP).unwrap_or(0) % SPINNER.len()];
        let mut parts = vec![format!("{frame} {}", stage.name)];
        if let Some((iteration, most)) = stage.iteration {
            let of = most.map(|most| format!(" of {most}")).unwrap_or_default();
            parts.push(format!("iteration {iteration}{of}"));
        }
        parts.push(time::stopwatch(elapsed));
        if self.tokens > 0 {
            parts.push(count(self.tokens, "token"));
        }
        parts.extend(cost(self.cost));
        parts.join("  ")
    }

    fn fact(&mut self, fact: &Fact, at: Moment) {
        match fact {
            Fact::Asked { call, attempt, .. } => {
                self.set(call, State::Asked { since: at, attempt: *attempt });
            }
            Fact::Replied(replied) => {
                self.spend(&replied.usage, replied.cost);
                self.set(
                    &replied.call,
                    State::Done { took: replied.duration, tokens: replied.usage.tokens() },
                );
            }
            Fact::Failed(failed) => {
                self.spend(&failed.usage, failed.cost);
                self.set(&failed.call, State::Failed { class: failed.failure.class.name() });
            }
            Fact::Started(_)
            | Fact::Performed { .. }
            | Fact::Answered(_)
            | Fact::Woke
            | Fact::Reopened
            | Fact::Resumed(_)
            | Fact::Interrupted { .. }
            | Fact::StorageFailed { .. }
            | Fact::Cancelled { .. } => {}
        }
    }

    fn decision(&mut self, decision: &Decision, at: Moment, names: &Names<'_>) {
        match decision {
            Decision::Entered { stage, .. } => {
                self.calls.clear();
                self.idle = false;
                let name = visible_line(stage.as_str()).into_owned();
                self.stage = Some(Running { name, iteration: None, since: at });
            }
            Decision::Round { iteration, .. } => {
                self.calls.clear();
                if let Some(stage) = &mut self.stage {
                    let counts = names.counts_iterations();
                    stage.iteration = counts.then(|| (*iteration, names.most_iterations()));
                    stage.since = at;
                }
            }
            Decision::Called { call, purpose: Some(_), .. } => {
                let title = names.title(call);
                self.calls.push(Call {
                    id: call.clone(),
                    title,
                    state: State::Queued,
                    activity: String::new(),
                });
            }
            Decision::Retry { call, not_before, .. } => self.set(call, State::Waiting { until: *not_before }),
            Decision::Repeated { call, .. } => self.set(call, State::Queued),
            // Keep the running calls: a resumed run continues them.
            Decision::Exited { .. } | Decision::Parked { .. } | Decision::Finished { .. } => self.idle = true,
            // Gates have their own display, and actions end at once.
            Decision::Called { purpose: None, .. }
            | Decision::Correct { .. }
            | Decision::Unfit { .. }
            | Decision::Reports { .. }
            | Decision::Alarm { .. }
            | Decision::Refused { .. }
            | Decision::Remarked { .. }
            | Decision::Exhausted { .. } => {}
        }
    }

    fn set(&mut self, call: &CallId, state: State) {
        if let Some(line) = self.calls.iter_mut().find(|line| line.id == *call) {
            line.activity.clear();
            line.state = state;
            self.idle = false;
        }
    }

    fn spend(&mut self, usage: &Usage, spent: Option<Usd>) {
        self.tokens = self.tokens.saturating_add(usage.tokens());
        if let Some(spent) = spent {
            self.cost = Some(Usd(self.cost.unwrap_or_default().0.saturating_add(spent.0)));
        }
    }
}

impl Call {
    fn line(&self, now: Moment, titles: usize) -> String {
        let state = match self.state {
            State::Queued => "queued".to_owned(),
            State::Asked { since, attempt: 1 } => time::stopwatch(now.since(since)),
            State::Asked { since, attempt } => {
                format!("{} attempt {attempt}", time::stopwatch(now.since(since)))
            }
            State::Waiting { until } => format!("waits {}", time::stopwatch(until.since(now))),
            State::Done { took, tokens: 0 } => format!("replied in {}", time::length(took)),
            State::Done { took, tokens } => {
                format!("replied in {}, {}", time::length(took), count(tokens, "token"))
            }
            State::Failed { class } => format!("failed ({class})"),
        };
        let title = pad(&cut(&self.title, titles), titles);
        format!("  {title}  {state}  {}", self.activity).trim_end().to_owned()
    }

    /// Keeps the last line of the output.
    fn say(&mut self, text: &str) {
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if !last.is_empty() {
            let kept: String = last.trim().chars().take(ACTIVITY_CHARS).collect();
            self.activity = visible_line(&kept).into_owned();
        }
    }

    fn is_over(&self) -> bool {
        match self.state {
            State::Done { .. } | State::Failed { .. } => true,
            State::Queued | State::Asked { .. } | State::Waiting { .. } => false,
        }
    }
}
