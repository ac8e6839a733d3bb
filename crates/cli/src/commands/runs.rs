//! `saihai runs`.

use std::collections::BTreeSet;

use clap::Args;
use saihai::{Clock, Listed, RunDirectory, State, Summary, is_gate_closed};
use saihai_model::{Hold, ProviderName, Usd};
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

/// A run in the list.
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

/// A run that can be read.
struct Shown {
    run: String,
    directory: RunDirectory,
    summary: Summary,
}

impl Runs {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let all = Project::find()?.runs().list()?;
        let mut readable = Vec::new();
        for Listed { run, directory, summary } in all {
            match summary {
                Ok(summary) if self.wants(&summary) => readable.push(Shown { run, directory, summary }),
                Ok(_) => {}
                Err(error) => {
                    streams.warning(&format!("run `{run}` is left out: {}", crate::error::sentence(&error)))
                }
            }
        }
        if self.json {
            for Shown { run, summary, .. } in &readable {
                json::line(&mut streams.out, "run", object(run, summary))?;
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

    fn wants(&self, summary: &Summary) -> bool {
        self.dialect.as_ref().is_none_or(|dialect| *dialect == summary.dialect)
            && self.state.as_ref().is_none_or(|state| *state == summary.state.name())
    }
}

fn object<'a>(run: &'a str, summary: &'a Summary) -> RunObject<'a> {
    RunObject {
        run,
        definition: &summary.definition,
        dialect: &summary.dialect,
        state: summary.state.name(),
        reason: summary.state.reason(),
        provider: summary.state.provider(),
        until: summary.state.until().map(time::rfc3339),
        started: time::rfc3339(summary.started),
        turns: summary.turns,
        cost_usd: summary.cost.map(Usd::dollars),
        cost_lacks: summary.cost.and(Some(&summary.unpriced)).filter(|lacks| !lacks.is_empty()),
        rehearsal: summary.rehearsal,
    }
}

fn table(runs: &[Shown]) -> Table {
    let mut table = Table::new(&["RUN", "DEFINITION", "STARTED", "TURNS", "COST", "STATE"]);
    for Shown { run, directory, summary } in runs {
        let mut state = state_words(&summary.state);
        // Nobody need hurry to answer it.
        let at_gate = matches!(summary.state, State::Parked { hold: Hold::Person(_), .. });
        if at_gate && is_gate_closed(directory, &Clock::system()).unwrap_or(false) {
            state.push_str(&format!("; {LATE}"));
        }
        if summary.rehearsal {
            state.push_str(", rehearsal");
        }
        table.row(vec![
            visible_line(run).into_owned(),
            visible_line(&summary.definition).into_owned(),
            time::local(summary.started),
            summary.turns.to_string(),
            total_cost(summary.cost, &summary.unpriced).unwrap_or_else(|| "-".to_owned()),
            state,
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
