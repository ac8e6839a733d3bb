//! Judgment: what a reply says, and what follows from it.
//!
//! `read` is called where a reply's text is and pulls out everything a run will ever need of it. `label`, `rules` and
//! `route` are called by the engine and see only readings. [`review`] folds what several agents found into one report.
//! Nothing here does I/O, keeps state or knows a dialect; an AI judge is no exception, because judgment only says that
//! a question is due.

// A new fact, decision or verdict must be thought about wherever one is handled.
#![warn(clippy::wildcard_enum_match_arm)]

mod digest;
mod found;
mod label;
mod pointed;
mod read;
pub mod review;
mod route;
mod rules;

pub use label::{Answered, Labelled, answered, label};
pub use read::{Miss, Said, overheard, read};
pub use route::{route, takes};
pub use rules::{Labels, Ruled, rules};
