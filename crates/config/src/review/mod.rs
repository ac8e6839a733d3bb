//! Review agents: specialists with one file each, selected by the content of a change.
//!
//! [`load`] reads all agents and skips invalid files. [`select`] returns the agents that a subject
//! needs, with reasons. Selection asks no model: the same files and the same change give the same
//! agents.

mod agent;
mod answerer;
mod applicability;
mod asked;
mod builtin;
mod decisive;
mod glob;
mod granted;
mod ignores;
mod lint;
mod load;
mod lower;
mod path_pattern;
mod phase;
mod plan;
mod python;
mod read;
mod reviewer;
mod schema;
mod select;
mod share;
mod shortfalls;
mod speech;
mod tables;
mod told;
mod tools;

pub use agent::AgentDefinition;
pub use applicability::Applicability;
pub use builtin::copies;
pub use ignores::{IGNORE_FILE, load_ignores};
pub use load::{Agent, AgentOrigin, LoadError, LoadResult, check_agent, load};
pub use lower::{Cached, LoweredReview, ReviewOptions, Reviewing, ending, lower};
pub use phase::Phase;
pub use plan::{Plan, PlannedAgent, PlannedError, PlannedFile, PlannedGap, PlannedIgnore};
pub(crate) use reviewer::Reviewer;
pub use schema::OutputSchema;
pub use select::{Considered, Selection, UnknownAgent, Why, WhyNot, Wish, select};
pub use tables::{AGENT, IGNORE, IGNORES};
pub use told::{Told, tell};

#[cfg(test)]
mod tests;
