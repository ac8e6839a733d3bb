//! Summaries of iterations with their texts (S-53).

use saihai_model::Json;
use saihai_view::{ActionResult, IterationView};
use serde::Serialize;

use crate::driver::read_tools;
use crate::{DriverError, LoadedRun, RunDirectory};

/// The summary of an iteration with its texts, as published.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationSummary {
    pub iteration: u32,
    /// The session of the last reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The messages in order, without blank ones.
    pub assistant_responses: Vec<String>,
    /// The tool calls in order.
    pub tools_used: Vec<PublishedTool>,
    pub detected_actions: Vec<DetectedAction>,
    /// The results of blocks that request an action.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub action_results: Vec<ActionResult>,
    pub errors: Vec<String>,
    pub timestamp: String,
    pub duration_ms: u64,
}

/// A block in a reply, as published (S-64).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DetectedAction {
    #[serde(rename = "type")]
    pub kind: String,
    /// The content, empty if the block has none.
    pub content: Json,
    pub metadata: serde_json::Map<String, Json>,
}

impl DetectedAction {
    /// Reads the JSON of a block.
    fn of(block: &Json) -> Self {
        let mut metadata = block.as_object().cloned().unwrap_or_default();
        let kind = metadata.remove("type").and_then(|kind| kind.as_str().map(str::to_owned));
        let content = metadata.remove("content").unwrap_or_else(|| Json::from(""));
        Self { kind: kind.unwrap_or_default(), content, metadata }
    }
}

/// A tool call, as published.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PublishedTool {
    pub name: String,
    pub input: Option<Json>,
    /// The result, if there is one.
    pub output: Option<Json>,
    pub duration_ms: u64,
}

impl LoadedRun {
    /// Returns a summary of each iteration, the current one included.
    pub fn iterations(&self) -> Result<Vec<IterationSummary>, DriverError> {
        self.view.iteration_views().iter().map(|view| summarize(view, &self.directory)).collect()
    }
}

/// Loads the texts of an iteration.
pub(crate) fn summarize(
    view: &IterationView,
    directory: &RunDirectory,
) -> Result<IterationSummary, DriverError> {
    let mut said = Vec::new();
    for (text, lengths) in &view.said {
        said.extend(messages(&directory.text(text)?, lengths));
    }
    said.retain(|text| !text.trim().is_empty());
    let tools = read_tools(directory, &view.tools)?.into_iter().map(|tool| PublishedTool {
        name: tool.name,
        input: tool.input,
        output: tool.output,
        duration_ms: tool.duration_ms,
    });
    Ok(IterationSummary {
        iteration: view.iteration,
        session_id: view.session.clone(),
        assistant_responses: said,
        tools_used: tools.collect(),
        detected_actions: view.actions.iter().map(DetectedAction::of).collect(),
        action_results: view.results.clone(),
        errors: view.errors.clone(),
        timestamp: crate::journal::rfc3339(view.began),
        duration_ms: view.last.since(view.began).0,
    })
}

/// Splits a joined text into its messages. Returns the whole text if the lengths are unknown.
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
