//! Renders review reports for people and programs.
//!
//! The only input is a [`Report`], so the same report gives the same bytes. Text of agents is escaped:
//! control characters, mark-up and commands for a CI service lose their effect.

mod cache;
mod folding;
mod github;
mod json;
mod mark_up;
mod markdown;
mod passed_on;
mod ran;
mod results;
mod sarif;
mod words;

#[cfg(test)]
mod tests;

pub use cache::Cache;
pub use folding::{
    BASELINE, changed_files, empty_report, last_report, report_language, report_so_far, saved_report,
};
pub(crate) use folding::{End, fold, save};
pub use github::to_github;
pub use json::{REPORT_SCHEMA, to_json};
pub use markdown::{to_markdown, to_short_markdown};
pub(crate) use passed_on::passed_on;
pub use saihai_judge::review::{Baseline, Report};
pub use sarif::to_sarif;
