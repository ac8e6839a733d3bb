//! What happened in each iteration of a run.

use std::collections::BTreeMap;

use saihai_model::{
    CallFailed, CallId, Decision, Entry, Fact, Json, Moment, Outcome, Place, Purpose, Record, Replied, Text,
    ToolUsed,
};
use serde::Serialize;

use crate::{Error, RunDirectory, tools_used};

/// Folds records into one summary for each iteration, those whose turn failed included (S-26, S-53).
#[derive(Debug, Default)]
pub struct Iterations {
    done: Vec<IterationSummary>,
    /// Of the iteration under way: where each call belongs.
    calls: BTreeMap<CallId, Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Work, or its correction.
    Work,
    /// An action that a block asked for.
    Action,
}

/// What happened in an iteration. Check questions are no part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationSummary {
    /// Which, from 1.
    pub iteration: u32,
    /// The session of its last reply.
    pub session: Option<String>,
    /// What was said, in order: a text and the lengths of the messages it is joined of.
    said: Vec<(Text, Vec<u64>)>,
    /// The tools that were used, in order.
    pub tools: Vec<ToolUsed>,
    /// The blocks that were found.
    pub actions: Vec<Json>,
    /// What came of those that ask for an action.
    pub results: Vec<ActionResult>,
    /// What went wrong, in words.
    pub errors: Vec<String>,
    /// When it began.
    pub began: Moment,
    /// When something last happened in it.
    pub last: Moment,
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionResult {
    /// Whether it was done.
    pub success: bool,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A summary with its texts, as it is published.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToldSummary {
    /// Which, from 1.
    pub iteration: u32,
    /// The session of its last reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What was said, in order; blank texts are left out.
    pub assistant_responses: Vec<String>,
    /// The tools that were used, in order.
    pub tools_used: Vec<ToldTool>,
    /// The blocks that were found.
    pub detected_actions: Vec<DetectedAction>,
    /// What came of those that ask for an action.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub action_results: Vec<ActionResult>,
    /// What went wrong.
    pub errors: Vec<String>,
    /// When it began.
    pub timestamp: String,
    /// How long it took.
    pub duration_ms: u64,
}

/// A block that was found in a reply, as it is published (S-64).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DetectedAction {
    /// What kind of block it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says; empty where it says nothing.
    pub content: Json,
    /// Everything else in it.
    pub metadata: serde_json::Map<String, Json>,
}

impl DetectedAction {
    /// What a block's JSON says.
    fn of(block: &Json) -> Self {
        let mut metadata = block.as_object().cloned().unwrap_or_default();
        let kind = metadata.remove("type").and_then(|kind| kind.as_str().map(str::to_owned));
        let content = metadata.remove("content").unwrap_or_else(|| Json::from(""));
        Self { kind: kind.unwrap_or_default(), content, metadata }
    }
}

/// A use of a tool, as it is published.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToldTool {
    /// Its name.
    pub name: String,
    /// What it was given.
    pub input: Option<Json>,
    /// What it answered, if it did.
    pub output: Option<Json>,
    /// How long it took.
    pub duration_ms: u64,
}

impl Iterations {
    /// Takes the next record.
    pub fn see(&mut self, record: &Record) {
        match &record.entry {
            Entry::Decision(Decision::Round { iteration, .. }) => {
                self.calls.clear();
                self.done.push(IterationSummary::new(*iteration, record.at));
            }
            Entry::Decision(Decision::Called { call, place, purpose }) => {
                let kind = match (place, purpose) {
                    (Place::Main(_), Some(Purpose::Work | Purpose::Correction)) => Kind::Work,
                    (Place::Block(_), _) => Kind::Action,
                    (
                        Place::Main(_)
                        | Place::Check(_)
                        | Place::Exit
                        | Place::Report(_)
                        | Place::Proof(_)
                        | Place::Outside(_),
                        _,
                    ) => return,
                };
                self.calls.insert(call.clone(), kind);
            }
            Entry::Decision(_) => {}
            Entry::Fact(fact) => self.see_fact(fact, record.at),
        }
    }

