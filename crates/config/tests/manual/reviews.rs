//! Loads the review agents of the manual.

use saihai_config::review::load;
use saihai_config::{Diagnostics, Language, MemorySource, ProjectPaths};

use crate::page::check_examples;

/// Returns the codes of all diagnostics for an agent's file.
pub(crate) fn found(text: &str) -> Vec<String> {
    let source = MemorySource::new([("/p/.hachimoku/agents/example.toml", text)]);
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let loaded = load(&source, &places, Language::English).expect("a directory of agents");
    let mut all: Diagnostics = loaded.remarks;
    loaded.errors.into_iter().for_each(|error| all.append(error.diagnostics));
    all.iter().map(|diagnostic| diagnostic.code.to_string()).collect()
}

// K-40, R-56
#[test]
fn the_examples_of_every_diagnostic_are_right_about_what_is_wrong() {
    check_examples(&["review"], "toml", 30, found);
}
