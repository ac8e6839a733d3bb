//! Judgment: the meaning of a reply, and its consequences.
//!
//! `read` runs next to a reply's text and extracts everything that a run will ever need from it. The engine calls
//! `label`, `rules` and `route`, which see only readings. [`review`] folds the findings of several agents into one
//! report.
//!
//! Nothing here does I/O, keeps state or knows a dialect. An AI judge is no exception: judgment only says that a
//! question is due.

// Every `match` must handle a new fact, decision or verdict explicitly.
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
