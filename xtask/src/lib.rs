//! What tasks and the tidy test know about the project itself: its sources, its requirements, and which tests name
//! which requirement.

pub mod code;
pub mod mentions;
pub mod requirement;
pub mod source;
