//! The expectations of a script that replays a run.

use saihai_model::{Expectation, ExpectedPrompt, Start};
use saihai_view::RunState;

use crate::blobs::sha256;
use crate::{Error, LoadedRun};

impl LoadedRun {
    /// Returns the outcome so far, the entered stages and the digests of the prompts. Prompts that differ
    /// only in the run's directories have the same digest.
    pub fn expectation(&self) -> Result<Expectation, Error> {
        let outcome = match &self.state {
            RunState::Ended { ending } => Some(ending.outcome().to_owned()),
            RunState::Running { .. } | RunState::Interrupted | RunState::Ready | RunState::Parked { .. } => {
                None
            }
        };
        let stages = self.view.visits.iter().map(|visit| visit.stage.clone()).collect();
        // A call answers its last prompt, but calls are listed by their first prompt.
        let mut calls: Vec<_> = self.view.calls.iter().filter(|call| call.prompt().is_some()).collect();
        calls.sort_by_key(|call| {
            call.attempts.iter().find(|attempt| attempt.prompt.is_some()).map(|one| one.seq)
        });
        let prompts =
            calls.into_iter().filter_map(|call| Some((call, call.prompt()?))).map(|(call, prompt)| {
                let prompt = without_directories(&self.directory.text(prompt)?, &self.view.start);
                Ok(ExpectedPrompt { call: call.id.clone(), sha256: sha256(prompt.as_bytes()) })
            });
        Ok(Expectation { outcome, stages: Some(stages), prompts: prompts.collect::<Result<_, Error>>()? })
    }
}

/// Replaces directories by placeholders. The report directory comes first, because it is usually inside the
/// project.
fn without_directories(prompt: &str, start: &Start) -> String {
    let named = [(&start.report_directory, "{report_directory}"), (&start.directory, "{directory}")];
    named
        .into_iter()
        .filter(|(directory, _)| directory.len() > 1)
        .fold(prompt.to_owned(), |prompt, (directory, name)| prompt.replace(directory.as_str(), name))
}
