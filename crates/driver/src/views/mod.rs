//! Views of a run for commands: its state, its outcome and its texts, from one pass over its journal.

mod followed_run;
mod iterations;
mod recording;

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{
    Activity, By, Label, Moment, ProviderName, Purpose, RoundPosition, Stage, StageId, Text, Usage, Usd,
    Workflow,
};
use saihai_store::journal::TornBatch;
use saihai_view::{RunState, RunView, Transition};

use crate::{DriverError, RunDirectory, Runs};

pub use followed_run::FollowedRun;
pub(crate) use iterations::summarize;
pub use iterations::{DetectedAction, IterationSummary, PublishedTool};
pub use recording::{Recording, TurnFileChanges};

/// A run as its files show it. A command reads it once and renders the parts it needs.
#[derive(Debug)]
pub struct LoadedRun {
    pub directory: RunDirectory,
    pub workflow: Workflow,
    pub view: RunView,
    pub state: RunState,
    /// An append that was cut off when the process died.
    pub torn: Option<TornBatch>,
}

/// A run in a list. An unreadable run keeps its error and does not hide other runs.
#[derive(Debug)]
pub struct ListedRun {
    pub directory: RunDirectory,
    pub run: Result<(RunView, RunState), DriverError>,
}

impl LoadedRun {
    pub fn read(directory: &RunDirectory) -> Result<Self, DriverError> {
        let (view, torn) = fold(directory)?;
        let workflow = directory.frozen_workflow(&view.start)?;
        let state = view.state(directory.owner());
        Ok(Self { directory: directory.clone(), workflow, view, state, torn })
    }

    /// Wraps a view that was folded while the run was driven.
    pub fn of_view(directory: &RunDirectory, workflow: &Workflow, view: RunView) -> Self {
        let state = view.state(directory.owner());
        Self { directory: directory.clone(), workflow: workflow.clone(), view, state, torn: None }
    }

    pub fn transitions(&self) -> Vec<Transition> {
        self.view.transitions(&self.workflow)
    }
}

pub fn run_state(directory: &RunDirectory) -> Result<RunState, DriverError> {
    Ok(fold(directory)?.0.state(directory.owner()))
}

/// Lists runs, newest first. Each journal is read when the iterator comes to it, so that only one view is in memory.
pub fn list_runs(runs: &Runs) -> Result<impl Iterator<Item = ListedRun>, DriverError> {
    let listed = runs.list()?.into_iter().map(|directory| {
        let run = fold(&directory).map(|(view, _)| {
            let state = view.state(directory.owner());
            (view, state)
        });
        ListedRun { directory, run }
    });
    Ok(listed)
}

fn fold(directory: &RunDirectory) -> Result<(RunView, Option<TornBatch>), DriverError> {
    let mut view: Option<RunView> = None;
    let torn = directory.read(&mut |record| match &mut view {
        Some(view) => view.apply(record),
        None => view = RunView::begin(&record),
    })?;
    Ok((view.ok_or_else(|| directory.unborn())?, torn))
}

/// The result of a run, so far or final: the result object of the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    pub run: String,
    /// The name of the definition as the user typed it.
    pub definition: String,
    pub dialect: String,
    /// `completed`, `failed`, `declined`, `cancelled`, `parked`, `running` or `interrupted`.
    pub outcome: String,
    pub reason: Option<String>,
    /// The exit code. It is 3 for a run that is interrupted or still running.
    pub exit: u8,
    /// The last text and label of each turn, if no rule matched.
    pub unmatched: Vec<UnmatchedTurn>,
    pub iterations: u32,
    pub turns: u64,
    /// The tokens of all turns.
    pub usage: Usage,
    /// The total cost. Absent if no provider reported a cost.
    pub cost: Option<Usd>,
    /// Providers with a turn of unknown cost, which `cost` lacks.
    pub unpriced: BTreeSet<ProviderName>,
    pub report_directory: String,
    /// Report files, in the order of their first save.
    pub reports: Vec<String>,
    /// The last output of the flow.
    pub output: Option<String>,
    /// True if no agent was really asked.
    pub rehearsal: bool,
    /// True if the run can be resumed.
    pub resumable: bool,
    /// The time at which the run can continue, if known.
    pub until: Option<Moment>,
}

