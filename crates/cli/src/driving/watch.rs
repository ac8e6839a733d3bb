//! The watcher of a run: it owns the screen, handles signals and the keyboard, and informs the driver.

use std::time::Duration;

use saihai::{Control, Observed};
use saihai_model::{CallId, Decision, Entry, Fact, Moment, Progress, Record, Workflow};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::{self as timer, MissedTickBehavior};

use super::Showing;
use super::gate::Gate;
use super::keyboard::{Keyboard, Typed};
use super::run_log::RunLog;
use super::signals::Signals;
use crate::error::Error;
use crate::report::{Board, Live, Names, Weight, words};
use crate::terminal::Streams;
use crate::{json, time};

/// Redraw interval of the live lines.
const REDRAW: Duration = Duration::from_millis(100);

/// An event from the driver, queued for display.
pub(super) enum Seen {
    Record(Box<Record>),
    Progress(CallId, Progress),
    Gate(Gate),
    Waiting(Moment),
    Warning(String),
}

impl From<Observed<'_>> for Seen {
    fn from(observed: Observed<'_>) -> Self {
        match observed {
            Observed::Recorded(record) => Self::Record(Box::new(record.clone())),
            Observed::Progress { call, progress } => Self::Progress(call.clone(), progress.clone()),
            Observed::Gate { call, title, question, wants } => {
                let (title, question) = (title.to_owned(), question.to_owned());
                Self::Gate(Gate { call: call.clone(), title, question, wants })
            }
            Observed::Waiting { until } => Self::Waiting(until),
            Observed::Warning(warning) => Self::Warning(warning.to_string()),
        }
    }
}

pub(super) enum Left {
    /// The driver has closed the channel.
    NothingMore,
    /// The person left an open gate.
    Gate,
    /// The process must exit without waiting for the driver.
    AtOnce,
}

/// An event as programs see it.
#[derive(Serialize)]
pub(crate) struct EventObject<'a> {
    run: &'a str,
    seq: u64,
    time: String,
    event: &'a Entry,
}

impl<'a> EventObject<'a> {
    pub(crate) fn new(run: &'a str, record: &'a Record) -> Self {
        Self { run, seq: record.seq, time: time::rfc3339(record.at), event: &record.entry }
    }
}

