//! `saihai cancel`.

use clap::Args;
use saihai::{Clock, Reached};
use serde::Serialize;

use super::review;
use crate::driving::block_on;
use crate::error::{Error, exit};
use crate::json;
use crate::person;
use crate::project::Project;
use crate::terminal::Streams;

/// Cancel a run for good
#[derive(Debug, Args)]
#[command(
    after_help = "A cancelled run cannot be resumed, only forked. To pause a run press Ctrl-C where it is going on."
)]
pub(crate) struct Cancel {
    /// The run: its id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN")]
    run: String,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct CancelledObject<'a> {
    run: &'a str,
}

impl Cancel {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        person::insist(&project, "a run is cancelled by a person")?;
        let directory = project.runs().find(&self.run)?;
        let reached =
            block_on(async { Ok(saihai::cancel(&directory, "saihai cancel", Clock::system()).await?) })?;
        // A cancelled review is never resumed, so this is the last chance to delete its checkout.
        if reached == Reached::Journal {
            review::clean_up(&directory, &directory.workflow()?, streams)?;
        }
        if self.json {
            json::line(&mut streams.out, "cancelled", CancelledObject { run: directory.id() })?;
        }
        let whose = match reached {
            Reached::Owner => "the process that drives it ends it",
            Reached::Unread => "the process that drives it has not read it yet",
            Reached::Journal => "it was not going on",
        };
        streams.note(&format!("run `{}` is cancelled; {whose}", directory.id()));
        Ok(exit::DONE)
    }
}
