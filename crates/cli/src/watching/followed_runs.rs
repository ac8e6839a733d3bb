use std::collections::HashMap;

use saihai::{FollowedRun, RunDirectory, Runs};
use saihai_model::{Moment, Workflow};
use saihai_view::{RunState, RunView};

use crate::error::{CommandError, sentence};

/// The runs of a project, newest first, each as a row of a screen.
pub(crate) struct FollowedRuns<R> {
    runs: Runs,
    listed: Vec<ListedRow<R>>,
}

/// A row of a screen.
pub(crate) trait FollowedRow: Clone {
    fn of(run: &SeenRun<'_>) -> Self;

    /// Makes the row of a run that cannot be read.
    fn broken(id: &str, error: &str) -> Self;

    /// Returns true if only a changed journal can change the row.
    fn is_settled(&self) -> bool;
}

/// A run as a look at its files found it.
pub(crate) struct SeenRun<'a> {
    pub(crate) directory: &'a RunDirectory,
    pub(crate) view: &'a RunView,
    pub(crate) state: &'a RunState,
    /// Only of a run that has not ended.
    pub(crate) workflow: Option<&'a Workflow>,
    pub(crate) now: Moment,
}

struct ListedRow<R> {
    run: FollowedRun,
    /// Read once, for the budget and the gate of an unfinished run.
    workflow: Option<Workflow>,
    row: Option<R>,
}

impl<R: FollowedRow> FollowedRuns<R> {
    pub(crate) fn new(runs: Runs) -> Self {
        Self { runs, listed: Vec::new() }
    }

    pub(crate) fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Finds the directories of the runs. Opens no journal.
    pub(crate) fn list(&mut self) -> Result<(), CommandError> {
        let directories = self.runs.list()?;
        let known = self.listed.drain(..).map(|listed| (listed.run.directory().id().to_owned(), listed));
        let mut known: HashMap<String, ListedRow<R>> = known.collect();
        let listed = directories
            .into_iter()
            .map(|directory| known.remove(directory.id()).unwrap_or_else(|| ListedRow::new(directory)));
        self.listed = listed.collect();
        Ok(())
    }

    /// Looks at all runs, or only at unsettled ones. Calls `pause` after each look.
    pub(crate) fn look(&mut self, at_all: bool, now: Moment, mut pause: impl FnMut(&Self)) {
        for index in 0..self.listed.len() {
            let listed = &mut self.listed[index];
            if at_all || listed.row.as_ref().is_none_or(|row| !row.is_settled()) {
                listed.look(now);
            }
            pause(self);
        }
    }

    /// Returns the rows of all runs that were looked at.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &R> {
        self.listed.iter().filter_map(|listed| listed.row.as_ref())
    }
}

impl<R: FollowedRow> ListedRow<R> {
    fn new(directory: RunDirectory) -> Self {
        Self { run: FollowedRun::new(directory), workflow: None, row: None }
    }

    fn look(&mut self, now: Moment) {
        if let Err(error) = self.run.look() {
            self.row = Some(R::broken(self.run.directory().id(), &sentence(&error)));
            return;
        }
        // Without a view, the run has ended or is broken, and its journal is unchanged.
        let (Some(view), Some(state)) = (self.run.view(), self.run.state()) else { return };
        if !state.is_over() && self.workflow.is_none() {
            // A row without it lacks only the budget.
            self.workflow = self.run.directory().frozen_workflow(&view.start).ok();
        }
        let (directory, workflow) = (self.run.directory(), self.workflow.as_ref());
        self.row = Some(R::of(&SeenRun { directory, view, state: &state, workflow, now }));
        if state.is_over() {
            // The records of a thousand finished runs would fill the memory.
            self.run.release();
            self.workflow = None;
        }
    }
}
