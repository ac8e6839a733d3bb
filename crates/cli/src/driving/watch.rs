//! The watcher of a run: it owns the screen, handles signals and the keyboard, and informs the driver.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use saihai::{DriverControl, DriverEvent};
use saihai_model::{
    CallId, Decision, Ending, Fact, Hold, LogFiles, LogFormat, Moment, Progress, Record, RecordEntry,
    Workflow,
};
use saihai_view::RunView;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time as timer;
use tokio::time::MissedTickBehavior;

use crate::driving::input::{Keyboard, Signals, TerminalGate, TypedLine};
use crate::driving::notification::notify_gate;
use crate::driving::{DisplayOptions, RunKeeping};
use crate::error::CommandError;
use crate::quantities;
use crate::report::{LineWeight, LiveBoard, LiveFrame, ReportLine, RunNames, current_round_line, words};
use crate::terminal::{Streams, Verbosity};

/// Redraw interval of the live lines.
const REDRAW: Duration = Duration::from_millis(100);

/// An event from the driver, queued for display.
pub(super) enum WatchEvent {
    Record(Box<Record>),
    Progress(CallId, Progress),
    Gate(TerminalGate),
    Waiting(Moment),
    Warning(String),
}

impl From<DriverEvent<'_>> for WatchEvent {
    fn from(observed: DriverEvent<'_>) -> Self {
        match observed {
            DriverEvent::Recorded(record) => Self::Record(Box::new(record.clone())),
            DriverEvent::Progress { call, progress } => Self::Progress(call.clone(), progress.clone()),
            DriverEvent::Gate { call, title, question, wants } => {
                let (title, question) = (title.to_owned(), question.to_owned());
                Self::Gate(TerminalGate { call: call.clone(), title, question, wants })
            }
            DriverEvent::Waiting { until } => Self::Waiting(until),
            DriverEvent::Warning(warning) => Self::Warning(warning.to_string()),
        }
    }
}

pub(super) enum WatchEnd {
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
    event: &'a RecordEntry,
}

impl<'a> EventObject<'a> {
    pub(crate) fn new(run: &'a str, record: &'a Record) -> Self {
        Self { run, seq: record.seq, time: quantities::rfc3339(record.at), event: &record.entry }
    }
}

pub(super) struct RunWatch<'a> {
    run: &'a str,
    names: RunNames<'a>,
    board: LiveBoard,
    log: Option<RunLog>,
    live: Option<LiveFrame>,
    showing: DisplayOptions,
    control: DriverControl,
    streams: &'a mut Streams,
    gate: Option<TerminalGate>,
    keyboard: Option<Keyboard>,
    interrupts: u8,
    lost: Option<CommandError>,
}

impl<'a> RunWatch<'a> {
    pub(super) fn new(
        run: &'a str,
        workflow: &'a Workflow,
        showing: DisplayOptions,
        control: DriverControl,
        streams: &'a mut Streams,
    ) -> Self {
        // Redrawing would break up JSON on the same terminal.
        let can_redraw = streams.err.can_redraw()
            && streams.verbosity > Verbosity::Quiet
            && !(showing.json && streams.out.is_terminal());
        Self {
            run,
            names: RunNames::new(workflow).verbose(streams.is_verbose()),
            board: LiveBoard::default(),
            log: workflow.log.as_ref().map(RunLog::new),
            live: can_redraw.then(LiveFrame::default),
            showing,
            control,
            streams,
            gate: None,
            keyboard: None,
            interrupts: 0,
            lost: None,
        }
    }

    /// Takes over the earlier records of a resumed run without showing them.
    pub(super) fn remember_view(&mut self, view: RunView) {
        if let Some(log) = &mut self.log {
            log.started = Some(view.started);
        }
        self.names.remember(view);
    }

    /// Reads a record without showing it.
    fn remember(&mut self, record: &Record) {
        self.names.learn(record);
        if let Some(log) = &mut self.log {
            log.remember(record);
        }
        self.board.record(record);
    }