pub(super) struct Watch<'a> {
    run: &'a str,
    names: Names<'a>,
    board: Board,
    log: Option<RunLog>,
    live: Option<Live>,
    showing: Showing,
    control: Control,
    streams: &'a mut Streams,
    gate: Option<Gate>,
    keyboard: Option<Keyboard>,
    interrupts: u8,
    lost: Option<Error>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        run: &'a str,
        workflow: &'a Workflow,
        showing: Showing,
        control: Control,
        streams: &'a mut Streams,
    ) -> Self {
        // Redrawing would break up JSON on the same terminal.
        let can_redraw = streams.err.is_styled() && !(showing.json && streams.out.is_terminal());
        Self {
            run,
            names: Names::new(workflow),
            board: Board::default(),
            log: workflow.log.as_ref().map(RunLog::new),
            live: can_redraw.then(Live::default),
            showing,
            control,
            streams,
            gate: None,
            keyboard: None,
            interrupts: 0,
            lost: None,
        }
    }

    /// Reads an earlier record without showing it.
    pub(super) fn remember(&mut self, record: &Record) {
        self.names.learn(record);
        if let Some(log) = &mut self.log {
            log.remember(record);
        }
        self.board.record(record, &self.names);
    }

    /// Shows events and passes input to the driver until the channel closes.
    pub(super) async fn until_over(
        &mut self,
        mut hear: mpsc::UnboundedReceiver<Seen>,
        mut signals: Signals,
    ) -> Left {
        if !self.is_quiet() {
            self.keep(&[format!("run {}", self.run)]);
        }
        let mut ticks = timer::interval(REDRAW);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                seen = hear.recv() => match seen {
                    Some(seen) => self.show(seen),
                    None => {
                        self.take_frame_away();
                        return Left::NothingMore;
                    }
                },
                by = signals.next() => if self.interrupted(by) {
                    return Left::AtOnce;
                },
                typed = typed(&mut self.keyboard) => if self.typed(&typed) {
                    return Left::Gate;
                },
                _ = ticks.tick(), if self.live.is_some() => self.redraw(),
            }
        }
    }

    /// Returns the error of a failed write to stdout, if any.
    pub(super) fn take_lost(&mut self) -> Option<Error> {
        self.lost.take()
    }

    fn show(&mut self, seen: Seen) {
        match seen {
            Seen::Record(record) => self.record(&record),
            Seen::Progress(call, progress) => self.board.progress(&call, &progress),
            Seen::Gate(gate) if self.showing.interactive => self.open(gate),
            // No person can answer here, so the run parks and the result explains how to answer.
            Seen::Gate(_) => {}
            Seen::Waiting(until) => {
                let until = time::local_until(until, time::now());
                self.keep(&[format!("  waiting until {until}")]);
            }
            Seen::Warning(warning) => {
                self.take_frame_away();
                self.streams.warning(&warning);
            }
        }
    }

    fn record(&mut self, record: &Record) {
        self.remember(record);
        self.log(record);
        if let Entry::Fact(Fact::Answered(answer)) = &record.entry {
            // Another terminal may have answered the gate.
            self.gate = self.gate.take().filter(|gate| gate.call != answer.call);
        }
        if self.showing.json && self.lost.is_none() {
            self.write(record);
        }
        if self.result_follows(record) {
            return;
        }
        let least = if self.is_quiet() { Weight::Warning } else { Weight::Step };
        let lines: Vec<String> = words(record, &self.names)
            .iter()
            .filter(|line| line.weight >= least)
            .map(|line| {
                let indent = if line.weight == Weight::Step { "  " } else { "" };
                format!("{indent}{}", line.painted(&self.streams.err))
            })
            .collect();
        self.keep(&lines);
    }

    /// Writes the record to the definition's log. A failed write does not stop the run.
    fn log(&mut self, record: &Record) {
        let Some(mut log) = self.log.take() else { return };
        match log.write(self.run, record, &words(record, &self.names)) {
            Ok(()) => self.log = Some(log),
            Err(error) => {
                self.take_frame_away();
                self.streams.warning(&format!("the log of the agent cannot be written: {error}"));
            }
        }
    }

    /// Returns true if a program reads the output and no person does.
    fn is_quiet(&self) -> bool {
        self.showing.json && self.live.is_none()
    }

    /// Writes an event for programs. If stdout is closed, parks the run: otherwise it would spend money unobserved.
    fn write(&mut self, record: &Record) {
        let written = json::line(&mut self.streams.out, "event", EventObject::new(self.run, record));
        if let Err(error) = written {
            self.lost = Some(error.into());
            self.control.interrupt("closed output");
        }
    }

    /// Returns true if the result will repeat this record on the same screen.
    fn result_follows(&self, record: &Record) -> bool {
        let is_end =
            matches!(&record.entry, Entry::Decision(Decision::Finished { .. } | Decision::Parked { .. }));
        let looks_elsewhere = self.streams.err.is_terminal() && !self.streams.out.is_terminal();
        is_end && !looks_elsewhere
    }

    fn open(&mut self, gate: Gate) {
        self.take_frame_away();
        Keyboard::before_asking(&mut self.keyboard);
        self.streams.err.send(&gate.ask());
        self.gate = Some(gate);
    }

    /// Handles a typed line. Returns true if the person leaves the gate open.
    fn typed(&mut self, typed: &Typed) -> bool {
        if matches!(typed, Typed::End) {
            self.keyboard = None;
        }
        // Ignore lines typed while no question is open.
        let Some(gate) = &self.gate else {
            return false;
        };
        let Typed::Line(line) = typed else {
            self.streams.err.line("");
            return true;
        };
        match gate.understand(line) {
            Ok(answer) => {
                self.control.answer(gate.call.clone(), answer.label, answer.text);
                self.gate = None;
            }
            Err(problem) => {
                self.streams.warning(&problem);
                self.streams.err.send(gate.ask_again());
            }
        }
        false
    }

    /// Handles a signal. Returns true if the process must exit at once.
    fn interrupted(&mut self, by: &'static str) -> bool {
        self.interrupts += 1;
        self.control.interrupt(by);
        self.take_frame_away();
        if self.gate.take().is_some() {
            // Start below the line that is being typed.
            self.streams.err.line("");
        }
        match self.interrupts {
            1 => self.streams.err.line("stopping; once more to end at once"),
            2 => saihai::end_all_git(),
            _ => return true,
        }
        false
    }

    fn keep(&mut self, lines: &[String]) {
        match &mut self.live {
            Some(live) => live.keep(lines, &mut self.streams.err),
            None => lines.iter().for_each(|line| self.streams.err.line(line)),
        }
    }

    fn redraw(&mut self) {
        let Some(live) = self.live.as_mut().filter(|_| self.gate.is_none()) else {
            return;
        };
        let (columns, rows) = (self.streams.err.columns(), self.streams.err.rows());
        // Leave one column free: some terminals wrap when the last one is written.
        let frame = self.board.frame(time::now(), columns.saturating_sub(1), rows);
        live.draw(frame, &mut self.streams.err);
    }

    fn take_frame_away(&mut self) {
        if let Some(live) = &mut self.live {
            live.clear(&mut self.streams.err);
        }
    }
}

async fn typed(keyboard: &mut Option<Keyboard>) -> Typed {
    match keyboard {
        Some(keyboard) => keyboard.next().await,
        None => std::future::pending().await,
    }
}
