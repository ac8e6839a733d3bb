//! The report of a review in the forms people and programs read.
//!
//! Everything here is made of a [`Report`] alone, so the same report gives the same bytes. Whatever agents wrote is shown
//! as what it is: no control character, no mark-up and no line a CI service would obey gets through.

mod github;
mod json;
mod mark_up;
mod markdown;
mod sarif;
mod words;

#[cfg(test)]
mod tests;

pub use github::to_github;
pub use json::{REPORT_SCHEMA, to_json};
pub use markdown::to_markdown;
pub use saihai_judge::review::Report;
pub use sarif::to_sarif;
