//! Agent files for tests.

use saihai_config::review::{LoadResult, load};
use saihai_config::{Colour, Diagnostics, Language, MemorySource, ProjectPaths, to_human};

const AGENTS: &str = "/p/.hachimoku/agents";

/// Returns a valid agent file with this name and these further lines.
pub(super) fn agent(name: &str, further: &str) -> String {
    format!(
        "name = \"{name}\"\ndescription = \"d\"\nmodel = \"default\"\noutput_schema = \"scored_issues\"\n\
         system_prompt = \"p\"\n{further}"
    )
}

pub(super) fn places() -> ProjectPaths {
    ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None }
}

/// Returns files in `.hachimoku/agents` by name. A name with a `/` is relative to the project.
pub(super) fn source(files: &[(&str, &str)]) -> MemorySource {
    let mut source = MemorySource::default();
    for (name, text) in files {
        let path = if name.contains('/') { format!("/p/{name}") } else { format!("{AGENTS}/{name}") };
        source.add(path, *text);
    }
    source
}

pub(super) fn loaded(files: &[(&str, &str)]) -> LoadResult {
    load(&source(files), &places(), Language::English).unwrap()
}

pub(super) fn names(result: &LoadResult) -> Vec<&str> {
    result.agents.iter().map(|agent| agent.definition.name.as_str()).collect()
}

pub(super) fn errors(result: LoadResult) -> String {
    let mut all = Diagnostics::new();
    result.errors.into_iter().for_each(|error| all.append(error.diagnostics));
    to_human(&all, Colour::Never)
}

pub(super) fn codes(diagnostics: &Diagnostics) -> Vec<String> {
    diagnostics.iter().map(|one| one.code.to_string()).collect()
}
