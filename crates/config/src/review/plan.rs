//! What was decided about a review before anybody is asked.

use saihai_model::{Action, Activity, Json, Workflow};
use serde::{Deserialize, Serialize};

use super::{AgentOrigin, LoadResult, Selection};
use crate::Places;

/// What was decided about a review before anybody is asked. It is frozen into the workflow, so that the report needs
/// nothing but the run, and whoever asks later why an agent took part is told what was true then.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// The least severity that fails the review.
    pub fail_on: String,
    /// How near to the change a finding must be to fail it.
    pub fail_scope: String,
    /// Findings less certain are put aside.
    pub min_confidence: u8,
    /// Whether every agent must deliver.
    pub require_all: bool,
    /// Whether it does not matter that something was left out.
    pub allow_partial: bool,
    /// Whether what the change says of its own review does not count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub distrusts_change: bool,
    /// The language of the report.
    pub language: String,
    /// Every agent that was considered, in the order in which they work.
    pub selection: Vec<PlannedAgent>,
    pub load_errors: Vec<PlannedError>,
    /// What agents are not shown.
    pub left_out: Vec<PlannedGap>,
    /// What a person should know first.
    pub warnings: Vec<String>,
    /// What the project decided not to hear of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignores: Vec<PlannedIgnore>,
    /// The branch that was reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit whose files were put into a directory of their own, in which agents look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// How the report is printed, where that is not the usual way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The files it is written to as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<PlannedFile>,
}

/// A file that the report is written to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFile {
    pub format: String,
    pub path: String,
    /// It is what later reviews are compared with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub baseline: bool,
    /// The root of the project, where it lies in there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

/// An agent that was considered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedAgent {
    pub agent: String,
    /// What it is for, in one line.
    pub description: String,
    /// Where its definition comes from: `built-in`, or its file.
    pub origin: String,
    pub phase: String,
    pub selected: bool,
    pub why: String,
    /// The files each of its turns is shown; nothing for one turn that is shown all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Vec<String>>,
}

/// A definition that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedError {
    pub file: String,
    /// What is wrong with it.
    pub message: String,
}

/// Something an agent is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedGap {
    pub file: String,
    /// The agent; absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Why: `binary`, `submodule` or `size`.
    pub reason: String,
}

/// A decision not to hear of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedIgnore {
    /// The finding of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What is found in files this pattern takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub reason: String,
    /// The last day on which it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The file in which it is written.
    pub file: String,
    /// The lines on which it is written, first and last.
    pub lines: (u32, u32),
}

impl Plan {
    /// The plan of a workflow, where it is a review.
    pub fn of(workflow: &Workflow) -> Option<Self> {
        let stage = workflow.stage(workflow.afterwards.as_ref()?)?;
        match &stage.does {
            Activity::Action(action) => match &action.does {
                Action::ReviewReport { settings } => Self::read(settings),
                Action::Command { .. }
                | Action::IssueState
                | Action::FileState { .. }
                | Action::SaveReports
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
                | Action::CleanUp => None,
            },
            Activity::Turns { .. } | Activity::Gate(_) => None,
        }
    }

    /// The plan as it was frozen.
    pub fn read(settings: &Json) -> Option<Self> {
        serde_json::from_value(settings.clone()).ok()
    }
}

/// Every agent that was considered, with its reason.
pub(super) fn considered(selection: &Selection<'_>, places: &Places) -> Vec<PlannedAgent> {
    let planned = selection.agents.iter().map(|one| {
        let definition = &one.agent.definition;
        PlannedAgent {
            agent: definition.name.clone(),
            description: definition.description.clone(),
            origin: match &one.agent.origin {
                AgentOrigin::BuiltIn | AgentOrigin::UneditedCopy(_) => "built-in".to_owned(),
                AgentOrigin::Custom { path, .. } => places.shown(path),
            },
            phase: definition.phase.name().to_owned(),
            selected: one.verdict.is_ok(),
            why: match &one.verdict {
                Ok(why) => why.words(),
                Err(not) => not.words().to_owned(),
            },
            shown: Vec::new(),
        }
    });
    planned.collect()
}

/// Every file that was skipped, each with the first of its errors.
pub(super) fn refused(loaded: &LoadResult, places: &Places) -> Vec<PlannedError> {
    let errors = loaded.errors.iter().flat_map(|error| {
        let file = error.files.first().map(|file| places.shown(file)).unwrap_or_default();
        error
            .diagnostics
            .iter()
            .map(move |diagnostic| PlannedError { file: file.clone(), message: diagnostic.message.clone() })
    });
    errors.collect()
}
