use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use clap::Args;
use saihai::{Glimpse, Glimpses, JournalReader, RunDirectory};
use saihai_model::{CallId, ExitStatus, Fact, Record, RecordEntry, StageId, Workflow};
use saihai_view::{BusEvent, BusEvents, EventFate, EventSource, RunView};
use serde::Serialize;

use crate::commands::flags::RunArgument;
use crate::driving::{EventObject, Signals, block_on};
use crate::error::CommandError;
use crate::project::Project;
use crate::quantities;
use crate::report::{LineWeight, RunNames, words};
use crate::terminal::{Stream, Streams, style, visible_line};

/// Poll interval for a followed journal.
const LOOK: Duration = Duration::from_millis(200);
/// Indentation of an event's text.
const MARGIN: &str = "                 ";
/// A line without an end is shown in parts of about this many bytes.
const LONGEST: usize = 2_000;

/// Show the events of a run in words
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  saihai log
  saihai log -f
  saihai log 20260206-0856 --json")]
pub(crate) struct LogCommand {
    #[command(flatten)]
    run: RunArgument,

    /// Keep printing new events and the output of running turns until the run ends or waits
    #[arg(short, long)]
    follow: bool,

    /// Print one JSON object per line: events as in `saihai run --json`, and published topics
    #[arg(long)]
    json: bool,
}

impl LogCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let directory = self.run.find(&Project::find()?)?;
        let workflow = directory.workflow()?;
        let mut teller = LogPrinter::new(&directory, &workflow, self.json, streams.is_verbose())?;
        let torn = teller.tell(streams)?;
        if self.follow {
            block_on(follow(&mut teller, streams))?;
        } else if let Some(torn) = torn {
            streams.warning(&torn);
        }
        Ok(ExitStatus::Done)
    }
}

/// Prints the records that were not printed yet.
struct LogPrinter<'a> {
    directory: &'a RunDirectory,
    names: RunNames<'a>,
    published: PublishedWriter<'a>,
    json: bool,
    /// The journal, read up to the last printed record.
    journal: JournalReader,
    glimpses: Glimpses,
    /// The unfinished output line of each running turn.
    begun: BTreeMap<CallId, String>,
}

impl<'a> LogPrinter<'a> {
    fn new(
        directory: &'a RunDirectory,
        workflow: &'a Workflow,
        json: bool,
        verbose: bool,
    ) -> Result<Self, CommandError> {
        Ok(Self {
            directory,
            names: RunNames::new(workflow).verbose(verbose),
            published: PublishedWriter::new(workflow),
            json,
            journal: directory.open_journal()?,
            glimpses: directory.glimpses(),
            begun: BTreeMap::new(),
        })
    }

    /// Prints the records after the last printed one. Returns a torn record at the end of the journal, if any.
    fn tell(&mut self, streams: &mut Streams) -> Result<Option<String>, CommandError> {
        self.journal.catch_up()?;
        while let Some(batch) = self.journal.next_records()? {
            for record in batch {
                self.record(&record, streams)?;
            }
        }
        streams.out.flush()?;
        // To another process, an append in progress looks torn.
        let torn = self.journal.torn().filter(|_| self.directory.owner().is_none());
        Ok(torn.map(|torn| saihai::DriverWarning::torn(self.directory, torn).to_string()))
    }

    fn record(&mut self, record: &Record, streams: &mut Streams) -> std::io::Result<()> {
        self.names.learn(record);
        self.end_lines(record, streams)?;
        if self.json {
            let run = self.directory.id();
            streams.out.json("event", EventObject::new(run, record))?;
            return self.published.write(run, record, &mut streams.out);
        }
        let out = &mut streams.out;
        let place = format!("{:>5}  {}", record.seq, quantities::local_clock(record.at));
        let least = if self.names.is_verbose() { LineWeight::Detail } else { LineWeight::Step };
        let said = words(record, &self.names);
        let said = said.iter().filter(|line| line.weight >= least);
        let lines: Vec<String> = said.flat_map(|line| line.painted(out, MARGIN.len())).collect();
        for (index, line) in lines.iter().enumerate() {
            // Every line is indented by the margin, so the place fits in front of the first.
            match line.strip_prefix(MARGIN).filter(|_| index == 0) {
                Some(words) => out.data(&format!("{}  {words}", out.paint(style::QUIET, &place)))?,
                None => out.data(line)?,
            }
        }
        Ok(())
    }
}