    fn see_fact(&mut self, fact: &Fact, at: Moment) {
        let kind = |call: &CallId| self.calls.get(call).copied();
        let Some(summary) = self.done.last_mut() else { return };
        match fact {
            Fact::Replied(reply) if kind(&reply.call) == Some(Kind::Work) => summary.replied(reply),
            Fact::Failed(failed) if kind(&failed.call) == Some(Kind::Work) => summary.failed(failed),
            Fact::Performed { call, outcome } if kind(call) == Some(Kind::Action) => {
                summary.performed(outcome)
            }
            Fact::Started(_)
            | Fact::Asked { .. }
            | Fact::Replied(_)
            | Fact::Failed(_)
            | Fact::Performed { .. }
            | Fact::Answered(_)
            | Fact::Woke
            | Fact::Reopened
            | Fact::Resumed(_)
            | Fact::Interrupted { .. }
            | Fact::StorageFailed { .. }
            | Fact::Cancelled { .. } => return,
        }
        summary.last = at;
    }

    /// The summaries, in order.
    pub fn finish(self) -> Vec<IterationSummary> {
        self.done
    }
}

impl IterationSummary {
    fn new(iteration: u32, began: Moment) -> Self {
        Self {
            iteration,
            session: None,
            said: Vec::new(),
            tools: Vec::new(),
            actions: Vec::new(),
            results: Vec::new(),
            errors: Vec::new(),
            began,
            last: began,
        }
    }

    fn replied(&mut self, reply: &Replied) {
        self.session = reply.session.clone().or(self.session.take());
        self.said.push(match &reply.spoken {
            Some(spoken) => (spoken.clone(), reply.messages.clone()),
            None => (reply.text.clone(), Vec::new()),
        });
        for tool in &reply.tools_used {
            if tool.output.is_none() && tool.long_output.is_none() {
                self.errors.push(format!("tool `{}` gave no result", tool.name));
            }
            self.tools.push(tool.clone());
        }
        self.actions.extend(reply.reading.blocks.iter().map(|block| block.value.clone()));
        self.errors.extend(reply.reading.warnings.iter().cloned());
        self.errors.extend(reply.reading.violations.iter().map(|violation| format!("output: {violation}")));
    }

    fn failed(&mut self, failed: &CallFailed) {
        self.errors.push(format!("{}: {}", failed.failure.class.name(), failed.failure.message));
    }

    fn performed(&mut self, outcome: &Outcome) {
        let failed = |error: String| ActionResult { success: false, result: None, error: Some(error) };
        self.results.push(match outcome {
            Outcome::Done { output, .. } => {
                let result = (!output.is_empty()).then(|| Json::from_iter(output.clone()));
                ActionResult { success: true, result, error: None }
            }
            Outcome::NotYet | Outcome::Delayed { .. } => return,
            Outcome::Waiting { reason } => failed(reason.clone()),
            Outcome::Failed(failure) => failed(failure.message.clone()),
        });
    }

    /// The summary with its texts.
    ///
    /// # Errors
    /// A text of the run is damaged.
    pub fn told(&self, directory: &RunDirectory) -> Result<ToldSummary, Error> {
        let mut said = Vec::new();
        for (text, lengths) in &self.said {
            said.extend(messages(&directory.text(text)?, lengths));
        }
        said.retain(|text| !text.trim().is_empty());
        let tools = tools_used::read(directory, &self.tools)?.into_iter().map(|tool| ToldTool {
            name: tool.name,
            input: tool.input,
            output: tool.output,
            duration_ms: tool.duration_ms,
        });
        Ok(ToldSummary {
            iteration: self.iteration,
            session_id: self.session.clone(),
            assistant_responses: said,
            tools_used: tools.collect(),
            detected_actions: self.actions.iter().map(DetectedAction::of).collect(),
            action_results: self.results.clone(),
            errors: self.errors.clone(),
            timestamp: crate::journal::rfc3339(self.began),
            duration_ms: self.last.since(self.began).0,
        })
    }
}

/// The messages a text is joined of by line breaks; the whole text where that is not known.
fn messages(text: &str, lengths: &[u64]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    for length in lengths {
        let end = usize::try_from(*length).ok().and_then(|length| length.checked_add(at));
        let Some((message, end)) = end.and_then(|end| Some((text.get(at..end)?, end))) else {
            return vec![text.to_owned()];
        };
        found.push(message.to_owned());
        at = end.saturating_add(1);
    }
    if found.is_empty() { vec![text.to_owned()] } else { found }
}

#[cfg(test)]
mod tests;
