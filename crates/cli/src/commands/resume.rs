//! `saihai resume`.

use std::sync::Arc;

use clap::Args;
use saihai::review::changed_files;
use saihai::{Clock, Driver, Outside, RunDirectory, State, delivery};
use saihai_model::{Limits, Raise, Workflow};

use super::flags::{LimitFlags, PresenceFlags};
use super::work::one;
use super::{own_tree, review, standing};
use crate::driving::{Past, Showing, block_on, drive};
use crate::error::Error;
use crate::forge_place::with_forge;
use crate::own_programs;
use crate::person;
use crate::prepared::{connections, unusable};
use crate::project::Project;
use crate::report::count;
use crate::terminal::Streams;
use crate::{diagnostics, outside};

/// Go on with a run that was parked or interrupted
#[derive(Debug, Args)]
#[command(
    after_help = "Limits are new totals for the whole run. A run that is over stays as it is: its own exit code comes back."
)]
pub(crate) struct Resume {
    /// The run: its id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN")]
    run: String,

    #[command(flatten)]
    limits: LimitFlags,

    #[command(flatten)]
    presence: PresenceFlags,

    /// Ask although the wake-up time has not come
    #[arg(long)]
    now: bool,

    /// Print every event and the result as JSON, one object a line
    #[arg(long)]
    json: bool,
}

impl Resume {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        person::insist(&project, "a run is resumed by a person")?;
        let directory = project.runs().find(&self.run)?;
        let workflow = directory.workflow()?;
        let settings = project.settings(false, streams)?;
        let budget = self.limits.budget.clone().unwrap_or_default();
        let raised = Workflow {
            limits: Limits { budget: workflow.limits.budget.replaced_by(&budget), ..workflow.limits.clone() },
            ..workflow.clone()
        };
        let mut found = unusable(&raised, &settings);
        // Check trust again: a program may have changed since the run started.
        found.append(own_programs::untrusted(&project, &workflow, false));
        diagnostics::insist(&found, settings.strict, streams)?;
        review::check_out_again(&directory, &workflow)?;
        say_changes(&directory, streams)?;
        let patience = if self.presence.wait { workflow.retry.max_wait } else { settings.short_wait };
        let raise = Raise {
            rounds: self.limits.max_iterations,
            budget,
            runtime: self.limits.run_timeout,
            patience,
            now: self.now,
        };
        let showing = Showing {
            past: Past::Journal,
            json: self.json,
            interactive: streams.can_ask() && !self.json,
            auto: self.presence.auto,
        };
        let mut with = connections(&settings);
        block_on(async {
            let mut _of_the_branch = None;
            let outside = match saihai::run_state(&directory)? {
                State::Ended { .. } => None,
                State::Running { .. } | State::Interrupted | State::Ready | State::Parked { .. } => {
                    match delivery::Past::read(&directory)? {
                        Some(past) => Some(Arc::new(one::again(past, &project, &settings, &mut with).await?)
                            as Arc<dyn Outside>),
                        None => {
                            _of_the_branch = standing::taken_again(&directory, &workflow, &settings)?;
                            let beyond =
                                outside::reach(&workflow, &project, &settings, &with, streams).await?;
                            own_tree::restored(&directory, &project, &settings, beyond)?
                        }
                    }
                }
            };
            let with = with_forge(with, &workflow, &project, &settings, streams).await?;
            let driver = Driver::resume(directory, raise, with, Clock::system())?;
            drive(outside::reaching(driver, outside), &workflow, showing, streams).await
        })
    }
}

/// Warns about files that changed since the review started. R-57: a resumed review keeps its original input.
fn say_changes(directory: &RunDirectory, streams: &mut Streams) -> Result<(), Error> {
    let changed = changed_files(directory)?;
    if let Some(first) = changed.first() {
        let more = match changed.len() {
            1 => String::new(),
            files => format!(" and {} more", count(files as u64 - 1, "file")),
        };
        streams.note(&format!(
            "`{first}`{more} changed since the review began: it goes on with what was there then"
        ));
    }
    Ok(())
}
