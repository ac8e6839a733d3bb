//! `saihai log`.

use std::time::Duration;

use clap::Args;
use saihai::{RunDirectory, State};
use saihai_model::{Record, Workflow};

use crate::driving::{EventObject, Signals, block_on};
use crate::error::{Error, exit};
use crate::project::Project;
use crate::report::{Names, words};
use crate::terminal::{Streams, style};
use crate::{json, time};

/// How often a followed journal is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Show every event of a run in words
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The run: its id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN")]
    run: String,

    /// Stay, and show further events as they happen, until the run ends or waits
    #[arg(short, long)]
    follow: bool,

    /// Print one JSON object a line, as `saihai run --json` does
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

/// Tells what has not been told yet.
struct Teller<'a> {
    directory: &'a RunDirectory,
    names: Names<'a>,
    json: bool,
    told: u64,
}

impl<'a> Teller<'a> {
    fn new(directory: &'a RunDirectory, workflow: &'a Workflow, json: bool) -> Self {
        Self { directory, names: Names::new(workflow), json, told: 0 }
    }

    /// Tells the records after the last one told; what was torn off the end comes back.
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
        Ok(torn.map(|warning| warning.to_string()))
    }

    fn record(&mut self, record: &Record, streams: &mut Streams) -> std::io::Result<()> {
        self.names.learn(record);
        if self.json {
            return json::line(&mut streams.out, "event", EventObject::new(self.directory.id(), record));
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

/// Tells what happens until the run is left alone. Ctrl-C is the usual way to stop watching and no failure.
async fn follow(teller: &mut Teller<'_>, streams: &mut Streams) -> Result<(), Error> {
    let mut signals = Signals::listen()?;
    loop {
        let over = !matches!(teller.directory.summary()?.state, State::Running { .. });
        // Looked at before the last telling, so that nothing said at the very end is missed.
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
