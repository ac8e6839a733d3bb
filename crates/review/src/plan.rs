//! Decisions about a review that precede the first question to an agent.

use saihai_config::review::{AgentOrigin, FailOn, FailScope, FindingIgnore, LoadResult};
use saihai_config::{Language, ProjectPaths};
use saihai_model::{Json, SubjectOmission, Workflow};
use serde::{Deserialize, Serialize};

use crate::select::AgentSelection;

/// Decisions about a review, frozen into the workflow. The report therefore needs only the run, and
/// later questions about the selection get the original reasons.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewPlan {
    /// Lowest severity that fails the review.
    pub fail_on: FailOn,
    /// Maximum distance from the change at which a finding still fails the review.
    pub fail_scope: FailScope,
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
    pub selection: Vec<ConsideredAgent>,
    pub load_errors: Vec<RefusedDefinition>,
    /// Parts of the subject that agents do not see.
    pub left_out: Vec<ReviewGap>,
    /// Warnings for the top of the report.
    pub warnings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignores: Vec<FindingIgnore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Commit checked out into a separate directory where agents can read files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// Report format, if not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ReportFormat>,
    /// Additional output files of the report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<ReportFile>,
}

/// A form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    #[default]
    Md,
    Json,
    Sarif,
    Github,
}

/// An output file of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportFile {
    pub format: ReportFormat,
    pub path: String,
    /// True if the file is the baseline for later reviews.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub baseline: bool,
    /// Project root, if the file lies inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

/// An agent that was considered, selected or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsideredAgent {
    pub agent: String,
    /// One-line purpose of the agent.
    pub description: String,
    /// Source of the definition: `built-in` or a file path.
    pub origin: String,
    pub phase: String,
    pub selected: bool,
    pub why: String,
    /// Files per turn; empty if one turn shows all files. Reports leave it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Vec<String>>,
}

/// An agent file that was refused, with one of its errors.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RefusedDefinition {
    pub file: String,
    pub message: String,
}

/// A part of the subject that an agent does not see.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReviewGap {
    pub file: String,
    /// Agent name; absent means all agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub reason: GapReason,
}

/// Reason why a part was not reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapReason {
    /// It exceeds the size limit of an agent's input.
    Size,
    Binary,
    Submodule,
    /// The budget was used up.
    Budget,
}

impl GapReason {
    pub fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Binary => "binary",
            Self::Submodule => "submodule",
            Self::Budget => "budget",
        }
    }

    /// Returns true for text that an agent could have reviewed.
    pub fn is_a_gap(self) -> bool {
        match self {
            Self::Size | Self::Budget => true,
            Self::Binary | Self::Submodule => false,
        }
    }
}

impl From<SubjectOmission> for GapReason {
    fn from(why: SubjectOmission) -> Self {
        match why {
            SubjectOmission::Binary => Self::Binary,
            SubjectOmission::Submodule => Self::Submodule,
            SubjectOmission::TooLarge => Self::Size,
        }
    }
}

impl ReviewPlan {
    /// Returns the plan of a workflow, if it is a review.
    pub fn of(workflow: &Workflow) -> Option<Self> {
        Self::read(workflow.review_settings()?)
    }

    pub fn read(settings: &Json) -> Option<Self> {
        serde_json::from_value(settings.clone()).ok()
    }

    pub fn language(&self) -> Language {
        Language::named(&self.language).unwrap_or_default()
    }
}

impl ReportFormat {
    pub const ALL: [Self; 4] = [Self::Md, Self::Json, Self::Sarif, Self::Github];

    pub fn name(self) -> &'static str {
        match self {
            Self::Md => "md",
            Self::Json => "json",
            Self::Sarif => "sarif",
            Self::Github => "github",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// Returns every considered agent with its reason.
pub(crate) fn considered(selection: &AgentSelection<'_>, places: &ProjectPaths) -> Vec<ConsideredAgent> {
    let planned = selection.agents.iter().map(|one| {
        let definition = &one.agent.definition;
        ConsideredAgent {
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
pub(crate) fn refused(loaded: &LoadResult, places: &ProjectPaths) -> Vec<RefusedDefinition> {
    let errors = loaded.errors.iter().flat_map(|error| {
        let file = error.files.first().map(|file| places.shown(file)).unwrap_or_default();
        error.diagnostics.iter().map(move |diagnostic| RefusedDefinition {
            file: file.clone(),
            message: diagnostic.message.clone(),
        })
    });
    errors.collect()
}
