//! Rules for every source file and crate of the workspace. `tests/tests/tidy.rs` applies them to
//! the workspace. The unit tests of each rule plant violations and check that the rule finds them.

mod dialects;
mod edges;
mod leftovers;
mod length;
mod linted;
mod messages;
mod purity;
mod vendors;
mod words;

use std::fmt;

use xtask::source::{Line, Source};

pub use dialects::dialects_stay_in_configuration;
pub use edges::{Metadata, edges_are_as_drawn, pure_crates_build_without_tokio};
pub use leftovers::nothing_unfinished_is_left;
pub use length::files_are_chapters;
pub use linted::suites_left_out_are_linted;
pub use messages::messages_are_not_parsed;
pub use purity::pure_layers_touch_nothing;
pub use vendors::vendors_stay_in_their_modules;
pub use words::{comments_are_plain, strings_are_plain};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// `crates/engine/src/run.rs:17`, or the name of a crate.
    pub place: String,
    pub what: String,
}

impl Violation {
    fn at(source: &Source, line: &Line<'_>, what: impl Into<String>) -> Self {
        Self { place: format!("{}:{}", source.path.display(), line.number), what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Panics with the whole list, one violation per line.
pub fn assert_none(violations: &[Violation]) {
    let list: Vec<String> = violations.iter().map(Violation::to_string).collect();
    assert!(list.is_empty(), "\n{}\n", list.join("\n"));
}

/// Returns the crate of a file, by its directory.
fn crate_of(source: &Source) -> &str {
    let mut parts = source.path.iter().filter_map(|part| part.to_str());
    match (parts.next(), parts.next()) {
        (Some("crates"), Some(name)) => name,
        (Some(name), _) => name,
        (None, _) => "",
    }
}

#[cfg(test)]
fn planted(path: &str, text: &str) -> [Source; 1] {
    [Source::new(std::path::Path::new(path), text.to_owned())]
}

#[cfg(test)]
fn shown(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(Violation::to_string).collect()
}
