//! Command-line flags that a definition adds to the commands that run it (S-12).

use super::{Dialect, Places, find};
use crate::steps::parameter;
use crate::{Area, Diagnostics, Document, Source};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionFlag {
    /// Parameter that the flag sets.
    pub key: String,
    /// The flag with its dashes.
    pub flag: String,
    /// True for a switch that takes no value.
    pub alone: bool,
    /// Help text from the definition, with the default value.
    pub about: String,
}

/// Returns the flags of a definition, or none if it is missing or unreadable.
pub fn flags(source: &dyn Source, places: &Places, asked: &str) -> Vec<DefinitionFlag> {
    let Ok(definition) = find(source, places, asked) else { return Vec::new() };
    let Some(path) = definition.path.filter(|_| definition.dialect == Dialect::Steps) else {
        return Vec::new();
    };
    // Loading the definition later reports its errors.
    let document = Document::load(source, &path, "", Area::Steps, &mut Diagnostics::new());
    let Some(document) = document else { return Vec::new() };
    parameter::flags(&document.cursor())
}