impl LogPrinter<'_> {
    /// Prints the output of running turns: complete lines for people, every piece for programs.
    fn look_on(&mut self, streams: &mut Streams) -> std::io::Result<()> {
        for (call, shows) in self.glimpses.look() {
            if self.json {
                let shown = ProgressObject::new(self.directory.id(), &call, &shows);
                streams.out.json("progress", shown)?;
                continue;
            }
            let said = match shows {
                Glimpse::Does(what) => format!("[{what}]\n"),
                Glimpse::Text(text) => text,
            };
            let mut said = self.begun.remove(&call).unwrap_or_default() + &said;
            while let Some(end) = said.find('\n') {
                let rest = said.split_off(end + 1);
                self.say(&call, &said, streams)?;
                said = rest;
            }
            if said.len() > LONGEST {
                self.say(&call, &said, streams)?;
                said.clear();
            }
            if !said.is_empty() {
                self.begun.insert(call, said);
            }
        }
        streams.out.flush()
    }

    /// Prints the unfinished line of a turn that has ended.
    fn end_lines(&mut self, record: &Record, streams: &mut Streams) -> std::io::Result<()> {
        let over = match &record.entry {
            RecordEntry::Fact(Fact::Replied(reply)) => &reply.call,
            RecordEntry::Fact(Fact::Failed(failed)) => &failed.call,
            RecordEntry::Fact(_) | RecordEntry::Decision(_) => return Ok(()),
        };
        match self.begun.remove(over) {
            Some(said) => self.say(over, &said, streams),
            None => Ok(()),
        }
    }

    fn say(&self, call: &CallId, said: &str, streams: &mut Streams) -> std::io::Result<()> {
        if said.trim().is_empty() {
            return Ok(());
        }
        let line = format!("{MARGIN}{} | {}", self.names.call(call), visible_line(said.trim_end()));
        let line = streams.out.paint(style::QUIET, &line);
        streams.out.data(&line)
    }
}

/// Output of a running turn, for programs. It is not journaled, so it has no number.
#[derive(Serialize)]
struct ProgressObject<'a> {
    run: &'a str,
    call: &'a CallId,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    does: Option<&'a str>,
}

impl<'a> ProgressObject<'a> {
    fn new(run: &'a str, call: &'a CallId, shows: &'a Glimpse) -> Self {
        let (text, does) = match shows {
            Glimpse::Text(text) => (Some(text.as_str()), None),
            Glimpse::Does(what) => (None, Some(what.as_str())),
        };
        Self { run, call, text, does }
    }
}

/// Returns true if the run is over, even if its process still holds the lock.
fn has_ended(view: &RunView) -> bool {
    view.state(None).is_over()
}

/// Prints events until the process that drives the run exits. Ctrl-C is the usual way to stop and not a failure.
async fn follow(teller: &mut LogPrinter<'_>, streams: &mut Streams) -> Result<(), CommandError> {
    let mut signals = Signals::listen()?;
    loop {
        let over = teller.directory.owner().is_none() || teller.names.view().is_some_and(has_ended);
        // Check for the end before the last read, so that the final records are not missed.
        teller.look_on(streams)?;
        teller.tell(streams)?;
        if over {
            return Ok(());
        }
        tokio::select! {
            _ = signals.next() => return Ok(()),
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Writes the events that a run publishes, from its records.
#[derive(Debug)]
pub(crate) struct PublishedWriter<'w> {
    workflow: &'w Workflow,
    events: BusEvents<'w>,
}

/// One event: its publisher, its receiver, and the reason.
#[derive(Serialize)]
struct PublishedObject<'a> {
    run: &'a str,
    seq: u64,
    time: String,
    topic: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    source: &'a str,
    fate: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'a str>,
    /// The gate before the receiver, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<&'a str>,
}

impl<'w> PublishedWriter<'w> {
    pub(crate) fn new(workflow: &'w Workflow) -> Self {
        Self { workflow, events: BusEvents::new(workflow) }
    }

    /// Writes a line for each event that this record settles.
    pub(crate) fn write(&mut self, run: &str, record: &Record, out: &mut Stream) -> io::Result<()> {
        for event in self.events.see(record) {
            out.json("published", self.object(run, &event))?;
        }
        Ok(())
    }

    fn object<'a>(&'a self, run: &'a str, event: &'a BusEvent) -> PublishedObject<'a> {
        let (fate, to) = match &event.fate {
            EventFate::Taken(to) => ("taken", Some(to)),
            EventFate::Orphaned(to) => ("orphaned", Some(to)),
            EventFate::NotRouted => ("not_routed", None),
            EventFate::OutOfScope => ("out_of_scope", None),
            EventFate::Untaken => ("untaken", None),
        };
        PublishedObject {
            run,
            seq: event.seq,
            time: quantities::rfc3339(event.at),
            topic: event.topic.as_str(),
            message: event.message.as_deref(),
            source: match &event.source {
                EventSource::Start => "start",
                EventSource::Stage(stage) => stage.as_str(),
                EventSource::Engine => "engine",
            },
            fate,
            to: to.map(StageId::as_str),
            trigger: to.filter(|_| fate == "taken").and_then(|to| self.trigger(event, to)),
            gate: event.gate.as_ref().map(StageId::as_str),
        }
    }

    /// Returns the pattern by which the receiver takes an event. A gate on the way only diverts it.
    fn trigger(&self, event: &BusEvent, to: &StageId) -> Option<&str> {
        let routes = self.workflow.topics.iter().flat_map(|topics| &topics.routes);
        let mut own = routes.filter(|route| route.to == *to);
        own.find(|route| saihai_judge::takes(&route.pattern, &event.topic))
            .map(|route| route.pattern.as_str())
    }
}
