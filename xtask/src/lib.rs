//! Project data for tasks and the tidy test: sources, requirements, and the tests that name them.

pub mod code;
pub mod mentions;
pub mod requirement;
pub mod source;
