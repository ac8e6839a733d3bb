//! `saihai log`.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use saihai::{Glimpse, Glimpses, RunDirectory, State};
use saihai_model::{CallId, Entry, Fact, Record, Workflow};
use serde::Serialize;

use crate::driving::{EventObject, Signals, block_on};
use crate::error::{Error, exit};
use crate::project::Project;
use crate::report::{Names, Published, words};
use crate::terminal::{Streams, style, visible_line};
use crate::{json, time};

/// Poll interval for a followed journal.
const LOOK: Duration = Duration::from_millis(200);
/// Indentation of an event's text.
const MARGIN: &str = "                 ";
/// A line without an end is shown in parts of about this many bytes.
const LONGEST: usize = 2_000;

/// Show every event of a run in words
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The run: its id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN")]
    run: String,

    /// Stay, and show further events as they happen, until the run ends or waits
    #[arg(short, long)]
    follow: bool,

    /// Print one JSON object a line, as `saihai run --json` does, and one for each published topic; with `-f` also what turns under way show
    #[arg(long)]
    json: bool,
}

impl Log {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let directory = Project::find()?.runs().find(&self.run)?;
        let workflow = directory.workflow()?;
        let mut teller = Teller::new(&directory, &workflow, self.json);
        let torn = teller.tell(streams)?;
        if self.follow {
            block_on(follow(&mut teller, streams))?;
        } else if let Some(torn) = torn {
            streams.warning(&torn);
        }
        Ok(exit::DONE)
    }
}

/// Prints the records that were not printed yet.
struct Teller<'a> {
    directory: &'a RunDirectory,
    names: Names<'a>,
    published: Published<'a>,
    json: bool,
    told: u64,
    glimpses: Glimpses,
    /// The unfinished output line of each running turn.
    begun: BTreeMap<CallId, String>,
}

impl<'a> Teller<'a> {
    fn new(directory: &'a RunDirectory, workflow: &'a Workflow, json: bool) -> Self {
        let (names, glimpses) = (Names::new(workflow), directory.glimpses());
        let published = Published::new(workflow);
        Self { directory, names, published, json, told: 0, glimpses, begun: BTreeMap::new() }
    }

    /// Prints the records after the last printed one. Returns a torn record at the end of the journal, if any.
    fn tell(&mut self, streams: &mut Streams) -> Result<Option<String>, Error> {
        let directory = self.directory;
        let mut written = Ok(());
        let torn = directory.read(&mut |record| {
            if written.is_ok() && record.seq > self.told {
                self.told = record.seq;
                written = self.record(&record, streams);
            }
        })?;
        written?;
        streams.out.flush()?;
        Ok(torn.map(|torn| saihai::Warning::torn(self.directory, torn).to_string()))
    }

    fn record(&mut self, record: &Record, streams: &mut Streams) -> std::io::Result<()> {
        self.names.learn(record);
        self.end_lines(record, streams)?;
        if self.json {
            let run = self.directory.id();
            json::line(&mut streams.out, "event", EventObject::new(run, record))?;
            return self.published.write(run, record, &mut streams.out);
        }
        let out = &mut streams.out;
        let place = format!("{:>5}  {}", record.seq, time::local_clock(record.at));
        for (index, line) in words(record, &self.names).iter().enumerate() {
            let margin = if index == 0 { place.clone() } else { " ".repeat(place.len()) };
            out.data(&format!("{}  {}", out.paint(style::QUIET, &margin), line.painted(out)))?;
        }
        Ok(())
    }
}

impl Teller<'_> {
    /// Prints the output of running turns: complete lines for people, every piece for programs.
    fn look_on(&mut self, streams: &mut Streams) -> std::io::Result<()> {
        for (call, shows) in self.glimpses.look() {
            if self.json {
                let shown = ProgressObject::new(self.directory.id(), &call, &shows);
                json::line(&mut streams.out, "progress", shown)?;
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
            Entry::Fact(Fact::Replied(reply)) => &reply.call,
            Entry::Fact(Fact::Failed(failed)) => &failed.call,
            Entry::Fact(_) | Entry::Decision(_) => return Ok(()),
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

/// Prints events until the process that drives the run exits. Ctrl-C is the usual way to stop and not a failure.
async fn follow(teller: &mut Teller<'_>, streams: &mut Streams) -> Result<(), Error> {
    let mut signals = Signals::listen()?;
    loop {
        let over = !matches!(saihai::run_state(teller.directory)?, State::Running { .. });
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