    /// Shows events and passes input to the driver until the channel closes.
    pub(super) async fn until_over(
        &mut self,
        mut hear: mpsc::UnboundedReceiver<WatchEvent>,
        mut signals: Signals,
    ) -> WatchEnd {
        if !self.is_quiet() && self.showing.keeping == RunKeeping::Kept {
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
                        return WatchEnd::NothingMore;
                    }
                },
                by = signals.next() => if self.interrupted(by) {
                    return WatchEnd::AtOnce;
                },
                typed = typed(&mut self.keyboard) => if self.typed(&typed) {
                    return WatchEnd::Gate;
                },
                _ = ticks.tick(), if self.live.is_some() => self.redraw(),
            }
        }
    }

    /// Returns true if the records seen so far include the end of the run.
    pub(super) fn is_over(&self) -> bool {
        self.names.view().is_some_and(|view| view.state(None).is_over())
    }

    /// Returns the error of a failed write to stdout, if any, and the run as its records show it.
    pub(super) fn into_parts(self) -> (Option<CommandError>, Option<RunView>) {
        (self.lost, self.names.into_view())
    }

    fn show(&mut self, seen: WatchEvent) {
        match seen {
            WatchEvent::Record(record) => self.record(&record),
            WatchEvent::Progress(call, progress) => self.board.progress(&call, &progress),
            WatchEvent::Gate(gate) if self.showing.interactive => self.open(gate),
            // No person can answer here, so the run parks and the result explains how to answer.
            WatchEvent::Gate(_) => {}
            WatchEvent::Waiting(until) => {
                let until = quantities::local_until(until, quantities::now());
                self.keep(&[format!("  waiting until {until}; Ctrl-C parks the run")]);
            }
            WatchEvent::Warning(warning) => {
                self.take_frame_away();
                self.streams.warning(&warning);
            }
        }
    }

    fn record(&mut self, record: &Record) {
        self.remember(record);
        self.log(record);
        if let RecordEntry::Fact(Fact::Answered(answer)) = &record.entry {
            // Another terminal may have answered the gate.
            self.gate = self.gate.take().filter(|gate| gate.call != answer.call);
        }
        if self.showing.json && self.lost.is_none() {
            self.write(record);
        }
        if self.result_follows(record) {
            return;
        }
        let least = match (self.is_quiet(), self.streams.is_verbose()) {
            (true, _) => LineWeight::Warning,
            (false, true) => LineWeight::Detail,
            (false, false) => LineWeight::Step,
        };
        let mut lines = words(record, &self.names);
        if let RecordEntry::Fact(Fact::Resumed(_)) = &record.entry {
            // An earlier process announced the round, so this one has not.
            lines.extend(current_round_line(&self.names));
        }
        lines.retain(|line| line.weight >= least);
        let err = &self.streams.err;
        let shown: Vec<String> = lines
            .iter()
            .flat_map(|line| {
                let indent = if line.weight <= LineWeight::Step { 2 } else { 0 };
                line.painted(err, indent)
            })
            .collect();
        self.keep(&shown);
    }

    /// Writes the record to the definition's log. A failed write does not stop the run.
    fn log(&mut self, record: &Record) {
        let Some(mut log) = self.log.take() else { return };
        match log.write(self.run, record, &words(record, &self.names)) {
            Ok(()) => self.log = Some(log),
            Err(error) => {
                self.take_frame_away();
                self.streams.warning(&format!("cannot write the log of the agent: {error}"));
            }
        }
    }

    /// Returns true if a program reads the output and no person does, or `--quiet` is given.
    fn is_quiet(&self) -> bool {
        self.showing.json && self.live.is_none() || self.streams.verbosity == Verbosity::Quiet
    }

    /// Writes an event for programs. If stdout is closed, parks the run: otherwise it would spend money unobserved.
    fn write(&mut self, record: &Record) {
        let written = self.streams.out.json("event", EventObject::new(self.run, record));
        if let Err(error) = written {
            self.lost = Some(error.into());
            self.control.interrupt("closed output");
        }
    }

    /// Returns true if the result will repeat this record on the same screen.
    fn result_follows(&self, record: &Record) -> bool {
        let is_end = matches!(
            &record.entry,
            RecordEntry::Decision(Decision::Finished { .. } | Decision::Parked { .. })
        );
        let looks_elsewhere = self.streams.err.is_terminal() && !self.streams.out.is_terminal();
        is_end && !looks_elsewhere
    }

    fn open(&mut self, gate: TerminalGate) {
        self.take_frame_away();
        Keyboard::before_asking(&mut self.keyboard);
        let start = self.names.view().map(|view| &*view.start);
        notify_gate(self.run, &gate.call, start, self.streams);
        self.streams.err.send(&gate.ask());
        self.gate = Some(gate);
    }

    /// Handles a typed line. Returns true if the person leaves the gate open.
    fn typed(&mut self, typed: &TypedLine) -> bool {
        if matches!(typed, TypedLine::End) {
            self.keyboard = None;
        }
        // Ignore lines typed while no question is open.
        let Some(gate) = &self.gate else {
            return false;
        };
        let TypedLine::Line(line) = typed else {
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
            1 => self.streams.err.line("stopping… press Ctrl-C again to quit immediately"),
            2 => saihai_git::end_all_git(),
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
        let frame = self.board.frame(&self.names, quantities::now(), columns.saturating_sub(1), rows);
        live.draw(frame, &mut self.streams.err);
    }

    fn take_frame_away(&mut self) {
        if let Some(live) = &mut self.live {
            live.clear(&mut self.streams.err);
        }
    }
}

