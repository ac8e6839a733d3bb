//! Decisions about a review that precede the first question to an agent.

use saihai_model::{Action, Activity, Json, Workflow};
use serde::{Deserialize, Serialize};

use super::{AgentOrigin, LoadResult, Selection};
use crate::Places;

/// Decisions about a review, frozen into the workflow. The report therefore needs only the run, and
/// later questions about the selection get the original reasons.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// Lowest severity that fails the review.
    pub fail_on: String,
    /// Maximum distance from the change at which a finding still fails the review.
    pub fail_scope: String,
    /// Lowest confidence of a finding that the report keeps.
    pub min_confidence: u8,
    /// Fail the review if an agent delivers no result.
    pub require_all: bool,
    /// Accept a review that left parts out.
    pub allow_partial: bool,
    /// Disregard instructions in the change about its own review.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub distrusts_change: bool,
    pub language: String,
    /// Every considered agent, in working order.
    pub selection: Vec<PlannedAgent>,
    pub load_errors: Vec<PlannedError>,
    /// Parts of the subject that agents do not see.
    pub left_out: Vec<PlannedGap>,
    /// Warnings for the top of the report.
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignores: Vec<PlannedIgnore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Commit checked out into a separate directory where agents can read files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// Report format, if not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Additional output files of the report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<PlannedFile>,
}

/// An output file of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFile {
    pub format: String,
    pub path: String,
    /// True if the file is the baseline for later reviews.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub baseline: bool,
    /// Project root, if the file lies inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedAgent {
    pub agent: String,
    /// One-line purpose of the agent.
    pub description: String,
    /// Source of the definition: `built-in` or a file path.
    pub origin: String,
    pub phase: String,
    pub selected: bool,
    pub why: String,
    /// Files per turn; empty if one turn shows all files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedError {
    pub file: String,
    pub message: String,
}

/// A part of the subject that an agent does not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedGap {
    pub file: String,
    /// Agent name; absent means all agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// One of `binary`, `submodule` and `size`.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedIgnore {
    /// Fingerprint of the suppressed finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Pattern of the files whose findings are suppressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub reason: String,
    /// Last day on which the suppression applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// File that contains this entry.
    pub file: String,
    /// First and last line of this entry.
    pub lines: (u32, u32),
}

impl Plan {
    /// Returns the plan of a workflow, if it is a review.
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

    pub fn read(settings: &Json) -> Option<Self> {
        serde_json::from_value(settings.clone()).ok()
    }
}

/// Returns every considered agent with its reason.
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

/// Returns every skipped file with its first error.
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
