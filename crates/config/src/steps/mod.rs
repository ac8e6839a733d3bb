//! Step agents: `agent.json`, `steps_registry.json`, `config.json` and a directory of prompts.
//!
//! [`Files::load`] reads the files and checks their syntax. [`Files::validate`] checks their meaning and
//! loads every text they name. It reports all errors at once, and a run reads no files of the agent later
//! (S-4, S-19). [`lower`] turns the result into a workflow.

mod about;
mod actions;
mod agent;
mod behavior;
mod catalogue;
mod check;
mod completion;
mod config;
mod defaults;
mod done;
mod entry_modes;
mod exit;
mod files;
mod flow;
mod gate;
mod gated;
mod input;
mod intent;
mod json_schema;
mod lower;
mod output;
pub(crate) mod parameter;
mod paths;
mod prompts;
mod reference;
mod registry;
mod schemas;
mod setup;
mod speech;
mod step;
mod tables;
mod template;
mod transition;
mod validation;
mod values;
mod variables;
mod version;
mod words;

use std::path::Path;

use saihai_model::TextFile;

pub use self::defaults::{all_format_defaults, format_defaults};
use self::files::Files;
pub use self::tables::{AGENT, CATALOGUE, CONFIG, REGISTRY};
use crate::definition::BuiltIn;
use crate::{Definition, Diagnostics, Loaded, MemorySource, Options, Places, Settings, Source, TextUse};

/// Reads an agent and the files it names, and lowers it to a workflow.
pub(crate) fn load(
    source: &dyn Source,
    places: &Places,
    definition: &Definition,
    options: &Options,
    settings: &Settings,
) -> Loaded {
    if let Some(path) = &definition.path {
        return load_from(source, places, path, options, settings);
    }
    // A built-in agent is read as if its files were in their eject location.
    let directory = places.root.join(".agent").join(&definition.name);
    let mut built_in = MemorySource::default();
    for (below, text) in BuiltIn::of(definition).into_iter().flat_map(|one| one.files(settings.language)) {
        built_in.add(directory.join(below), text);
    }
    let loaded = load_from(&built_in, places, &directory.join("agent.json"), options, settings);
    let texts = loaded.texts.into_iter().map(|text| below(&directory, places, text)).collect();
    Loaded { uses: Vec::new(), texts, ..loaded }
}

/// Makes the file name of a built-in text relative to the agent, because the eject location does not exist.
fn below(directory: &Path, places: &Places, text: TextUse) -> TextUse {
    let prefix = format!("{}/", places.shown(directory));
    let file = text.text.file.strip_prefix(&prefix).unwrap_or(&text.text.file).to_owned();
    TextUse { text: TextFile { file, ..text.text }, ..text }
}

fn load_from(
    source: &dyn Source,
    places: &Places,
    path: &Path,
    options: &Options,
    settings: &Settings,
) -> Loaded {
    let mut diagnostics = Diagnostics::new();
    match Files::load(source, places, path, &mut diagnostics) {
        Some(files) => files.validate(source, places, options, settings, diagnostics),
        None => Loaded::refused(diagnostics),
    }
}

#[cfg(test)]
mod tests;
