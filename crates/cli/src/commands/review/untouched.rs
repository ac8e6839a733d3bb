//! A check that reviewers do not change files, phase by phase.

use std::path::Path;

use saihai::{Git, Tracked};
use saihai_config::review::Plan;
use saihai_model::{Decision, Entry, Fact, Record, StageId, Workflow};

use crate::terminal::visible_line;

/// Maximum number of files named in a warning.
const NAMED: usize = 5;

/// The files under review, compared with their state at the start of the current phase.
pub(crate) struct Untouched<'a> {
    workflow: &'a Workflow,
    phase: Option<StageId>,
    /// `None` before the review starts, and if git cannot report the state of files.
    tracked: Option<Tracked>,
}

impl<'a> Untouched<'a> {
    /// Creates the check for a review. Returns nothing for other runs.
    pub(crate) fn of(workflow: &'a Workflow) -> Option<Self> {
        Plan::of(workflow).map(|_| Self { workflow, phase: None, tracked: None })
    }

    /// Reads the directory and the current phase from an earlier record. The caller has not asked any agent yet.
    pub(crate) fn remember(&mut self, record: &Record) {
        match &record.entry {
            Entry::Fact(Fact::Started(start)) => {
                let git = Git::open(Path::new(&start.directory)).ok().flatten();
                self.tracked = git.and_then(|git| Tracked::now(git).ok());
            }
            Entry::Decision(Decision::Entered { stage, .. }) => self.phase = Some(stage.clone()),
            Entry::Fact(_) | Entry::Decision(_) => {}
        }
    }

    /// Handles a record. Returns a warning about changed files when a phase ends, before the next one starts.
    pub(crate) fn hear(&mut self, record: &Record) -> Option<String> {
        let is_next = matches!(&record.entry, Entry::Decision(Decision::Entered { .. }));
        let said = if is_next { self.said() } else { None };
        self.remember(record);
        said
    }

    /// Returns a warning about changes since the phase started, and resets the comparison.
    pub(crate) fn said(&mut self) -> Option<String> {
        let phase = self.phase.as_ref()?;
        self.workflow.stages.get(phase)?.turns().first()?;
        let changed = self.tracked.as_mut()?.take_changed().unwrap_or_default();
        if changed.is_empty() {
            return None;
        }
        let named: Vec<String> =
            changed.iter().take(NAMED).map(|path| format!("`{}`", visible_line(path))).collect();
        let more = match changed.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("files changed while phase `{phase}` reviewed them: {}{more}", named.join(", ")))
    }
}
