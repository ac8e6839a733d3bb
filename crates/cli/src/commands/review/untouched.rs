//! Reviewers only look: what changed in the files all the same, phase by phase.

use std::path::Path;

use saihai::{Git, Tracked};
use saihai_config::review::Plan;
use saihai_model::{Decision, Entry, Fact, Record, StageId, Workflow};

use crate::terminal::visible_line;

/// How many files a warning names.
const NAMED: usize = 5;

/// The files that reviewers look at, held against what they were when the phase under way began.
pub(crate) struct Untouched<'a> {
    workflow: &'a Workflow,
    phase: Option<StageId>,
    /// Nothing before the review has begun, and where git cannot say how files were.
    tracked: Option<Tracked>,
}

impl<'a> Untouched<'a> {
    /// Those of a review; nothing for other runs.
    pub(crate) fn of(workflow: &'a Workflow) -> Option<Self> {
        Plan::of(workflow).map(|_| Self { workflow, phase: None, tracked: None })
    }

    /// Learns where the agents look, and in which phase the review is. Nobody has been asked yet by whoever says so.
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

    /// Hears what happens. When a phase has ended and before the next one asks anybody, says what changed in it.
    pub(crate) fn hear(&mut self, record: &Record) -> Option<String> {
        let is_next = matches!(&record.entry, Entry::Decision(Decision::Entered { .. }));
        let said = if is_next { self.said() } else { None };
        self.remember(record);
        said
    }

    /// What changed since the phase began, as a warning; from now on it is no news.
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
