//! What a run was, as a script would expect it of another one.

use std::collections::BTreeMap;

use saihai_model::{CallId, Decision, Entry, Expectation, ExpectedPrompt, Fact, Start, Text};

use crate::blobs::sha256;
use crate::{Error, RunDirectory};

/// How a run ended so far, the stages it entered and the digests of what it asked. A prompt that names the run's own
/// directories counts as the same in every run.
///
/// # Errors
/// The run cannot be read or is damaged.
pub fn expectation(directory: &RunDirectory) -> Result<Expectation, Error> {
    let start = directory.start()?;
    let mut outcome = None;
    let mut stages = Vec::new();
    let mut asked: Vec<(CallId, Text)> = Vec::new();
    let mut places: BTreeMap<CallId, usize> = BTreeMap::new();
    directory.read(&mut |record| match record.entry {
        Entry::Decision(Decision::Entered { stage, .. }) => stages.push(stage),
        Entry::Decision(Decision::Finished { ending }) => outcome = Some(ending.outcome().to_owned()),
        Entry::Fact(Fact::Asked { call, prompt: Some(prompt), .. }) => {
            // What a call was asked last is what it answered.
            match places.get(&call) {
                Some(place) => asked[*place].1 = prompt,
                None => {
                    places.insert(call.clone(), asked.len());
                    asked.push((call, prompt));
                }
            }
        }
        Entry::Decision(_) | Entry::Fact(_) => {}
    })?;
    let prompts = asked.into_iter().map(|(call, prompt)| {
        let prompt = without_directories(&directory.text(&prompt)?, &start);
        Ok(ExpectedPrompt { call, sha256: sha256(prompt.as_bytes()) })
    });
    Ok(Expectation { outcome, stages: Some(stages), prompts: prompts.collect::<Result<_, Error>>()? })
}

/// Reports lie below the project as a rule, so they come first.
fn without_directories(prompt: &str, start: &Start) -> String {
    let named = [(&start.report_directory, "{report_directory}"), (&start.directory, "{directory}")];
    named
        .into_iter()
        .filter(|(directory, _)| directory.len() > 1)
        .fold(prompt.to_owned(), |prompt, (directory, name)| prompt.replace(directory.as_str(), name))
}
