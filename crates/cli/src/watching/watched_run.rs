use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use saihai::{Glimpse, Glimpses, JournalReader, LoadedRun, RunDirectory};
use saihai_model::CallId;
use saihai_view::RunView;

use crate::error::CommandError;
use crate::project::Project;

/// A run and the project that it belongs to. Runs of two projects can have the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectRun {
    pub(crate) root: PathBuf,
    pub(crate) id: String,
}

impl ProjectRun {
    pub(crate) fn of(directory: &RunDirectory) -> Self {
        Self { root: directory.project_root().to_owned(), id: directory.id().to_owned() }
    }

    pub(crate) fn find(&self) -> Result<(Project, RunDirectory), CommandError> {
        let project = Project::find_at(&self.root)?;
        let directory = project.runs().find(&self.id)?;
        Ok((project, directory))
    }
}

/// Output of running turns so far.
pub(crate) type LiveTexts = BTreeMap<CallId, String>;

/// A run that a screen shows in detail: its records, and the output of its running turns.
pub(crate) struct WatchedRun {
    pub(crate) run: LoadedRun,
    pub(crate) live: LiveTexts,
    journal: JournalReader,
    glimpses: Glimpses,
    /// The question of the open gate. Rendering it reads the whole run.
    question: Option<(CallId, String)>,
}

/// Bytes of the output of a running turn that are kept. A turn can run for hours.
const LIVE_BYTES: usize = 256 * 1024;

/// Drops the start of a long text. It drops many bytes at once, so that most looks copy nothing.
fn keep_end(text: &mut String) {
    if text.len() > 2 * LIVE_BYTES {
        let start = text.len() - LIVE_BYTES;
        let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        text.drain(..start);
    }
}

/// The result of a look at a run.
#[derive(Debug, Default)]
pub(crate) struct RunNews {
    pub(crate) has_records: bool,
    /// Running calls with new output.
    pub(crate) output: BTreeSet<CallId>,
}

impl WatchedRun {
    pub(crate) fn open(directory: &RunDirectory) -> Result<Self, CommandError> {
        let mut journal = directory.open_journal()?;
        let mut view: Option<RunView> = None;
        while let Some(records) = journal.next_records()? {
            for record in records {
                match &mut view {
                    Some(view) => view.apply(record),
                    None => view = RunView::begin(&record),
                }
            }
        }
        let view = view.ok_or_else(|| directory.unborn())?;
        let workflow = directory.frozen_workflow(&view.start)?;
        Ok(Self {
            glimpses: directory.glimpses(),
            run: LoadedRun::of_view(directory, &workflow, view),
            journal,
            live: LiveTexts::new(),
            question: None,
        })
    }

    /// Reads new records and output, and who drives the run now.
    pub(crate) fn look(&mut self) -> Result<RunNews, CommandError> {
        let mut news = RunNews::default();
        self.journal.catch_up()?;
        while let Some(records) = self.journal.next_records()? {
            news.has_records = true;
            for record in records {
                self.run.view.apply(record);
            }
        }
        let view = &self.run.view;
        self.live.retain(|call, _| view.call(call).is_some_and(|call| call.reply().is_none()));
        for (call, shows) in self.glimpses.look() {
            let text = self.live.entry(call.clone()).or_default();
            match shows {
                Glimpse::Text(more) => text.push_str(&more),
                Glimpse::Does(tool) => {
                    if !text.is_empty() && !text.ends_with('\n') {
                        text.push('\n');
                    }
                    text.push_str(&format!("[{tool}]\n"));
                }
            }
            keep_end(text);
            news.output.insert(call);
        }
        self.run.state = self.run.view.state(self.run.directory.owner());
        Ok(news)
    }

    /// Returns the question of the open gate. It is read once per gate.
    pub(crate) fn question(&mut self) -> Option<&(CallId, String)> {
        let gate = self.run.view.open_gate(&self.run.workflow);
        match (gate, &self.question) {
            (None, _) => self.question = None,
            (Some(gate), Some((call, _))) if gate.call == *call => {}
            (Some(_), _) => {
                let asked = saihai::open_gate(&self.run.directory).ok();
                self.question = asked.map(|(call, question, _)| (call, question));
            }
        }
        self.question.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // V-8: a page that is open for a day
    #[test]
    fn the_output_of_a_long_turn_is_bounded() {
        let mut text = String::new();
        for line in 0..100_000 {
            text.push_str(&format!("行 {line}\n"));
            keep_end(&mut text);
            assert!(text.len() <= 2 * LIVE_BYTES);
        }
        assert!(text.len() >= LIVE_BYTES - 4, "{}", text.len());
        assert!(text.ends_with("行 99998\n行 99999\n"));
    }
}