async fn typed(keyboard: &mut Option<Keyboard>) -> TypedLine {
    match keyboard {
        Some(keyboard) => keyboard.next().await,
        None => std::future::pending().await,
    }
}

/// The log of one run. A resumed run appends to the same file.
#[derive(Debug)]
pub(super) struct RunLog {
    files: LogFiles,
    started: Option<Moment>,
    file: Option<File>,
}

#[derive(Serialize)]
struct LogLineObject<'a> {
    timestamp: String,
    level: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<EventObject<'a>>,
}

impl RunLog {
    /// Creates a log without a file. The first write creates the file.
    pub(super) fn new(files: &LogFiles) -> Self {
        Self { files: files.clone(), started: None, file: None }
    }

    /// Reads the start time of the run, which is part of the file name.
    pub(super) fn remember(&mut self, record: &Record) {
        self.started = self.started.or(Some(record.at));
    }

    /// Writes the lines of a record. The first line includes its data.
    pub(super) fn write(&mut self, run: &str, record: &Record, lines: &[ReportLine]) -> io::Result<()> {
        let (format, brief) = (self.files.format, self.files.brief);
        let file = self.open(record.at)?;
        let leveled = lines.iter().enumerate().map(|(index, line)| (line, level(line, index, record)));
        let wanted = leveled.filter(|(_, level)| !brief || *level != "debug");
        for (index, (line, level)) in wanted.enumerate() {
            let timestamp = quantities::rfc3339(record.at);
            let written = match format {
                LogFormat::Text => format!("{timestamp} {} {}", level.to_uppercase(), line.text),
                LogFormat::Jsonl => {
                    let data = (index == 0).then(|| EventObject::new(run, record));
                    let logged = LogLineObject { timestamp, level, message: &line.text, data };
                    serde_json::to_string(&logged).map_err(io::Error::other)?
                }
            };
            writeln!(file, "{written}")?;
        }
        Ok(())
    }

    fn open(&mut self, now: Moment) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let directory = Path::new(&self.files.directory);
                fs::create_dir_all(directory)?;
                let time = quantities::rfc3339(self.started.unwrap_or(now)).replace([':', '-'], "");
                let path = directory.join(format!("{}-{time}.{}", self.files.name, self.extension()));
                let file = OpenOptions::new().create(true).append(true).open(path)?;
                self.remove_oldest()?;
                file
            }
        };
        Ok(self.file.insert(file))
    }

    fn extension(&self) -> &'static str {
        match self.files.format {
            LogFormat::Jsonl => "jsonl",
            LogFormat::Text => "log",
        }
    }

    /// Deletes the oldest files above the limit. File names contain the time, so they sort by age.
    fn remove_oldest(&self) -> io::Result<()> {
        let (head, tail) = (format!("{}-", self.files.name), format!(".{}", self.extension()));
        let is_log = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let middle = name.strip_prefix(&head).and_then(|rest| rest.strip_suffix(&tail));
            // Another agent's name may start with this one.
            middle.is_some_and(|time| time.starts_with(|c: char| c.is_ascii_digit()) && time.ends_with('Z'))
        };
        let entries = fs::read_dir(&self.files.directory)?.filter_map(Result::ok).map(|entry| entry.path());
        let mut logs: Vec<PathBuf> = entries.filter(is_log).collect();
        logs.sort();
        let surplus = logs.len().saturating_sub(self.files.keep as usize);
        logs.iter().take(surplus).try_for_each(fs::remove_file)
    }
}

fn level(line: &ReportLine, index: usize, record: &Record) -> &'static str {
    match line.weight {
        // S-68: only the first line of a failure has the level `error`. The other lines belong to it.
        _ if index == 0 && is_failure(record) => "error",
        LineWeight::Detail => "debug",
        LineWeight::Step | LineWeight::Head => "info",
        LineWeight::Warning => "warn",
    }
}

/// Returns true if the run ends here without success, or cannot continue by itself.
fn is_failure(record: &Record) -> bool {
    match &record.entry {
        RecordEntry::Decision(Decision::Finished { ending }) => match ending {
            Ending::Failed(_) | Ending::Incomplete(_) | Ending::Undelivered => true,
            Ending::Completed(_) | Ending::Declined | Ending::Cancelled => false,
        },
        RecordEntry::Decision(Decision::Parked { hold }) => match hold {
            Hold::Provider(..)
            | Hold::Until(..)
            | Hold::Storage(_)
            | Hold::Limit(_)
            | Hold::Budget
            | Hold::NoProgress(_) => true,
            Hold::Person(_) | Hold::Outside(..) | Hold::Interrupted | Hold::Cancelling => false,
        },
        RecordEntry::Decision(_) | RecordEntry::Fact(_) => false,
    }
}
