//! `saihai runs`.

use std::collections::BTreeSet;

use clap::Args;
use saihai::{Clock, ListedRun, RunDirectory, State, is_gate_closed, list_runs};
use saihai_model::{Hold, ProviderName, Usd};
use saihai_view::RunView;
use serde::Serialize;

use crate::driving::{LATE, READY};
use crate::error::{Error, exit};
use crate::project::Project;
use crate::report::{parked_words, total_cost};
use crate::terminal::{Streams, Table, visible_line};
use crate::{json, time};

/// List the runs of this project, newest first
#[derive(Debug, Args)]
pub(crate) struct Runs {
    /// Only runs of definitions in this dialect
    #[arg(long, value_name = "DIALECT", value_parser = ["piece", "hats", "steps", "review"])]
    dialect: Option<String>,

    /// Only runs in this state
    #[arg(long, value_name = "STATE", value_parser = STATES)]
    state: Option<String>,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

const STATES: [&str; 7] =
    ["running", "interrupted", "parked", "completed", "failed", "declined", "cancelled"];

#[derive(Serialize)]
struct RunObject<'a> {
    run: &'a str,
    definition: &'a str,
    dialect: &'a str,
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    started: String,
    turns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_lacks: Option<&'a BTreeSet<ProviderName>>,
    rehearsal: bool,
}

struct Shown {
    run: String,
    directory: RunDirectory,
    view: RunView,
    state: State,
}

impl Runs {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let all = list_runs(&Project::find()?.runs())?;
        let mut readable = Vec::new();
        for ListedRun { directory, run: read } in all {
            let run = directory.id().to_owned();
            match read {
                Ok((view, state)) if self.wants(&view, &state) => {
                    readable.push(Shown { run, directory, view, state });
                }
                Ok(_) => {}
                Err(error) => {
                    streams.warning(&format!("run `{run}` is left out: {}", crate::error::sentence(&error)))
                }
            }
        }
        if self.json {
            for shown in &readable {
                json::line(&mut streams.out, "run", object(shown))?;
            }
        } else if readable.is_empty() {
            let such = if self.dialect.is_some() || self.state.is_some() { "such " } else { "" };
            streams.note(&format!("there are no {such}runs here"));
        } else {
            for line in table(&readable).lines() {
                streams.out.data(&line)?;
            }
        }
        Ok(exit::DONE)
    }

    fn wants(&self, view: &RunView, state: &State) -> bool {
        self.dialect.as_ref().is_none_or(|dialect| *dialect == view.start.dialect)
            && self.state.as_ref().is_none_or(|wanted| *wanted == state.name())
    }
}

fn object(shown: &Shown) -> RunObject<'_> {
    let Shown { run, view, state, .. } = shown;
    RunObject {
        run,
        definition: &view.start.definition,
        dialect: &view.start.dialect,
        state: state.name(),
        reason: state.reason(),
        provider: state.provider(),
        until: state.until().map(time::rfc3339),
        started: time::rfc3339(view.started),
        turns: view.turns,
        cost_usd: view.cost.map(Usd::dollars),
        cost_lacks: view.cost.and(Some(&view.unpriced)).filter(|lacks| !lacks.is_empty()),
        rehearsal: view.start.rehearsal,
    }
}

fn table(runs: &[Shown]) -> Table {
    let mut table = Table::new(&["RUN", "DEFINITION", "STARTED", "TURNS", "COST", "STATE"]);
    for Shown { run, directory, view, state } in runs {
        let mut words = state_words(state);
        // The gate has timed out, so no answer is needed.
        let at_gate = matches!(state, State::Parked { hold: Hold::Person(_), .. });
        if at_gate && is_gate_closed(directory, &Clock::system()).unwrap_or(false) {
            words.push_str(&format!("; {LATE}"));
        }
        if view.start.rehearsal {
            words.push_str(", rehearsal");
        }
        table.row(vec![
            visible_line(run).into_owned(),
            visible_line(&view.start.definition).into_owned(),
            time::local(view.started),
            view.turns.to_string(),
            total_cost(view.cost, &view.unpriced).unwrap_or_else(|| "-".to_owned()),
            words,
        ]);
    }
    table
}

fn state_words(state: &State) -> String {
    let words = match state {
        State::Running { owner: Some(process) } => format!("running (process {process})"),
        State::Running { owner: None } => "running".to_owned(),
        State::Interrupted => "interrupted: resume it".to_owned(),
        State::Ready => READY.to_owned(),
        State::Parked { hold, provider } => {
            format!("parked: {}", parked_words(hold, provider.as_ref(), time::now()))
        }
        State::Ended { ending } => crate::report::ending_words(ending),
    };
    visible_line(&words).into_owned()
}
