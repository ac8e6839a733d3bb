//! Review agents, from files to selection.

mod builtin;
mod corpora;
mod files;
mod loading;

use crate::diagnostic::{Colour, Diagnostics, to_human};
use crate::{Language, MemorySource, ProjectPaths};

use super::{LoadResult, load};

const AGENTS: &str = "/p/.hachimoku/agents";

/// Returns a valid agent file with this name and these further lines.
fn agent(name: &str, further: &str) -> String {
    format!(
        "name = \"{name}\"\ndescription = \"d\"\nmodel = \"default\"\noutput_schema = \"scored_issues\"\n\
         system_prompt = \"p\"\n{further}"
    )
}

fn places() -> ProjectPaths {
    ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None }
}

/// Returns files in `.hachimoku/agents` by name. A name with a `/` is relative to the project.
fn source(files: &[(&str, &str)]) -> MemorySource {
    let mut source = MemorySource::default();
    for (name, text) in files {
        let path = if name.contains('/') { format!("/p/{name}") } else { format!("{AGENTS}/{name}") };
        source.add(path, *text);
    }
    source
}

fn loaded(files: &[(&str, &str)]) -> LoadResult {
    load(&source(files), &places(), Language::English).unwrap()
}

fn names(result: &LoadResult) -> Vec<&str> {
    result.agents.iter().map(|agent| agent.definition.name.as_str()).collect()
}

fn errors(result: LoadResult) -> String {
    let mut all = Diagnostics::new();
    result.errors.into_iter().for_each(|error| all.append(error.diagnostics));
    to_human(&all, Colour::Never)
}

fn codes(diagnostics: &Diagnostics) -> Vec<String> {
    diagnostics.iter().map(|one| one.code.to_string()).collect()
}

/// Returns the error codes of one file with this text.
fn wrong(text: &str) -> Vec<String> {
    loaded(&[("x.toml", text)]).errors.iter().flat_map(|error| codes(&error.diagnostics)).collect()
}
