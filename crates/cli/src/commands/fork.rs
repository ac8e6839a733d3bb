//! `saihai fork`.

use clap::Args;
use saihai::Clock;
use serde::Serialize;

use crate::error::{Error, exit};
use crate::json;
use crate::project::Project;
use crate::terminal::Streams;
use crate::values;

/// Make a new run out of the beginning of another
#[derive(Debug, Args)]
#[command(after_help = "The new run is parked until `saihai resume`; the old one stays as it is.")]
pub(crate) struct Fork {
    /// The run: its id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN")]
    run: String,

    /// The event up to which the new run shares the past, by its number in `saihai log`
    /// [default: the entry of the last stage]
    #[arg(long, value_name = "SEQ", value_parser = values::event)]
    at: Option<u64>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ForkedObject<'a> {
    run: &'a str,
    from: &'a str,
    at: u64,
}

impl Fork {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        let settings = project.settings(false, streams)?;
        let runs = project.runs();
        let from = runs.find(&self.run)?;
        let forked = saihai::fork(&runs, &from, self.at, &settings.reports_dir, Clock::system())?;
        let run = forked.directory.id();
        if self.json {
            json::line(&mut streams.out, "forked", ForkedObject { run, from: &forked.from, at: forked.at })?;
        } else {
            streams.out.data(run)?;
        }
        streams.note(&format!(
            "forked from `{}` at event {}; continue with `saihai resume {run}`",
            forked.from, forked.at
        ));
        Ok(exit::DONE)
    }
}
