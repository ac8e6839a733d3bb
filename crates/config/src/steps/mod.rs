//! Step agents: `agent.json`, `steps_registry.json`, `config.json` and a directory of prompts.
//!
//! [`AgentFiles::load`] reads the files and checks their syntax. [`AgentFiles::validate`] checks their meaning and
//! loads every text they name. It reports all errors at once, and a run reads no files of the agent later
//! (S-4, S-19). [`lower`] turns the result into a workflow.

mod actions;
mod agent;
mod agent_files;
mod catalogue;
mod completion;
mod flow;
mod intent_gate;
mod lower;
mod outputs;
pub(crate) mod parameters;
mod prompt_files;
mod prompt_texts;
mod registry;
mod shape;
mod tables;
mod variables;

use std::path::Path;

use saihai_model::TextFile;

use self::agent_files::AgentFiles;
pub use self::tables::{AGENT, CATALOGUE, CONFIG, REGISTRY, all_format_defaults, format_defaults};
use crate::definition::BuiltInDefinition;
use crate::{
    Definition, Diagnostics, LoadedDefinition, MemorySource, Options, ProjectPaths, Settings, Source, TextUse,
};

/// Reads an agent and the files it names, and lowers it to a workflow.
pub(crate) fn load(
    source: &dyn Source,
    places: &ProjectPaths,
    definition: &Definition,
    options: &Options,
    settings: &Settings,
) -> LoadedDefinition {
    if let Some(path) = &definition.path {
        return load_from(source, places, path, options, settings);
    }
    // A built-in agent is read as if its files were in their eject location.
    let directory = places.root.join(".agent").join(&definition.name);
    let mut built_in = MemorySource::default();
    for (below, text) in
        BuiltInDefinition::of(definition).into_iter().flat_map(|one| one.files(settings.language))
    {
        built_in.add(directory.join(below), text);
    }
    let loaded = load_from(&built_in, places, &directory.join("agent.json"), options, settings);
    let texts = loaded.texts.into_iter().map(|text| below(&directory, places, text)).collect();
    LoadedDefinition { uses: Vec::new(), texts, ..loaded }
}

/// Makes the file name of a built-in text relative to the agent, because the eject location does not exist.
fn below(directory: &Path, places: &ProjectPaths, text: TextUse) -> TextUse {
    let prefix = format!("{}/", places.shown(directory));
    let file = text.text.file.strip_prefix(&prefix).unwrap_or(&text.text.file).to_owned();
    TextUse { text: TextFile { file, ..text.text }, ..text }
}

fn load_from(
    source: &dyn Source,
    places: &ProjectPaths,
    path: &Path,
    options: &Options,
    settings: &Settings,
) -> LoadedDefinition {
    let mut diagnostics = Diagnostics::new();
    match AgentFiles::load(source, places, path, &mut diagnostics) {
        Some(files) => files.validate(source, places, options, settings, diagnostics),
        None => LoadedDefinition::refused(diagnostics),
    }
}

#[cfg(test)]
mod tests;
