//! What was asked for beside the definition.

use saihai_model::{Budget, IssueNumber, Millis, Permission, ProviderName};

/// What was asked for beside the definition: flags, and how the command was called. They win over definition and
/// settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub provider: Option<ProviderName>,
    pub model: Option<String>,
    pub max_iterations: Option<u32>,
    /// The most any turn may do.
    pub max_permission: Option<Permission>,
    /// What the run may cost.
    pub budget: Budget,
    /// How long the run may be driven.
    pub run_timeout: Option<Millis>,
    /// Values for the definition's own parameters and variables, in the order they were given.
    pub values: Vec<(String, String)>,
    /// The issue it is to be about.
    pub issue: Option<IssueNumber>,
    /// Whether a run really begins: what must be given must then be given. Whoever only looks gets placeholders.
    pub starts: bool,
    /// Whether a person can be asked.
    pub interactive: bool,
    /// Whether a delivery is put around it: then its own gates before and behind the work belong to that.
    pub delivers: bool,
}
