//! Review agents as files: specialists with one file each, and the turn that each of them takes.
//!
//! [`load`] reads all agents and skips invalid files. The crate `saihai-review` selects among them and folds
//! their findings. Reading stays here because pieces name review agents and `saihai check` reads their files.

mod agent;
mod agent_file;
mod ignores;
mod load;
mod patterns;
mod python;
mod reviewer;

use saihai_model::Severity;
use serde::{Deserialize, Serialize};

pub use agent::{AgentDefinition, Applicability, OutputSchema, Phase};
pub use agent_file::AGENT;
pub use ignores::{FindingIgnore, IGNORE, IGNORE_FILE, IGNORES, load_ignores};
pub use load::{Agent, AgentLoadError, AgentOrigin, LoadResult, agent_text, check_agent, copies, load};
pub use patterns::{NamePattern, PathPattern};
pub use python::{LONGEST_BACKTRACKED, PythonMatch, PythonRegex};
pub(crate) use reviewer::Reviewer;
pub use reviewer::{
    AgentProvider, GrantedTools, ProviderOverride, ReviewerWords, all_take_schema, reply_contract,
};

/// Lowest severity that fails a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailOn {
    Critical,
    #[default]
    Important,
    Suggestion,
    Nitpick,
    Never,
}

/// Maximum distance from the change at which a finding still fails the review, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailScope {
    Added,
    Context,
    #[default]
    File,
    All,
}

impl FailOn {
    pub const ALL: [Self; 5] =
        [Self::Critical, Self::Important, Self::Suggestion, Self::Nitpick, Self::Never];

    pub fn name(self) -> &'static str {
        self.severity().map_or("never", Severity::name)
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns the mildest severity that fails a review.
    pub fn severity(self) -> Option<Severity> {
        match self {
            Self::Critical => Some(Severity::Critical),
            Self::Important => Some(Severity::Important),
            Self::Suggestion => Some(Severity::Suggestion),
            Self::Nitpick => Some(Severity::Nitpick),
            Self::Never => None,
        }
    }
}

impl FailScope {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "added" => Some(Self::Added),
            "context" => Some(Self::Context),
            "file" => Some(Self::File),
            "all" => Some(Self::All),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
