//! The return value of a run: success or failure, and the reason.

use saihai_model::{
    Action, By, Completion, Ending, Hold, Json, StageId, Verdict, Watch, Workflow, failure_code,
};
use saihai_view::{ActionResult, IterationView, RunState};
use serde::Serialize;

use crate::{Error, Finish, LoadedRun, RunDirectory, tools_used};

/// The return value of a run (S-26). `iterations` always equals the number of `summaries`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// True if the work is done.
    pub success: bool,
    /// The reason for success, or the code of the failure.
    pub completion_reason: String,
    /// The error message, present exactly on failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub iterations: usize,
    pub summaries: Vec<ToldSummary>,
}

/// The summary of an iteration with its texts, as published.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToldSummary {
    pub iteration: u32,
    /// The session of the last reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The messages in order, without blank ones.
    pub assistant_responses: Vec<String>,
    /// The tool calls in order.
    pub tools_used: Vec<ToldTool>,
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
pub struct ToldTool {
    pub name: String,
    pub input: Option<Json>,
    /// The result, if there is one.
    pub output: Option<Json>,
    pub duration_ms: u64,
}

impl LoadedRun {
    /// Returns the result of the run so far.
    pub fn result(&self) -> Result<RunResult, Error> {
        let views = self.view.iteration_views();
        let summaries: Vec<ToldSummary> =
            views.iter().map(|view| told(view, &self.directory)).collect::<Result<_, Error>>()?;
        let iterations = summaries.len();
        let (success, completion_reason, error) = match &self.state {
            RunState::Ended { ending: Ending::Completed(reason) } => (true, reason.clone(), None),
            RunState::Ended { ending } => {
                let words =
                    failure_words(&self.workflow, ending, self.view.last_exit(), self.last_violations());
                (false, word(ending).to_owned(), Some(words.unwrap_or_else(|| said_no(ending))))
            }
            RunState::Parked { hold, .. } => {
                (false, waits(hold).to_owned(), Some(self.held(hold, iterations)))
            }
            RunState::Running { .. } | RunState::Interrupted | RunState::Ready => {
                (false, "waiting".to_owned(), Some("the run is not over".to_owned()))
            }
        };
        Ok(RunResult { success, completion_reason, error, iterations, summaries })
    }

    /// Returns the iteration under way, or the last one.
    pub(crate) fn last_iteration(&self) -> Result<Option<ToldSummary>, Error> {
        self.view.iteration_views().last().map(|view| told(view, &self.directory)).transpose()
    }

    fn held(&self, hold: &Hold, iterations: usize) -> String {
        match hold {
            Hold::Limit(word) => limit_words(word, iterations),
            Hold::Person(call) => format!("a person is asked at `{}`", call.stage),
            Hold::Outside(_, reason) => reason.clone(),
            Hold::Budget => "the budget is spent".to_owned(),
            Hold::Interrupted | Hold::Cancelling => "the run was interrupted".to_owned(),
            Hold::Storage(_) => match &self.view.last_storage_failure {
                Some((path, message)) => format!("cannot write `{path}`: {message}"),
                None => hold.reason().to_owned(),
            },
            Hold::Until(..) | Hold::Provider(..) => match &self.view.last_failure {
                Some(failure) => format!("{}: {}", failure.class.name(), failure.message),
                None => hold.reason().to_owned(),
            },
        }
    }
}

impl RunResult {
    /// Returns the result of a run that was just driven. A failed disk has no record of its own error, so
    /// only the driver knows it.
    pub fn after(directory: &RunDirectory, finish: &Finish) -> Result<Self, Error> {
        let result = LoadedRun::read(directory)?.result()?;
        Ok(match (&finish.storage, &finish.hold) {
            (Some(why), Some(hold)) => {
                let completion_reason = waits(hold).to_owned();
                Self { success: false, completion_reason, error: Some(why.clone()), ..result }
            }
            (Some(_) | None, _) => result,
        })
    }
}