/// The text of a turn that no rule matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedTurn {
    pub turn: String,
    pub label: Option<Label>,
    /// The end of the text, at most 1,000 characters (P-44).
    pub tail: String,
}

impl LoadedRun {
    /// Returns the current result of the run.
    pub fn outcome(&self) -> Result<RunOutcome, DriverError> {
        let view = &self.view;
        let mut reports = Vec::new();
        for version in view.reports() {
            if !reports.contains(&version.file) {
                reports.push(version.file);
            }
        }
        Ok(RunOutcome {
            run: self.directory.id().to_owned(),
            definition: view.start.definition.clone(),
            dialect: view.start.dialect.clone(),
            outcome: self.state.name().to_owned(),
            reason: self.state.reason().map(str::to_owned),
            exit: self.state.exit_code(),
            unmatched: self.unmatched()?,
            iterations: view.iterations,
            turns: view.turns,
            usage: view.usage.clone(),
            cost: view.cost,
            unpriced: view.unpriced.clone(),
            report_directory: view.start.report_directory.clone(),
            reports,
            output: self.joined_output()?,
            rehearsal: view.start.rehearsal,
            resumable: !self.state.is_over(),
            until: self.state.until(),
        })
    }

    /// Returns the texts of the last finished round, by turn.
    fn last_output(&self) -> Option<(&StageId, BTreeMap<usize, &Text>)> {
        let rounds: Vec<_> = self.view.rounds().collect();
        rounds.into_iter().rev().find_map(|(visit, round)| {
            round.exit.as_ref()?;
            let is_aside = self.workflow.stage(&visit.stage).is_none_or(|stage| stage.aside);
            let works =
                self.view.calls_of(round).iter().filter_map(|call| match (call.place, call.purpose) {
                    (RoundPosition::Main(index), Some(Purpose::Work)) => {
                        let reply = call.reply()?;
                        Some((index, reply.spoken.as_ref().unwrap_or(&reply.text)))
                    }
                    _ => None,
                });
            let said: BTreeMap<usize, &Text> = works.collect();
            (!is_aside && !said.is_empty()).then_some((&visit.stage, said))
        })
    }

    /// Joins the outputs of the last round as a later prompt would show them.
    fn joined_output(&self) -> Result<Option<String>, DriverError> {
        let Some((stage, said)) = self.last_output() else { return Ok(None) };
        let stage = self.workflow.stage(stage);
        let mut output = String::new();
        for (position, (index, text)) in said.iter().enumerate() {
            if position > 0 {
                output.push_str(stage.map_or("", between));
            }
            let turn = stage.and_then(|stage| stage.turns().get(*index));
            output.push_str(turn.map_or("", |turn| turn.heading.as_str()));
            output.push_str(&self.directory.text(text)?);
        }
        Ok(Some(output))
    }

    fn unmatched(&self) -> Result<Vec<UnmatchedTurn>, DriverError> {
        let (Some((left, verdict)), Some((stage, said))) = (self.view.last_exit(), self.last_output()) else {
            return Ok(Vec::new());
        };
        if verdict.by != By::NoMatch || left != stage {
            return Ok(Vec::new());
        }
        let turns = self.workflow.stage(stage).map(Stage::turns).unwrap_or_default();
        let unmatched = said.iter().map(|(index, text)| {
            let text = self.directory.text(text)?;
            let skipped = text.chars().count().saturating_sub(1_000);
            Ok(UnmatchedTurn {
                turn: turns.get(*index).map(|turn| turn.id.to_string()).unwrap_or_default(),
                label: verdict.labels.get(*index).cloned().flatten(),
                tail: text.chars().skip(skipped).collect(),
            })
        });
        unmatched.collect()
    }
}

fn between(stage: &Stage) -> &str {
    match &stage.does {
        Activity::Turns { between, .. } => between,
        Activity::Gate(_) | Activity::Action(_) => "",
    }
}

#[cfg(test)]
mod tests;
