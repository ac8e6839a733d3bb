//! Runs that a server drives: what a submission freezes, and the journal of such a run on this machine.

use std::path::Path;

use saihai_connect::Connections;
use saihai_model::{Action, CommandVerdict, Moment, Record, RecordEntry, Start, Workflow};

use crate::driver::freeze;
use crate::journal;
use crate::secrets::SecretRedactor;
use crate::{Clock, DriverError, RunDirectory, RunSpec, Runs};

/// A run that is ready for a server. It has no journal, so no command of this machine takes it for a run of its own.
#[derive(Debug)]
pub struct SubmittedRun {
    pub directory: RunDirectory,
    pub start: Box<Start>,
}

/// An action that needs more of a run than a worker has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnhostableAction {
    /// It reads the whole journal.
    ReviewReport,
    /// A completion command: it reads a summary of the journal.
    CompletionCommand,
    /// It acts on an issue, a branch or a pull request.
    Delivery,
}

/// Returns the first action of a workflow that workers of a server cannot perform.
pub fn unhostable(workflow: &Workflow) -> Option<UnhostableAction> {
    workflow.actions().into_iter().find_map(|action| match &action.does {
        Action::ReviewReport { .. } => Some(UnhostableAction::ReviewReport),
        Action::Command { told: CommandVerdict::ByAnswer, .. } => Some(UnhostableAction::CompletionCommand),
        Action::IssueState
        | Action::OpenIssue
        | Action::Comment
        | Action::CloseIssue { .. }
        | Action::Worktree
        | Action::Finalize
        | Action::Push
        | Action::PullRequest
        | Action::Checks
        | Action::Merge
        | Action::CleanUp => Some(UnhostableAction::Delivery),
        Action::Command { .. }
        | Action::FileState { .. }
        | Action::SaveReports
        | Action::WriteFile { .. }
        | Action::Log => None,
    })
}

impl SubmittedRun {
    /// Freezes a run in a directory that the workers can read.
    pub fn create(
        runs: &Runs,
        spec: RunSpec,
        connections: &Connections,
        clock: &Clock,
    ) -> Result<Self, DriverError> {
        let spec = SecretRedactor::of(connections).spec(spec)?;
        let (directory, reports) = runs.create(&spec.slug, clock.now(), &spec.reports)?;
        let start = freeze(&directory, &reports, &spec);
        let start = start.inspect_err(|_| runs.discard(&directory, &reports))?;
        Ok(Self { directory, start })
    }

    /// Removes a run that the server did not take.
    pub fn discard(self, runs: &Runs) {
        runs.discard(&self.directory, Path::new(&self.start.report_directory));
    }
}

/// The records of a run that a server drove, in the batches of its loop.
#[derive(Debug, Default)]
pub struct PulledRun {
    pub batches: Vec<Vec<(Moment, RecordEntry)>>,
}

impl PulledRun {
    /// Writes the journal of the run, with its frozen files and texts, into a project of this machine. Replaces an
    /// earlier copy.
    pub fn write(self, from: &RunDirectory, to: &RunDirectory) -> Result<(), DriverError> {
        from.copy_frozen(to)?;
        let mut seq = 0;
        let mut numbered = |(at, entry): (Moment, RecordEntry)| {
            seq += 1;
            Record { seq, at, entry }
        };
        let batches = self.batches.into_iter();
        let batches: Vec<Vec<Record>> =
            batches.map(|batch| batch.into_iter().map(&mut numbered).collect()).collect();
        journal::copy(&to.journal(), to.disk(), &batches)?;
        Ok(())
    }
}
