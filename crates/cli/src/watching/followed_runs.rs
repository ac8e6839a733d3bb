use std::collections::HashMap;
use std::path::PathBuf;

use saihai::{FollowedRun, RunDirectory, Runs};
use saihai_model::{Moment, Workflow};
use saihai_view::{RunState, RunView};

use crate::error::{CommandError, sentence};

/// The runs of one or several projects, newest first, each as a row of a screen.
pub(crate) struct FollowedRuns<R> {
    projects: Vec<Runs>,
    listed: Vec<ListedRow<R>>,
}

/// A row of a screen.
pub(crate) trait FollowedRow: Clone {
    fn of(run: &SeenRun<'_>) -> Self;

    /// Makes the row of a run that cannot be read.
    fn broken(run: &RunDirectory, error: &str) -> Self;

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
    /// Index of its project.
    project: usize,
    run: FollowedRun,
    /// Read once, for the budget and the gate of an unfinished run.
    workflow: Option<Workflow>,
    row: Option<R>,
}

impl<R: FollowedRow> FollowedRuns<R> {
    pub(crate) fn new(projects: Vec<Runs>) -> Self {
        Self { projects, listed: Vec::new() }
    }

    /// Replaces the projects. The next listing keeps what is known of their runs.
    pub(crate) fn follow_projects(&mut self, projects: Vec<Runs>) {
        self.projects = projects;
    }

    /// Finds the directories of the runs. Opens no journal. A project that cannot be listed does not hide the others.
    pub(crate) fn list(&mut self) -> Vec<CommandError> {
        let known = self.listed.drain(..).map(|listed| (listed.run.directory().path().to_owned(), listed));
        let mut known: HashMap<PathBuf, ListedRow<R>> = known.collect();
        let mut errors = Vec::new();
        for (project, runs) in self.projects.iter().enumerate() {
            match runs.list() {
                Ok(directories) => {
                    let listed =
                        directories.into_iter().map(|directory| match known.remove(directory.path()) {
                            Some(known) => ListedRow { project, ..known },
                            None => ListedRow::new(project, directory),
                        });
                    self.listed.extend(listed);
                }
                Err(error) => {
                    errors.push(error.into());
                    let kept = known.extract_if(|path, _| path.starts_with(runs.directory()));
                    self.listed.extend(kept.map(|(_, known)| ListedRow { project, ..known }));
                }
            }
        }
        if self.projects.len() > 1 {
            // An id begins with the time of its run.
            self.listed.sort_by(|one, other| other.run.directory().id().cmp(one.run.directory().id()));
        }
        errors
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

    /// Returns the rows of all runs that were looked at, each with the index of its project.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, &R)> {
        self.listed.iter().filter_map(|listed| Some((listed.project, listed.row.as_ref()?)))
    }
}

impl<R: FollowedRow> ListedRow<R> {
    fn new(project: usize, directory: RunDirectory) -> Self {
        Self { project, run: FollowedRun::new(directory), workflow: None, row: None }
    }

    fn look(&mut self, now: Moment) {
        if let Err(error) = self.run.look() {
            self.row = Some(R::broken(self.run.directory(), &sentence(&error)));
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
