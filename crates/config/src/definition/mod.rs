//! Definitions: finding one by name or path (K-11), listing all, and loading one as a workflow.

mod builtin;
mod dialect;
mod find;
mod flags;
mod list;
mod loaded;
mod options;
mod places;

use std::path::PathBuf;

pub(crate) use builtin::BuiltIn;
pub use dialect::Dialect;
pub use find::find;
pub(crate) use find::ignored_hats;
pub use flags::{DefinitionFlag, flags};
pub use list::{Listed, Standing, list};
pub use loaded::{Loaded, TextUse};
pub use options::Options;
pub use places::Places;

use crate::{Area, Diagnostic, Settings, Source, quoted};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Name from the command line, or the file stem.
    pub name: String,
    pub dialect: Dialect,
    pub origin: Origin,
    /// Its file; `None` for a built-in.
    pub path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Project,
    User,
    BuiltIn,
    Path,
}

impl Origin {
    /// Returns the name for messages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::BuiltIn => "built-in",
            Self::Path => "path",
        }
    }
}

/// Reads a definition and the files it names, and lowers it to a workflow.
pub fn load(
    source: &dyn Source,
    places: &Places,
    definition: &Definition,
    options: &Options,
    settings: &Settings,
) -> Loaded {
    let mut loaded = read(source, places, definition, options, settings);
    // K-20: only step agents have parameters, so values for other dialects are an error.
    if definition.dialect != Dialect::Steps
        && let Some((name, _)) = options.values.first()
    {
        let message = format!("{} has no parameter {}", quoted(&definition.name), quoted(name));
        let diagnostic = Diagnostic::error(Area::Workflow.code("unknown-parameter"), message);
        loaded.diagnostics.push(diagnostic.hint("only step agents have parameters; put it into the task"));
        loaded.workflow = None;
    }
    loaded
}

fn read(
    source: &dyn Source,
    places: &Places,
    definition: &Definition,
    options: &Options,
    settings: &Settings,
) -> Loaded {
    match definition.dialect {
        Dialect::Piece => crate::piece::load(source, places, definition, options, settings),
        Dialect::Hats => crate::hats::load(source, places, definition, options, settings),
        Dialect::Steps => crate::steps::load(source, places, definition, options, settings),
        Dialect::Review => review_agent(source, places, definition),
    }
}

/// A single review agent is not a workflow. Review combines several of them with the changes to review.
fn review_agent(source: &dyn Source, places: &Places, definition: &Definition) -> Loaded {
    let checked = definition.path.as_ref().map(|path| crate::review::check_agent(source, places, path));
    Loaded::refused(checked.unwrap_or_default())
}

#[cfg(test)]
mod tests;