/// Loads the texts of an iteration.
pub(crate) fn told(view: &IterationView, directory: &RunDirectory) -> Result<ToldSummary, Error> {
    let mut said = Vec::new();
    for (text, lengths) in &view.said {
        said.extend(messages(&directory.text(text)?, lengths));
    }
    said.retain(|text| !text.trim().is_empty());
    let tools = tools_used::read(directory, &view.tools)?.into_iter().map(|tool| ToldTool {
        name: tool.name,
        input: tool.input,
        output: tool.output,
        duration_ms: tool.duration_ms,
    });
    Ok(ToldSummary {
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

pub(super) fn limit_words(word: &str, iterations: usize) -> String {
    match word {
        "emergency_stop" => format!("Hard limit exceeded: {iterations}"),
        "max_iterations" => format!("Iteration limit reached: {iterations}"),
        "timeout" => "the time of the run is over".to_owned(),
        other => format!("limit `{other}` reached"),
    }
}

/// Describes the failure of a run, if more is known than its code.
pub fn failure_words(
    workflow: &Workflow,
    ending: &Ending,
    exited: Option<(&StageId, &Verdict)>,
    violations: &[String],
) -> Option<String> {
    let Ending::Failed(reason) = ending else { return None };
    let at = exited.map_or("", |(stage, _)| stage.as_str());
    match failure_code(reason) {
        ("retries_exhausted", about) => {
            let (step, times) = about.rsplit_once(' ').unwrap_or((about, ""));
            Some(format!("Retries exhausted: {step} ({times})"))
        }
        ("validation_failed", about) => {
            let (step, validator) = about.rsplit_once(' ').unwrap_or((about, ""));
            Some(format!("step `{step}` failed: the validator `{validator}` is not satisfied"))
        }
        ("missing_input", input) => Some(format!("MissingRequiredInput: {input}")),
        ("completion_failed", why) => Some(format!("whether the work is done cannot be asked: {why}")),
        ("flow_ended", _) => {
            let open = open_words(workflow, &workflow.completion);
            Some(format!("flow ended at {at}, but {}", open.join(" and ")))
        }
        ("step_failed", step) => {
            // Only the monitor for self-transitions names no step.
            if let (true, Some(times)) = (step.is_empty(), self_entries(workflow)) {
                return Some(format!(
                    "step `{at}` failed: it led to itself more than {times} times in a row"
                ));
            }
            let at = if step.is_empty() { at } else { step };
            let by = exited.map(|(_, verdict)| verdict.by);
            Some(match by {
                Some(By::Output) => {
                    format!("step `{at}` failed: its output is wrong: {}", violations.join("; "))
                }
                Some(By::Limit) => format!("step `{at}` failed: it has had its rounds"),
                Some(_) | None => format!("step `{at}` failed"),
            })
        }
        (_, _) => None,
    }
}

/// Returns the limit for transitions of a stage to itself.
fn self_entries(workflow: &Workflow) -> Option<u32> {
    workflow.monitors.iter().find_map(|monitor| match monitor.watches {
        Watch::SelfEntries { times } => Some(times),
        Watch::Cycle { .. } | Watch::Same { .. } | Watch::Silent { .. } => None,
    })
}

/// Describes the open conditions of a completion.
fn open_words(workflow: &Workflow, completion: &Completion) -> Vec<String> {
    match completion {
        Completion::Flow => Vec::new(),
        Completion::Rounds(rounds) => vec![format!("not all of {rounds} iterations were made")],
        Completion::Checks(checks) => vec![format!("not all of {checks} checks were made")],
        Completion::Keyword(keyword) => vec![format!("`{}` was not said", keyword.word)],
        Completion::Signal { kind, .. } => vec![format!("no fitting `{kind}` came")],
        Completion::Phase(phases) => vec![format!("phase `{}` is not reached", phases.terminal.join("`, `"))],
        Completion::Outside(action) => vec![match &action.does {
            Action::IssueState => match workflow.issue {
                Some(number) => format!("issue {number} is open"),
                None => "the issue is open".to_owned(),
            },
            Action::FileState { path, absent: false } => format!("`{path}` is not there"),
            Action::FileState { path, absent: true } => format!("`{path}` is still there"),
            Action::Command { argv, .. } => {
                format!("`{}` says that it is not complete", argv.first().map_or("", String::as_str))
            }
            Action::SaveReports
            | Action::WriteFile { .. }
            | Action::Log
            | Action::OpenIssue
            | Action::Comment
            | Action::CloseIssue { .. }
            | Action::Worktree
            | Action::Finalize
            | Action::Push
            | Action::PullRequest
            | Action::Checks
            | Action::Merge
            | Action::CleanUp
            | Action::ReviewReport { .. } => "what is waited for has not come".to_owned(),
        }],
        Completion::All(parts) | Completion::Any(parts) | Completion::First(parts) => {
            parts.iter().flat_map(|part| open_words(workflow, part)).collect()
        }
    }
}

const UNDELIVERED: [&str; 13] = [
    "not-ours",
    "delivery",
    "lock-lost",
    "git",
    "forge",
    "push-rejected",
    "checks",
    "verify",
    "branch-changed",
    "history-rewritten",
    "embedded-repository",
    "large-file",
    "secret",
];

/// Returns the code of an unsuccessful ending.
fn word(ending: &Ending) -> &str {
    match ending {
        Ending::Incomplete(_) => "budget",
        Ending::Undelivered => "provider_failed",
        // A failed delivery is a failure outside the definition.
        Ending::Failed(reason) if UNDELIVERED.contains(&failure_code(reason).0) => "provider_failed",
        Ending::Completed(_) | Ending::Failed(_) | Ending::Declined | Ending::Cancelled => ending.reason(),
    }
}

fn said_no(ending: &Ending) -> String {
    match ending {
        Ending::Declined => "a person said no".to_owned(),
        Ending::Cancelled => "the run was cancelled".to_owned(),
        Ending::Undelivered => "the work could not be handed over".to_owned(),
        Ending::Completed(_) | Ending::Failed(_) | Ending::Incomplete(_) => {
            format!("{}: {}", ending.outcome(), ending.reason())
        }
    }
}

/// Returns the code of a hold.
fn waits(hold: &Hold) -> &str {
    match hold {
        Hold::Person(_) | Hold::Outside(..) => "waiting",
        Hold::Until(..) | Hold::Provider(..) => "provider_failed",
        Hold::Interrupted | Hold::Cancelling => "cancelled",
        Hold::Limit(_) | Hold::Budget | Hold::Storage(_) => hold.reason(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A failed run reports one of the codes of its loop, even if the failure was outside the loop.
    #[test]
    fn what_could_not_be_delivered_failed_outside() {
        let workflow =
            saihai_model::Workflow { entry: "a".into(), ..crate::testing::hats(crate::testing::PAIR) };
        let delivery = saihai_config::delivery::Delivery {
            about: String::new(),
            bound: String::new(),
            gates: Vec::new(),
            mode: saihai_model::GateMode::Auto,
            gate_timeout: None,
            handing: saihai_config::delivery::Handing::PullRequest { checks: saihai_model::Millis(1) },
            merge: true,
            comment: true,
        };
        let around = saihai_config::delivery::deliver(workflow, &delivery);
        let added = around.stages.iter().filter(|(id, _)| id.as_str().starts_with("deliver/"));
        let mut ends = 0;
        for (_, stage) in added {
            let saihai_model::Exit::Rules { rules, otherwise, .. } = &stage.exit else { continue };
            for target in rules.iter().map(|rule| &rule.then).chain([otherwise]) {
                if let saihai_model::Target::End(ending @ Ending::Failed(reason)) = target {
                    ends += 1;
                    assert_eq!(word(ending), "provider_failed", "{reason}");
                }
            }
        }
        assert!(ends > 10, "{ends}");
        assert_eq!(word(&Ending::Failed("retries_exhausted a 3".to_owned())), "step_failed");
    }
}
