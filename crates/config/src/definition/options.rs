use saihai_model::{Budget, IssueNumber, Millis, Permission, ProviderName};

/// Command-line options of a run. They override the definition and the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub provider: Option<ProviderName>,
    pub model: Option<String>,
    pub max_iterations: Option<u32>,
    /// Upper limit for the permission of every turn.
    pub max_permission: Option<Permission>,
    pub budget: Budget,
    pub run_timeout: Option<Millis>,
    /// Values for the definition's parameters and variables, in command-line order.
    pub values: Vec<(String, String)>,
    pub issue: Option<IssueNumber>,
    /// True if a run starts, so required values must be present. Commands that only inspect get placeholders.
    pub starts: bool,
    /// True if a person can answer questions.
    pub interactive: bool,
    /// True for work on an issue. Delivery then replaces the definition's own gates before and after the
    /// work.
    pub delivers: bool,
}
