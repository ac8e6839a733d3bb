//! Step agents: `agent.json`, `steps_registry.json`, `config.json` and a directory of prompts.
//!
//! [`Files::load`] reads the files and knows syntax only; [`Files::validate`] knows meaning, and follows every name to
//! its text, so that everything wrong is said at once and nothing is read while a run goes on (S-4, S-19). [`lower`]
//! turns what was written into a workflow.

mod actions;
mod agent;
mod catalogue;
mod check;
mod completion;
mod config;
mod done;
mod exit;
mod files;
mod flow;
mod input;
mod lower;
mod output;
pub(crate) mod parameter;
mod paths;
mod prompts;
mod reference;
mod registry;
mod setup;
mod speech;
mod step;
mod tables;
mod template;
mod transition;
mod values;
mod variables;
mod version;
mod words;

use self::files::Files;
pub use self::tables::{AGENT, CATALOGUE, CONFIG, REGISTRY};
use crate::{Definition, Diagnostics, Loaded, Options, Places, Settings, Source};

/// Reads an agent and everything it names, and lowers it.
pub(crate) fn load(
    source: &dyn Source,
    places: &Places,
    definition: &Definition,
    options: &Options,
    settings: &Settings,
) -> Loaded {
    let mut diagnostics = Diagnostics::new();
    let Some(path) = &definition.path else { return Loaded::default() };
    match Files::load(source, places, path, &mut diagnostics) {
        Some(files) => files.validate(source, places, options, settings, diagnostics),
        None => Loaded::refused(diagnostics),
    }
}

#[cfg(test)]
mod tests;
