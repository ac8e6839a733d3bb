//! Keys of an agent's files. Readers, schemas and the manual all use these tables.

mod agent;
mod catalogue;
mod completion;
mod config;
mod gate;
mod registry;
mod runner;

pub use agent::AGENT;
pub(super) use agent::{
    ACTIONS, BEHAVIOR, FILESYSTEM, GITHUB, LOGGING, NETWORK, PARAMETER, PROMPTS, SANDBOX, VALIDATION,
    WORKTREE,
};
pub use catalogue::CATALOGUE;
pub(super) use catalogue::{ENTRY, ENTRY_STEPS};
pub(super) use completion::{
    CHECK_BUDGET, COMPOSITE, CONDITION, CUSTOM, EXTERNAL_STATE, ITERATION_BUDGET, KEYWORD_SIGNAL,
    PHASE_COMPLETION, STEP_MACHINE, STRUCTURED_SIGNAL,
};
pub use config::CONFIG;
pub(super) use config::{CONFIG_GITHUB, CONFIG_LOGGING, CONFIG_WORKTREE, OVERRIDES};
pub(super) use gate::{
    ADDRESS, FAILURE_PATTERN, ON_FAILURE, SCHEMA_REF, STRUCTURED_GATE, TRANSITION_RULE, VALIDATION_CONDITION,
    VALIDATION_STEP, VALIDATOR,
};
pub use registry::REGISTRY;
pub(super) use registry::{CHECK, CUSTOM_VARIABLE, ITERATIONS, PROMPT, STEP, TRANSITION};
pub(super) use runner::{
    BOUNDARIES, COMPLETION_LABELS, EXECUTION, FLOW, INTEGRATIONS, LATER_GITHUB, RUNNER, SCHEMAS, VERDICT,
};

use crate::{Field, Kind};

/// Message for a key of the later format in a registry of this one (S-17).
const LATER: &str = "belongs to a registry of the later format, which has `agentId`";

/// Permission modes, in the agent's own terms.
pub(super) const PERMISSIONS: Kind = Kind::OneOf(&["plan", "acceptEdits", "bypassPermissions", "default"]);

/// `$schema`, which every file may have and Saihai ignores.
const SCHEMA: Field = Field::new("$schema", Kind::Text).about("for editors; without effect");
