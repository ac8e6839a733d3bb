//! A run loaded from disk for display, in one pass over its journal.

use saihai_model::Workflow;
use saihai_store::journal::Torn;
use saihai_view::{RunState, RunView, Transition};

use crate::{Error, RunDirectory, Runs};

/// A run as its files show it. A command reads it once and renders the parts it needs.
#[derive(Debug)]
pub struct LoadedRun {
    pub directory: RunDirectory,
    pub workflow: Workflow,
    pub view: RunView,
    pub state: RunState,
    /// An append that was cut off when the process died.
    pub torn: Option<Torn>,
}

/// A run in a list. An unreadable run keeps its error and does not hide other runs.
#[derive(Debug)]
pub struct ListedRun {
    pub directory: RunDirectory,
    pub run: Result<(RunView, RunState), Error>,
}

impl LoadedRun {
    pub fn read(directory: &RunDirectory) -> Result<Self, Error> {
        let (view, torn) = fold(directory)?;
        let workflow = directory.frozen_workflow(&view.start)?;
        let state = view.state(directory.owner());
        Ok(Self { directory: directory.clone(), workflow, view, state, torn })
    }

    pub fn transitions(&self) -> Vec<Transition> {
        self.view.transitions(&self.workflow)
    }
}

pub fn run_state(directory: &RunDirectory) -> Result<RunState, Error> {
    Ok(fold(directory)?.0.state(directory.owner()))
}

pub fn list_runs(runs: &Runs) -> Result<Vec<ListedRun>, Error> {
    let listed = runs.list()?.into_iter().map(|directory| {
        let run = fold(&directory).map(|(view, _)| {
            let state = view.state(directory.owner());
            (view, state)
        });
        ListedRun { directory, run }
    });
    Ok(listed.collect())
}

fn fold(directory: &RunDirectory) -> Result<(RunView, Option<Torn>), Error> {
    let mut view: Option<RunView> = None;
    let torn = directory.read(&mut |record| match &mut view {
        Some(view) => view.apply(record),
        None => view = RunView::begin(&record),
    })?;
    Ok((view.ok_or_else(|| directory.unborn())?, torn))
}

#[cfg(test)]
mod tests;
